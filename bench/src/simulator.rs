//! The whole simulator: workload, scheduler, pipeline and meters, without records; and peers beside it.
//!
//! Peers know one link only, so for the comparison ours runs over one link too. Everybody takes turns, round after
//! round.

use std::{path::Path, time::Instant};

use dovetail_sched::{Limits, PolicySpec, Setup};
use dovetail_sim::{
    Options, PipelineMode,
    measure::{DEFAULT_WINDOW, Meters},
    simulate,
};

use crate::{
    peers::python::{PEERS, Peer},
    traffic::{Poisson, Resources},
};

const PACKETS: u64 = 1_000_000;

/// A run of ours.
#[derive(Debug, Clone)]
pub struct Case {
    pub policy: PolicySpec,
    pub resources: Resources,
    pub mode: PipelineMode,
    pub flows: u32,
}

impl Case {
    /// What is run: `no-wait`, `unbounded`, or `link` for a single one.
    pub fn pipeline(&self) -> String {
        if self.resources == Resources::Link { "link".into() } else { self.mode.to_string() }
    }

    /// Packets per second of one run.
    fn run(&self, seed: u64) -> Result<f64, String> {
        let mut workload = Poisson::new(self.resources, self.flows, PACKETS, seed);
        let resources = if self.resources == Resources::Link { 1 } else { 2 };
        let setup = Setup::new(resources, Limits::UNLIMITED);
        let mut scheduler = self.policy.build(&setup).map_err(|error| error.to_string())?;
        let mut meters = Meters::new(resources, DEFAULT_WINDOW);
        let start = Instant::now();
        let outcome = simulate(&mut workload, &mut scheduler, self.mode, &mut meters, Options::default())
            .map_err(|error| error.to_string())?;
        let summary = meters.finish();
        let seconds = start.elapsed().as_secs_f64();
        if outcome.sent != PACKETS || summary.sent != PACKETS {
            return Err(format!("sent {} of {PACKETS} packets", outcome.sent));
        }
        Ok(PACKETS as f64 / seconds)
    }
}

/// Packets per second, in order of the rounds.
pub struct Measured<T> {
    pub what: T,
    pub packets_per_second: Vec<f64>,
}

/// What to run: the policies that are there, in both pipelines, and what the peers have over one link.
pub fn cases(mut missing: impl FnMut(String)) -> Vec<Case> {
    let mut cases = Vec::new();
    for name in ["fifo", "drr", "wfq", "drfq", "atfq:batch=20"] {
        let policy = match name.parse::<PolicySpec>() {
            Ok(policy) => policy,
            Err(error) => {
                missing(format!("simulator, {name}: {error}"));
                continue;
            }
        };
        for mode in [PipelineMode::Unbounded, PipelineMode::NoWait] {
            cases.push(Case { policy: policy.clone(), resources: Resources::CpuAndLink, mode, flows: 1000 });
        }
        let mut flows: Vec<u32> = PEERS.iter().filter(|peer| peer.ours == name).map(|peer| peer.flows).collect();
        flows.dedup();
        let mode = PipelineMode::Unbounded;
        let link = |flows| Case { policy: policy.clone(), resources: Resources::Link, mode, flows };
        cases.extend(flows.into_iter().map(link));
    }
    cases
}

/// Runs everything `rounds` times in turn. What fails is named, and left out from then on.
pub fn run(
    cases: Vec<Case>,
    python: Option<&Path>,
    rounds: u64,
    mut failed: impl FnMut(String),
) -> (Vec<Measured<Case>>, Vec<Measured<Peer>>) {
    let mut ours: Vec<_> = cases.into_iter().map(|what| Measured { what, packets_per_second: Vec::new() }).collect();
    let peers = if python.is_some() { &PEERS[..] } else { &[] };
    let mut theirs: Vec<_> = peers.iter().map(|&what| Measured { what, packets_per_second: Vec::new() }).collect();
    // Round 0 warms up, except peers, each run of which starts afresh.
    for round in 0..=rounds {
        ours.retain_mut(|measured| match measured.what.run(round) {
            Ok(rate) => {
                if round > 0 {
                    measured.packets_per_second.push(rate);
                }
                true
            }
            Err(reason) => {
                failed(format!("simulator, {}, {}: {reason}", measured.what.policy, measured.what.pipeline()));
                false
            }
        });
        let Some(python) = python.filter(|_| round > 0) else { continue };
        theirs.retain_mut(|measured| match measured.what.run(python, round) {
            Ok(rate) => {
                measured.packets_per_second.push(rate);
                true
            }
            Err(reason) => {
                failed(format!("{}, {} flows: {reason}", measured.what.label(), measured.what.flows));
                false
            }
        });
    }
    (ours, theirs)
}
