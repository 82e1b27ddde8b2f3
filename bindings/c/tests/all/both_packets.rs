//! A packet scheduler and a flow table called through C and directly must give the same results.
//!
//! Tests and the fuzz target `border` generate the calls.

use std::ffi::CStr;

use dovetail::structs::{dvt_program, dvt_setup};
use dovetail_sched::{
    Backlog, Demand, Dispatch, Feedback, FlowId, Limits, MAX_RESOURCES, Nanos, Packet, Peekable, PolicySpec,
    Scheduler as _, Setup, Stage, Weight,
    cost::{Program, ProgramId, ProgramTable},
    flow::{FiveTuple, FlowTable},
    registry::REGISTRY,
};

use crate::through_c::{Flows, Scheduler, Sized0 as _, setup_to_c};

pub(crate) const FLOWS: u32 = 6;
pub(crate) const PROGRAMS: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) enum Call {
    /// Time that passes before the next call.
    Wait(u64),
    /// A packet of this connection, with this length and demand; the flow table determines the flow.
    Arrive(u8, u32, [u64; MAX_RESOURCES]),
    /// A packet with a demand over another number of resources.
    WrongDemand(u32),
    TooManyFlows,
    Dequeue,
    Peek,
    /// The packet with this number in the pipeline goes on, is dropped or is aborted; it took this long.
    GoOn(usize, u64),
    Die(usize),
    Weight(u32, f64),
    Weights(u32, [f64; MAX_RESOURCES]),
    Forget(u32),
    Discard(u32),
    Program(u32, u32),
    Retune(usize),
    Expire(u32),
    DequeueBefore(usize),
    Look,
}
/// Every policy, some of them with knobs and on learnt costs.
pub(crate) fn policies() -> Vec<String> {
    let names = REGISTRY.iter().map(|entry| entry.name);
    let learning = names.clone().map(|name| format!("{name}:estimator=ses"));
    let knobs = ["drfq:dovetail=10us", "atfq:domain=100us", "drr:quantum=300", "tradeoff:alpha=1", "las:timeout=1ms"];
    names.map(str::to_owned).chain(learning).chain(knobs.map(str::to_owned)).collect()
}
/// A packet in the pipeline: the next resource that it starts on, and whether it has started.
struct OnItsWay {
    out: Dispatch,
    resource: usize,
    has_started: bool,
}

/// The scheduler itself, and the one behind the C functions.
struct Pair {
    ours: Peekable<Box<dyn dovetail_sched::Scheduler>>,
    theirs: Scheduler,
    table: FlowTable<FiveTuple>,
    flows: Flows,
    resources: usize,
    orders_later: bool,
    learns: bool,
    now: Nanos,
    handle: u64,
    pipeline: Vec<OnItsWay>,
}

fn tuple(number: u8) -> FiveTuple {
    FiveTuple {
        protocol: 17,
        source: [number; 16],
        destination: [7; 16],
        source_port: 1000 + u16::from(number),
        destination_port: 53,
    }
}

impl Pair {
    fn new(policy: &str, resources: usize, limits: Limits, flags: u32) -> Self {
        let spec: PolicySpec = policy.parse().unwrap();
        let names = [c"one", c"two", c"three"];
        let program = |name: &CStr| Program::new(name.to_str().unwrap());
        let programs = ProgramTable::new(names.map(program).to_vec());
        let setup = Setup { programs, ..Setup::new(resources, limits) };
        let mut ours = Peekable::new(spec.build(&setup).unwrap());
        let programs = names.map(|name| dvt_program { name: name.as_ptr(), expansion: 1.0, ..dvt_program::sized() });
        let setup =
            dvt_setup { programs: programs.as_ptr(), program_count: PROGRAMS, ..setup_to_c(resources, limits, flags) };
        let theirs = Scheduler::new(policy, &setup);
        let key = *b"0123456789abcdef";
        let timeout = Nanos::from_micros(200);
        let (orders_later, learns) = (ours.later_stages().is_some(), ours.learning().is_some());
        assert_eq!(u32::from(ours.interest().bits()), theirs.interest());
        Self {
            ours,
            theirs,
            table: FlowTable::new(FLOWS, timeout, key).unwrap(),
            flows: Flows::new(FLOWS, timeout, key),
            resources,
            orders_later,
            learns,
            now: Nanos::ZERO,
            handle: 0,
            pipeline: Vec::new(),
        }
    }

