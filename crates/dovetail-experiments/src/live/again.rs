//! The packets of a trial once more, in the simulator.

use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
use dovetail_sim::{
    Observer, Options, Passage, PipelineMode, Profile, simulate,
    workload::{Arrival, Notice, Workload, WorkloadError},
};

use super::tape::Taped;
use crate::error::Error;

/// When a packet arrived, and started and ended on CPU and link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub flow: u32,
    pub arrival: Nanos,
    pub cpu: [Nanos; 2],
    pub link: [Nanos; 2],
}

/// The ways of packets that left a box.
pub(super) fn live(packets: &[Taped]) -> Vec<Way> {
    let way = |packet: &Taped| {
        let passage = packet.passage?;
        let (cpu, link) = ([passage.cpu_start, passage.cpu_end], [passage.link_start, passage.link_end]);
        Some(Way { flow: packet.flow, arrival: packet.arrival, cpu, link })
    };
    packets.iter().filter_map(way).collect()
}

/// A packet that arrives: when, of which flow, how many bytes, and its times on CPU and link.
pub(super) type Arriving = (Nanos, u32, u32, [Nanos; 2]);

/// The packets of a trial. What one that was dropped would have cost is not known; in trials none is.
pub(super) fn as_they_arrived(packets: &[Taped]) -> Vec<Arriving> {
    let arriving = |packet: &Taped| {
        let passage = packet.passage?;
        Some((packet.arrival, packet.flow, packet.bytes, [passage.cpu_end - passage.cpu_start, packet.link]))
    };
    packets.iter().filter_map(arriving).collect()
}

/// The ways of packets through the simulator's pipeline with `policy`.
pub(super) fn simulated(packets: &[Arriving], policy: &PolicySpec, mode: PipelineMode) -> Result<Vec<Way>, Error> {
    let mut arrivals = Vec::with_capacity(packets.len());
    for (at, flow, bytes, times) in packets {
        let demand = Demand::new(times).map_err(Error::broken)?;
        arrivals.push(Arrival::new(*at, FlowId(*flow), *bytes, demand));
    }
    let resources = ["cpu", "link"].map(str::to_owned).to_vec();
    let mut workload = Again { resources, arrivals: arrivals.into_iter() };
    let mut scheduler = policy.build(&Setup::new(2, Limits::UNLIMITED))?;
    let mut ways = Ways::default();
    simulate(&mut workload, &mut *scheduler, mode, &mut ways, Options::default()).map_err(Error::broken)?;
    Ok(ways.0)
}

struct Again {
    resources: Vec<String>,
    arrivals: std::vec::IntoIter<Arrival>,
}

impl Workload for Again {
    fn resources(&self) -> &[String] {
        &self.resources
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        Ok(self.arrivals.next())
    }

    fn label(&self, flow: FlowId) -> String {
        format!("flow {flow}")
    }

    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

#[derive(Default)]
struct Ways(Vec<Way>);

impl Observer for Ways {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}

    fn arrived(&mut self, _: &Packet) {}

    fn dropped(&mut self, _: &Packet, _: Nanos) {}

    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let (start, end) = (passage.start(), passage.end());
        let (cpu, link) = ([start[0], end[0]], [start[1], end[1]]);
        self.0.push(Way { flow: packet.flow.0, arrival: packet.arrival, cpu, link });
    }
}
