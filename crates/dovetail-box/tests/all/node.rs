//! Compares a node in virtual time with the simulator's pipeline: every packet starts and ends at the same instants, under
//! every policy.

use std::collections::HashMap;

use dovetail_box::node::{Action, CREDIT, Link, Node, Outcome, Pace, Passage, Room};
use dovetail_sched::{
    Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight, registry::REGISTRY, units::Rate,
};
use dovetail_sim::{
    Observer, Options, PipelineMode, Profile, simulate,
    workload::{Arrival, Notice, Workload, WorkloadError},
};
use proptest::prelude::*;

/// Interarrival time, flow, bytes, CPU time.
type Job = (u64, u32, u32, u64);

struct Listed {
    resources: Vec<String>,
    arrivals: std::vec::IntoIter<Arrival>,
}

impl Workload for Listed {
    fn resources(&self) -> &[String] {
        &self.resources
    }
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        Ok(self.arrivals.next())
    }
    fn weight(&self, flow: FlowId) -> Weight {
        weight(flow)
    }
    fn label(&self, flow: FlowId) -> String {
        format!("flow {flow}")
    }
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

fn weight(flow: FlowId) -> Weight {
    Weight::new(f64::from(1 + flow.0 % 3)).unwrap()
}

/// When a packet started and ended on the CPU and on the link.
type Times = [Nanos; 4];

#[derive(Default)]
struct Seen(HashMap<u64, Times>);

impl Observer for Seen {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}
    fn arrived(&mut self, _: &Packet) {}
    fn dropped(&mut self, _: &Packet, _: Nanos) {}
    fn sent(&mut self, packet: &Packet, passage: &dovetail_sim::Passage) {
        let (start, end) = (passage.start(), passage.end());
        self.0.insert(packet.handle, [start[0], end[0], start[1], end[1]]);
    }
}

const LIMITS: Limits = Limits::per_flow(6);

fn build(policy: &str) -> Box<dyn dovetail_sched::Scheduler> {
    policy.parse::<PolicySpec>().unwrap().build(&Setup::new(2, LIMITS)).unwrap()
}

fn arrivals(jobs: &[Job], link: Link) -> Vec<Arrival> {
    let mut at = 0;
    let arrival = |&(gap, flow, bytes, cpu): &Job| {
        at += gap;
        let demand = Demand::new(&[Nanos(cpu), link.time(bytes)]).unwrap();
        Arrival::new(Nanos(at), FlowId(flow), bytes, demand)
    };
    jobs.iter().map(arrival).collect()
}

fn simulated(policy: &str, arrivals: Vec<Arrival>, places: u32) -> HashMap<u64, Times> {
    let resources = ["cpu", "link"].map(str::to_owned).to_vec();
    let mut workload = Listed { resources, arrivals: arrivals.into_iter() };
    let mut seen = Seen::default();
    let mode = PipelineMode::Buffer(places);
    simulate(&mut workload, &mut *build(policy), mode, &mut seen, Options::default()).unwrap();
    seen.0
}

/// A caller in virtual time that is `late` after an event is due.
struct Caller<'a> {
    node: Node,
    arrivals: &'a [Arrival],
    sent: Vec<Passage>,
}

impl Caller<'_> {
    fn settle(&mut self, now: Nanos) {
        while let Some(action) = self.node.poll(now) {
            match action {
                Action::Work(work) => {
                    let arrival = &self.arrivals[work.handle as usize];
                    self.node.worked(arrival.demand.times()[0], Outcome::Forward { bytes: arrival.bytes });
                }
                Action::Send(passage) => self.sent.push(passage),
            }
        }
    }
}

/// The same through a node. `late`: how long after the due time the caller calls.
fn through_node(policy: &str, arrivals: &[Arrival], link: Link, room: Room, late: Nanos) -> (Vec<Passage>, Node) {
    let mut caller = Caller { node: Node::new(build(policy), link, room), arrivals, sent: Vec::new() };
    for (handle, arrival) in arrivals.iter().enumerate() {
        while let Some(due) = caller.node.poll_at().filter(|&due| due + late < arrival.at) {
            caller.settle(due + late);
        }
        // At the same instant a choice follows arrivals.
        caller.settle(Nanos(arrival.at.0.saturating_sub(1)));
        caller.node.scheduler().set_weight(arrival.flow, weight(arrival.flow));
        let learns = caller.node.scheduler().learning().is_some();
        let cpu = if learns { Nanos::ZERO } else { arrival.demand.times()[0] };
        let demand = Demand::new(&[cpu, arrival.demand.times()[1]]).unwrap();
        let packet =
            Packet { flow: arrival.flow, bytes: arrival.bytes, arrival: arrival.at, handle: handle as u64, demand };
        let _ = caller.node.enqueue(&packet, (arrival.flow.0 % 3) as u16, arrival.at);
        while caller.node.poll_evicted().is_some() {}
    }
    while let Some(due) = caller.node.poll_at() {
        caller.settle(due + late);
    }
    (caller.sent, caller.node)
}

fn times(sent: &[Passage]) -> HashMap<u64, Times> {
    let times = |sent: &Passage| (sent.handle, [sent.cpu_start, sent.cpu_end, sent.link_start, sent.link_end]);
    sent.iter().map(times).collect()
}

