//! Results of a trial next to those of the simulator with the packets that arrived.

use std::{collections::BTreeMap, sync::Arc};

use dovetail_box::config::Config;
use dovetail_compare::table::Table;
use dovetail_sched::Nanos;
use dovetail_stats::{Quantile, quantile};

use super::{
    again::{Way, as_they_arrived, live, simulated},
    setting::Setting,
    traffic::Flows,
    trial,
};
use crate::{error::Error, experiment::Finding, once::Once, row::Row};

/// Tolerances between live and simulated: points of utilisation, percent of a flow's share, percent of the latency.
pub(super) const POINTS: f64 = 2.0;
pub(super) const SHARE_PERCENT: f64 = 3.0;
pub(super) const LATENCY_PERCENT: f64 = 10.0;

/// Results of a run.
pub(super) struct Came {
    pub makespan_s: f64,
    /// Utilisation of CPU and link, in percent of the makespan.
    pub busy: [f64; 2],
    /// The same while all flows were backlogged.
    pub busy_backlogged: [f64; 2],
    median_s: f64,
    /// The dominant time of each flow in the first half of the makespan, in seconds.
    shares: BTreeMap<u32, f64>,
}

impl Came {
    pub(super) fn of(ways: &[Way]) -> Self {
        // Address resolution may precede the traffic by a long time.
        let traffic: Vec<_> = ways.iter().filter(|way| way.class.is_some()).collect();
        let begin = traffic.iter().map(|way| way.arrival).min().unwrap_or_default();
        let end = traffic.iter().map(|way| way.link[1]).max().unwrap_or_default();
        let makespan = end - begin;
        let mut latencies: Vec<f64> = traffic.iter().map(|way| (way.link[1] - way.arrival).as_secs_f64()).collect();
        latencies.sort_by(f64::total_cmp);
        let half = begin + Nanos(makespan.0 / 2);
        let mut shares = BTreeMap::new();
        for way in traffic.iter().filter(|way| way.link[1] <= half) {
            *shares.entry(way.flow).or_default() += of(way.cpu).max(of(way.link)).as_secs_f64();
        }
        Self {
            makespan_s: makespan.as_secs_f64(),
            busy: busy(ways, begin, end),
            busy_backlogged: busy_while_backlogged(ways),
            median_s: quantile(&latencies, Quantile::of(0.5)).unwrap_or_default(),
            shares,
        }
    }
}

fn of(times: [Nanos; 2]) -> Nanos {
    times[1] - times[0]
}

/// Utilisation of CPU and link between the two times, in percent.
fn busy(ways: &[Way], begin: Nanos, end: Nanos) -> [f64; 2] {
    [|way: &Way| way.cpu, |way: &Way| way.link].map(|times| {
        let within = |way: &Way| {
            let [from, to] = times(way);
            (to.min(end).0.saturating_sub(from.max(begin).0)) as f64
        };
        ways.iter().map(within).sum::<f64>() / (end - begin).as_f64() * 100.0
    })
}

/// From when every flow of the trial has begun until the first one's last packet.
fn busy_while_backlogged(ways: &[Way]) -> [f64; 2] {
    let mut flows = BTreeMap::new();
    for way in ways.iter().filter(|way| way.class.is_some()) {
        let (first, last) = flows.entry(way.flow).or_insert((way.arrival, way.link[1]));
        *first = way.arrival.min(*first);
        *last = way.link[1].max(*last);
    }
    let begin = flows.values().map(|(first, _)| *first).max().unwrap_or_default();
    let end = flows.values().map(|(_, last)| *last).min().unwrap_or_default();
    if end <= begin { [0.0; 2] } else { busy(ways, begin, end) }
}

/// Live and simulated, with the same policy and the same number of places between CPU and link.
pub(super) fn both(setting: &Setting, flows: &Flows) -> Result<[Came; 2], Error> {
    Ok(ways(setting, flows)?.each_ref().map(|ways| Came::of(ways)))
}

/// The passages of packets that left, live and simulated. Runs shared by several figures are made once.
pub(super) fn ways(setting: &Setting, flows: &Flows) -> Result<Arc<[Vec<Way>; 2]>, Error> {
    static RUNS: Once<(Setting, Flows), [Vec<Way>; 2]> = Once::new();
    let made = RUNS.make(&[(setting.clone(), flows.clone())], |(setting, flows)| {
        let trial = trial::run(setting, flows)?;
        let spec = Config::policy(&setting.policy).map_err(Error::broken)?;
        let again = simulated(&as_they_arrived(&trial.packets, setting)?, &spec, setting)?;
        Ok([live(&trial.packets), again])
    })?;
    made.into_iter().next().ok_or_else(|| Error::broken("a finished run is missing"))
}

/// Rows that check whether live and simulated agree.
pub(super) fn compare(finding: &mut Finding, policy: &str, here: &Came, there: &Came) {
    for (resource, (here, there)) in ["CPU", "link"].into_iter().zip(here.busy.into_iter().zip(there.busy)) {
        let what = format!("{resource} utilisation, {policy}, live beside simulated");
        finding.rows.push(Row::new(what, "%", None, there, here, POINTS));
    }
    compare_shares(finding, policy, here, there);
    let what = format!("median latency, {policy}, live over simulated");
    finding.rows.push(Row::new(what, "%", None, 100.0, here.median_s / there.median_s * 100.0, LATENCY_PERCENT));
}

/// A row that checks whether flows received the same in both.
pub(super) fn compare_shares(finding: &mut Finding, policy: &str, here: &Came, there: &Came) {
    let apart = |(flow, there): (&u32, &f64)| {
        let here = here.shares.get(flow).copied().unwrap_or_default();
        (here / there - 1.0).abs() * 100.0
    };
    let worst = there.shares.iter().map(apart).fold(0.0, f64::max);
    let what = format!("largest difference of a flow's share, {policy}, live from simulated");
    finding.rows.push(Row::at_most(what, "%", None, SHARE_PERCENT, worst));
}

/// An empty table.
pub(super) fn table() -> Table {
    Table::new(
        &[
            "policy",
            "makespan s",
            "simulated s",
            "CPU %",
            "simulated %",
            "link %",
            "simulated %",
            "median latency ms",
            "simulated ms",
        ],
        1,
    )
}

/// Its heading.
pub(super) const HEADING: &str = "The box on this machine, and the simulator with the packets that arrived there";

/// A row of it.
pub(super) fn line(policy: &str, here: &Came, there: &Came) -> Vec<String> {
    let pairs = [
        (here.makespan_s, there.makespan_s, 3),
        (here.busy[0], there.busy[0], 1),
        (here.busy[1], there.busy[1], 1),
        (here.median_s * 1e3, there.median_s * 1e3, 2),
    ];
    let figures =
        pairs.into_iter().flat_map(|(here, there, digits)| [format!("{here:.digits$}"), format!("{there:.digits$}")]);
    std::iter::once(policy.to_owned()).chain(figures).collect()
}
