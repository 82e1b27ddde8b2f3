//! `tradeoff`: as fair as alpha requires, and otherwise as efficient as possible.
//!
//! Wang, Feng, Li and Liang, *On the fairness-efficiency tradeoff for packet processing with multiple resources*, CoNEXT 2014.
//! A [fluid](Fluid) serves the same arrivals: every backlogged flow is guaranteed the fraction alpha of its fair dominant
//! share, and what that leaves of the resources goes to the flows that use it best. The policy follows the fluid by *start-time
//! tracking* (section 4): packets go in the order in which they start in the fluid, and none before. So it is not
//! work-conserving: a packet released early would be service beyond what the fluid gives its flow.
//!
//! Let `n` be the largest number of flows that the fluid serves at once, `tau` the longest processing time of any packet on any
//! resource, `T` makespans and `D_i(t)` dominant service until `t`, over `m` resources in a pipeline whose first resource never
//! has to wait for the others. Then, for alpha > 0 (theorems 4 and 5 are the case `m = 2`):
//!
//! ```text
//! T_packets <= T_fluid + (m-1) n tau
//! D_fluid(t) - (m n - 1) tau  <=  D_packets(t)  <=  D_fluid(t) + tau       for every flow
//! ```
//!
//! The paper prints `2 (n-1) tau` where this has `(2n-1) tau`, but its proof gives this, and a single flow is a counterexample:
//! the fluid serves its packet on all resources at once, the pipeline on one after the other. For more resources the proof's
//! argument is repeated: from one resource to the next there is a packet that does not wait, and of the packets between two
//! such packets the fluid had served all but `n` on a resource when the second started.
//!
//! alpha = 0 starves flows for as long as others are more efficient.
//!
//! # A pipeline slower than the fluid
//!
//! The fluid keeps a resource fully busy as long as any flow needs it. A pipeline without buffers between its resources, or a
//! box whose packets take longer than announced, does not keep up; the fluid would finish everything long before, and the order
//! would become that of arrival. In the pipeline of the theorems a packet leaves no later after its start in the fluid than the
//! packets that the fluid serves at that moment take on the first resource (lemma 4 bounds that by `(n-1) tau`). If one is
//! later, the fluid's clock stops until it has caught up: the fluid keeps pace with the pipeline, and the shares remain those
//! that alpha guarantees.
//!
//! # Changing alpha
//!
//! alpha can be changed at any time and holds from then on: no packet is lost, and the order of those that have started in the
//! fluid stays. A weight holds from the last call before its change. An evicted packet's work that the fluid has not served by
//! then is removed from the fluid.
//!
//! Times count for at most 4.9 hours per unit of weight: with weights of 10^-6, packets of more than 17.6 ms are undercharged.
//! Only ratios of weights matter, so choose weights around 1.
//!
//! Cost per packet: O(log n) amortised for up to two resources; for more, see [`Simplex`](crate::fluid::Simplex). The
//! fluid is served only as far as needed to find the next packet.
//!
//! # Worked example
//!
//! The paper's Fig. 1: flow 0's packets need 2 of the CPU and 3 of the link, flow 1's 9 and 1. Equal dominant shares are
//! 3/5 each and leave a third of the link idle. With alpha = 1/2 both are guaranteed 3/10, and the rest is shared out so
//! that both resources are full: flow 0 gets 24/25 of the link in all, flow 1 9/25 of the CPU. In 25 units that is 8
//! packets of flow 0 for one of flow 1, as in the paper's Fig. 1b.
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let count = |policy: &str| -> Result<[u32; 2], Box<dyn core::error::Error>> {
//!     let mut tradeoff = policy.parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
//!     for (flow, demand) in [(0, [2, 3]), (1, [9, 1])] {
//!         let demand = Demand::new(&demand.map(Nanos::from_micros))?;
//!         for handle in 0..1000 {
//!             let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
//!             tradeoff.enqueue(&packet, Nanos::ZERO);
//!         }
//!     }
//!     let (mut sent, mut now) = ([0, 0], Nanos::ZERO);
//!     while now < Nanos::from_micros(2500) {
//!         match tradeoff.dequeue(now) {
//!             Some(next) => {
//!                 sent[next.packet.flow.index()] += 1;
//!                 now += next.packet.demand.times()[0];
//!             }
//!             None => now = tradeoff.poll_at().expect("packets wait"),
//!         }
//!     }
//!     Ok(sent)
//! };
//! // The fluid starts a packet of flow 0 every 5 us and one of flow 1 every 15; then every 3.125 and every 25.
//! let [fair, relaxed] = [count("tradeoff:alpha=1")?, count("tradeoff:alpha=0.5")?];
//! assert!(fair[0].abs_diff(500) <= 2 && fair[1].abs_diff(167) <= 2, "{fair:?}");
//! assert!(relaxed[0].abs_diff(800) <= 2 && relaxed[1].abs_diff(100) <= 2, "{relaxed:?}");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, collections::VecDeque};

use crate::{
    Demand, Dispatch, Evicted, FlowId, Nanos, Packet, Policy, PolicyError, Queued, Queues, Weight,
    entry::{Entry, Knob, Knobs},
    flow::{FlowMap, Place},
    fluid::{Alpha, Fluid, Supply, VirtualTime},
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "tradeoff",
    summary: "every flow keeps the part alpha of its fair dominant share, the rest goes where it raises utilisation most",
    knobs: &[Knob {
        key: "alpha",
        default: "0.85",
        meaning: "part of the fair share that is guaranteed, 0 to 1: 1 is fair, 0 can starve flows",
        retunable: true,
    }],
    cost: "O(log n) amortised",
    source: "Wang, Feng, Li & Liang, CoNEXT 2014",
    build: |knobs, setup| {
        let tradeoff = Tradeoff::<VirtualTime>::new(setup.resources, alpha(knobs)?);
        Ok(Box::new(Queued::new(tradeoff, setup.resources, setup.limits)))
    },
    caution: |knobs| {
        let starves = alpha(knobs).is_ok_and(|alpha| alpha == Alpha::GREEDY);
        starves.then_some("alpha=0 guarantees nothing: flows can starve for as long as others are more efficient")
    },
};

fn alpha(knobs: &Knobs<'_>) -> Result<Alpha, PolicyError> {
    knobs.text("alpha").parse().map_err(|_| knobs.wrong("alpha", format_args!("a number from 0 to 1")))
}

/// The policy, following the fluid `F`.
#[derive(Debug)]
pub struct Tradeoff<F> {
    tracker: Tracker,
    fluid: F,
    now: Nanos,
    // How long the fluid's clock has been stopped since the policy was last empty.
    stopped: Nanos,
    stopped_in_all: Nanos,
}

/// Which queued packets have started in the fluid.
#[derive(Debug)]
struct Tracker {
    flows: FlowMap<Flow>,
    // Flows, once for each packet that has started, in the order of their starts. An evicted packet leaves its place to the
    // next of its flow.
    started: VecDeque<Started>,
    // The total time on the first resource of the packets that the fluid is serving.
    served: Nanos,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// The oldest packet that has not started, if there is one.
    next: Place,
    /// Queued packets that have started.
    started: u32,
    /// Places in the order of starts.
    places: u32,
    /// The time on the first resource of the packet that the fluid is serving.
    served: Nanos,
}

#[derive(Debug, Clone, Copy)]
struct Started {
    flow: FlowId,
    /// When it leaves at the latest in a pipeline that keeps up, on the fluid's clock.
    latest: Nanos,
}

/// A start is rounded down to a nanosecond, and a packet can leave at the next one.
const GRAIN: Nanos = Nanos(2);

/// The queued packets, as the fluid's supply.
struct Waiting<'a> {
    tracker: &'a mut Tracker,
    queues: &'a Queues,
    /// A flow whose youngest packet is only now arriving, and not yet visible to the fluid.
    arriving: Option<FlowId>,
}

