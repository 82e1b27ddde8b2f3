//! `gmr3`: group multi-resource round robin.
//!
//! Wang, Liang and Li, *Low complexity multi-resource fair queueing with bounded delay*, INFOCOM 2014. Round robin over flows
//! of uneven weight makes a heavy flow wait for a turn of every light one. Here flows are grouped by weight,
//! `G_k = { i : 2^k <= w_i < 2^(k+1) }`; the group with the earliest timestamp is served, and inside a group flows take turns.
//! That much is published (the abstract, and ATFQ's account of it), and that this takes O(1) work per packet, is nearly fair
//! and bounds the delay by a constant. The rest is our interpretation, in the manner of stratified round robin (Ramabhadran and
//! Pasquale, SIGCOMM 2003), with proofs of its own.
//!
//! *Turns.* `G_k` is served in rounds. A round belongs to the flows that are in the group when it begins, each has one turn in
//! it, and it is worth `e_k = 2^-k` of virtual time, however much or little they send: the turns of a round with `n` flows have
//! the timestamps
//!
//! ```text
//! F = T + e_k / n,  T being the timestamp of the turn before;   V = F of the turn that began last
//! ```
//!
//! The turn with the smallest `F` over all groups is next, ties to the heavier group; a group that was empty starts with
//! `T = V`. Thus `V - e_k/n <= T <= V` in each group. Virtual time is an integer, in units of 2^-50, and never drifts.
//!
//! *Credits.* Let `L` be the largest dominant time of a packet released since the scheduler was last empty. In its turn
//!
//! ```text
//! B_i <- B_i + L·w_i / 2^k;   while backlogged and B_i >= 0:  send p,  B_i <- B_i - max_j s_j(p);   if empty: B_i <- min(B_i, 0)
//! ```
//!
//! A credit is between `L` and `2L`, a debt at most `L`: every turn sends a packet, no turn more than `3L`, and costs need not
//! be known in advance.
//!
//! *Progress control.* Let `h` be the heaviest group of any known flow, backlogged or not. A turn with the timestamp `F` waits
//! (`dequeue` returns `None`) while `m` earlier turns or more have packets that have not started on the last of `m` resources,
//! and the oldest of them has a timestamp of `F - e_h` or less:
//!
//! ```text
//! turns before the last resource  <=  A = max(m, W e_h + g)
//! ```
//!
//! Among flows of one group that is a round, as in [`mr3`](super::mr3), and both keep all resources equally busy. If a flow is
//! heavy, the others' turns in front of the last resource take no longer than it may be kept waiting. Holding back flow by
//! flow, as `mr3` does, would let every light flow have a turn's worth of packets there, and a newly backlogged flow wait
//! behind all of them; and with `m` turns at most, the last resource runs dry when flows that hardly need it have their turns
//! in a row. The policy's page in the book compares these and other variants.
//!
//! # Bounds
//!
//! *Fairness.* While flow `i` of `G_k` is backlogged and has had `N` turns, `V/e_k - N` stays within an interval of length 3
//! (one for its place in the round, one for the turn in the round, one for `T <= V`), one more covers a turn half done, and an
//! overshoot is at most `L_i`, the flow's own largest dominant time. So over every interval in which `i` and `j` stay
//! backlogged, the dominant times of what is released of them differ by
//!
//! ```text
//! |T_i/w_i - T_j/w_j|  <=  4 L (e_i + e_j) + L_i/w_i + L_j/w_j  <=  9 L (1/w_i + 1/w_j)
//! ```
//!
//! `L` may grow on the way: the sum of credits is the integral of `L` over `N`, and partial integration gives the same. What is
//! processed lags what is released by at most `m` of the flow's turns and a packet, `(3m+1) L`, as less than `e_h <= e_k` of
//! virtual time holds at most two of its turns: for flows that keep their dominant resource the bound in processing time has
//! `10 + 3m` instead of 9.
//!
//! *Delay.* A flow that becomes backlogged, or ends a turn, has its next turn within `2 e_k` of virtual time. Let `W` be the
//! sum of the weights of all flows that are backlogged meanwhile and `g` the number of their groups: at most
//! `K = 4 W/w_i + g + 1` turns begin before that, with `3 K L` of dominant time. In a pipeline with unbounded buffers its
//! packet has left after at most
//!
//! ```text
//! (4 (K + A) + m + 1) L
//! ```
//!
//! along the longest chain of packets that wait for one another: turns and the `A` before them cost `3L` each, the way through
//! `m` resources is traversed once and once more for every `m` turns, since a turn that waits does so for one at least `m`
//! before it. As `W e_h <= W e_k < 2 W/w_i`, that does not depend on the number of flows for a given share `w_i/W`.
//!
//! A turn examines the groups that have flows, at most 40; a packet costs O(1) besides.
//!
//! # Worked example
//!
//! Flow 0 has weight 4, flows 1 and 2 weight 1; each packet takes 1 µs. A round of flow 0 is worth a quarter of a round of the
//! other two, whose turns are half a round apart. In their first turns these have no debt yet and send two packets:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight};
//!
//! let mut gmr3 = "gmr3".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! gmr3.set_weight(FlowId(0), Weight::new(4.0).expect("in range"));
//! let demand = Demand::new(&[Nanos::from_micros(1)])?;
//! for handle in 0..30 {
//!     for flow in 0..3 {
//!         let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
//!         gmr3.enqueue(&packet, Nanos::ZERO);
//!     }
//! }
//! let sent = core::iter::from_fn(|| gmr3.dequeue(Nanos::ZERO)).take(24);
//! let order: String = sent.map(|sent| sent.packet.flow.to_string()).collect();
//! assert_eq!(order, "000011002200100200100200");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, collections::VecDeque};

