//! Table 4: each flow's share of the CPU time and of the link time that was used.

use dovetail_sched::Nanos;

use super::{
    paper::{PAPER_BUSY, POLICIES, SAMPLED_AT, paper_flows, unsettled},
    trips::play,
};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
};
use dovetail_compare::{input::builtin_scenario, table::Table};

/// Shares of used time, in percent, by [`POLICIES`].
const PAPER_CPU: [[f64; 10]; 2] = [
    [12.5578, 14.4871, 12.5578, 11.7728, 12.5578, 8.8342, 7.3671, 5.1494, 7.3603, 7.3557],
    [12.5123, 14.6934, 12.4665, 11.7181, 12.4665, 8.8161, 7.5802, 5.1450, 7.3055, 7.2964],
];
const PAPER_LINK: [[f64; 10]; 2] = [
    [0.7004, 8.0814, 0.7004, 8.2223, 0.7004, 12.3462, 13.7166, 14.3954, 20.5685, 20.5685],
    [0.6947, 8.2037, 0.6927, 8.1781, 0.6927, 12.3055, 14.1072, 14.3628, 20.3941, 20.3686],
];
/// Tolerance for shares and utilisations. An MPEG flow sends some 240 packets of four sizes until then: its share varies by
/// 0.4 points between seeds.
const POINTS: f64 = 1.0;

pub(super) fn table4(given: &Given<'_>) -> Result<Finding, Error> {
    let packets = paper_flows(builtin_scenario(super::paper::SCENARIO)?.seed)?;
    let mut finding = Finding::default();
    let mut table = Table::new(&["flow", "CPU, CBCS", "CPU, WFQ", "link, CBCS", "link, WFQ"], 1);
    let mut columns = Vec::new();
    for (resource, papers) in [PAPER_CPU, PAPER_LINK].iter().enumerate() {
        for ((policy, name), paper) in POLICIES.into_iter().zip(papers) {
            let trips = play(&packets, &unsettled(policy, "ses"), given)?;
            given.bar.inc(packets.arrivals.len() as u64);
            let busy = |flow| trips.busy_s(flow, resource, Nanos::ZERO, SAMPLED_AT);
            let of = ["CPU", "link"][resource];
            let used = busy(None) / SAMPLED_AT.as_secs_f64() * 100.0;
            let printed = PAPER_BUSY[usize::from(name != "CBCS")][resource];
            finding.rows.push(Row::new(format!("{of} utilisation, {name}"), "%", Some(printed), printed, used, POINTS));
            let shares: Vec<f64> = (0..packets.flows.len()).map(|flow| busy(Some(flow)) / busy(None) * 100.0).collect();
            for (flow, (&paper, &share)) in paper.iter().zip(&shares).enumerate() {
                let what = format!("share of the {of}, flow {}, {name}", flow + 1);
                finding.rows.push(Row::new(what, "%", Some(paper), paper, share, POINTS));
            }
            columns.push(shares);
        }
    }
    for (flow, known) in packets.flows.iter().enumerate() {
        table.push(
            std::iter::once(known.name.clone()).chain(columns.iter().map(|shares| format!("{:.2}", shares[flow]))),
        );
    }
    finding.tables.push(("Shares of the time used until 45 s, %".to_owned(), table));
    finding.remarks.push(
        "Within 1 point, decided before the run. The scenario's rates are the paper's CPU shares over Table 3's costs, so \
         the CPU has to agree. The link does not: what MPEG flows send is 0.7 % of the link in Table 4, but Table 3's \
         packets of 1,536 to 24,576 bytes come out of the encoder 0.11 to 0.36 times as long and need 2.4 %; the others \
         have that much less. Nearly all that arrived is through at 45 s under either policy, so shares follow from what \
         was sent, and say little of fairness."
            .to_owned(),
    );
    Ok(finding)
}