    fn offer(&mut self, flow: FlowId, bytes: u32, times: &[u64]) {
        let times: Vec<Nanos> = times.iter().map(|&time| Nanos(time)).collect();
        let demand = Demand::new(&times).unwrap();
        let packet = Packet { flow, bytes, arrival: self.now, handle: self.handle, demand };
        self.handle += 1;
        let admission = self.ours.enqueue(&packet, self.now);
        assert_eq!(admission, self.theirs.enqueue(&packet, self.now));
        if admission.evicted {
            self.collect();
        }
    }

    fn collect(&mut self) {
        loop {
            let lost = self.ours.poll_evicted();
            assert_eq!(lost, self.theirs.poll_evicted());
            if lost.is_none() {
                return;
            }
        }
    }

    fn tell(&mut self, stage: Stage, resource: usize, out: &Dispatch, took: Nanos) {
        if self.ours.interest().has(stage, resource) {
            let (flow, ticket) = (out.packet.flow, out.ticket);
            let event = Feedback { flow, ticket, resource: resource as u8, stage, took };
            self.ours.feedback(&event, self.now);
            self.theirs.feedback(&event, self.now);
        }
    }

    fn go_on(&mut self, at: usize, took: u64) {
        if at >= self.pipeline.len() {
            return;
        }
        let mut packet = self.pipeline.remove(at);
        if packet.has_started {
            self.tell(Stage::Finished, packet.resource, &packet.out, Nanos(took));
            packet.resource += 1;
            packet.has_started = false;
            if packet.resource == self.resources {
                return;
            }
            if self.orders_later {
                let given = &packet.out.packet;
                let ours = self.ours.later_stages().unwrap().enqueue_before(packet.resource, given, self.now);
                assert_eq!(ours, self.theirs.enqueue_before(packet.resource, given, self.now));
            }
        } else {
            self.tell(Stage::Started, packet.resource, &packet.out, Nanos::ZERO);
            packet.has_started = true;
        }
        self.pipeline.push(packet);
    }

    fn look(&mut self) {
        assert_eq!(self.ours.backlog(), self.theirs.backlog());
        for flow in (0..FLOWS).map(FlowId) {
            assert_eq!(self.ours.flow_backlog(flow), self.theirs.flow_backlog(flow));
            assert_eq!(self.table.key(flow).copied(), self.flows.key(flow));
        }
        assert_eq!((self.table.len() as u32, self.table.evictions()), self.flows.counts());
        assert_eq!(self.ours.poll_at(), self.theirs.poll_at());
        let mut figures = Vec::new();
        self.ours.figures(&mut |name, value| figures.push((name.to_owned(), value.to_bits())));
        assert_eq!(figures, self.theirs.figures());
        if let Some(learning) = self.ours.learning() {
            let seen = learning.learnt();
            let bits = |program: &dovetail_sched::cost::Program| {
                let cost = program.cost.map(|cost| [cost.per_byte_ns().to_bits(), cost.per_packet_ns().to_bits()]);
                (program.name.clone(), cost, program.expansion.to_bits())
            };
            assert_eq!(seen.programs().iter().map(bits).collect::<Vec<_>>(), self.theirs.learnt());
        }
        if let Some(stages) = self.ours.later_stages() {
            for resource in 1..self.resources {
                assert_eq!(stages.backlog_before(resource), self.theirs.backlog_before(resource));
                assert_eq!(stages.poll_at_before(resource), self.theirs.poll_at_before(resource));
            }
        }
    }

