//! `las` and `run2c` against their definitions, evaluated by scanning every flow and every packet, while flows are discarded,
//! forgotten and weighed anew and knobs are turned.

use std::collections::VecDeque;

use crate::single::build;
use dovetail_sched::{Admission, Demand, DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Weight};
use proptest::prelude::*;

const DROPS: &[DropPolicy] = &[DropPolicy::Tail, DropPolicy::Head, DropPolicy::Longest, DropPolicy::Policy];
/// Powers of two: bytes over weights are exact, so that ties are ties.
const WEIGHTS: &[f64] = &[0.5, 1.0, 1.0, 4.0];
const FLOWS: u32 = 6;

/// What is asked of a scheduler.
#[derive(Debug, Clone, Copy)]
enum Step {
    Offer { flow: u32, bytes: u32 },
    Serve,
    Discard(u32),
    Forget(u32),
    Weigh(u32, f64),
    Retune { threshold: u64, timeout: u64 },
}

fn thresholds() -> impl Strategy<Value = u64> {
    // Those that sums of common sizes meet exactly, and others.
    prop_oneof![Just(100u64), Just(400), 1u64..5000]
}

fn timeouts() -> impl Strategy<Value = u64> {
    // Short ones are met exactly now and then.
    prop_oneof![Just(0u64), 1u64..10, 50u64..2000]
}

/// Steps, and how long after the last one each comes.
fn steps() -> impl Strategy<Value = Vec<(Step, u64)>> {
    // Few sizes, so that flows often have had the same service.
    let bytes = prop_oneof![Just(0u32), Just(100), Just(200), 1u32..1600];
    let step = prop_oneof![
        50 => (0..FLOWS, bytes).prop_map(|(flow, bytes)| Step::Offer { flow, bytes }),
        40 => Just(Step::Serve),
        2 => (0..FLOWS).prop_map(Step::Discard),
        4 => (0..FLOWS).prop_map(Step::Forget),
        3 => (0..FLOWS, prop::sample::select(WEIGHTS)).prop_map(|(flow, weight)| Step::Weigh(flow, weight)),
        1 => (thresholds(), timeouts()).prop_map(|(threshold, timeout)| Step::Retune { threshold, timeout }),
    ];
    prop::collection::vec((step, prop_oneof![4 => 0u64..20, 1 => 20u64..1000]), 1..300)
}

/// A plain implementation of a policy.
trait Plain {
    /// The lost packets, including the arriving one if it was refused.
    fn enqueue(&mut self, packet: Waiting, limits: &Limits) -> Vec<u64>;
    fn dequeue(&mut self) -> Option<u64>;
    /// Removes the flow's packets; returns them, oldest first.
    fn discard(&mut self, flow: u32) -> Vec<u64>;
    /// The flow, which has no packets, begins anew with weight 1.
    fn forget(&mut self, flow: u32);
    fn waits(&self, flow: u32) -> bool;
    fn weigh(&mut self, flow: u32, weight: f64);
    /// Returns the policy with the new values.
    fn retune(&mut self, threshold: u64, timeout: u64) -> String;
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    flow: u32,
    bytes: u32,
    handle: u64,
    arrival: u64,
}

fn is_full(waiting: &[Waiting], arriving: Waiting, limits: &Limits) -> bool {
    let bytes: u64 = waiting.iter().map(|packet| u64::from(packet.bytes)).sum();
    limits.packets.is_some_and(|most| waiting.len() >= most as usize)
        || limits.bytes.is_some_and(|most| bytes + u64::from(arriving.bytes) > most)
}

fn lost_by(scheduler: &mut dyn Scheduler) -> Vec<u64> {
    std::iter::from_fn(|| scheduler.poll_evicted()).map(|lost| lost.handle).collect()
}

fn compare(
    scheduler: &mut dyn Scheduler,
    plain: &mut dyn Plain,
    limits: &Limits,
    steps: &[(Step, u64)],
) -> Result<(), TestCaseError> {
    let mut now = 0;
    let drain = std::iter::repeat_n((Step::Serve, 1), steps.len());
    for (handle, (step, gap)) in (0..).zip(steps.iter().copied().chain(drain)) {
        now += gap;
        let (flow, bytes) = match step {
            Step::Offer { flow, bytes } => (flow, bytes),
            Step::Serve => {
                if scheduler.backlog().packets > 0 {
                    let out = scheduler.dequeue(Nanos(now)).map(|out| out.packet.handle);
                    prop_assert_eq!(out, plain.dequeue(), "at {}", handle);
                }
                continue;
            }
            Step::Discard(flow) => {
                let expected = plain.discard(flow);
                prop_assert_eq!(scheduler.discard(FlowId(flow)), !expected.is_empty());
                prop_assert_eq!(lost_by(scheduler), expected, "at {}", handle);
                continue;
            }
            Step::Forget(flow) => {
                prop_assert_eq!(scheduler.forget(FlowId(flow)), !plain.waits(flow));
                if !plain.waits(flow) {
                    plain.forget(flow);
                }
                continue;
            }
            Step::Weigh(flow, weight) => {
                scheduler.set_weight(FlowId(flow), Weight::new(weight).expect("in range"));
                plain.weigh(flow, weight);
                continue;
            }
            Step::Retune { threshold, timeout } => {
                let policy: PolicySpec = plain.retune(threshold, timeout).parse().expect("a policy");
                scheduler.retune(&policy.knobs(), Nanos(now)).expect("both can be changed");
                continue;
            }
        };
        let demand = Demand::new(&[Nanos(1)]).expect("one resource");
        let packet = Packet { flow: FlowId(flow), bytes, arrival: Nanos(now), handle, demand };
        let admission = scheduler.enqueue(&packet, Nanos(now));
        let mut lost = lost_by(scheduler);
        if !admission.is_queued() {
            lost.push(handle);
        }
        let fits = limits.bytes.is_none_or(|most| u64::from(bytes) <= most);
        let arriving = Waiting { flow, bytes, handle, arrival: now };
        let expected = if fits { plain.enqueue(arriving, limits) } else { vec![handle] };
        prop_assert_eq!(lost, expected, "at {}", handle);
    }
    prop_assert_eq!(scheduler.backlog().packets, 0);
    Ok(())
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    bytes: u64,
    last_arrival: u64,
    /// When it reached its bytes with packets queued.
    since: u64,
}

