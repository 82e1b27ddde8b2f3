//! Packets that die in the pipeline: a firewall, a function that crashes, a link that goes down in the middle of a packet.
//!
//! Whatever the policy and the source of costs: no packet waits for one that died, no state remains, shares of what is released
//! are the same as when all survive, and only survivors' times are learnt.

use std::collections::VecDeque;

use crate::memory::live_bytes;
use dovetail_sched::{
    Demand, Feedback, FlowId, Interest, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Stage, registry::REGISTRY,
};

const FLOWS: u32 = 2;
/// Packets queued of every flow, so that it is always backlogged.
const BACKLOG: u64 = 4;
const CPU: Nanos = Nanos(2_000);
const LINK: Nanos = Nanos(12_000);

/// The course of a packet's life.
#[derive(Debug, Clone, Copy)]
enum Life {
    Whole,
    /// The firewall on the CPU rejects it.
    Refused,
    /// The function crashes halfway.
    Crashed,
    /// The link goes down halfway.
    CutOff,
}

/// The fate of a flow's `number`th packet: of eight, four survive.
fn fate(number: u64) -> Life {
    match number % 8 {
        1 | 6 => Life::Refused,
        3 => Life::Crashed,
        4 => Life::CutOff,
        _ => Life::Whole,
    }
}

/// A stage, the resource, and how long the packet took.
type Step = (Stage, u8, Nanos);

fn events(life: Life) -> &'static [Step] {
    const BEGUN: Step = (Stage::Started, 0, Nanos::ZERO);
    const WORKED: Step = (Stage::Finished, 0, CPU);
    const SENDS: Step = (Stage::Started, 1, Nanos::ZERO);
    match life {
        Life::Whole => &[BEGUN, WORKED, SENDS, (Stage::Finished, 1, LINK)],
        Life::Refused => &[BEGUN, WORKED, (Stage::Dropped, 1, Nanos::ZERO)],
        Life::Crashed => &[BEGUN, (Stage::Aborted, 0, Nanos(1_000))],
        Life::CutOff => &[BEGUN, WORKED, SENDS, (Stage::Aborted, 1, Nanos(6_000))],
    }
}

struct Box2 {
    scheduler: Box<dyn Scheduler>,
    interest: Interest,
    now: Nanos,
    sent: u64,
    of_flow: [u64; FLOWS as usize],
    /// Packets in the pipeline, with their remaining events.
    pipeline: VecDeque<(Packet, u64, &'static [Step])>,
    dies: bool,
}

impl Box2 {
    fn new(policy: &str, dies: bool) -> Self {
        let spec: PolicySpec = policy.parse().expect("a policy");
        let scheduler = spec.build(&Setup::new(2, Limits::UNLIMITED)).expect("it is built");
        let interest = scheduler.interest();
        let (pipeline, of_flow) = (VecDeque::with_capacity(8), [0; FLOWS as usize]);
        let mut all = Self { scheduler, interest, now: Nanos::ZERO, sent: 0, of_flow, pipeline, dies };
        for flow in (0..FLOWS).cycle().take((BACKLOG * u64::from(FLOWS)) as usize) {
            all.offer(flow);
        }
        all
    }

    fn offer(&mut self, flow: u32) {
        let demand = Demand::new(&[CPU, LINK]).expect("two resources");
        let packet = Packet { flow: FlowId(flow), bytes: 1500, arrival: self.now, handle: 0, demand };
        assert!(self.scheduler.enqueue(&packet, self.now).is_queued());
    }

