//! Fig. 9 of the ATFQ paper, live: 20 backlogged flows of four functions, with five packet sizes each, through a middlebox.
//!
//! The functions have the costs given in the paper's Table II; packets, queues, clock and order are real. There is no buffer
//! between CPU and link, so a packet waits on the CPU for the link: with two resources it then leaves at the same time as in
//! the paper's pipeline, where it does not start before it can pass. Flows send what they are due in a second at equal
//! dominant shares, but twice as fast, so that all of them are backlogged until that second is nearly over.

use dovetail_sched::{cost::Cost, units::Rate};

use super::{
    beside::{self, POINTS, compare_shares, line},
    setting::{Class, Setting, Work},
    traffic::{Flow, Flows, Pace},
};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
};

/// Functions with their ports and costs: Table II.
const FUNCTIONS: [(&str, u16, &str); 4] = [
    ("ipsec", 5001, "15ns*bytes + 84.5us"),
    ("monitoring", 5002, "0.8ns*bytes + 12.1us"),
    ("forwarding", 5003, "2.86ns*bytes + 6.2us"),
    ("redundancy", 5004, "6.987ns*bytes + 10.97us"),
];
const FRAME_BYTES: [usize; 5] = [200, 400, 600, 800, 1000];
const RATE: &str = "400Mbps";
const RATE_BPS: f64 = 400e6;
/// Utilisation of CPU and link, in percent.
type Busy = [f64; 2];
/// Policies with the paper's results, and those of an independent implementation.
const POLICIES: [(&str, Option<Busy>, Busy); 4] = [
    ("drfq", Some([86.42, 61.84]), [86.83, 62.12]),
    ("atfq:batch=1", None, [87.07, 62.30]),
    ("atfq:batch=5", Some([92.23, 66.0]), [93.07, 66.59]),
    ("atfq:batch=20", Some([96.06, 68.74]), [96.16, 68.80]),
];

pub(super) fn fig9(_: &Given<'_>) -> Result<Finding, Error> {
    let flows = flows()?;
    let mut finding = Finding::default();
    let mut table = beside::table();
    for (policy, paper, expected) in POLICIES {
        let [here, there] = beside::both(&setting(policy, &flows), &flows)?;
        for (j, resource) in ["CPU", "link"].into_iter().enumerate() {
            let what = format!("{resource} utilisation while all flows wait, {policy}, live");
            let paper = paper.map(|paper| paper[j]);
            finding.rows.push(Row::new(what, "%", paper, expected[j], here.busy_backlogged[j], POINTS));
            let what = format!("{resource} utilisation while all flows wait, {policy}, live beside simulated");
            let (here, there) = (here.busy_backlogged[j], there.busy_backlogged[j]);
            finding.rows.push(Row::new(what, "%", None, there, here, POINTS));
        }
        compare_shares(&mut finding, policy, &here, &there);
        table.push(line(policy, &here, &there));
    }
    finding.tables.push((beside::HEADING.into(), table));
    Ok(finding)
}

fn setting(policy: &str, flows: &Flows) -> Setting {
    let class = |&(name, port, cost): &(_, _, _)| Class { name, port, work: Work::Counts(cost), weight: 1 };
    Setting {
        policy: policy.to_owned(),
        link: RATE,
        places: 0,
        packets_per_flow: flows.0.iter().map(|flow| flow.packets).max().unwrap_or(1),
        classes: FUNCTIONS.iter().map(class).collect(),
        most_late: Setting::MAX_LATENESS_OF_SECONDS,
        more: String::new(),
    }
}

/// What each flow is due in a second if all of them occupy the CPU or the link for the same time, sent in half a second.
fn flows() -> Result<Flows, Error> {
    let link = Rate::from_bps(RATE_BPS).map_err(Error::broken)?;
    let mut flows = Vec::new();
    for (_, port, cost) in FUNCTIONS {
        let cost: Cost = cost.parse().map_err(Error::broken)?;
        for frame_bytes in FRAME_BYTES {
            let dominant_ns = cost.of(frame_bytes as u32).as_f64().max(link.nanos_for(frame_bytes as f64));
            let share = 1.0 / (FUNCTIONS.len() * FRAME_BYTES.len()) as f64;
            let packets = (share * 1e9 / dominant_ns) as u32;
            flows.push(Flow { port, frame_bytes, rate: 2 * packets, packets, pace: Pace::Constant });
        }
    }
    Ok(Flows(flows))
}
