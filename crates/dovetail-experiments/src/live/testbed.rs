//! Table 2 of the trade-off paper, live: 60 flows of three modules through a box, on one machine.
//!
//! The paper's modules ran on 20 % of a CPU of 2014, and what they cost is not printed. Their work counts here as the times
//! that follow from the paper's makespans (the scenario `tradeoff-table2`), since a machine of today encrypts a packet in a
//! few hundred nanoseconds. Everything else is real: packets, queues, clock, and the loop that decides.

use std::collections::BTreeMap;

use dovetail_box::config::Config;
use dovetail_compare::table::Table;
use dovetail_sched::{Nanos, PolicySpec, cost::Cost, units::Rate};
use dovetail_sim::PipelineMode;
use dovetail_stats::{Quantile, quantile};

use super::{
    again::{Way, as_they_arrived, live, simulated},
    traffic::Flows,
    trial,
};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
};

/// The paper's makespans by alpha in per cent of that of alpha = 1.
const MAKESPANS: [(f64, f64); 4] = [(1.0, 100.0), (0.95, 94.28), (0.9, 87.95), (0.85, 84.72)];
/// Modules with their ports and costs.
const MODULES: [(&str, u16, &str); 3] =
    [("checking", 5001, "6us"), ("monitoring", 5002, "14.14us"), ("ipsec", 5003, "97.6us")];
const FLOWS_OF_EACH: usize = 20;
const FRAME_BYTES: usize = 800;
/// A tenth of the paper's ten seconds.
const PACKETS_OF_EACH: u32 = 2000;
const RATE: u32 = 2000;
/// As good as no limit: more than ever wait.
const PLACES: u32 = 65_536;

/// How close live and simulated have to be: points of utilisation, per cent of a flow's share, per cent of the latency.
const POINTS: f64 = 2.0;
const SHARE_PERCENT: f64 = 3.0;
const LATENCY_PERCENT: f64 = 10.0;

pub(super) fn table2(_: &Given<'_>) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let mut table = Table::new(
        &[
            "policy",
            "makespan s",
            "simulated s",
            "CPU %",
            "simulated %",
            "link %",
            "simulated %",
            "median latency s",
            "simulated s",
        ],
        1,
    );
    let mut fair = None;
    for (alpha, paper) in MAKESPANS {
        let policy = format!("tradeoff:alpha={alpha}");
        let [here, there] = both(&policy)?;
        let planned = planned_makespan_s(&policy)?;
        let (fair, fair_planned) = *fair.get_or_insert((here.makespan_s, planned));
        let what = format!("makespan over that of alpha=1, alpha={alpha}, live");
        let expected = planned / fair_planned * 100.0;
        finding.rows.push(Row::new(what, "%", Some(paper), expected, here.makespan_s / fair * 100.0, POINTS));
        compare(&mut finding, &policy, &here, &there);
        table.push(line(&policy, &here, &there));
    }
    for policy in ["drfq", "fifo"] {
        let [here, there] = both(policy)?;
        compare(&mut finding, policy, &here, &there);
        table.push(line(policy, &here, &there));
    }
    finding
        .tables
        .push(("The box on this machine, and the simulator with the packets that arrived there".into(), table));
    finding.remarks.push(
        "Expected makespans are those of the scenario in the simulator, with its exact rates and known costs, cut to a tenth: one \
         second of traffic, where the paper sends for ten. FIFO is quick as well, and is not fair: \
         no makespan without shares."
            .into(),
    );
    Ok(finding)
}

/// What a run came to.
struct Came {
    makespan_s: f64,
    /// Of CPU and link, in per cent of the makespan.
    busy: [f64; 2],
    median_s: f64,
    /// The dominant time that each flow had in the first half of the makespan, in seconds.
    shares: BTreeMap<u32, f64>,
}

/// What the scenario comes to in the simulator with as many packets as the trial sends.
fn planned_makespan_s(policy: &str) -> Result<f64, Error> {
    let mut packets = Vec::new();
    let spacing = 1_000_000_000 / u64::from(RATE);
    let link = Rate::from_bps(200e6).map_err(Error::broken)?;
    let flows = (MODULES.len() * FLOWS_OF_EACH) as u64;
    for number in 0..u64::from(PACKETS_OF_EACH) {
        for flow in 0..flows {
            let (_, _, cost) = MODULES[flow as usize / FLOWS_OF_EACH];
            let cost: Cost = cost.parse().map_err(Error::broken)?;
            let arrival = Nanos(number * spacing + flow * spacing / flows);
            let times = [cost.of(FRAME_BYTES as u32), Nanos::from_f64(link.nanos_for(FRAME_BYTES as f64))];
            packets.push((arrival, flow as u32, FRAME_BYTES as u32, times));
        }
    }
    let spec: PolicySpec = policy.parse()?;
    Ok(came(&simulated(&packets, &spec, PipelineMode::Buffer(PLACES))?).makespan_s)
}

