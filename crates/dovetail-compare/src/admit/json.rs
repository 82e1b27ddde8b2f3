//! The decisions as JSON.

use dovetail_sched::{
    Nanos,
    cost::admission::{Amount, Broken, Refusal},
};
use serde::Serialize;

use super::{
    answer::{Answer, Answers},
    show::{Row, exhausted, notes, resource_rows, why},
};

#[derive(Serialize)]
pub(super) struct AdmitJson<'a> {
    file: &'a str,
    bound: String,
    resources: Vec<ResourceJson<'a>>,
    reservations: Vec<ReservationJson<'a>>,
    best_effort: BestEffortJson,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ResourceJson<'a> {
    name: &'a str,
    unit: String,
    capacity_per_s: f64,
    target: f64,
    reserved_per_s: f64,
    left_per_s: f64,
    best_effort_share_per_s: Option<f64>,
}

#[derive(Serialize)]
struct ReservationJson<'a> {
    name: &'a str,
    priority: u8,
    admitted: bool,
    delay_ms: DelaysJson,
    most_delay_ms: Option<f64>,
    refusal: Option<RefusalJson<'a>>,
    /// Resources that it exhausts.
    exhausts: Vec<&'a str>,
    /// A flow of another level whose delay bound it would violate.
    breaks: Option<BrokenJson<'a>>,
}

#[derive(Serialize)]
struct DelaysJson {
    composite: Option<f64>,
    separate: Option<f64>,
}

#[derive(Serialize)]
struct RefusalJson<'a> {
    rule: u8,
    why: String,
    #[serde(flatten)]
    by_how_much: Option<OverJson<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OverJson<'a> {
    Rate { resource: &'a str, unit: String, requested_per_s: f64, left_per_s: f64, over_per_s: f64 },
    Delay(BrokenJson<'a>),
    Count { requested: u32, most: u32, over: u32 },
}

/// `flow` is null if it is the requesting flow's own delay.
#[derive(Serialize)]
struct BrokenJson<'a> {
    flow: Option<&'a str>,
    delay_ms: f64,
    most_delay_ms: f64,
    over_ms: f64,
}

#[derive(Serialize)]
struct BestEffortJson {
    flows: u32,
    admitted: u32,
    refused: u32,
    most_flows: Option<u32>,
    queue_packets: Option<u32>,
    refusal: Option<RefusalJson<'static>>,
    queues: Vec<QueueJson>,
}

#[derive(Serialize)]
struct QueueJson {
    waiting: u32,
    admitted: bool,
    refusal: Option<RefusalJson<'static>>,
}

pub(super) fn json<'a>(answers: &'a Answers<'a>, file: &'a str) -> AdmitJson<'a> {
    let resource = |row: Row<'a>| ResourceJson {
        name: row.name,
        unit: row.unit,
        capacity_per_s: row.capacity.as_f64(),
        target: row.target.as_f64(),
        reserved_per_s: row.reserved.as_f64(),
        left_per_s: row.left.as_f64(),
        best_effort_share_per_s: row.share.map(Amount::as_f64),
    };
    let limits = answers.request.node.best_effort();
    let limit = |most: u32| (most < u32::MAX).then_some(most);
    let count = |refusal: &Refusal, requested: u32| RefusalJson {
        rule: refusal.rule(),
        why: why(answers, refusal),
        by_how_much: match *refusal {
            Refusal::BestEffortFlows { most } | Refusal::Queue { most, .. } => {
                Some(OverJson::Count { requested, most, over: requested - most })
            }
            _ => None,
        },
    };
    let queue = |(waiting, said): &(u32, Result<(), Refusal>)| QueueJson {
        waiting: *waiting,
        admitted: said.is_ok(),
        refusal: said.as_ref().err().map(|refusal| count(refusal, waiting.saturating_add(1))),
    };
    AdmitJson {
        file,
        bound: answers.admission.by().to_string(),
        resources: resource_rows(answers).map(resource).collect(),
        reservations: answers.list.iter().map(|answer| reservation(answers, answer)).collect(),
        best_effort: BestEffortJson {
            flows: answers.request.flows,
            admitted: answers.admission.best_effort_flows(),
            refused: answers.turned_away.as_ref().map_or(0, |(flows, _)| *flows),
            most_flows: limit(limits.most_flows),
            queue_packets: limit(limits.queue_packets),
            refusal: answers.turned_away.as_ref().map(|(_, refusal)| count(refusal, answers.request.flows)),
            queues: answers.queues.iter().map(queue).collect(),
        },
        notes: notes(answers),
    }
}

fn reservation<'a>(answers: &'a Answers<'a>, answer: &'a Answer<'a>) -> ReservationJson<'a> {
    let millis = |time: Nanos| time.as_f64() / 1e6;
    let broken = |broken: &Broken| BrokenJson {
        flow: answers.whose(broken),
        delay_ms: millis(broken.bound),
        most_delay_ms: millis(broken.most),
        over_ms: millis(broken.over()),
    };
    let refusal = |refusal: &Refusal| RefusalJson {
        rule: refusal.rule(),
        why: why(answers, refusal),
        by_how_much: match refusal {
            Refusal::Rate { resource, requested_per_s, left_per_s } => {
                let named = &answers.request.resources[*resource];
                Some(OverJson::Rate {
                    resource: &named.name,
                    unit: named.unit.to_string(),
                    requested_per_s: requested_per_s.as_f64(),
                    left_per_s: left_per_s.as_f64(),
                    over_per_s: requested_per_s.minus(*left_per_s).as_f64(),
                })
            }
            Refusal::Delay(too_long) => Some(OverJson::Delay(broken(too_long))),
            _ => None,
        },
    };
    let admitted = answer.said.as_ref().ok();
    ReservationJson {
        name: answer.name,
        priority: answer.asked.priority(),
        admitted: admitted.is_some(),
        delay_ms: DelaysJson { composite: answer.composite.map(millis), separate: answer.separate.map(millis) },
        most_delay_ms: answer.asked.most_delay().map(millis),
        refusal: answer.said.as_ref().err().map(refusal),
        exhausts: admitted.map(|admitted| exhausted(answers, admitted).collect()).unwrap_or_default(),
        breaks: admitted.and_then(|admitted| admitted.breaks.as_ref()).map(broken),
    }
}