fn link() -> Link {
    Link { rate: Rate::from_bps(98_765_432.1).unwrap(), overhead_bytes: 24, pace: Pace::Own }
}

/// Events hardly ever coincide; their order is then not defined.
fn jobs() -> impl Strategy<Value = Vec<Job>> {
    prop::collection::vec((0u64..400_000, 0u32..5, 40u32..1500, 1u64..300_000), 1..60)
}

/// Policies that order packets before the CPU only, as a node needs them.
fn policies() -> impl Iterator<Item = String> {
    let one_stage = |name: &&str| build(name).later_stages().is_none();
    let names = REGISTRY.iter().map(|entry| entry.name).filter(one_stage).map(str::to_owned);
    names.chain(["drfq:estimator=ses", "mr3:estimator=llsr,window=8"].map(str::to_owned))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_packet_passes_as_in_the_simulator(jobs in jobs(), places in 0u32..5) {
        for policy in policies() {
            let arrivals = arrivals(&jobs, link());
            let (sent, node) = through_node(&policy, &arrivals, link(), Room::Packets(places), Nanos::ZERO);
            prop_assert!(node.is_empty());
            let expected = simulated(&policy, arrivals, places);
            prop_assert!(times(&sent) == expected, "{policy} with {places} places");
        }
    }

    /// A caller that oversleeps by less than the credit loses nothing: the servers' instants are the same, except for
    /// arrivals that the scheduler learnt of before a choice that was due earlier.
    #[test]
    fn coming_late_costs_nothing(jobs in jobs(), late in 0u64..CREDIT.0 / 4) {
        let jobs: Vec<Job> = jobs.into_iter().map(|(_, flow, bytes, cpu)| (0, flow, bytes, cpu)).collect();
        for policy in policies() {
            let arrivals = arrivals(&jobs, link());
            let on_time = through_node(&policy, &arrivals, link(), Room::Packets(2), Nanos::ZERO);
            let behind = through_node(&policy, &arrivals, link(), Room::Packets(2), Nanos(late));
            prop_assert_eq!(times(&on_time.0), times(&behind.0), "{} {}", policy, late);
            prop_assert_eq!(behind.1.figures().late, Nanos::ZERO);
        }
    }
}

/// For a packet that passes at once, the caller may do in advance everything that the node is going to request.
#[test]
fn what_passes_at_once_is_worked_on_as_it_arrives_and_then_sent() {
    const PACKETS: u64 = 40;
    for entry in REGISTRY {
        let mut node = Node::new(build(entry.name), link(), Room::DEFAULT);
        let mut passed = 0;
        for handle in 0..PACKETS {
            let now = Nanos::from_micros(handle * 100);
            let bytes = [100, 2000][usize::from(handle % 4 == 0)];
            let forward = Outcome::Forward { bytes };
            while let Some(action) = node.poll(now) {
                if let Action::Work(_) = action {
                    node.worked(Nanos(1), forward);
                }
            }
            let passes = node.passes_at_once();
            let demand = Demand::new(&[Nanos(1), link().time(bytes)]).unwrap();
            let packet = Packet { flow: FlowId(handle as u32 % 3), bytes, arrival: now, handle, demand };
            assert!(node.enqueue(&packet, 0, now).is_queued());
            assert!(!node.passes_at_once(), "there is one");
            if passes {
                passed += 1;
                let Some(Action::Work(work)) = node.poll(now) else { panic!("{}: no work", entry.name) };
                assert_eq!((work.handle, work.start), (handle, now));
                let took = Nanos(handle % 2 * 5_000);
                node.worked(took, forward);
                let Some(Action::Send(passage)) = node.poll(now + took) else { panic!("{} is not sent", entry.name) };
                assert_eq!((passage.handle, passage.link_start), (handle, now + took));
            }
        }
        assert_eq!(passed > 10, entry.name != "tradeoff", "{}: {passed} passed", entry.name);
        assert!(passed < PACKETS, "{}: some find the link taken", entry.name);
    }
}

/// Packets of the old policy leave first, and while it has some of a flow, that flow is not forgotten.
#[test]
fn a_policy_is_replaced_without_loss_or_reordering() {
    let mut node = Node::new(build("fifo"), link(), Room::DEFAULT);
    let demand = Demand::new(&[Nanos(1), link().time(100)]).unwrap();
    let enqueue = |node: &mut Node, handle| {
        let packet = Packet { flow: FlowId(0), bytes: 100, arrival: Nanos::ZERO, handle, demand };
        assert!(node.enqueue(&packet, 0, Nanos::ZERO).is_queued());
    };
    let mut left = Vec::new();
    for (number, policy) in ["drr", "drfq", "mr3"].into_iter().enumerate() {
        let first = 2 * number as u64;
        enqueue(&mut node, first);
        node.replace(build(policy));
        assert!(!node.forget(FlowId(0)), "{policy}: the policy before it has a packet");
        enqueue(&mut node, first + 1);
        assert_eq!(node.backlog().packets, 2);
        while let Some(due) = node.poll_at() {
            match node.poll(due) {
                Some(Action::Work(_)) => node.worked(Nanos(1), Outcome::Forward { bytes: 100 }),
                Some(Action::Send(passage)) => left.push(passage.handle),
                None => {}
            }
        }
        assert!(node.is_empty() && node.forget(FlowId(0)));
    }
    assert_eq!(left, [0, 1, 2, 3, 4, 5]);
}