/// Live and simulated.
fn both(policy: &str) -> Result<[Came; 2], Error> {
    let ports = MODULES.iter().flat_map(|&(_, port, _)| [port; FLOWS_OF_EACH]).collect();
    let flows = Flows { ports, frame_bytes: FRAME_BYTES, rate: RATE, packets: PACKETS_OF_EACH };
    let classes: String = MODULES
        .iter()
        .map(|(name, port, cost)| format!("[[class]]\nname = \"{name}\"\nports = [{port}]\ntime = \"{cost}\"\n"))
        .collect();
    let settings = format!(
        "policy = \"{policy}\"\n[link]\nrate = \"200Mbps\"\nbuffer_packets = {PLACES}\n\
         [queues]\npackets_per_flow = {PACKETS_OF_EACH}\npackets = 200000\n{classes}"
    );
    let trial = trial::run(&settings, &flows)?;
    let spec = Config::policy(policy).map_err(Error::broken)?;
    let again = simulated(&as_they_arrived(&trial.packets), &spec, PipelineMode::Buffer(PLACES))?;
    Ok([came(&live(&trial.packets)), came(&again)])
}

fn came(ways: &[Way]) -> Came {
    let begin = ways.iter().map(|way| way.arrival).min().unwrap_or_default();
    let end = ways.iter().map(|way| way.link[1]).max().unwrap_or_default();
    let makespan = end - begin;
    let of = |times: [Nanos; 2]| times[1] - times[0];
    let busy = [|way: &Way| way.cpu, |way: &Way| way.link].map(|times| {
        let sum = ways.iter().map(|way| of(times(way)).as_f64()).sum::<f64>();
        sum / makespan.as_f64() * 100.0
    });
    let mut latencies: Vec<f64> = ways.iter().map(|way| (way.link[1] - way.arrival).as_secs_f64()).collect();
    latencies.sort_by(f64::total_cmp);
    let half = begin + Nanos(makespan.0 / 2);
    let mut shares = BTreeMap::new();
    for way in ways.iter().filter(|way| way.link[1] <= half) {
        *shares.entry(way.flow).or_default() += of(way.cpu).max(of(way.link)).as_secs_f64();
    }
    let median_s = quantile(&latencies, Quantile::of(0.5)).unwrap_or_default();
    Came { makespan_s: makespan.as_secs_f64(), busy, median_s, shares }
}

fn compare(finding: &mut Finding, policy: &str, here: &Came, there: &Came) {
    for (resource, (here, there)) in ["CPU", "link"].into_iter().zip(here.busy.into_iter().zip(there.busy)) {
        let what = format!("{resource} utilisation, {policy}, live beside simulated");
        finding.rows.push(Row::new(what, "%", None, there, here, POINTS));
    }
    let apart = |(flow, there): (&u32, &f64)| {
        let here = here.shares.get(flow).copied().unwrap_or_default();
        (here / there - 1.0).abs() * 100.0
    };
    let worst = there.shares.iter().map(apart).fold(0.0, f64::max);
    let what = format!("largest difference of a flow's share, {policy}, live from simulated");
    finding.rows.push(Row::at_most(what, "%", None, SHARE_PERCENT, worst));
    let what = format!("median latency, {policy}, live over simulated");
    finding.rows.push(Row::new(what, "%", None, 100.0, here.median_s / there.median_s * 100.0, LATENCY_PERCENT));
}

fn line(policy: &str, here: &Came, there: &Came) -> Vec<String> {
    let pairs = [
        (here.makespan_s, there.makespan_s, 3),
        (here.busy[0], there.busy[0], 1),
        (here.busy[1], there.busy[1], 1),
        (here.median_s, there.median_s, 3),
    ];
    let figures =
        pairs.into_iter().flat_map(|(here, there, digits)| [format!("{here:.digits$}"), format!("{there:.digits$}")]);
    std::iter::once(policy.to_owned()).chain(figures).collect()
}
