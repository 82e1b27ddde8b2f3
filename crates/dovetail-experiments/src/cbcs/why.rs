//! Where packets wait, and which flows pay for it.
//!
//! CBCS differs from a WFQ in front of each resource in two ways: one stamp over both resources instead of the CPU's own, and
//! packets that cross the link in FIFO order. A third policy has only the second difference: a WFQ for the CPU, and FIFO for
//! the link (`wfq:resource=first`). Where it is worse than separate WFQs, the cause is the link's queue; where CBCS is better
//! than it, the cause is the stamp.

use dovetail_sched::Nanos;

use super::{
    cell::{Arriving, Cell, Costs, Output},
    paper::{FLOW_1, POLICIES},
    runs::{FlowDelays, Outcome, Setting, worst_of_all},
    settings::AS_IN_THE_PAPER,
};
use crate::error::Error;
use dovetail_compare::table::Table;

/// The paper's setting, and one for each way to differ from it.
const EXPLAINED: [Cell; 6] = [
    Cell::BASE,
    Cell { load: 99, ..Cell::BASE },
    Cell { costs: Costs::Spikes, ..Cell::BASE },
    Cell { arriving: Arriving::Poisson, ..Cell::BASE },
    Cell { arriving: Arriving::Bursts, ..Cell::BASE },
    Cell { output: Output::Unchanged, ..Cell::BASE },
];

/// Name of the third policy.
const CPU_ONLY: &str = "WFQ, then FIFO";

pub(super) fn settings() -> Vec<Setting> {
    let policies = || {
        let published = POLICIES.map(|(policy, _)| format!("{policy}:{AS_IN_THE_PAPER}"));
        published.into_iter().chain([format!("wfq:resource=first,{AS_IN_THE_PAPER}")]).collect()
    };
    EXPLAINED.map(|cell| Setting { cell, policies: policies() }).into()
}

pub(super) fn tables(outcomes: &[Outcome]) -> Result<Vec<(String, Table)>, Error> {
    let title = "Where MPEG flow 1 waits, in ms: all packets, and the one with the worst delay; which flow has the worst of \
         all";
    let mut tables = vec![(title.to_owned(), waits(outcomes))];
    if let Some(base) = outcomes.iter().find(|outcome| outcome.setting.cell == Cell::BASE) {
        tables.push((format!("What flows reserved and what they use, {}", Cell::BASE), shares(base)?));
        tables.push((format!("Means of each flow in ms, {}", Cell::BASE), flows(base)));
    }
    Ok(tables)
}

fn millis(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e3)
}

fn mean_of(outcome: &Outcome, policy: usize, flow: usize, of: impl Fn(&FlowDelays) -> f64) -> f64 {
    outcome.mean(policy, |run| run.flows.get(flow).map_or(0.0, &of))
}

fn waits(outcomes: &[Outcome]) -> Table {
    let header = [
        "setting",
        "policy",
        "CPU wait",
        "link wait",
        "mean delay",
        "worst: CPU wait",
        "link wait",
        "delay",
        "any flow",
        "flow",
        "to link ±",
    ];
    let mut table = Table::new(&header, 2);
    for outcome in outcomes {
        let names = POLICIES.iter().map(|(_, name)| *name).chain([CPU_ONLY]);
        for (policy, name) in names.enumerate() {
            let of = |of: fn(&FlowDelays) -> f64| millis(mean_of(outcome, policy, FLOW_1, of));
            let flows = outcome.seeds.first().map_or(0, |runs| runs[policy].flows.len());
            let worst = |&flow: &usize| mean_of(outcome, policy, flow, |flow| flow.worst);
            let slowest = (0..flows).max_by(|a, b| worst(a).total_cmp(&worst(b))).unwrap_or(0);
            table.push([
                outcome.setting.cell.to_string(),
                name.to_owned(),
                of(|flow| flow.waits[0]),
                of(|flow| flow.waits[1]),
                of(|flow| flow.mean),
                of(|flow| flow.waits_of_worst[0]),
                of(|flow| flow.waits_of_worst[1]),
                of(|flow| flow.worst),
                millis(outcome.mean(policy, worst_of_all)),
                (slowest + 1).to_string(),
                millis(outcome.mean(policy, |run| run.unevenness)),
            ]);
        }
    }
    table
}

/// In addition to the reserved and demanded shares: by how much the flow's stamp advances per second, which is its demand for
/// each resource over its weight there.
fn shares(outcome: &Outcome) -> Result<Table, Error> {
    let packets = outcome.setting.cell.packets(0)?;
    let duration_s = outcome.setting.cell.scenario(0)?.duration.unwrap_or(Nanos::from_secs(1)).as_secs_f64();
    let weights: Vec<[f64; 2]> =
        packets.flows.iter().map(|flow| [0, 1].map(|at| flow.weights.get(at).map_or(1.0, |it| it.as_f64()))).collect();
    let sums = [0, 1].map(|at| weights.iter().map(|weights| weights[at]).sum::<f64>());
    let header = ["flow", "CPU: reserved, %", "asked, %", "link: reserved, %", "asked, %", "stamp, ms/s"];
    let mut table = Table::new(&header, 1);
    for (flow, weights) in weights.iter().enumerate() {
        let asked = [0, 1].map(|at| mean_of(outcome, 0, flow, |flow| flow.took[at]) / duration_s);
        let mut row = vec![(flow + 1).to_string()];
        for at in [0, 1] {
            row.extend([weights[at] / sums[at], asked[at]].map(|share| format!("{:.1}", share * 100.0)));
        }
        row.push(format!("{:.0}", (asked[0] / weights[0] + asked[1] / weights[1]) * 1e3));
        table.push(row);
    }
    Ok(table)
}

fn flows(outcome: &Outcome) -> Table {
    let mut table = Table::new(
        &["flow", "CPU wait: CBCS", "WFQ", "link wait: CBCS", "WFQ", "delay: CBCS", "WFQ", "worst: CBCS", "WFQ"],
        1,
    );
    let flows = outcome.seeds.first().map_or(0, |runs| runs[0].flows.len());
    for flow in 0..flows {
        let mut row = vec![(flow + 1).to_string()];
        let values: [fn(&FlowDelays) -> f64; 4] =
            [|flow| flow.waits[0], |flow| flow.waits[1], |flow| flow.mean, |flow| flow.worst];
        for of in values {
            row.extend([0, 1].map(|policy| millis(mean_of(outcome, policy, flow, of))));
        }
        table.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cbcs::trips::play, experiment::Given};
    use dovetail_compare::Silent;

    /// The third policy differs from the second only at the link.
    #[test]
    fn the_third_policy_orders_the_cpu_as_the_second_does() {
        let [setting, ..] = &settings()[..] else { panic!("six settings") };
        let packets = setting.cell.packets(1).unwrap();
        let given = Given { traces: &[], bar: &Silent };
        let [cbcs, split, cpu_only] = [0, 1, 2].map(|at| play(&packets, &setting.policies[at], &given).unwrap().0);
        let on_cpu = |trips: &[crate::cbcs::trips::Trip]| -> Vec<_> {
            trips.iter().map(|trip| (trip.flow, trip.start[0], trip.end[0])).collect()
        };
        assert_eq!(on_cpu(&split), on_cpu(&cpu_only));
        assert_ne!(on_cpu(&split), on_cpu(&cbcs));
        assert!(cpu_only.is_sorted_by_key(|trip| trip.start[1]) && !split.is_sorted_by_key(|trip| trip.start[1]));
    }
}