struct PlainLas {
    weights: [f64; FLOWS as usize],
    timeout: u64,
    flows: [Flow; FLOWS as usize],
    waiting: Vec<Waiting>,
    changes: u64,
}

impl PlainLas {
    fn attained(&self, flow: u32) -> f64 {
        self.flows[flow as usize].bytes as f64 / self.weights[flow as usize]
    }

    /// The flows with packets queued, in the order of service.
    fn order(&self) -> Vec<u32> {
        let mut flows: Vec<u32> = (0..FLOWS).filter(|&flow| self.waits(flow)).collect();
        let key = |flow: u32| (self.attained(flow), self.flows[flow as usize].since);
        flows.sort_by(|&a, &b| key(a).partial_cmp(&key(b)).expect("numbers"));
        flows
    }
}

impl Plain for PlainLas {
    fn enqueue(&mut self, packet: Waiting, limits: &Limits) -> Vec<u64> {
        let at = packet.flow as usize;
        let before = self.flows[at];
        if !self.waits(packet.flow) && packet.arrival > before.last_arrival + self.timeout {
            self.flows[at].bytes = 0;
        }
        let mut lost = Vec::new();
        while is_full(&self.waiting, packet, limits) {
            let last = self.order().last().copied();
            let arriving_is_last = last.is_none_or(|last| {
                last == packet.flow || (!self.waits(packet.flow) && self.attained(packet.flow) >= self.attained(last))
            });
            if arriving_is_last {
                lost.push(packet.handle);
                // A packet that was not accepted changes nothing.
                self.flows[at] = before;
                return lost;
            }
            let youngest = self.waiting.iter().rposition(|other| Some(other.flow) == last).expect("it waits");
            lost.push(self.waiting.remove(youngest).handle);
        }
        if !self.waits(packet.flow) {
            self.changes += 1;
            self.flows[at].since = self.changes;
        }
        self.flows[at].last_arrival = packet.arrival;
        self.waiting.push(packet);
        lost
    }

    fn dequeue(&mut self) -> Option<u64> {
        let first = *self.order().first()?;
        let oldest = self.waiting.iter().position(|packet| packet.flow == first)?;
        let packet = self.waiting.remove(oldest);
        self.changes += 1;
        let flow = &mut self.flows[first as usize];
        flow.bytes += u64::from(packet.bytes);
        flow.since = self.changes;
        Some(packet.handle)
    }

    fn discard(&mut self, flow: u32) -> Vec<u64> {
        self.waiting.extract_if(.., |packet| packet.flow == flow).map(|packet| packet.handle).collect()
    }

    fn forget(&mut self, flow: u32) {
        self.flows[flow as usize] = Flow::default();
        self.weights[flow as usize] = 1.0;
    }

    fn waits(&self, flow: u32) -> bool {
        self.waiting.iter().any(|packet| packet.flow == flow)
    }

    /// A flow whose service over weight changes reaches it now.
    fn weigh(&mut self, flow: u32, weight: f64) {
        let at = flow as usize;
        if self.weights[at] != weight {
            self.changes += 1;
            self.flows[at].since = self.changes;
        }
        self.weights[at] = weight;
    }

    fn retune(&mut self, _threshold: u64, timeout: u64) -> String {
        self.timeout = timeout;
        format!("las:timeout={timeout}ns")
    }
}

struct PlainRun2c {
    threshold: u64,
    timeout: u64,
    flows: [Flow; FLOWS as usize],
    lines: [VecDeque<Waiting>; 2],
}

impl PlainRun2c {
    /// Exchanges a packet that leaves for the oldest or youngest of its flow. That is another one only if the threshold was
    /// raised while the flow waited.
    fn fill(&mut self, place: Waiting, with_oldest: bool) -> Waiting {
        let of_flow = self.lines.iter_mut().flatten().filter(|other| other.flow == place.flow);
        let wanted = if with_oldest {
            of_flow.min_by_key(|other| other.handle).filter(|other| other.handle < place.handle)
        } else {
            of_flow.max_by_key(|other| other.handle).filter(|other| other.handle > place.handle)
        };
        wanted.map_or(place, |other| core::mem::replace(other, place))
    }
}

