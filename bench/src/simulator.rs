//! The whole simulator: workload, scheduler, pipeline and meters, without records; and peers beside it.
//!
//! Peers support one link only, so for the comparison ours runs over one link too. All take turns, round after round, each
//! peer right after the run of ours with which it is compared.

use std::path::Path;

use dovetail_bench_counts::{
    simulation::{Simulation, Source},
    traffic::Resources,
};
use dovetail_sched::{Limits, PolicySpec};
use dovetail_sim::PipelineMode;

use crate::{
    clock::Stopwatch,
    peers::python::{PEERS, Peer},
};

const PACKETS: u64 = 1_000_000;

/// A run of our simulator.
#[derive(Debug, Clone)]
pub struct Case {
    pub policy: PolicySpec,
    pub resources: Resources,
    pub mode: PipelineMode,
    pub flows: u32,
}

impl Case {
    /// The name of the pipeline: `no-wait`, `unbounded`, or `link` for a single link.
    pub fn pipeline(&self) -> String {
        if self.resources == Resources::Link { "link".into() } else { self.mode.to_string() }
    }

    /// Whether the peer runs the same case.
    pub fn is_like(&self, peer: &Peer) -> bool {
        self.resources == Resources::Link && self.policy.as_str() == peer.ours && self.flows == peer.flows
    }

    /// Packets per second of one run.
    fn run(&self, seed: u64) -> Result<f64, String> {
        let Self { policy, resources, mode, flows } = self.clone();
        let run = Simulation { policy, source: Source::Poisson(resources), mode, flows, limits: Limits::UNLIMITED };
        let prepared = run.prepare(PACKETS, seed)?;
        let start = Stopwatch::start();
        let sent = prepared.run()?.sent;
        let seconds = start.elapsed().as_secs_f64();
        if sent != PACKETS {
            return Err(format!("sent {sent} of {PACKETS} packets"));
        }
        Ok(PACKETS as f64 / seconds)
    }
}

/// A simulator, ours or a peer's.
pub enum Subject {
    Ours(Case),
    Peer(Peer),
}

/// A simulator's packets per second, in order of the rounds.
pub struct Measured {
    pub subject: Subject,
    pub packets_per_second: Vec<f64>,
}

/// The cases: the available policies, in both pipelines, and those of the peers over one link.
fn cases(failed: &mut dyn FnMut(String)) -> Vec<Case> {
    let mut cases = Vec::new();
    for name in ["fifo", "drr", "wfq", "drfq", "atfq:batch=20", "tradeoff"] {
        let policy = match name.parse::<PolicySpec>() {
            Ok(policy) => policy,
            Err(error) => {
                failed(format!("simulator, {name}: {error}"));
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

/// Runs everything `rounds` times in turn. Failures are reported, and excluded from then on.
pub fn run(python: Option<&Path>, rounds: u64, mut failed: impl FnMut(String)) -> Vec<Measured> {
    let mut peers = if python.is_some() { PEERS.to_vec() } else { Vec::new() };
    let mut subjects = Vec::new();
    for case in cases(&mut failed) {
        let like: Vec<_> = peers.extract_if(.., |peer| case.is_like(peer)).map(Subject::Peer).collect();
        subjects.push(Subject::Ours(case));
        subjects.extend(like);
    }
    subjects.extend(peers.into_iter().map(Subject::Peer));
    let measured = |subject| Measured { subject, packets_per_second: Vec::new() };
    let mut all: Vec<Measured> = subjects.into_iter().map(measured).collect();
    // Round 0 warms up, except peers, each run of which starts afresh.
    for round in 0..=rounds {
        all.retain_mut(|measured| {
            let (name, outcome) = match (&measured.subject, python) {
                (Subject::Ours(case), _) => {
                    (format!("simulator, {}, {}", case.policy, case.pipeline()), case.run(round))
                }
                (Subject::Peer(peer), Some(python)) if round > 0 => (peer.label(), peer.run(python, round)),
                (Subject::Peer(_), _) => return true,
            };
            match outcome {
                Ok(rate) if round > 0 => measured.packets_per_second.push(rate),
                Ok(_) => {}
                Err(reason) => {
                    failed(format!("{name}: {reason}"));
                    return false;
                }
            }
            true
        });
    }
    all
}
