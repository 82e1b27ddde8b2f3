//! All packets of a run in memory, so that every policy gets the same.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos, Weight, cost::ProgramTable};
use dovetail_sim::workload::{Arrival, Notice, Workload, WorkloadError};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

use crate::error::Error;

/// A flow's name and its weight on each resource.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) weights: Vec<Weight>,
}

/// Packets in order of arrival, with what is known of them in advance.
#[derive(Debug, Clone)]
pub(super) struct Packets {
    pub(super) resources: Vec<String>,
    pub(super) flows: Vec<Flow>,
    pub(super) programs: ProgramTable,
    pub(super) arrivals: Vec<Arrival>,
}

impl Packets {
    /// Reads a whole workload. Its flows must have weights on each resource.
    pub(super) fn of(workload: &mut dyn Workload) -> Result<Self, Error> {
        let (resources, programs) = (workload.resources().to_vec(), workload.programs());
        let mut arrivals = Vec::new();
        while let Some(arrival) = workload.next().map_err(Error::broken)? {
            arrivals.push(arrival);
        }
        let flows = arrivals.iter().map(|arrival| arrival.flow.0 + 1).max().unwrap_or(0);
        let flow = |id| Flow {
            name: workload.label(FlowId(id)),
            weights: workload.resource_weights(FlowId(id)).unwrap_or_default().to_vec(),
        };
        Ok(Self { resources, flows: (0..flows).map(flow).collect(), programs, arrivals })
    }

    /// The same packets from the beginning, as a workload.
    pub(super) fn replay(&self) -> Replay<'_> {
        Replay { packets: self, next: 0 }
    }

    /// The same packets in bursts: each flow's packets are held until `least` to `most` of them (uniformly distributed) have
    /// accumulated, and then arrive at the same instant. A flow's first burst is cut at a random point, so that not all flows
    /// begin with a full one.
    pub(super) fn in_bursts(mut self, least: u64, most: u64, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut up_to = |bound: u64| random.next_u64() % bound;
        for flow in 0..self.flows.len() {
            let mut own: VecDeque<&mut Arrival> =
                self.arrivals.iter_mut().filter(|arrival| arrival.flow.index() == flow).collect();
            let mut first = true;
            while !own.is_empty() {
                let drawn = least + up_to(most - least + 1);
                let packets = if first { 1 + up_to(drawn) } else { drawn };
                first = false;
                let burst: Vec<_> = own.drain(..(packets as usize).min(own.len())).collect();
                let at = burst.last().map_or(Nanos::ZERO, |arrival| arrival.at);
                burst.into_iter().for_each(|arrival| arrival.at = at);
            }
        }
        self.arrivals.sort_by_key(|arrival| arrival.at);
        self
    }
}

/// [`Packets`] as a workload.
pub(super) struct Replay<'a> {
    packets: &'a Packets,
    next: usize,
}

impl Workload for Replay<'_> {
    fn resources(&self) -> &[String] {
        &self.packets.resources
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        let arrival = self.packets.arrivals.get(self.next).copied();
        self.next += 1;
        Ok(arrival)
    }

    fn resource_weights(&self, flow: FlowId) -> Option<&[Weight]> {
        Some(&self.packets.flows.get(flow.index())?.weights)
    }

    fn programs(&self) -> ProgramTable {
        self.packets.programs.clone()
    }

    fn label(&self, flow: FlowId) -> String {
        self.packets.flows.get(flow.index()).map_or_else(String::new, |flow| flow.name.clone())
    }

    fn packets_hint(&self) -> Option<u64> {
        Some(self.packets.arrivals.len() as u64)
    }

    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_sched::Demand;

    /// Two flows, with a packet of each every 10 and 7 ns.
    fn steady(packets: u64) -> Packets {
        let demand = Demand::new(&[Nanos(1), Nanos(1)]).unwrap();
        let of = |flow: u32, gap: u64| {
            (0..packets).map(move |number| Arrival::new(Nanos(number * gap), FlowId(flow), number as u32, demand))
        };
        let mut arrivals: Vec<_> = of(0, 10).chain(of(1, 7)).collect();
        arrivals.sort_by_key(|arrival| arrival.at);
        let flow = |name: &str| Flow { name: name.into(), weights: vec![Weight::ONE; 2] };
        let resources = ["cpu", "link"].map(str::to_owned).to_vec();
        Packets { resources, flows: vec![flow("a"), flow("b")], programs: ProgramTable::EMPTY, arrivals }
    }

    #[test]
    fn bursts_hold_every_packet_in_order_and_are_as_long_as_asked_for() {
        let steady = steady(2000);
        let bursts = steady.clone().in_bursts(4, 12, 5);
        assert!(bursts.arrivals.is_sorted_by_key(|arrival| arrival.at));
        for flow in 0..2 {
            let own = |packets: &Packets| -> Vec<Arrival> {
                packets.arrivals.iter().filter(|arrival| arrival.flow.0 == flow).copied().collect()
            };
            let (before, after) = (own(&steady), own(&bursts));
            assert_eq!(after.len(), 2000);
            for (number, (before, after)) in before.iter().zip(&after).enumerate() {
                assert_eq!(after.bytes, number as u32, "a flow's packets keep their order");
                assert!(after.at >= before.at, "a packet is never early");
            }
            let lengths: Vec<usize> = after.chunk_by(|a, b| a.at == b.at).map(<[Arrival]>::len).collect();
            let whole = &lengths[1..lengths.len() - 1];
            assert!(lengths.iter().all(|length| *length <= 12) && whole.iter().all(|length| *length >= 4));
            for length in 4..=12 {
                assert!(whole.contains(&length), "no burst of {length}");
            }
            let ends: Vec<Nanos> = after.chunk_by(|a, b| a.at == b.at).map(|burst| burst[0].at).collect();
            let mut last = 0;
            for (length, end) in lengths.iter().zip(ends) {
                last += length;
                assert_eq!(end, before[last - 1].at, "a burst comes with its last packet");
            }
        }
        assert_eq!(steady.clone().in_bursts(4, 12, 5).arrivals, bursts.arrivals);
        assert_ne!(steady.in_bursts(4, 12, 6).arrivals, bursts.arrivals);
    }
}
