//! How a packet's time is spent in the whole simulator: the same run with more and more of its parts.
//!
//! Generating arrivals alone; with a pipeline, queues and the policy; with meters. All take turns, round after round.

use dovetail_bench_counts::{
    simulation::{Simulation, Source},
    traffic::{Poisson, Resources},
};
use dovetail_sched::{Demand, FlowId, Limits, Nanos, PolicySpec};
use dovetail_sim::{
    PipelineMode,
    workload::{Arrival, Workload},
};

use crate::{clock::Stopwatch, row::Row, row::Unit, spread::Spread};

/// The names of the rows: arrivals alone, without meters, and everything.
pub const ARRIVALS: &str = "a packet, arrivals alone";
pub const WITHOUT_METERS: &str = "a packet, without meters";
pub const WHOLE: &str = "a packet, whole simulator";

/// The subject of the row of arrivals.
pub const DRAWN: &str = "Poisson";
/// The policies; the first stands for the pipeline and the queues.
pub const POLICIES: [&str; 5] = ["fifo", "drr", "wfq", "drfq", "tradeoff"];

const FLOWS: u32 = 1_000;
const PACKETS: u64 = 500_000;

/// Nanoseconds per packet.
pub fn rows(rounds: u64, mut failed: impl FnMut(String)) -> Vec<Row> {
    let mut measured: Vec<(&str, &str, Vec<f64>)> = vec![(ARRIVALS, DRAWN, Vec::new())];
    for policy in POLICIES {
        measured.extend([(WITHOUT_METERS, policy, Vec::new()), (WHOLE, policy, Vec::new())]);
    }
    // Round 0 warms up.
    for round in 0..=rounds {
        for (benchmark, subject, nanos) in &mut measured {
            match run(benchmark, subject, round) {
                Ok(each) if round > 0 => nanos.push(each),
                Ok(_) => {}
                Err(reason) => failed(format!("{benchmark}, {subject}: {reason}")),
            }
        }
    }
    let row = |(benchmark, subject, nanos): (&str, &str, Vec<f64>)| {
        let spread = Spread::of(&nanos)?;
        Some(Row {
            benchmark: benchmark.into(),
            subject: subject.into(),
            flows: FLOWS,
            spread,
            unit: Unit::Nanos,
            goal: None,
        })
    };
    measured.into_iter().filter_map(row).collect()
}

fn run(benchmark: &str, subject: &str, seed: u64) -> Result<f64, String> {
    let seconds = if benchmark == ARRIVALS { drawn(seed)? } else { simulated(benchmark == WHOLE, subject, seed)? };
    Ok(seconds * 1e9 / PACKETS as f64)
}

fn drawn(seed: u64) -> Result<f64, String> {
    let mut traffic = Poisson::new(Resources::CpuAndLink, FLOWS, PACKETS, seed);
    let mut arrival = Arrival::new(Nanos::ZERO, FlowId(0), 0, Demand::of_one(Nanos::ZERO));
    let start = Stopwatch::start();
    let mut packets = 0;
    while traffic.next_into(&mut arrival).map_err(|error| error.to_string())? {
        packets += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    if packets == PACKETS { Ok(seconds) } else { Err(format!("drew {packets} of {PACKETS} packets")) }
}

fn simulated(metered: bool, policy: &str, seed: u64) -> Result<f64, String> {
    let policy: PolicySpec = policy.parse().map_err(|error: dovetail_sched::PolicyError| error.to_string())?;
    let source = Source::Poisson(Resources::CpuAndLink);
    let mode = PipelineMode::Unbounded;
    let run = Simulation { policy, source, mode, flows: FLOWS, limits: Limits::UNLIMITED }.prepare(PACKETS, seed)?;
    let start = Stopwatch::start();
    if metered {
        run.run()?;
    } else {
        run.without_meters()?;
    }
    Ok(start.elapsed().as_secs_f64())
}
