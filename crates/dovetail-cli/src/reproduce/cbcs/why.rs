//! Where the waiting happens, and who pays.
//!
//! Two things set CBCS apart from a WFQ before each resource: one stamp over both resources in place of the CPU's own, and
//! packets that cross the link first in, first out. A third policy has only the second: a WFQ for the CPU, and nothing
//! before the link (`wfq:resource=first`). What it does worse than separate WFQs is the queue before the link; what CBCS
//! does better than it is the stamp.

use super::{
    FLOW_1, POLICIES,
    cell::{Arriving, Cell, Costs, Output},
    grid::AS_IN_THE_PAPER,
    runs::{FlowDelays, Outcome, Setting, worst_of_all},
};
use crate::table::Table;

/// The paper's setting, and one of each way to differ from it.
const EXPLAINED: [Cell; 6] = [
    Cell::BASE,
    Cell { load: 99, ..Cell::BASE },
    Cell { costs: Costs::Spikes, ..Cell::BASE },
    Cell { arriving: Arriving::Poisson, ..Cell::BASE },
    Cell { arriving: Arriving::Bursts, ..Cell::BASE },
    Cell { output: Output::Unchanged, ..Cell::BASE },
];

/// What the third policy is called.
const CPU_ONLY: &str = "WFQ, then FIFO";

pub(super) fn settings() -> Vec<Setting> {
    let policies = || {
        let published = POLICIES.map(|(policy, _)| format!("{policy}:{AS_IN_THE_PAPER}"));
        published.into_iter().chain([format!("wfq:resource=first,{AS_IN_THE_PAPER}")]).collect()
    };
    EXPLAINED.map(|cell| Setting { cell, policies: policies() }).into()
}

pub(super) fn tables(outcomes: &[Outcome]) -> Vec<(String, Table)> {
    let first = outcomes
        .iter()
        .take(1)
        .map(|outcome| (format!("Means of each flow in ms, {}", outcome.setting.cell), flows(outcome)));
    let title =
        "Where MPEG flow 1 waits, in ms: all packets, and the one with the worst delay; who has the worst of all";
    std::iter::once((title.to_owned(), waits(outcomes))).chain(first).collect()
}

fn millis(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e3)
}

fn mean_of(outcome: &Outcome, policy: usize, flow: usize, of: impl Fn(&FlowDelays) -> f64) -> f64 {
    outcome.mean(policy, |run| run.get(flow).map_or(0.0, &of))
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
    ];
    let mut table = Table::new(&header, 2);
    for outcome in outcomes {
        let names = POLICIES.iter().map(|(_, name)| *name).chain([CPU_ONLY]);
        for (policy, name) in names.enumerate() {
            let of = |of: fn(&FlowDelays) -> f64| millis(mean_of(outcome, policy, FLOW_1, of));
            let flows = outcome.seeds.first().map_or(0, |runs| runs[policy].len());
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
            ]);
        }
    }
    table
}

fn flows(outcome: &Outcome) -> Table {
    let mut table = Table::new(
        &["flow", "CPU wait: CBCS", "WFQ", "link wait: CBCS", "WFQ", "delay: CBCS", "WFQ", "worst: CBCS", "WFQ"],
        1,
    );
    let flows = outcome.seeds.first().map_or(0, |runs| runs[0].len());
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