use crate::{
    Dispatch, Evicted, Feedback, FlowId, Interest, Nanos, Packet, Policy, PolicyError, Queued, Queues, Stage, Weight,
    entry::{Entry, Knobs, NO_CAUTION},
    flow::FlowMap,
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "gmr3",
    summary: "round robin inside groups of like weight, earliest group first",
    knobs: &[],
    cost: "O(1)",
    source: "Wang, Liang & Li, INFOCOM 2014",
    build: |_, setup| Ok(Box::new(Queued::new(Gmr3::new(setup.resources), setup.resources, setup.limits))),
    caution: NO_CAUTION,
};

/// Weights range from 10^-6 > 2^-20 to 10^6 < 2^20.
const LIGHTEST: i32 = -20;
const GROUPS: usize = 40;

/// Virtual time, in units of 2^-50: a round of the heaviest group is 2^31 of them, and 2^58 rounds of the lightest fit.
type Virtual = u128;
const HEAVIEST_ROUND: u64 = 1 << (50 - (LIGHTEST + GROUPS as i32 - 1));

/// The number, from 0, of the group for this weight, and `w / 2^k`, at least 1 and below 2.
#[inline]
fn group_of(weight: f64) -> (usize, f64) {
    // A float is stored as a power of two times a number from 1 to 2.
    const FRACTION_BITS: u32 = 52;
    const BIAS: i32 = 1023;
    let bits = weight.to_bits();
    let exponent = (bits >> FRACTION_BITS) as i32 - BIAS;
    let fraction = f64::from_bits((bits & ((1 << FRACTION_BITS) - 1)) | ((BIAS as u64) << FRACTION_BITS));
    ((exponent - LIGHTEST).clamp(0, GROUPS as i32 - 1) as usize, fraction)
}

#[derive(Debug, Clone, Default)]
struct State {
    // In nanoseconds. Negative if owed from the last turn.
    balance: f64,
    // The group in whose ring the flow is, from 1; 0 for none. It may be there without a packet: see `evicted`.
    place: u8,
    // The group that counts the flow as known, from 1; 0 for none.
    known: u8,
}