/// A packet that has started in the fluid, and its times on the first two resources.
#[derive(Debug, Clone, Copy)]
struct Begun {
    place: Place,
    times: [Nanos; 2],
}

impl Supply for Waiting<'_> {
    type Packet = Begun;

    #[inline(always)]
    fn start_next(&mut self, flow: FlowId, at: Nanos) -> Option<Begun> {
        let state = self.tracker.flows.at(flow);
        let others = self.tracker.served - state.served;
        if self.queues.len(flow) - u32::from(self.arriving == Some(flow)) == state.started {
            state.served = Nanos::ZERO;
            self.tracker.served = others;
            return None;
        }
        let packet = self.queues.waiting(state.next);
        if let Some(next) = packet.next() {
            state.next = next.place();
        }
        state.started += 1;
        if state.places < state.started {
            state.places += 1;
            let latest = at + others + GRAIN;
            self.tracker.started.push_back(Started { flow, latest });
        }
        let times = packet.first_two();
        state.served = times[0];
        self.tracker.served = others + times[0];
        Some(Begun { place: packet.place(), times })
    }

    #[inline]
    fn demand(&self, packet: Begun) -> Demand {
        self.queues.waiting(packet.place).demand()
    }

    #[inline]
    fn first_two(&self, packet: Begun) -> [Nanos; 2] {
        packet.times
    }

    #[inline]
    fn expect(&self, flow: FlowId, packet: bool) {
        if !packet {
            self.tracker.flows.prefetch(flow);
            self.queues.prefetch_flow(flow);
        } else if let Some(state) = self.tracker.flows.peek(flow) {
            self.queues.prefetch_place(state.next);
        }
    }
}

