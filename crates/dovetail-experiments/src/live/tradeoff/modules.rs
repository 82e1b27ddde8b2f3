//! The paper's modules, and the middlebox that they run in.
//!
//! They ran on 20 % of a CPU of 2014, and their costs are not printed. Here their nominal costs are derived from the paper's
//! makespans (the scenario `tradeoff-table2`), since a present machine encrypts a packet in a few hundred nanoseconds.
//! Everything else is real: packets, queues, clock, and the loop that decides.

use dovetail_sched::Nanos;

use super::super::{
    setting::{Class, Setting, Work},
    traffic::{Flow, Flows, Pace},
};

/// Modules with their ports and costs.
pub(super) const MODULES: [(&str, u16, &str); 3] =
    [("checking", 5001, "6us"), ("monitoring", 5002, "14.14us"), ("ipsec", 5003, "97.6us")];
pub(super) const FLOWS_OF_EACH: usize = 20;
pub(super) const FRAME_BYTES: usize = 800;
/// Packets per second of each of the 60 flows.
pub(super) const RATE: u32 = 2000;
pub(super) const LINK: &str = "200Mbps";
pub(super) const LINK_BPS: f64 = 200e6;
/// Practically no limit: more packets than ever wait between CPU and link.
const PLACES: u32 = 65_536;

/// One percent of half a second, the period over which fig. 4 judges shares.
const MAX_LATENESS: Nanos = Nanos::from_millis(5);

/// The 60 flows, with this many packets each.
pub(super) fn flows(packets: u32) -> Flows {
    let flow = |port| Flow { port, frame_bytes: FRAME_BYTES, rate: RATE, packets, pace: Pace::Constant };
    Flows(MODULES.iter().flat_map(|&(_, port, _)| [flow(port); FLOWS_OF_EACH]).collect())
}

/// A middlebox with a class for each module.
pub(super) fn setting(policy: &str, packets_per_flow: u32) -> Setting {
    let class = |&(name, port, cost): &(_, _, _)| Class { name, port, work: Work::Counts(cost), weight: 1 };
    Setting {
        policy: policy.to_owned(),
        link: LINK,
        places: PLACES,
        packets_per_flow,
        classes: MODULES.iter().map(class).collect(),
        most_late: MAX_LATENESS,
        more: String::new(),
    }
}

/// The policy with this value of its knob.
pub(super) fn tradeoff(alpha: f64) -> String {
    format!("tradeoff:alpha={alpha}")
}
