//! Equal Poisson flows.
//!
//! Every flow's packets arrive with independent exponential gaps; packet sizes are uniform over 100 to 1500 bytes, 800 on
//! average. They cross a link of 10 Gbit/s alone, or a CPU and then the link. The CPU takes `400 ns + 0.8 ns/B` for the
//! even flows and twice as much for the odd: the first resource is the busiest, so that packets queue in the scheduler and
//! not after it, the two kinds of flow have different demands, and a no-wait pipeline, which leaves the CPU idle for some 2
//! % of the time, still keeps up. The mean gap keeps the busiest resource busy for 0.95 of the time.

use dovetail_sched::{Demand, FlowId, Nanos};
use dovetail_sim::workload::{Arrival, Notice, Workload, WorkloadError};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng},
};

use crate::tournament::{FLOW_BITS, Tournament};

/// Minimum packet size in bytes; sizes are uniform.
pub const MIN_BYTES: u32 = 100;
/// Maximum packet size in bytes.
pub const MAX_BYTES: u32 = 1500;
/// Load of the busiest resource.
pub const LOAD: f64 = 0.95;

const MEAN_BYTES: u32 = (MIN_BYTES + MAX_BYTES) / 2;

/// Service times of a packet on CPU and link.
#[must_use]
pub fn cpu_and_link(flow: FlowId, bytes: u32) -> [Nanos; 2] {
    let link = u64::from(bytes) * 4 / 5;
    [Nanos((400 + link) << (flow.0 % 2)), Nanos(link)]
}

/// The resources that packets cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resources {
    /// A CPU, then a link.
    CpuAndLink,
    /// A link alone.
    Link,
}

/// Flows that send independently of each other at equal rates.
#[derive(Debug)]
pub struct Poisson {
    resources: Vec<String>,
    mean_gap_nanos: f64,
    random: Xoshiro256PlusPlus,
    next: Tournament,
    packets_left: u64,
}

impl Poisson {
    /// A number of packets of a number of flows.
    ///
    /// # Panics
    /// For no flows, or 2^24 and more.
    #[must_use]
    pub fn new(resources: Resources, flows: u32, packets: u64, seed: u64) -> Self {
        assert!((1..1 << FLOW_BITS).contains(&flows));
        let names: &[&str] = if resources == Resources::Link { &["link"] } else { &["cpu", "link"] };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let [even, odd] = [0, 1].map(|kind| cpu_and_link(FlowId(kind), MEAN_BYTES));
        let busiest = if resources == Resources::Link { even[1] } else { Nanos((even[0] + odd[0]).0 / 2) };
        let mean_gap_nanos = f64::from(flows) * busiest.as_f64() / LOAD;
        let next = Tournament::new((0..flows).map(|_| gap(&mut random, mean_gap_nanos)));
        Self {
            resources: names.iter().map(ToString::to_string).collect(),
            mean_gap_nanos,
            random,
            next,
            packets_left: packets,
        }
    }
}

#[inline]
fn gap(random: &mut Xoshiro256PlusPlus, mean_nanos: f64) -> u64 {
    let unit: f64 = Exp1.sample(random);
    Nanos::from_f64(unit * mean_nanos).0
}

impl Workload for Poisson {
    fn resources(&self) -> &[String] {
        &self.resources
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        let mut arrival = Arrival::new(Nanos::ZERO, FlowId(0), 0, Demand::of_one(Nanos::ZERO));
        Ok(self.next_into(&mut arrival)?.then_some(arrival))
    }

    #[inline]
    fn next_into(&mut self, arrival: &mut Arrival) -> Result<bool, WorkloadError> {
        if self.packets_left == 0 {
            return Ok(false);
        }
        self.packets_left -= 1;
        let (at, flow) = self.next.first();
        let next_at = at + gap(&mut self.random, self.mean_gap_nanos);
        self.next.replace_first(flow, next_at);
        let flow = FlowId(flow);
        let sizes = u64::from(MAX_BYTES - MIN_BYTES + 1);
        let bytes = MIN_BYTES + (((self.random.next_u64() >> 32) * sizes) >> 32) as u32;
        let [cpu, link] = cpu_and_link(flow, bytes);
        let demand = if self.resources.len() == 1 { Demand::of_one(link) } else { Demand::of_two(cpu, link) };
        *arrival = Arrival::new(Nanos(at), flow, bytes, demand);
        Ok(true)
    }

    fn is_open_loop(&self) -> bool {
        true
    }

    fn label(&self, flow: FlowId) -> String {
        flow.to_string()
    }

    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Order, rate, sizes and shares match the head of this file, within five standard deviations.
    #[test]
    fn packets_are_as_described() {
        const PACKETS: u64 = 2_000_000;
        const FLOWS: u32 = 50;
        for resources in [Resources::CpuAndLink, Resources::Link] {
            let mut traffic = Poisson::new(resources, FLOWS, PACKETS, 7);
            let (mut last, mut bytes, mut busy) = (Nanos::ZERO, 0.0, Nanos::ZERO);
            let mut of_flow = vec![0u64; FLOWS as usize];
            while let Some(arrival) = traffic.next().unwrap() {
                assert_eq!(arrival.demand.times().len(), traffic.resources().len());
                assert!(arrival.at >= last);
                last = arrival.at;
                bytes += f64::from(arrival.bytes);
                busy += arrival.demand.times()[0];
                of_flow[arrival.flow.index()] += 1;
            }
            // The standard deviations, relative to the mean, are about 0.51 of a size, 0.6 of a time, 1 of a gap.
            let noise = 5.0 / (PACKETS as f64).sqrt();
            assert!((bytes / PACKETS as f64 / f64::from(MEAN_BYTES) - 1.0).abs() < 0.51 * noise);
            assert!((busy.as_f64() / last.as_f64() / LOAD - 1.0).abs() < 1.2 * noise);
            let share = PACKETS as f64 / f64::from(FLOWS);
            assert_eq!(of_flow.iter().sum::<u64>(), PACKETS);
            assert!(of_flow.iter().all(|&count| (count as f64 - share).abs() < 5.0 * share.sqrt()));
        }
    }
}