impl Tracker {
    /// Takes the next packet in the order of starts.
    #[inline]
    fn pop(&mut self) -> Option<Started> {
        loop {
            let first = self.started.pop_front()?;
            let state = self.flows.at(first.flow);
            state.places = state.places.saturating_sub(1);
            if state.started > 0 {
                state.started -= 1;
                return Some(first);
            }
        }
    }

    /// When the next packet leaves at the latest.
    #[inline]
    fn first(&mut self) -> Option<Nanos> {
        while let Some(first) = self.started.front() {
            let state = self.flows.at(first.flow);
            if state.started > 0 {
                return Some(first.latest);
            }
            state.places = state.places.saturating_sub(1);
            self.started.pop_front();
        }
        None
    }
}

impl<F: Fluid> Tradeoff<F> {
    /// For `resources` resources, 1 to [`MAX_RESOURCES`](crate::MAX_RESOURCES).
    #[must_use]
    pub fn new(resources: usize, alpha: Alpha) -> Self {
        Self {
            tracker: Tracker { flows: FlowMap::new(), started: VecDeque::new(), served: Nanos::ZERO },
            fluid: F::new(resources, alpha),
            now: Nanos::ZERO,
            stopped: Nanos::ZERO,
            stopped_in_all: Nanos::ZERO,
        }
    }

    /// The fluid that it follows.
    #[must_use]
    pub fn fluid(&self) -> &F {
        &self.fluid
    }

    /// The fluid's current time, if the next packet has to leave by `latest`: if that is past, the clock is stopped.
    #[inline]
    fn fluid_time(&mut self, latest: Option<Nanos>) -> Nanos {
        let time = self.now - self.stopped;
        match latest {
            Some(latest) if time > latest => {
                self.stopped += time - latest;
                self.stopped_in_all += time - latest;
                latest
            }
            _ => time,
        }
    }

    /// Serves the fluid until now, ignoring the arriving packet of `arriving`.
    #[inline(always)]
    fn catch_up(&mut self, queues: &Queues, arriving: Option<FlowId>) -> Nanos {
        loop {
            let first = self.tracker.first();
            let until = self.fluid_time(first);
            let mut waiting = Waiting { tracker: &mut self.tracker, queues, arriving };
            if first.is_some() {
                // Packets that start now are behind the first, so the time stays the same.
                self.fluid.serve(until, &mut waiting);
                return until;
            }
            if !self.fluid.step(until, &mut waiting) {
                return until;
            }
        }
    }

    /// Serves the fluid until now, also what is not done yet, for a change that acts from now on.
    fn pass(&mut self, queues: &Queues) {
        let at = self.catch_up(queues, None);
        self.fluid.pass_to(at);
    }
}

