//! Table 2: makespans of 60 flows of three modules, without drops.

use super::{
    super::beside::{self, Came, POINTS, compare, line},
    modules::{flows, setting, tradeoff},
    planned::planned,
};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
};

/// The paper's makespans by alpha, in percent of that of alpha = 1.
const MAKESPANS: [(f64, f64); 4] = [(1.0, 100.0), (0.95, 94.28), (0.9, 87.95), (0.85, 84.72)];
/// A tenth of the paper's ten seconds.
pub(super) const PACKETS_OF_EACH: u32 = 2000;

pub(in super::super) fn table2(_: &Given<'_>) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let mut table = beside::table();
    let mut fair = None;
    for (alpha, paper) in MAKESPANS {
        let policy = tradeoff(alpha);
        let [here, there] = both(&policy)?;
        let planned = Came::of(&planned(&setting(&policy, PACKETS_OF_EACH), PACKETS_OF_EACH)?).makespan_s;
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

/// Live and simulated.
fn both(policy: &str) -> Result<[Came; 2], Error> {
    beside::both(&setting(policy, PACKETS_OF_EACH), &flows(PACKETS_OF_EACH))
}