    /// The next event of the oldest packet in the pipeline.
    fn happens(&mut self) {
        let Some((packet, ticket, [(stage, resource, took), rest @ ..])) = self.pipeline.pop_front() else { return };
        if *stage == Stage::Started && *resource == 1 {
            self.cross_stages(packet);
        }
        // The link is the bottleneck: a packet that crosses it keeps it busy all the time.
        self.now += match (stage, resource) {
            (Stage::Finished | Stage::Aborted, 0) => CPU,
            (Stage::Finished | Stage::Aborted, _) => LINK - CPU,
            _ => Nanos::ZERO,
        };
        if self.interest.has(*stage, usize::from(*resource)) {
            let event = Feedback { flow: packet.flow, ticket, resource: *resource, stage: *stage, took: *took };
            self.scheduler.feedback(&event, self.now);
        }
        if !rest.is_empty() {
            self.pipeline.push_front((packet, ticket, rest));
        }
    }

    /// If packets are ordered before the link too, this one arrives there and leaves at once.
    fn cross_stages(&mut self, packet: Packet) {
        if let Some(stages) = self.scheduler.later_stages() {
            assert!(stages.enqueue_before(1, &packet, self.now).is_queued());
            assert_eq!(stages.dequeue_before(1, self.now).map(|out| out.flow), Some(packet.flow));
        }
    }

    fn run(&mut self, packets: u64) {
        let until = self.sent + packets;
        let mut held = 0;
        while self.sent < until {
            while self.pipeline.len() >= 3 {
                self.happens();
            }
            let Some(out) = self.scheduler.dequeue(self.now) else {
                held += 1;
                assert!(held < 1_000, "it holds packets back for ever");
                match self.scheduler.poll_at() {
                    Some(at) if self.pipeline.is_empty() => self.now = at,
                    _ => self.happens(),
                }
                continue;
            };
            held = 0;
            let of_flow = &mut self.of_flow[out.packet.flow.index()];
            let life = if self.dies { fate(*of_flow) } else { Life::Whole };
            *of_flow += 1;
            self.sent += 1;
            self.pipeline.push_back((out.packet, out.ticket, events(life)));
            self.offer(out.packet.flow.0);
        }
    }

    fn figure(&self, wanted: &str) -> f64 {
        let mut found = f64::NAN;
        self.scheduler.figures(&mut |name, value| {
            if name == wanted {
                found = value;
            }
        });
        found
    }
}

/// All policies with costs known, and learnt in every way.
fn policies() -> impl Iterator<Item = String> {
    let estimators = ["known", "line", "ses", "llsr", "ses,settle=no"];
    REGISTRY.iter().flat_map(move |entry| estimators.map(|estimator| format!("{}:estimator={estimator}", entry.name)))
}

#[test]
fn nothing_stays_behind_of_packets_that_died() {
    for policy in policies() {
        let mut all = Box2::new(&policy, true);
        all.run(5_000);
        let before = live_bytes();
        all.run(50_000);
        let grown = live_bytes() - before;
        assert!(grown <= 1_024, "{policy}: {grown} bytes more after 50,000 packets");
    }
}

/// Flows that are always backlogged, and have the same demand and the same losses, get the same service, to a few packets.
#[test]
fn shares_are_what_they_are_when_all_live() {
    for policy in policies().filter(|policy| !policy.starts_with("las") && !policy.starts_with("run2c")) {
        for dies in [false, true] {
            let mut all = Box2::new(&policy, dies);
            all.run(20_000);
            let [one, other] = all.of_flow;
            assert!(one.abs_diff(other) <= 64, "{policy}, {dies}: {one} and {other}");
        }
    }
}

/// Only survivors' times are learnt: a packet that was cut off has no known cost.
#[test]
fn estimates_are_not_poisoned() {
    for policy in policies().filter(|policy| !policy.contains("known") && !policy.contains("line")) {
        // The first packets of each flow are estimated at 0, whichever survive.
        let [alive, mortal] = [false, true].map(|dies| {
            let mut all = Box2::new(&policy, dies);
            all.run(20_000);
            all.figure("cost_error_pct") / 100.0 * all.figure("estimated_packets")
        });
        assert!(mortal <= alive + 4.0, "{policy}: {mortal} packets' cost missed, and {alive} where all live");
    }
}