impl Plain for PlainRun2c {
    fn enqueue(&mut self, packet: Waiting, limits: &Limits) -> Vec<u64> {
        let waits = self.waits(packet.flow);
        let flow = &mut self.flows[packet.flow as usize];
        let is_new = !waits && packet.arrival > flow.last_arrival + self.timeout;
        let came = if is_new { 0 } else { flow.bytes };
        let line = usize::from(came >= self.threshold);
        let mut lost = Vec::new();
        loop {
            let waiting: Vec<Waiting> = self.lines.iter().flatten().copied().collect();
            if !is_full(&waiting, packet, limits) {
                break;
            }
            let evicts = line == 0 && self.lines[1].back().is_some_and(|youngest| youngest.flow != packet.flow);
            let youngest_low = if evicts { self.lines[1].pop_back() } else { None };
            let Some(gone) = youngest_low else {
                lost.push(packet.handle);
                return lost;
            };
            lost.push(self.fill(gone, false).handle);
        }
        let flow = &mut self.flows[packet.flow as usize];
        flow.bytes = came + u64::from(packet.bytes);
        flow.last_arrival = packet.arrival;
        self.lines[line].push_back(packet);
        lost
    }

    fn dequeue(&mut self) -> Option<u64> {
        let [high, low] = &mut self.lines;
        let place = high.pop_front().or_else(|| low.pop_front())?;
        Some(self.fill(place, true).handle)
    }

    fn discard(&mut self, flow: u32) -> Vec<u64> {
        let all = self.lines.iter().flatten();
        let mut lost: Vec<u64> = all.filter(|packet| packet.flow == flow).map(|packet| packet.handle).collect();
        lost.sort_unstable();
        for line in &mut self.lines {
            line.retain(|packet| packet.flow != flow);
        }
        lost
    }

    fn forget(&mut self, flow: u32) {
        self.flows[flow as usize] = Flow::default();
    }

    fn waits(&self, flow: u32) -> bool {
        self.lines.iter().flatten().any(|packet| packet.flow == flow)
    }

    fn weigh(&mut self, _flow: u32, _weight: f64) {}

    fn retune(&mut self, threshold: u64, timeout: u64) -> String {
        (self.threshold, self.timeout) = (threshold, timeout);
        format!("run2c:threshold={threshold},timeout={timeout}ns")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn las_serves_who_has_had_least_and_drops_who_has_had_most(
        weights in prop::array::uniform6(prop::sample::select(WEIGHTS)),
        timeout in timeouts(),
        packets in prop::option::of(1u32..20),
        bytes in prop::option::of(1000u64..9000),
        on_full in prop::sample::select(DROPS),
        steps in steps(),
    ) {
        let limits = Limits { packets, bytes, on_full, ..Limits::UNLIMITED };
        let mut las = build(&format!("las:timeout={timeout}ns"), 1, limits, &weights);
        let flows = [Flow::default(); FLOWS as usize];
        let mut plain = PlainLas { weights, timeout, flows, waiting: Vec::new(), changes: 0 };
        compare(&mut *las, &mut plain, &limits, &steps)?;
    }

    #[test]
    fn run2c_is_two_lines(
        threshold in thresholds(),
        timeout in timeouts(),
        packets in prop::option::of(1u32..20),
        bytes in prop::option::of(1000u64..9000),
        on_full in prop::sample::select(DROPS),
        steps in steps(),
    ) {
        let limits = Limits { packets, bytes, on_full, ..Limits::UNLIMITED };
        let mut run2c = build(&format!("run2c:threshold={threshold},timeout={timeout}ns"), 1, limits, &[]);
        let flows = [Flow::default(); FLOWS as usize];
        let mut plain = PlainRun2c { threshold, timeout, flows, lines: [VecDeque::new(), VecDeque::new()] };
        compare(&mut *run2c, &mut plain, &limits, &steps)?;
    }
}

/// One long flow beside new flows of one packet each that fill the link: strict priority leaves it nothing.
#[test]
fn both_starve_a_long_flow_while_new_ones_fill_the_link() {
    for policy in ["las", "run2c"] {
        let mut scheduler = build(policy, 1, Limits::UNLIMITED, &[]);
        let demand = Demand::new(&[Nanos(1)]).expect("one resource");
        let mut of_long = 0;
        for number in 0..1000u32 {
            for flow in [0, number + 1] {
                let packet =
                    Packet { flow: FlowId(flow), bytes: 1000, arrival: Nanos::ZERO, handle: number.into(), demand };
                assert_eq!(scheduler.enqueue(&packet, Nanos::ZERO), Admission::QUEUED);
            }
            let out = scheduler.dequeue(Nanos::ZERO).expect("two wait");
            of_long += u32::from(out.packet.flow == FlowId(0));
        }
        // Its first 20 kB, or the packet with which it began.
        assert!(of_long <= 20, "{policy}: {of_long}");
    }
}
