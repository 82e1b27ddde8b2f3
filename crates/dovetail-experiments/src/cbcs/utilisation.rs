//! Figs. 10 to 13: utilisation of CPU and link in intervals of five seconds.

use dovetail_sched::Nanos;

use super::{
    paper::{PAPER_BUSY, POLICIES, SCENARIO, paper_flows, unsettled},
    trips::play,
};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
};
use dovetail_compare::{
    input::builtin_scenario,
    report::{charts::over_time, plot::Axis},
};

const STEP: Nanos = Nanos::from_millis(5_000);
const STEPS: u64 = 10;

/// Tolerance for the whole run.
const POINTS: f64 = 1.0;
/// Largest difference between the policies in any five seconds. Fair queueing keeps a flow within a packet of its share, so
/// at each end of an interval each of the ten flows may have been served one packet more under one policy than under the
/// other: three with at most 14.2 ms on the link (0.36 of 24,576 bytes at 5 Mbit/s) and seven with 5.3 ms, twice 79 ms of
/// five seconds.
const BETWEEN_POLICIES: f64 = 3.2;

pub(super) fn fig10(given: &Given<'_>) -> Result<Finding, Error> {
    let packets = paper_flows(builtin_scenario(SCENARIO)?.seed)?;
    let mut finding = Finding::default();
    // By policy and estimator, then resource, then step.
    let mut all: Vec<(String, [Vec<f64>; 2])> = Vec::new();
    for ((policy, name), paper) in POLICIES.into_iter().zip(PAPER_BUSY) {
        for estimator in ["ses", "llsr"] {
            let trips = play(&packets, &unsettled(policy, estimator), given)?;
            given.bar.inc(packets.arrivals.len() as u64);
            let label = format!("{name}, {}", estimator.to_uppercase());
            let busy = [0, 1].map(|resource| {
                let step = |at: u64| {
                    let (from, to) = (Nanos(STEP.0 * at), Nanos(STEP.0 * (at + 1)));
                    trips.busy_s(None, resource, from, to) / STEP.as_secs_f64() * 100.0
                };
                (0..STEPS).map(step).collect::<Vec<_>>()
            });
            for ((resource, steps), paper) in ["CPU", "link"].into_iter().zip(&busy).zip(paper) {
                let mean = steps.iter().sum::<f64>() / steps.len() as f64;
                let what = format!("{resource} utilisation, {label}");
                finding.rows.push(Row::new(what, "%", Some(paper), paper, mean, POINTS));
            }
            all.push((label, busy));
        }
    }
    for (at, resource) in ["CPU", "link"].into_iter().enumerate() {
        let difference = |step: usize| {
            let busy = all.iter().map(|(_, busy)| busy[at][step]);
            let (least, most) =
                busy.fold((f64::INFINITY, 0.0), |(least, most), busy| (f64::min(least, busy), f64::max(most, busy)));
            most - least
        };
        let largest = (0..STEPS as usize).map(difference).fold(0.0, f64::max);
        let what = format!("largest difference of {resource} utilisation in five seconds");
        finding.rows.push(Row::at_most(what, "points", None, BETWEEN_POLICIES, largest));
        let lines = all.iter().map(|(label, busy)| {
            let times = (1..=STEPS).map(|step| (step * 5) as f64).collect();
            (label.clone(), (times, busy[at].clone()))
        });
        let plot = over_time(lines, Axis::linear("busy, %"));
        let title = ["Figs. 10 and 11, CPU", "Figs. 12 and 13, link"][at];
        finding.charts.push(chart(title, "Utilisation in every five seconds.", plot));
    }
    finding.remarks.push(
        "Neither policy lets the CPU idle while packets wait before it, so it is busy at the same times under both, whatever \
         the estimates. When the link has work depends on whose packets the CPU lets through first; over the whole run it \
         makes no difference. The paper says of the figures that both schedulers are similar, whatever the estimator."
            .to_owned(),
    );
    Ok(finding)
}
