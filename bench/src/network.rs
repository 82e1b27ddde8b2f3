//! The network simulator: how many seconds of the published network are simulated per second of processor time.
//!
//! 4,000 transfers over TCP through a link of 3 Mbit/s (`scenarios/drr-sff.toml`, Sun et al., ICNS 2007), with meters and
//! without records. Policies take turns, round after round, each round with another seed.

use std::io;

use dovetail_sched::PolicySpec;
use dovetail_sim::{
    measure::{DEFAULT_WINDOW, Meters},
    network::{Network, NetworkOptions, simulate_network},
};

use crate::{clock::Stopwatch, goals, row::Row, row::Unit, spread::Spread};

const SCENARIO: &str = include_str!("../../scenarios/drr-sff.toml");
const POLICIES: [&str; 3] = ["fifo", "las", "drr-sff"];

/// One row per policy.
pub fn rows(rounds: u64, mut failed: impl FnMut(String)) -> Vec<Row> {
    let mut measured: Vec<(&str, Vec<f64>)> = POLICIES.iter().map(|policy| (*policy, Vec::new())).collect();
    let mut transfers = 0;
    for seed in 1..=rounds {
        for (policy, speeds) in &mut measured {
            match run(policy, seed) {
                Ok((speed, done)) => {
                    speeds.push(speed);
                    transfers = done;
                }
                Err(reason) => failed(format!("network, {policy}: {reason}")),
            }
        }
    }
    let row = |(policy, speeds): (&str, Vec<f64>)| {
        let goal = Some(goals::NETWORK);
        let spread = Spread::of(&speeds)?;
        let (benchmark, subject) = ("network, virtual over real time".into(), policy.into());
        Some(Row { benchmark, subject, flows: transfers, spread, unit: Unit::Times, goal })
    };
    measured.into_iter().filter_map(row).collect()
}

/// Virtual seconds per second, and the number of transfers.
fn run(policy: &str, seed: u64) -> Result<(f64, u32), String> {
    let mut none = |file: &str| Err(io::Error::new(io::ErrorKind::NotFound, file.to_owned()));
    let network = Network::parse(SCENARIO, "drr-sff", &mut none).map_err(|error| error.to_string())?;
    let network = Network { seed, ..network };
    let policy: PolicySpec = policy.parse().map_err(|error: dovetail_sched::PolicyError| error.to_string())?;
    let mut meters = Meters::new(1, DEFAULT_WINDOW);
    let start = Stopwatch::start();
    let outcome = simulate_network(&network, &policy, &mut meters, NetworkOptions::default());
    let outcome = outcome.map_err(|error| error.to_string())?;
    let summary = meters.finish();
    let seconds = start.elapsed().as_secs_f64();
    let done = outcome.transfers.iter().filter(|transfer| transfer.ended.is_some()).count();
    if done as u64 != network.transfers() || summary.sent != outcome.link.sent {
        return Err(format!("{done} of {} transfers were done", network.transfers()));
    }
    Ok((outcome.ended.as_secs_f64() / seconds, u32::try_from(done).unwrap_or(u32::MAX)))
}
