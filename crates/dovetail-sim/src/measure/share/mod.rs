//! Each flow's share of its fair dominant share.
//!
//! At a time when the flows `i` are backlogged, with head-of-line packets that take `tau_ir` on resource `r` (`tau*_i` the
//! largest of them) and weights `w_i`, dominant resource fairness gives flow `i` the share `w_i · d` of its head's dominant
//! resource, with `d` as large as possible (Wang, Feng, Li and Liang, CoNEXT 2014, eq. 16; weights are ours):
//!
//! ```text
//! d(t) = 1 / max_r sum_i w_i tau_ir / tau*_i            0 if no flow waits
//! I(t) = integral of d
//! ```
//!
//! **Worst share.** Time is divided into windows of equal width starting at 0. For a flow that waits from a window's
//! beginning `a` to its end `b`, the dominant service received is, for each of its packets, the part of the time on the
//! packet's dominant resource (the first in case of ties) that lies in the window. Its share is
//!
//! ```text
//! received / (w_i (I(b) - I(a)))
//! ```
//!
//! and the figure is the least over flows and windows.
//!
//! **Shortfall.** A policy that promises each flow the part `alpha` of its fair share at all times misses it between `a` and
//! `b` by `alpha w_i (I(b) - I(a)) - received`. To be independent of windows, the maximum is taken over *every* interval in
//! which the flow waits. The value grows while the flow is not in service and falls while it is, so it suffices to track the
//! maximum over all beginnings, like the backlog of a queue, and to check whenever service begins:
//!
//! ```text
//! lag(t) = max(0, lag(s) + alpha w_i (I(t) - I(s)) - received between s and t)
//! ```
//!
//! **Tolerance.** Packets cannot be split, so no schedule follows a fluid exactly. Over `m` resources, start-time tracking
//! stays within `(m n - 1) tau_max` behind and `tau_max` ahead of it (theorem 5 as its proof has it, see
//! [`tradeoff`](dovetail_sched::packet::tradeoff); `n` flows at once at most, `tau_max` the longest time of any packet
//! anywhere), hence falls short by at most `m n tau_max` in any interval: the [slack](Shares::slack). The theorem concerns
//! the flows and heads that the fluid serves, the figures here those that really wait: a flow whose only packet is in service
//! has no claim here. If there are such flows, what is called fair here is a little more than the fluid gives.
//!
//! A packet waits from its arrival until it starts on the first resource or is dropped. A head that takes no time on any
//! resource has no claim to a share, and its flow counts as not waiting.

mod claims;
mod flow;
mod service;
mod tally;
mod waiting;

use dovetail_sched::{FlowId, Nanos, Packet};
use dovetail_stats::Quantile;

use crate::{Observer, Passage, Profile};
use claims::Claims;
use flow::Flow;
use service::{Service, Turn};
use tally::Tally;
use waiting::Waiting;

pub use tally::Worst;

/// The results.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// The width of the windows.
    pub window: Nanos,
    /// Flow-windows: number of pairs of a flow and a window throughout which it waited.
    pub counted: u64,
    /// The worst of them; `None` if there was none.
    pub worst: Option<Worst>,
    /// The first percentile of their shares, within 0.1 %.
    pub first_percentile: Option<f64>,
    /// The median of their shares, within 0.1 %.
    pub median: Option<f64>,
    /// The most by which the promise was missed, over all flows and intervals; `None` without a promise.
    pub shortfall: Option<Nanos>,
    /// The largest number of flows that waited at once.
    pub flows_at_once: u64,
    /// Number of resources of the pipeline.
    pub resources: u64,
    /// The longest time of any packet sent on any resource.
    pub longest: Nanos,
    /// The dominant service of all packets sent.
    pub dominant: Nanos,
}

impl Shares {
    /// How far flows may fall short of the promise because packets cannot be split: theorem 5, with the largest number of
    /// flows that waited at once as the number that its fluid served at once.
    #[must_use]
    pub fn slack(&self) -> Nanos {
        Nanos(self.longest.0.saturating_mul(self.flows_at_once.saturating_mul(self.resources)))
    }
}

