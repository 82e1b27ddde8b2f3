//! Runs the packets of a trial again, in the simulator.

use dovetail_sched::{
    Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight,
    cost::{ProgramId, ProgramTable},
};
use dovetail_sim::{
    Observer, Options, Passage, PipelineMode, Profile, simulate,
    workload::{Arrival, Notice, Workload, WorkloadError},
};

use super::{setting::Setting, tape::Taped};
use crate::error::Error;

/// When a packet arrived, and started and ended on CPU and link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub flow: u32,
    /// `None` for packets that are not part of the trial's traffic, such as address resolution.
    pub class: Option<u16>,
    pub arrival: Nanos,
    pub cpu: [Nanos; 2],
    pub link: [Nanos; 2],
}

/// The passages of packets that left a middlebox.
pub(super) fn live(packets: &[Taped]) -> Vec<Way> {
    let way = |packet: &Taped| {
        let passage = packet.passage?;
        let (cpu, link) = ([passage.cpu_start, passage.cpu_end], [passage.link_start, passage.link_end]);
        Some(Way { flow: packet.flow, class: packet.class, arrival: packet.arrival, cpu, link })
    };
    packets.iter().filter_map(way).collect()
}

/// An arriving packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arriving {
    pub at: Nanos,
    pub flow: u32,
    pub class: Option<u16>,
    pub bytes: u32,
    /// Times on CPU and link.
    pub times: [Nanos; 2],
}

/// The packets of a trial. The cost of a dropped packet is known only if its class has a fixed cost; otherwise the packet is
/// omitted.
pub(super) fn as_they_arrived(packets: &[Taped], setting: &Setting) -> Result<Vec<Arriving>, Error> {
    let mut arriving = Vec::with_capacity(packets.len());
    for packet in packets {
        let Taped { flow, class, bytes, arrival: at, link, passage } = *packet;
        let cpu = match passage {
            Some(passage) => Some(passage.cpu_end - passage.cpu_start),
            None => setting.counts(class, bytes)?,
        };
        arriving.extend(cpu.map(|cpu| Arriving { at, flow, class, bytes, times: [cpu, link] }));
    }
    Ok(arriving)
}

/// The passages of packets through the simulator's pipeline with a policy and the classes of a setting.
pub(super) fn simulated(packets: &[Arriving], policy: &PolicySpec, setting: &Setting) -> Result<Vec<Way>, Error> {
    let (mut classes, mut arrivals) = (Vec::new(), Vec::with_capacity(packets.len()));
    for packet in packets {
        let demand = Demand::new(&packet.times).map_err(Error::broken)?;
        let program = packet.class.map_or(ProgramId::UNKNOWN, |class| ProgramId(class.into()));
        arrivals.push(Arrival { program, ..Arrival::new(packet.at, FlowId(packet.flow), packet.bytes, demand) });
        let at = packet.flow as usize;
        if classes.len() <= at {
            classes.resize(at + 1, None);
        }
        classes[at] = packet.class;
    }
    let resources = ["cpu", "link"].map(str::to_owned).to_vec();
    let mut workload = Again { resources, arrivals: arrivals.into_iter(), classes: &classes, setting };
    let limits = Limits { flow_packets: Some(setting.packets_per_flow), ..Limits::UNLIMITED };
    let setup = Setup { programs: setting.programs(), ..Setup::new(2, limits) };
    let mut scheduler = policy.build(&setup)?;
    let mut ways = Ways { classes: &classes, ways: Vec::with_capacity(packets.len()) };
    let mode = PipelineMode::Buffer(setting.places);
    simulate(&mut workload, &mut *scheduler, mode, &mut ways, Options::default()).map_err(Error::broken)?;
    Ok(ways.ways)
}

struct Again<'p> {
    resources: Vec<String>,
    arrivals: std::vec::IntoIter<Arrival>,
    /// Class of each flow.
    classes: &'p [Option<u16>],
    setting: &'p Setting,
}

impl Workload for Again<'_> {
    fn resources(&self) -> &[String] {
        &self.resources
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        Ok(self.arrivals.next())
    }

    fn weight(&self, flow: FlowId) -> Weight {
        self.setting.weight(self.classes[flow.index()])
    }

    fn programs(&self) -> ProgramTable {
        self.setting.programs()
    }

    fn label(&self, flow: FlowId) -> String {
        format!("flow {flow}")
    }

    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

struct Ways<'p> {
    classes: &'p [Option<u16>],
    ways: Vec<Way>,
}

impl Observer for Ways<'_> {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}

    fn arrived(&mut self, _: &Packet) {}

    fn dropped(&mut self, _: &Packet, _: Nanos) {}

    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let (start, end) = (passage.start(), passage.end());
        let (cpu, link) = ([start[0], end[0]], [start[1], end[1]]);
        let class = self.classes[packet.flow.index()];
        self.ways.push(Way { flow: packet.flow.0, class, arrival: packet.arrival, cpu, link });
    }
}