#[derive(Debug, Clone, Default)]
struct Group {
    // The flow whose turn it is is in front; those that joined in this round are behind the first `left`.
    ring: VecDeque<FlowId>,
    left: usize,
    // Timestamps of the turn before, of the next turn and of the round's last turn; and the step between turns.
    before: Virtual,
    next: Virtual,
    end: Virtual,
    step: Virtual,
}

impl Group {
    /// Begins a round of all flows in the ring, which must not be empty, at `self.before`.
    fn begin_round(&mut self, number: usize) {
        self.left = self.ring.len();
        self.step = Virtual::from(HEAVIEST_ROUND / self.left as u64) << (GROUPS - 1 - number);
        self.end = self.before + worth(number);
        self.stamp();
    }

    #[inline]
    fn stamp(&mut self) {
        // A round is always worth the same, so its last turn absorbs the division's remainder.
        self.next = if self.left == 1 { self.end } else { self.before + self.step };
    }
}

/// The virtual time that a round of this group is worth.
#[inline]
fn worth(number: usize) -> Virtual {
    Virtual::from(HEAVIEST_ROUND) << (GROUPS - 1 - number)
}

/// The groups that have flows, backlogged or not.
#[derive(Debug)]
struct Known {
    flows: [u32; GROUPS],
    // A bit for each group that has any.
    groups: u64,
}

impl Known {
    #[inline]
    fn add(&mut self, number: usize) {
        self.flows[number] += 1;
        self.groups |= 1 << number;
    }

    #[inline]
    fn remove(&mut self, number: usize) {
        self.flows[number] -= 1;
        if self.flows[number] == 0 {
            self.groups &= !(1 << number);
        }
    }

    /// The heaviest group; if there is none, the lightest possible.
    #[inline]
    fn heaviest(&self) -> usize {
        self.groups.checked_ilog2().unwrap_or(0) as usize
    }
}

/// A turn with packets on their way to the last resource.
#[derive(Debug)]
struct Turn {
    timestamp: Virtual,
    // Its packets that have not started there.
    ahead: u32,
}

/// All turns with packets on their way.
#[derive(Debug, Default)]
struct Turns {
    // Numbered from `first`, in order of their timestamps.
    ahead: VecDeque<Turn>,
    first: u64,
}

impl Turns {
    /// Whether fewer than `most` turns are on their way, or all of them are less than `worth` before `timestamp`.
    #[inline]
    fn are_few(&mut self, most: usize, timestamp: Virtual, worth: Virtual) -> bool {
        while self.ahead.front().is_some_and(|turn| turn.ahead == 0) {
            self.ahead.pop_front();
            self.first += 1;
        }
        self.ahead.len() < most || self.ahead.front().is_none_or(|oldest| oldest.timestamp + worth > timestamp)
    }

    #[inline]
    fn begin(&mut self, timestamp: Virtual) {
        self.ahead.push_back(Turn { timestamp, ahead: 0 });
    }

    /// Records the release of a packet of the turn that began last; returns its ticket.
    #[inline]
    fn release(&mut self) -> u64 {
        if let Some(turn) = self.ahead.back_mut() {
            turn.ahead = turn.ahead.saturating_add(1);
        }
        self.first + (self.ahead.len() as u64).saturating_sub(1)
    }

    #[inline]
    fn started(&mut self, ticket: u64) {
        let Some(at) = ticket.checked_sub(self.first).and_then(|at| usize::try_from(at).ok()) else { return };
        if let Some(turn) = self.ahead.get_mut(at) {
            turn.ahead = turn.ahead.saturating_sub(1);
        }
    }
}

/// Group multi-resource round robin.
#[derive(Debug)]
pub struct Gmr3 {
    resources: usize,
    groups: [Group; GROUPS],
    // A bit for each group that has flows.
    busy: u64,
    now: Virtual,
    // The group whose flow has the turn, while a turn lasts.
    turn: Option<usize>,
    // L, in nanoseconds.
    largest: f64,
    flows: FlowMap<State>,
    known: Known,
    turns: Turns,
}