/// Tracks each flow's share. Cost: O(m) per packet, and O(waiting flows) per window with events. Memory: a word for each
/// waiting packet and one for each of its resources.
#[derive(Debug)]
pub struct FairShare {
    resources: usize,
    window: Nanos,
    promise: Option<f64>,
    flows: Vec<Flow>,
    waiting: Vec<Waiting>,
    // The waiting flows, unordered.
    backlogged: Vec<FlowId>,
    claims: Claims,
    service: Service,
    starting: Option<(FlowId, u64, Nanos)>,
    now: Nanos,
    window_begins: Nanos,
    // Integrals of the fair share since the window began, and since any flow has been waiting.
    fair_in_window: f64,
    fair: f64,
    tally: Tally,
    shortfall: f64,
    flows_at_once: usize,
    longest: Nanos,
    dominant: Nanos,
}

impl FairShare {
    /// For a pipeline of `resources` resources, with windows of `window` (at least a nanosecond), and `promise`, the part of
    /// its fair share, 0 to 1, that every flow was promised.
    #[must_use]
    pub fn new(resources: usize, window: Nanos, promise: Option<f64>) -> Self {
        Self {
            resources,
            window: window.max(Nanos(1)),
            promise,
            flows: Vec::new(),
            waiting: Vec::new(),
            backlogged: Vec::new(),
            claims: Claims::new(resources),
            service: Service::default(),
            starting: None,
            now: Nanos::ZERO,
            window_begins: Nanos::ZERO,
            fair_in_window: 0.0,
            fair: 0.0,
            tally: Tally::new(),
            shortfall: 0.0,
            flows_at_once: 0,
            longest: Nanos::ZERO,
            dominant: Nanos::ZERO,
        }
    }

    /// Ends the observation, once the last packet has left its dominant resource.
    #[must_use]
    pub fn finish(mut self) -> Shares {
        self.start_before(Nanos::MAX);
        while let Some(at) = self.service.next_at() {
            self.advance(at);
        }
        for at in 0..self.backlogged.len() {
            self.look(self.backlogged[at]);
        }
        Shares {
            window: self.window,
            counted: self.tally.count(),
            worst: self.tally.worst(),
            first_percentile: self.tally.at(Quantile::of(0.01)),
            median: self.tally.at(Quantile::MEDIAN),
            shortfall: self.promise.map(|_| Nanos::from_f64(self.shortfall)),
            flows_at_once: self.flows_at_once as u64,
            resources: self.resources as u64,
            longest: self.longest,
            dominant: self.dominant,
        }
    }

