//! Table 2: two flows, each of which has reserved most of the resource that it needs more. The guarantees by formula, and the
//! worst delays when both flows send exactly what they reserved, at every offset of their packets in whole milliseconds.

use dovetail_sched::{
    Demand, FlowId, Nanos, Weight,
    cost::{
        ProgramTable,
        admission::{Amounts, BestEffort, Node, Reservation, Resource, delay},
    },
};
use dovetail_sim::workload::Arrival;

use super::{
    packets::{Flow, Packets},
    paper::POLICIES,
    trips::{play, worst_s},
};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
};
use dovetail_compare::side_by_side::side_by_side;

/// Cycles per second, bytes per second.
const CAPACITY: [f64; 2] = [1000.0, 1000.0];
/// What each flow has reserved of them, and the costs of its packets.
const RATES: [[f64; 2]; 2] = [[750.0, 250.0], [250.0, 750.0]];
const COSTS: [[f64; 2]; 2] = [[30.0, 10.0], [10.0, 30.0]];

/// With a packet at this interval both flows use all they reserved: 30 cycles of 750 a second.
const GAP_MS: u64 = 40;
/// Packets of each flow.
const PACKETS: u64 = 1000;

/// The delay printed in the paper for either flow, by [`POLICIES`].
const PAPER_MS: [f64; 2] = [120.0, 140.0];

pub(super) fn table2(given: &Given<'_>) -> Result<Finding, Error> {
    let bounds = bounds_ms()?;
    let mut finding = Finding::default();
    for (policy, (bounds, paper)) in bounds.iter().zip(PAPER_MS).enumerate().rev() {
        for (flow, bound) in bounds.iter().enumerate() {
            let (name, equation) = (POLICIES[policy].1, [14, 13][policy]);
            let what = format!("guarantee of flow {}, {name} (eq. {equation})", flow + 1);
            finding.rows.push(Row::new(what, "ms", Some(paper), paper, *bound, 0.0));
        }
    }
    for (policy, bounds) in bounds.iter().enumerate().rev() {
        let (policy, name) = POLICIES[policy];
        let worst = worst_ms(&format!("{policy}:estimator=known"), given)?;
        for (flow, (bound, worst)) in bounds.iter().zip(worst).enumerate() {
            let what = format!("worst delay of flow {}, {name}", flow + 1);
            finding.rows.push(Row::at_most(what, "ms", None, *bound, worst));
        }
    }
    finding.remarks.push(format!(
        "Worst delays are of {PACKETS} packets of each flow, {GAP_MS} ms apart, with costs known (estimator=known) and \
         flow 2 ahead of flow 1 by 0 to {} ms, a run for each millisecond. That they stay below eq. 14 here does not make \
         it a bound: crates/dovetail-sched/tests/all/cbcs_delay.rs has flows that keep to what they reserved and exceed it.",
        GAP_MS - 1
    ));
    Ok(finding)
}

/// Eqs. 14 and 13 for both flows.
fn bounds_ms() -> Result<[[f64; 2]; 2], Error> {
    let resource = |capacity| Resource::new(capacity, 1.0).map_err(Error::broken);
    let resources = [resource(CAPACITY[0])?, resource(CAPACITY[1])?];
    let node = Node::new(&resources, BestEffort::default()).map_err(Error::broken)?;
    let mut flows = Vec::new();
    for (rates, costs) in RATES.iter().zip(&COSTS) {
        let amounts = |amounts: &[f64]| Amounts::new(amounts).map_err(Error::broken);
        flows.push(Reservation::new(amounts(rates)?, &[amounts(costs)?], None, 0).map_err(Error::broken)?);
    }
    let mut bounds = [[0.0; 2]; 2];
    for (at, flow) in flows.iter().enumerate() {
        let composite = delay::composite(&node, flow, &flows).map_err(Error::broken)?;
        let separate = delay::separate(&node, flow, &flows).map_err(Error::broken)?;
        bounds[0][at] = composite.as_micros_f64() / 1e3;
        bounds[1][at] = separate.as_micros_f64() / 1e3;
    }
    Ok(bounds)
}

/// Each flow's worst delay over all offsets.
fn worst_ms(policy: &str, given: &Given<'_>) -> Result<[f64; 2], Error> {
    let distances: Vec<u64> = (0..GAP_MS).collect();
    let worst = side_by_side(&distances, |&distance_ms| {
        let trips = play(&packets(distance_ms)?, policy, given)?;
        Ok::<_, Error>([0, 1].map(|flow| worst_s(trips.of(flow)) * 1e3))
    })?;
    Ok([0, 1].map(|flow| worst.iter().map(|of| of[flow]).fold(0.0, f64::max)))
}

/// Flow 2 sends this many milliseconds before flow 1.
fn packets(distance_ms: u64) -> Result<Packets, Error> {
    let mut arrivals = Vec::new();
    let mut flows = Vec::new();
    for (flow, (rates, costs)) in RATES.iter().zip(&COSTS).enumerate() {
        let [cpu, link] = [0, 1].map(|at| Nanos::from_f64(costs[at] / CAPACITY[at] * 1e9));
        let demand = Demand::new(&[cpu, link]).map_err(Error::broken)?;
        let ahead = if flow == 0 { distance_ms } else { 0 };
        arrivals.extend((0..PACKETS).map(|number| {
            let at = Nanos::from_millis(ahead + number * GAP_MS);
            Arrival::new(at, FlowId(flow as u32), costs[1] as u32, demand)
        }));
        let weights: Option<Vec<Weight>> = rates.iter().map(|&rate| Weight::new(rate)).collect();
        let weights = weights.ok_or_else(|| Error::broken("a rate is no weight"))?;
        flows.push(Flow { name: format!("flow {}", flow + 1), weights });
    }
    arrivals.sort_by_key(|arrival| arrival.at);
    let resources = ["cpu", "link"].map(str::to_owned).to_vec();
    Ok(Packets { resources, flows, programs: ProgramTable::EMPTY, arrivals })
}
