//! The runs behind Figs. 7 to 9: ten draws of modules for each pattern, each under every policy.
//!
//! The paper's link has 200 Mbit/s, and its trace loads it five times as much as originally; the original load is not stated.
//! Here the traffic's time is compressed so that its original load would be 30 % of the link, and then five times that.

use std::sync::OnceLock;

use dovetail_sched::{Nanos, units::Rate};
use dovetail_sim::workload::{ClassSet, Scenario};

use super::{
    patterns::{Draw, PATTERNS, Pattern, draws},
    queues::QUEUE,
    replay::{Offered, Replay, Traffic},
    runs::{pipeline_for, tradeoff, watch},
    watch::{FlowWatch, Watch},
};
use crate::{error::Error, experiment::Given};
use dovetail_compare::{input::builtin_scenario, side_by_side::side_by_side};

/// The original load of the link, and its multiple.
const PLAIN_LOAD: f64 = 0.3;
const TIMES: f64 = 5.0;

const DRAWS: u64 = 10;

pub(super) const ALPHAS: [f64; 8] = [1.0, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5];
pub(super) const RIVALS: [&str; 2] = ["drfq", "mr3"];

/// All runs over one traffic.
pub(super) struct Replays {
    pub(super) traffic: String,
    pub(super) patterns: Vec<PatternRuns>,
}

/// The runs of one pattern.
pub(super) struct PatternRuns {
    pub(super) pattern: Pattern,
    pub(super) chance_of_ipsec: f64,
    pub(super) draws: Vec<Draw>,
    /// Mean offered load of CPU and link over their capacity.
    pub(super) loads: [f64; 2],
    /// A policy's runs, in the order of the draws.
    pub(super) policies: Vec<(String, Vec<Replayed>)>,
}

/// Results of a run.
pub(super) struct Replayed {
    pub(super) utilisation: [f64; 2],
    /// Only while packets still arrive.
    pub(super) utilisation_under_load: [f64; 2],
    pub(super) drop_rate: f64,
    pub(super) mean_latency_ms: f64,
    pub(super) latency_cdf: Vec<(Nanos, f64)>,
    /// By flow.
    pub(super) flows: Vec<FlowReplayed>,
}

/// Demand and results of one flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowReplayed {
    /// Packets and bytes offered.
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Mean latency, and the part spent between CPU and link, in milliseconds; NaN if nothing was sent.
    pub(super) latency_ms: f64,
    pub(super) link_wait_ms: f64,
}

impl Replayed {
    fn of(watch: &Watch) -> Self {
        let flow = |flow: &FlowWatch| FlowReplayed {
            packets: flow.arrived,
            bytes: flow.bytes_arrived,
            latency_ms: flow.latency.mean() / 1e6,
            link_wait_ms: flow.link_wait.mean() / 1e6,
        };
        Self {
            utilisation: [0, 1].map(|j| watch.mean_utilisation(j)),
            utilisation_under_load: [0, 1].map(|j| watch.utilisation_under_load(j)),
            drop_rate: watch.drop_rate(),
            mean_latency_ms: watch.latency.percentiles().map_or(f64::NAN, |latency| latency.mean_nanos / 1e6),
            latency_cdf: watch.latency.cdf(),
            flows: watch.flows.iter().map(flow).collect(),
        }
    }
}

impl PatternRuns {
    pub(super) fn at(&self, alpha: f64) -> &[Replayed] {
        self.under(&tradeoff(alpha))
    }

    pub(super) fn under(&self, policy: &str) -> &[Replayed] {
        self.policies.iter().find(|(known, _)| known == policy).map_or(&[], |(_, runs)| runs)
    }
}