impl Gmr3 {
    /// For `resources` resources.
    #[must_use]
    pub fn new(resources: usize) -> Self {
        Self {
            resources,
            groups: core::array::from_fn(|_| Group::default()),
            busy: 0,
            now: 0,
            turn: None,
            largest: 0.0,
            flows: FlowMap::new(),
            known: Known { flows: [0; GROUPS], groups: 0 },
            turns: Turns::default(),
        }
    }

    /// The group whose next turn has the least timestamp.
    #[inline]
    fn earliest(&self) -> Option<usize> {
        let mut rest = self.busy;
        let mut least: Option<(Virtual, usize)> = None;
        while rest != 0 {
            let number = 63 - rest.leading_zeros() as usize;
            rest &= !(1 << number);
            let next = self.groups[number].next;
            if least.is_none_or(|(least, _)| next < least) {
                least = Some((next, number));
            }
        }
        least.map(|(_, number)| number)
    }

    /// Counts a flow as known in the group of its weight.
    #[inline]
    fn know(&mut self, queues: &Queues, flow: FlowId) {
        let (number, _) = group_of(queues.weight(flow));
        let before = core::mem::replace(&mut self.flows.at(flow).known, number as u8 + 1);
        if before != number as u8 + 1 {
            self.known.add(number);
            self.unknow(before);
        }
    }

    fn unknow(&mut self, known: u8) {
        if let Some(number) = usize::from(known).checked_sub(1) {
            self.known.remove(number);
        }
    }

    /// Adds a flow that is in no ring at the tail of its group's.
    #[inline]
    fn join(&mut self, queues: &Queues, flow: FlowId) {
        let (number, _) = group_of(queues.weight(flow));
        self.flows.at(flow).place = number as u8 + 1;
        let group = &mut self.groups[number];
        group.ring.push_back(flow);
        if group.ring.len() == 1 {
            group.before = self.now;
            group.begin_round(number);
            self.busy |= 1 << number;
        }
    }

    /// After a group's ring or round has lost a flow: begins the next round if this one is over, or marks the group as empty.
    #[inline]
    fn settle(&mut self, number: usize) {
        let group = &mut self.groups[number];
        if group.left > 0 {
            group.stamp();
        } else if !group.ring.is_empty() {
            group.begin_round(number);
        } else {
            self.busy &= !(1 << number);
            if self.busy == 0 {
                self.largest = 0.0;
            }
        }
    }

    /// Gives the group's front flow the turn, with its credit.
    #[inline]
    fn begin_turn(&mut self, queues: &Queues, number: usize, flow: FlowId) {
        let group = &self.groups[number];
        // Prefetches the next flows: first their queues, later their head packets.
        if let Some(&later) = group.ring.get(6) {
            queues.prefetch_flow(later);
            self.flows.prefetch(later);
        }
        if let Some(&soon) = group.ring.get(3) {
            queues.prefetch_head(soon);
        }
        self.now = group.next;
        self.turn = Some(number);
        let (_, share) = group_of(queues.weight(flow));
        let state = self.flows.at(flow);
        // The sum is negative only if L was reset since, because everything was empty.
        state.balance = (state.balance + self.largest * share).max(0.0);
        if self.resources > 1 {
            self.turns.begin(self.now);
        }
    }

    /// Ends the turn of the group's front flow, or skips it. The flow goes to a tail, or leaves.
    #[inline]
    fn end_turn(&mut self, queues: &Queues, number: usize, flow: FlowId) {
        self.turn = None;
        let group = &mut self.groups[number];
        group.ring.pop_front();
        group.left -= 1;
        group.before = group.next;
        let state = self.flows.at(flow);
        if queues.is_empty(flow) {
            state.balance = state.balance.min(0.0);
            state.place = 0;
        } else if group_of(queues.weight(flow)).0 == number {
            group.ring.push_back(flow);
        } else {
            self.join(queues, flow);
        }
        self.settle(number);
    }
}

