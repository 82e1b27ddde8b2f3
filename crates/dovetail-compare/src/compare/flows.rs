//! What every comparison reports about a policy's run: its flows, and the policy's own figures.

use dovetail_sched::PolicySpec;

use crate::{
    run::PolicyRun,
    table::{Table, count, figure},
};

/// Warnings about the policy, and its own figures.
pub(super) fn of_policy(run: &PolicyRun) -> Vec<String> {
    let caution = run.policy.parse::<PolicySpec>().ok().and_then(|spec| spec.caution());
    let figures = run.counters.iter().map(|(name, value)| format!("{name} {}", figure(*value))).collect::<Vec<_>>();
    let counters = (!figures.is_empty()).then(|| format!("{}: {}", run.policy, figures.join(", ")));
    caution.map(str::to_owned).into_iter().chain(counters).collect()
}

/// Number of flows listed.
pub(super) const FLOWS_SHOWN: usize = 30;

/// The flows with the most packets, and what they received.
pub(super) fn flows(run: &PolicyRun) -> Table {
    let header = ["flow", "sent", "dropped", "kB", "dominant service ms", "active time ms"];
    let mut table = Table::new(&header, 1);
    let mut flows: Vec<_> = run.summary.flows.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.sent + flow.dropped));
    for flow in flows.into_iter().take(FLOWS_SHOWN) {
        table.push([
            flow.label.clone(),
            count(flow.sent),
            count(flow.dropped),
            figure(flow.bytes as f64 / 1e3),
            figure(flow.dominant().as_f64() / 1e6),
            figure(flow.active.as_f64() / 1e6),
        ]);
    }
    table
}
