//! The decisions as text.

use dovetail_sched::{
    Nanos,
    cost::admission::{Admitted, Amount, Bound, Broken, Refusal},
};

use super::answer::Answers;
use crate::{
    setting::closing,
    table::{Table, count},
};

/// Meaning of the columns.
const LEGEND: [(&str, &str); 5] = [
    (
        "eq. 14 ms",
        "delay bound under one scheduler for all resources: the paper admits by it, but some traffic waits longer",
    ),
    (
        "eq. 13 ms",
        "delay bound under a fair queueing scheduler for each resource, while the flow keeps to its reserved rates",
    ),
    ("limit ms", "the longest delay that the flow accepts; – if it sets no limit"),
    ("left", "what can still be reserved: target times capacity, less the reserved rates"),
    ("share", "each best-effort flow's share of what is left"),
];

pub(super) fn text(answers: &Answers<'_>, file: &str) -> String {
    let by = answers.admission.by();
    let admitted = answers.list.iter().filter(|answer| answer.said.is_ok()).count();
    let mut text = format!(
        "{file}: {} of {} reservations admitted, delays held to eq. {} ({by})\n\n",
        count(admitted as u64),
        count(answers.list.len() as u64),
        by.equation()
    );
    if !answers.list.is_empty() {
        text += &format!("{}\n\n", reservations(answers).to_terminal());
    }
    text += &format!("{}\n\n", resources(answers).to_terminal());
    for (term, meaning) in LEGEND {
        text += &format!("{term:10} {meaning}\n");
    }
    text += "\n";
    for answer in &answers.list {
        if let Err(refusal) = &answer.said {
            text += &format!("refused: {}: {}\n", answer.name, why(answers, refusal));
        }
    }
    if let Some((flows, refusal)) = &answers.turned_away {
        text += &format!("refused: {} best-effort flows: {}\n", count((*flows).into()), why(answers, refusal));
    }
    for (at, (_, said)) in answers.queues.iter().enumerate() {
        if let Err(refusal) = said {
            text += &format!("refused: a packet of best-effort flow {}: {}\n", at + 1, why(answers, refusal));
        }
    }
    text += &closing(&notes(answers), None, None);
    text.trim_end().to_owned()
}

fn reservations(answers: &Answers<'_>) -> Table {
    let mut table = Table::new(&["reservation", "answer", "level", "eq. 14 ms", "eq. 13 ms", "limit ms"], 2);
    let time = |time: Option<Nanos>| time.map_or_else(|| "–".to_owned(), millis);
    for answer in &answers.list {
        let said = match &answer.said {
            Ok(_) => "admitted".to_owned(),
            Err(refusal) => format!("refused by rule {}", refusal.rule()),
        };
        table.push([
            answer.name.to_owned(),
            said,
            answer.asked.priority().to_string(),
            time(answer.composite),
            time(answer.separate),
            time(answer.asked.most_delay()),
        ]);
    }
    table
}

fn resources(answers: &Answers<'_>) -> Table {
    let mut table = Table::new(&["resource", "unit", "capacity", "target", "reserved", "left", "share"], 2);
    for row in resource_rows(answers) {
        table.push([
            row.name.to_owned(),
            format!("{}/s", row.unit),
            row.capacity.to_string(),
            row.target.to_string(),
            row.reserved.to_string(),
            row.left.to_string(),
            row.share.map_or_else(|| "–".to_owned(), |share| share.to_string()),
        ]);
    }
    table
}

/// A resource after all decisions; rates in its units per second.
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) unit: String,
    pub(super) capacity: Amount,
    pub(super) target: Amount,
    pub(super) reserved: Amount,
    pub(super) left: Amount,
    pub(super) share: Option<Amount>,
}

/// The resources, in order.
pub(super) fn resource_rows<'a>(answers: &'a Answers<'_>) -> impl Iterator<Item = Row<'a>> {
    let admission = &answers.admission;
    let left = admission.left();
    let given = answers.request.resources.iter().zip(admission.node().resources()).enumerate();
    given.map(move |(at, (named, resource))| Row {
        name: &named.name,
        unit: named.unit.to_string(),
        capacity: resource.capacity_per_s(),
        target: resource.target(),
        reserved: admission.reserved_per_s()[at],
        left: left[at],
        share: admission.best_effort_share(at),
    })
}

/// The rule behind a refusal and by how much it is violated, in the names and units of the file.
pub(super) fn why(answers: &Answers<'_>, refusal: &Refusal) -> String {
    match *refusal {
        Refusal::Rate { resource, requested_per_s, left_per_s } => {
            let named = &answers.request.resources[resource];
            let (name, unit, over) = (&named.name, &named.unit, requested_per_s.minus(left_per_s));
            format!(
                "rule 1: it requests {requested_per_s} {unit}/s of {name} where {left_per_s} {unit}/s are left: \
                 {over} {unit}/s too much"
            )
        }
        Refusal::Delay(broken) => format!("rule 2: {}", delay(answers, &broken)),
        ref other => other.to_string(),
    }
}

fn delay(answers: &Answers<'_>, broken: &Broken) -> String {
    let whose = answers.whose(broken).map_or_else(|| "its own delay".to_owned(), |name| format!("the delay of {name}"));
    let [bound, most, over] = [broken.bound, broken.most, broken.over()].map(millis);
    let equation = broken.by.equation();
    format!("{whose} would be {bound} ms by eq. {equation} where its limit is {most} ms: {over} ms too long")
}

/// The resources that a flow exhausts.
pub(super) fn exhausted<'a>(answers: &'a Answers<'_>, admitted: &Admitted) -> impl Iterator<Item = &'a str> {
    let resources = answers.request.resources.iter().zip(admitted.exhausts);
    resources.filter_map(|(named, last)| last.then_some(named.name.as_str()))
}

/// Further notes.
pub(super) fn notes(answers: &Answers<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for answer in &answers.list {
        let Ok(admitted) = answer.said else { continue };
        let exhausted: Vec<_> = exhausted(answers, &admitted).collect();
        if !exhausted.is_empty() {
            let names = exhausted.join(" and ");
            notes.push(format!("{}: admitted, which leaves best-effort flows nothing of {names}", answer.name));
        }
        if let Some(broken) = &admitted.breaks {
            let level = answer.asked.priority();
            notes.push(format!(
                "{}: admitted, as rule 2 considers only its own level {level}; {}",
                answer.name,
                delay(answers, broken)
            ));
        }
    }
    if answers.admission.by() == Bound::Composite && answers.list.iter().any(|answer| answer.said.is_ok()) {
        notes.push(
            "eq. 14 does not bound all traffic; for a guarantee use --bound separate, with a scheduler for each \
             resource"
                .to_owned(),
        );
    }
    notes
}

/// In milliseconds, with nanosecond digits.
fn millis(time: Nanos) -> String {
    let (whole, rest) = (time.0 / 1_000_000, time.0 % 1_000_000);
    let text = format!("{whole}.{rest:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