impl Policy for Gmr3 {
    fn interest(&self) -> Interest {
        match self.resources {
            1 => Interest::NONE,
            resources => Interest::of(Stage::Started, resources - 1),
        }
    }

    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        if queues.len(flow) == 1 {
            self.know(queues, flow);
            if self.flows.at(flow).place == 0 {
                self.join(queues, flow);
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        loop {
            let number = match self.turn {
                Some(number) => number,
                None => self.earliest()?,
            };
            let flow = *self.groups[number].ring.front()?;
            if queues.is_empty(flow) {
                // Its turn is spent nevertheless, because a round is always worth the same.
                self.now = self.groups[number].next;
                self.end_turn(queues, number, flow);
                continue;
            }
            if self.turn.is_none() {
                let (next, worth) = (self.groups[number].next, worth(self.known.heaviest()));
                if self.resources > 1 && !self.turns.are_few(self.resources, next, worth) {
                    return None;
                }
                self.begin_turn(queues, number, flow);
            }
            let packet = queues.pop(flow);
            let cost = packet.demand.dominant().as_f64();
            self.largest = self.largest.max(cost);
            let balance = &mut self.flows.at(flow).balance;
            *balance -= cost;
            let over = *balance < 0.0;
            let ticket = self.turns.release();
            if over || queues.is_empty(flow) {
                self.end_turn(queues, number, flow);
            }
            return Some(Dispatch { packet, ticket });
        }
    }

    /// A flow that loses its last packet keeps its place and leaves in its turn, so that no drop searches a ring.
    fn evicted(&mut self, _queues: &mut Queues, _lost: &Packet, _end: Evicted) {}

    #[inline]
    fn feedback(&mut self, _queues: &mut Queues, event: &Feedback, _now: Nanos) {
        if self.resources > 1 && event.settles(Stage::Started, self.resources - 1) {
            self.turns.started(event.ticket);
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, _old: Weight) {
        self.know(queues, flow);
        let Some(from) = self.flows.peek(flow).and_then(|state| usize::from(state.place).checked_sub(1)) else {
            return;
        };
        let group = &mut self.groups[from];
        // If the flow has the turn, it moves to the right ring at the turn's end.
        if group_of(queues.weight(flow)).0 == from || (self.turn == Some(from) && group.ring.front() == Some(&flow)) {
            return;
        }
        let Some(at) = group.ring.iter().position(|&other| other == flow) else { return };
        group.ring.remove(at);
        if at < group.left {
            group.left -= 1;
        }
        self.join(queues, flow);
        self.settle(from);
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)
    }

    fn forget(&mut self, flow: FlowId) {
        // The flow stays in its ring for now.
        if let Some(state) = self.flows.peek_mut(flow) {
            state.balance = 0.0;
            let known = core::mem::take(&mut state.known);
            self.unknow(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_weights_from_a_power_of_two_to_the_next() {
        for (weight, number, share) in [
            (1e-6, 0, 1.048576),
            (0.75, 19, 1.5),
            (1.0, 20, 1.0),
            (1.5, 20, 1.5),
            (2.0, 21, 1.0),
            (1e6, 39, 1.9073486328125),
        ] {
            assert_eq!(group_of(weight), (number, share), "{weight}");
        }
    }

    #[test]
    fn a_round_is_worth_the_same_whatever_the_number_of_flows() {
        for flows in [1, 3, 7, 1000] {
            let mut group = Group { ring: (0..flows).map(FlowId).collect(), before: 5, ..Group::default() };
            group.begin_round(20);
            while group.left > 1 {
                group.left -= 1;
                group.before = group.next;
                group.stamp();
            }
            assert_eq!(group.next - 5, 1 << 50);
        }
    }
}