    /// Advances to `now`: closes windows, and begins and ends service.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        loop {
            let turn = self.service.next_at().unwrap_or(Nanos::MAX);
            let event = now.min(turn);
            // No window ends beyond the maximum of time.
            match self.window_begins.0.checked_add(self.window.0).map(Nanos) {
                Some(ends) if ends <= event => {
                    self.pass(ends);
                    self.close(event);
                }
                _ => {
                    self.pass(event);
                    match self.service.take(event) {
                        Some(turn) => self.turn(turn),
                        None => return,
                    }
                }
            }
        }
    }

    /// Advances through time without events.
    #[inline]
    fn pass(&mut self, now: Nanos) {
        let took = now - self.now;
        if took > Nanos::ZERO {
            let fair = self.claims.fair() * took.as_f64();
            self.fair += fair;
            self.fair_in_window += fair;
            self.flows_at_once = self.flows_at_once.max(self.backlogged.len());
            self.now = now;
        }
    }

    fn turn(&mut self, turn: Turn) {
        let (Turn::Begins(flow) | Turn::Ends(flow)) = turn;
        self.look(flow);
        self.flows[flow.index()].turn(self.now, matches!(turn, Turn::Begins(_)));
    }

    /// Updates the flow's lag.
    #[inline]
    fn look(&mut self, flow: FlowId) {
        let state = &mut self.flows[flow.index()];
        if let Some(promise) = self.promise
            && state.waits()
        {
            self.shortfall = self.shortfall.max(state.look(self.now, self.fair, promise));
        }
    }

    /// Closes the window that ends now, and those after it until the next `event`, which are all alike.
    #[cold]
    fn close(&mut self, event: Nanos) {
        self.count(self.window_begins, 1);
        self.window_begins = self.now;
        let alike = (event - self.now).0 / self.window.0;
        if alike > 0 {
            // The first one represents all; flows that arrived in the window just closed are complete from here on.
            let first = self.now;
            self.pass(first + self.window);
            self.count(first, alike);
            self.pass(first + Nanos(self.window.0 * alike));
            self.window_begins = self.now;
            self.begin_window();
        }
    }

    /// Counts `windows` windows, of which the first begins at `from` and ends now, and begins another.
    fn count(&mut self, from: Nanos, windows: u64) {
        for &flow in &self.backlogged {
            let state = &self.flows[flow.index()];
            let fair = state.weight * self.fair_in_window;
            if state.since <= from && fair > 0.0 {
                let received = state.served(self.now) - state.served_before_window;
                self.tally.add(flow, from, received.as_f64(), fair, windows);
            }
        }
        self.begin_window();
    }

    fn begin_window(&mut self) {
        self.fair_in_window = 0.0;
        for &flow in &self.backlogged {
            let state = &mut self.flows[flow.index()];
            state.served_before_window = state.served(self.now);
        }
    }

    /// Changes a flow's waiting packets.
    #[inline]
    fn change(&mut self, flow: FlowId, change: impl FnOnce(&mut Waiting)) {
        let state = &mut self.flows[flow.index()];
        let queue = &mut self.waiting[flow.index()];
        if state.waits()
            && let Some(head) = queue.head()
        {
            self.claims.remove(state.weight, head.times());
        }
        change(queue);
        let head = queue.head().filter(|head| head.dominant() > Nanos::ZERO);
        if let Some(head) = head {
            self.claims.add(state.weight, head.times());
        }
        match (state.waits(), head.is_some()) {
            (false, true) => self.join(flow),
            (true, false) => self.leave(flow),
            _ => {}
        }
    }

    fn join(&mut self, flow: FlowId) {
        if self.backlogged.is_empty() {
            // Rounding errors do not outlive a busy period.
            self.fair = 0.0;
        }
        self.flows[flow.index()].join(self.now, self.fair, self.backlogged.len() as u32);
        self.backlogged.push(flow);
    }

    fn leave(&mut self, flow: FlowId) {
        self.look(flow);
        let place = self.flows[flow.index()].leave(self.now);
        self.backlogged.swap_remove(place as usize);
        if let Some(&moved) = self.backlogged.get(place as usize) {
            self.flows[moved.index()].moved_to(place);
        }
    }

    /// Starts the released packet if its start is before `now`; other events at the instant of its start come first.
    #[inline]
    fn start_before(&mut self, now: Nanos) {
        if let Some((flow, handle, at)) = self.starting.filter(|&(_, _, at)| at < now) {
            self.starting = None;
            self.advance(at);
            self.change(flow, |queue| queue.take(handle));
        }
    }
}

impl Observer for FairShare {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        let at = flow.index();
        if at >= self.flows.len() {
            self.flows.resize(at + 1, Flow::NEW);
            self.waiting.resize_with(at + 1, || Waiting::new(self.resources));
        }
        self.flows[at].weight = profile.weight.as_f64();
    }

    #[inline]
    fn arrived(&mut self, packet: &Packet) {
        self.start_before(packet.arrival);
        self.advance(packet.arrival);
        if self.waiting[packet.flow.index()].is_empty() {
            self.change(packet.flow, |queue| queue.push(packet));
        } else {
            self.waiting[packet.flow.index()].push(packet);
        }
    }

    #[inline]
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.start_before(now);
        self.advance(now);
        self.change(packet.flow, |queue| queue.take(packet.handle));
    }

    #[inline]
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        self.start_before(Nanos::MAX);
        self.starting = Some((packet.flow, packet.handle, passage.start()[0]));
        let dominant = packet.demand.dominant();
        self.longest = self.longest.max(dominant);
        self.dominant += dominant;
        if dominant > Nanos::ZERO
            && let Some(r) = packet.demand.times().iter().position(|&time| time == dominant)
        {
            self.service.expect(r, packet.flow, passage.start()[r], passage.end()[r]);
        }
    }
}