impl<F: Fluid> Policy for Tradeoff<F> {
    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos) {
        self.now = self.now.max(now);
        let mut at = self.catch_up(queues, Some(flow));
        if queues.backlog().packets == 1 && self.fluid.flows() == 0 {
            self.fluid.restart(self.now);
            self.stopped = Nanos::ZERO;
            at = self.now;
        }
        let state = self.tracker.flows.at(flow);
        if queues.len(flow) - state.started == 1 {
            let Some(packet) = queues.tail(flow) else { return };
            state.next = packet.place();
            if !self.fluid.serves(flow) {
                let mut waiting = Waiting { tracker: &mut self.tracker, queues, arriving: None };
                self.fluid.arrive(flow, queues.weight(flow), at, &mut waiting);
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, now: Nanos) -> Option<Dispatch> {
        self.now = self.now.max(now);
        loop {
            if let Some(next) = self.tracker.pop() {
                self.fluid_time(Some(next.latest));
                return Some(Dispatch::plain(queues.pop(next.flow)));
            }
            let until = self.fluid_time(None);
            if !self.fluid.step(until, &mut Waiting { tracker: &mut self.tracker, queues, arriving: None }) {
                return None;
            }
        }
    }

    /// What the fluid serves of a packet until it is evicted is served.
    fn making_room(&mut self, queues: &mut Queues, now: Nanos) {
        self.now = self.now.max(now);
        self.pass(queues);
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, end: Evicted) {
        let flow = lost.flow;
        let waiting = queues.len(flow);
        let state = self.tracker.flows.at(flow);
        let had_started = match end {
            Evicted::Head => state.started > 0,
            Evicted::Tail => state.started > waiting,
        };
        if had_started {
            state.started -= 1;
            // The packet of a flow that the fluid is serving is the last one that has started.
            if end == Evicted::Tail || state.started == 0 {
                self.fluid.cut_short(flow, &mut Waiting { tracker: &mut self.tracker, queues, arriving: None });
            }
        } else if end == Evicted::Head
            && let Some(head) = queues.head(flow)
        {
            state.next = head.place();
        }
    }

    fn lets_lone_pass(&self) -> bool {
        false
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.fluid.next_departure().map(|at| at + self.stopped)
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, _old: Weight) {
        self.pass(queues);
        self.fluid.reweigh(flow, queues.weight(flow));
    }

    fn retune(&mut self, queues: &mut Queues, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError> {
        let alpha = knobs.of(ENTRY.name).and_then(|()| alpha(knobs))?;
        self.now = self.now.max(now);
        self.pass(queues);
        self.fluid.set_alpha(alpha);
        Ok(())
    }

    fn forget(&mut self, flow: FlowId) {
        self.fluid.forget(flow);
        let Some(state) = self.tracker.flows.peek_mut(flow) else { return };
        self.tracker.served = self.tracker.served - state.served;
        *state = Flow { places: state.places, ..Flow::default() };
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("fluid_stopped_s", self.stopped_in_all.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Demand, DropPolicy, Limits, Scheduler};

    fn packet(flow: u32, times: [u64; 2], now: Nanos) -> Packet {
        let demand = Demand::new(&times.map(Nanos)).expect("two resources");
        Packet { flow: FlowId(flow), bytes: 100, arrival: now, handle: 0, demand }
    }

    #[test]
    fn a_flood_that_evicts_itself_takes_no_memory() {
        for on_full in [DropPolicy::Head, DropPolicy::Longest] {
            let limits = Limits { flow_packets: Some(3), packets: Some(12), on_full, ..Limits::UNLIMITED };
            let mut scheduler = Queued::new(Tradeoff::<VirtualTime>::new(2, Alpha::FAIR), 2, limits);
            for at in 0..100_000u64 {
                let now = Nanos(at / 7);
                let _ = scheduler.enqueue(&packet((at % 5) as u32, [50, 80 * (at % 3)], now), now);
                while scheduler.poll_evicted().is_some() {}
                assert!(scheduler.policy().tracker.started.len() <= 2 * 12, "places for packets that are gone");
                if at.is_multiple_of(501) {
                    scheduler.dequeue(now);
                }
            }
        }
    }

    /// Takes what a first resource that needs no time releases from `from` until `until`.
    fn take(scheduler: &mut Queued<Tradeoff<VirtualTime>>, from: u64, until: u64) -> u64 {
        let (mut now, mut taken) = (from, 0);
        while now < until && scheduler.backlog().packets > 0 {
            match scheduler.dequeue(Nanos(now)) {
                Some(_) => taken += 1,
                None => now = scheduler.poll_at().expect("packets wait").0,
            }
        }
        taken
    }

    #[test]
    fn time_that_the_pipeline_lost_is_not_caught_up() {
        let mut scheduler = Queued::new(Tradeoff::<VirtualTime>::new(2, Alpha::FAIR), 2, Limits::UNLIMITED);
        for at in 0..2000 {
            let _ = scheduler.enqueue(&packet(at % 2, [1, 10], Nanos(0)), Nanos(0));
        }
        // The link takes one packet in 10, and a packet is hardly ever late: after a pause there is no burst.
        assert_eq!(take(&mut scheduler, 0, 1000), 100);
        let after = take(&mut scheduler, 11_000, 12_000);
        assert!((100..=104).contains(&after), "{after}");
        assert_eq!(take(&mut scheduler, 12_000, 100_000), 2000 - 100 - after);
        // A past pause does not hold back packets that arrive when everything is empty.
        for at in 0..20 {
            let _ = scheduler.enqueue(&packet(at % 2, [1, 10], Nanos(200_000)), Nanos(200_000));
        }
        assert_eq!(take(&mut scheduler, 200_000, 200_201), 20);
    }

    #[test]
    fn who_is_evicted_half_served_does_not_pay_for_the_rest() {
        let limits = Limits { flow_packets: Some(1), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
        let mut scheduler = Queued::new(Tradeoff::<VirtualTime>::new(1, Alpha::FAIR), 1, limits);
        let one = |flow, time, now: u64| Packet {
            demand: Demand::new(&[Nanos(time)]).expect("one"),
            ..packet(flow, [0, 0], Nanos(now))
        };
        // A packet of 1000 of flow 0 starts in the fluid at 0, and at 100 is replaced by one of 10, which starts then. So the
        // flow's next may start when that is done, at about 120.
        let _ = scheduler.enqueue(&one(0, 1000, 0), Nanos(0));
        let _ = scheduler.enqueue(&one(1, 5000, 0), Nanos(0));
        let _ = scheduler.enqueue(&one(2, 1, 100), Nanos(100));
        let _ = scheduler.enqueue(&one(0, 10, 100), Nanos(100));
        let sent: std::vec::Vec<_> =
            core::iter::from_fn(|| scheduler.dequeue(Nanos(100))).map(|out| out.packet.flow.0).collect();
        assert_eq!(sent, [1, 2, 0]);
        let _ = scheduler.enqueue(&one(0, 10, 110), Nanos(110));
        assert!(take(&mut scheduler, 110, 200) == 1, "the fluid still serves what was evicted");
    }

    #[test]
    fn alpha_turns_while_it_runs() {
        let mut scheduler = Queued::new(Tradeoff::<VirtualTime>::new(2, Alpha::FAIR), 2, Limits::UNLIMITED);
        let _ = scheduler.enqueue(&packet(0, [1, 2], Nanos(5)), Nanos(5));
        let spec = |text: &str| text.parse::<crate::PolicySpec>().expect("a policy string");
        scheduler.retune(&spec("tradeoff:alpha=0.25").knobs(), Nanos(6)).expect("alpha can be turned");
        assert_eq!(scheduler.policy().fluid().alpha(), Alpha::new(0.25).expect("in range"));
        let refused = scheduler.retune(&spec("drr:quantum=3000").knobs(), Nanos(7)).expect_err("another policy");
        assert!(matches!(refused, PolicyError::OtherPolicy { running: "tradeoff", .. }), "{refused}");
        assert!(spec("tradeoff:alpha=0").caution().is_some() && spec("tradeoff").caution().is_none());
    }
}