    fn make(&mut self, call: &Call, policies: &[String]) {
        match *call {
            Call::Wait(nanos) => self.now += Nanos(nanos),
            Call::Arrive(number, bytes, times) => {
                let key = tuple(number);
                let ours = self.table.lookup(key, self.now, |flow| self.ours.forget(flow));
                assert_eq!(ours, self.flows.lookup(&mut self.theirs, &key, self.now));
                if let Some(found) = ours {
                    self.offer(found.flow, bytes, &times[..self.resources]);
                }
            }
            Call::WrongDemand(flow) => {
                let other = if self.resources == 1 { 2 } else { self.resources - 1 };
                self.offer(FlowId(flow), 100, &[5; MAX_RESOURCES][..other]);
            }
            Call::TooManyFlows => self.offer(FlowId(FLOWS), 100, &[5; MAX_RESOURCES][..self.resources]),
            Call::Dequeue => {
                let ours = self.ours.dequeue(self.now);
                assert_eq!(ours, self.theirs.dequeue(self.now));
                self.pipeline.extend(ours.map(|out| OnItsWay { out, resource: 0, has_started: false }));
            }
            Call::Peek => assert_eq!(self.ours.peek(self.now).copied(), self.theirs.peek(self.now)),
            Call::GoOn(at, took) => self.go_on(at, took),
            Call::Die(at) if at < self.pipeline.len() => {
                let OnItsWay { out, resource, has_started } = self.pipeline.remove(at);
                let stage = if has_started { Stage::Aborted } else { Stage::Dropped };
                self.tell(stage, resource, &out, Nanos::ZERO);
            }
            Call::Die(_) => {}
            Call::Weight(flow, weight) => {
                self.ours.set_weight(FlowId(flow), Weight::new(weight).unwrap());
                self.theirs.set_weight(FlowId(flow), weight);
            }
            Call::Weights(flow, weights) => {
                let given = &weights[..self.resources];
                let weights: Vec<Weight> = given.iter().map(|&weight| Weight::new(weight).unwrap()).collect();
                self.ours.set_resource_weights(FlowId(flow), &weights);
                self.theirs.set_resource_weights(FlowId(flow), given);
            }
            Call::Forget(flow) => assert_eq!(self.ours.forget(FlowId(flow)), self.theirs.forget(FlowId(flow))),
            Call::Discard(flow) => {
                assert_eq!(self.ours.discard(FlowId(flow)), self.theirs.discard(FlowId(flow)));
                self.collect();
            }
            Call::Program(flow, program) if self.learns && program < PROGRAMS => {
                self.ours.learning().unwrap().set_program(FlowId(flow), ProgramId(program));
                self.theirs.set_program(FlowId(flow), program);
            }
            Call::Program(..) => {}
            Call::Retune(at) => {
                let policy = &policies[at * 7 % policies.len()];
                let spec: PolicySpec = policy.parse().unwrap();
                let ours = self.ours.retune(&spec.knobs(), self.now).map_err(|error| error.to_string());
                assert_eq!(ours, self.theirs.retune(policy, self.now));
            }
            Call::Expire(most) => {
                let ours = self.table.expire(self.now, most as usize, |flow| self.ours.forget(flow));
                assert_eq!(ours as u32, self.flows.expire(&mut self.theirs, self.now, most));
            }
            Call::DequeueBefore(resource) => {
                if let Some(stages) = self.ours.later_stages().filter(|_| resource < self.resources) {
                    let ours = stages.dequeue_before(resource, self.now);
                    assert_eq!(ours, self.theirs.dequeue_before(resource, self.now));
                }
            }
            Call::Look => self.look(),
        }
    }
}

/// Makes the calls on both, and then takes out everything that is left.
pub(crate) fn play(policy: &str, resources: usize, limits: Limits, flags: u32, calls: &[Call], policies: &[String]) {
    let mut pair = Pair::new(policy, resources, limits, flags);
    for call in calls {
        pair.make(call, policies);
    }
    pair.look();
    // Everything comes out, in the same order.
    for _ in 0..2_000 {
        pair.make(&Call::Dequeue, policies);
        for _ in 0..2 * resources {
            pair.make(&Call::GoOn(0, 1_000), policies);
        }
        pair.make(&Call::Wait(100_000), policies);
        if pair.ours.backlog() == Backlog::default() {
            break;
        }
    }
    assert_eq!(pair.ours.backlog(), Backlog::default(), "{policy}");
}