/// The runs, made by the first figure that needs them.
pub(super) fn replays(given: &Given<'_>) -> Result<&'static Replays, Error> {
    static DONE: OnceLock<Replays> = OnceLock::new();
    match DONE.get() {
        Some(done) => Ok(done),
        None => {
            let made = make(given)?;
            Ok(DONE.get_or_init(|| made))
        }
    }
}

fn make(given: &Given<'_>) -> Result<Replays, Error> {
    let scenario = builtin_scenario("tradeoff-trace")?;
    let classes = scenario.classes.clone();
    let traffic = traffic(given, scenario);
    let offered = Offered::of(&traffic, &classes)?;
    let time_scale = time_scale(&offered, link(&classes)?)?;
    let arrivals_end = Nanos::from_f64(offered.took.as_f64() * time_scale);
    let mut patterns = Vec::new();
    for pattern in PATTERNS {
        let (draws, chance_of_ipsec) = draws(pattern, &classes, &offered, DRAWS)?;
        let took = arrivals_end.as_secs_f64();
        let loads = [0, 1].map(|j| draws.iter().map(|draw| draw.asked[j]).sum::<f64>() / took / draws.len() as f64);
        patterns.push(PatternRuns { pattern, chance_of_ipsec, draws, loads, policies: Vec::new() });
    }
    let policies: Vec<String> = ALPHAS.map(tradeoff).into_iter().chain(RIVALS.map(str::to_owned)).collect();
    for runs in &mut patterns {
        let jobs: Vec<(&String, &Draw)> =
            policies.iter().flat_map(|policy| runs.draws.iter().map(move |draw| (policy, draw))).collect();
        let mut made = side_by_side(&jobs, |(policy, draw)| {
            let mut workload = Replay::open(&traffic, draw.classes.clone(), draw.seed, time_scale)?;
            let watch = watch(&mut workload, policy, pipeline_for(policy), Some(QUEUE), arrivals_end, given)?;
            given.bar.inc(watch.arrived);
            Ok::<_, Error>(Replayed::of(&watch))
        })?
        .into_iter();
        for policy in &policies {
            runs.policies.push((policy.clone(), made.by_ref().take(runs.draws.len()).collect()));
        }
    }
    Ok(Replays { traffic: describe(&traffic, &offered, time_scale), patterns })
}

fn traffic(given: &Given<'_>, mut scenario: Scenario) -> Traffic {
    if given.traces.is_empty() {
        // The load is set here.
        scenario.load = None;
        Traffic::StandIn(Box::new(scenario))
    } else {
        Traffic::Captures(given.traces.to_vec())
    }
}

fn link(classes: &ClassSet) -> Result<Rate, Error> {
    let rate = classes.resources().get(1).and_then(|link| link.rate);
    rate.ok_or_else(|| Error::broken("the scenario's second resource has no rate"))
}

fn time_scale(offered: &Offered, link: Rate) -> Result<f64, Error> {
    let scale = link.nanos_for(offered.bytes as f64) / offered.took.as_f64() / (PLAIN_LOAD * TIMES);
    if scale.is_finite() && scale > 0.0 { Ok(scale) } else { Err(Error::NothingArrives) }
}

fn describe(traffic: &Traffic, offered: &Offered, time_scale: f64) -> String {
    let source = match traffic {
        Traffic::StandIn(_) => {
            "made-up traffic (scenarios/tradeoff-trace.toml), as no --trace was given: the paper's claims are about captured \
             traffic"
                .to_owned()
        }
        Traffic::Captures(paths) => {
            let names: Vec<_> = paths.iter().map(|trace| trace.path().display().to_string()).collect();
            let together = if names.len() > 1 { ", merged from their first packets on" } else { "" };
            format!("{}{together}", names.join(" and "))
        }
    };
    let (flows, packets) = (offered.flows.len(), offered.packets);
    let (took, bytes) = (offered.took.as_secs_f64(), offered.bytes as f64);
    format!(
        "Traffic: {source}; {packets} packets of {flows} flows in {took:.1} s, {:.2} Mbit/s. Times are multiplied by \
         {time_scale:.5}: {TIMES} times the pace at which it would ask for {:.0} % of the link of 200 Mbit/s, {:.2} s in all. \
         A flow's queue has room for {QUEUE} packets, and any number find room before the link (64 under DRFQ).",
        bytes * 8.0 / took / 1e6,
        PLAIN_LOAD * 100.0,
        took * time_scale
    )
}
