//! Results of the scenario in the simulator with as many packets as a trial sends: with its exact rates and known costs.

use dovetail_sched::{Nanos, PolicySpec, cost::Cost, units::Rate};

use super::{
    super::{
        again::{Arriving, Way, simulated},
        setting::Setting,
    },
    modules::{FLOWS_OF_EACH, FRAME_BYTES, LINK_BPS, MODULES, RATE},
};
use crate::error::Error;

/// The passages of all packets that leave, with `packets` from each of the 60 flows.
pub(super) fn planned(setting: &Setting, packets: u32) -> Result<Vec<Way>, Error> {
    let spacing = 1_000_000_000 / u64::from(RATE);
    let link = Rate::from_bps(LINK_BPS).map_err(Error::broken)?;
    let link = Nanos::from_f64(link.nanos_for(FRAME_BYTES as f64));
    let costs = MODULES.map(|(_, _, cost)| cost.parse::<Cost>().map(|cost| cost.of(FRAME_BYTES as u32)));
    let flows = (MODULES.len() * FLOWS_OF_EACH) as u64;
    let mut arriving = Vec::new();
    for number in 0..u64::from(packets) {
        for flow in 0..flows {
            let class = flow as usize / FLOWS_OF_EACH;
            let cpu = costs[class].clone().map_err(Error::broken)?;
            let at = Nanos(number * spacing + flow * spacing / flows);
            let (flow, class, bytes) = (flow as u32, Some(class as u16), FRAME_BYTES as u32);
            arriving.push(Arriving { at, flow, class, bytes, times: [cpu, link] });
        }
    }
    simulated(&arriving, &setting.policy.parse::<PolicySpec>()?, setting)
}
