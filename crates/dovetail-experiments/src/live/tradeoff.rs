//! Table 2 of the trade-off paper, live: 60 flows of three modules through a box, on one machine.
//!
//! The paper's modules ran on 20 % of a CPU of 2014, and what they cost is not printed. Their work counts here as the times
//! that follow from the paper's makespans (the scenario `tradeoff-table2`), since a machine of today encrypts a packet in a
//! few hundred nanoseconds. Everything else is real: packets, queues, clock, and the loop that decides.

use dovetail_sched::{Nanos, PolicySpec, cost::Cost, units::Rate};

use super::{
    again::{Arriving, simulated},
    beside::{self, Came, POINTS, compare, line},
    setting::{Class, Setting, Work},
    traffic::{Flow, Flows},
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

pub(super) fn table2(_: &Given<'_>) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let mut table = beside::table();
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
    finding.tables.push((beside::HEADING.into(), table));
    finding.remarks.push(
        "Expected makespans are those of the scenario in the simulator, with its exact rates and known costs, cut to a tenth: one \
         second of traffic, where the paper sends for ten. FIFO is quick as well, and is not fair: \
         no makespan without shares."
            .into(),
    );
    Ok(finding)
}

/// What the scenario comes to in the simulator with as many packets as the trial sends.
fn planned_makespan_s(policy: &str) -> Result<f64, Error> {
    let mut packets = Vec::new();
    let spacing = 1_000_000_000 / u64::from(RATE);
    let link = Rate::from_bps(200e6).map_err(Error::broken)?;
    let flows = (MODULES.len() * FLOWS_OF_EACH) as u64;
    for number in 0..u64::from(PACKETS_OF_EACH) {
        for flow in 0..flows {
            let class = flow as usize / FLOWS_OF_EACH;
            let (_, _, cost) = MODULES[class];
            let cost: Cost = cost.parse().map_err(Error::broken)?;
            let arrival = Nanos(number * spacing + flow * spacing / flows);
            let times = [cost.of(FRAME_BYTES as u32), Nanos::from_f64(link.nanos_for(FRAME_BYTES as f64))];
            let (flow, class, bytes) = (flow as u32, Some(class as u16), FRAME_BYTES as u32);
            packets.push(Arriving { at: arrival, flow, class, bytes, times });
        }
    }
    let spec: PolicySpec = policy.parse()?;
    Ok(Came::of(&simulated(&packets, &spec, &setting(policy))?).makespan_s)
}

/// Live and simulated.
fn both(policy: &str) -> Result<[Came; 2], Error> {
    let flow = |port| Flow { port, frame_bytes: FRAME_BYTES, rate: RATE, packets: PACKETS_OF_EACH };
    let flows = MODULES.iter().flat_map(|&(_, port, _)| [flow(port); FLOWS_OF_EACH]).collect();
    beside::both(&setting(policy), &Flows(flows))
}

fn setting(policy: &str) -> Setting {
    let class = |&(name, port, cost): &(_, _, _)| Class { name, port, work: Work::Counts(cost), weight: 1 };
    Setting {
        policy: policy.to_owned(),
        link: "200Mbps",
        places: PLACES,
        packets_per_flow: PACKETS_OF_EACH,
        classes: MODULES.iter().map(class).collect(),
        more: String::new(),
    }
}
