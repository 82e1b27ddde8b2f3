//! `drr-sff`: deficit round robin with short flows first.
//!
//! Sun, Shi, Hu and Liu, *DRR-SFF: a practical scheduling algorithm to improve the performance of short flows*, ICNS 2007.
//! The first `th` bytes of a flow are served in the *short* group (the paper's PQ), the rest in the *long* group (BQ).
//! Weighted deficit round robin alternates between the groups with quanta `ratio : 1`, and deficit round robin serves
//! the flows of each, `DC` being the deficit of a group or a flow:
//!
//! ```text
//! g <- the group whose turn it is, the other if it is empty;   i <- the first flow of g
//! if DC_g <= 0: DC_g += quantum_g;   if DC_i <= 0: DC_i += quantum·w_i
//! send p, the head of i;   DC_g -= len(p);   DC_i -= len(p);   bytes_scheduled_i += len(p)
//! if DC_g <= 0, or g is now empty (then DC_g <- 0): the turn passes
//! i leaves g if it is empty; it moves to the tail of the long group if bytes_scheduled_i >= th, to the tail of g if DC_i <= 0
//! ```
//!
//! Between its turns a flow has a deficit below zero by less than a packet: it may send before it has earned. A flow's packets
//! never overtake each other: its position moves from one group to the other, its queue does not.
//!
//! **What the paper leaves open.** A flow that runs empty leaves its list; its count of bytes sent is kept until it has nothing
//! queued and a packet arrives later than `timeout` after its last (section 3.1); packets dropped while others of the flow were
//! queued do not count as its last. A group that runs empty loses its deficit and its turn. The second `if` of the long group is
//! an `else if`.
//!
//! **Quanta.** One addition must make a deficit positive, or the order of service would not depend on it: as printed, a flow of
//! packets larger than the quantum is served at every visit however far below zero it is, and gets more than its share. So each
//! round of a group, in which every flow is visited once, has its own quantum, stated for weight 1: `quantum`, or the largest
//! `-DC_i/w_i` at which a visit of the previous round ended, if that is more. The groups' `base` is raised in the same way, a
//! round being a turn of each. While no packet exceeds its flow's quantum none of this happens. The paper leaves the groups'
//! quanta open except for their ratio: here the smaller one is `base`, the least that O(1) allows,
//! `quantum_short = max(ratio, 1)·base` and `quantum_long = max(1/ratio, 1)·base`.
//!
//! **Fairness.** Within a group a flow's `sent_i/w_i` is its quanta so far less `DC_i/w_i`, with `-L_i <= DC_i <= Q·w_i`, `Q`
//! being the largest quantum and `L` the largest packets. A round gives the same quantum to all, so of two flows one has at
//! most one quantum more, and only during the visit of that flow can its deficit be positive. So over any interval in which
//! both are backlogged in the group
//!
//! ```text
//! |sent_i/w_i - sent_j/w_j| <= Q + L_i/w_i + L_j/w_j                 Q <= max(quantum, largest L_k/w_k)
//! |sent_short/ratio - sent_long| <= B + L/ratio + L                  B = max(1/ratio, 1)·base,  base <= max(quantum, L)
//! ```
//!
//! to which the long group adds the credit that a flow brought from the short one, at most another `Q`; the second holds while
//! both groups are backlogged, by the same argument. Every visit sends a packet: O(1), at any weights and sizes. The price, as
//! in `mr3`: a flow of small weight lengthens all turns by as much as it needs. If it becomes heavier, the round that has begun
//! still ends at its old quantum.
//!
//! **A full buffer** steals from the tail of the longest queue of a group, in packets (McKenney's buffer stealing).
//! Under `steal=long-first`, as printed, that is the long group while it has packets: when short flows alone fill the
//! link, the long group never has any, and starves. Under `steal=shares`, the default, each group has a share of the
//! buffer in proportion to the quanta, and the one furthest over it loses, counting the arriving packet: the short one
//! if `held_short > ratio·held_long`, in packets or bytes, whichever limit is met. Then a long group that offers enough
//! is always backlogged, and gets its weight of the link. The longest queue is found in O(1), from a list of the queues
//! of each length. The rule is part of the policy, whatever drop policy the limits specify.
//!
//! **`threshold=auto`** sets `th` so that the short group carries the fraction `target` of the bytes. By section 3.4 short
//! flows with the fraction `q` of the bytes are favoured only if `ratio > q/(1 - q)`: for a ratio of 2, below 2/3. The fraction
//! carried may be 1.42 times the target, so targets up to 0.47 are safe; the default, 0.4, is the paper's (section 4.3).
//!
//! # Worked example
//!
//! Packets of 1000 bytes, a quantum of 1000, ratio 2. Flow 0 is past the threshold of 2000 bytes when flows 1 and 2 arrive with
//! two packets each: two of theirs are sent for each of flow 0.
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let spec: PolicySpec = "drr-sff:threshold=2000,quantum=1000".parse()?;
//! let mut scheduler = spec.build(&Setup::new(1, Limits::UNLIMITED))?;
//! let demand = Demand::new(&[Nanos(1)])?;
//! let mut offer = |scheduler: &mut dyn dovetail_sched::Scheduler, flow, packets| {
//!     for handle in 0..packets {
//!         let packet = Packet { flow: FlowId(flow), bytes: 1000, arrival: Nanos::ZERO, handle, demand };
//!         scheduler.enqueue(&packet, Nanos::ZERO);
//!     }
//! };
//! offer(&mut scheduler, 0, 6);
//! let first: Vec<u32> = (0..2).filter_map(|_| scheduler.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
//! offer(&mut scheduler, 1, 2);
//! offer(&mut scheduler, 2, 2);
//! let then: Vec<u32> = core::iter::from_fn(|| scheduler.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
//! assert_eq!((first, then), (vec![0, 0], vec![0, 1, 2, 0, 1, 2, 0, 0]));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod group;
mod lengths;
mod ring;
mod settings;
mod threshold;

use alloc::boxed::Box;
use core::hint::select_unpredictable;

use slab::Slab;

use super::{ages::Ages, drr::OUT_OF_CACHE};
use crate::{
    Dispatch, Evicted, FlowId, Nanos, Packet, Policy, PolicyError, Queued, Queues, Weight,
    entry::{Entry, Knob, Knobs},
    flow::FlowMap,
};
use group::Group;
use ring::{Active, TURN};
use threshold::Following;

pub use settings::{Settings, Steal, Threshold};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "drr-sff",
    summary: "deficit round robin by bytes, the first bytes of every flow first",
    knobs: &[
        Knob {
            key: "threshold",
            default: "20kB",
            meaning: "bytes after which a flow is long, 1B to 1GB, or auto to follow the traffic",
            retunable: true,
        },
        Knob {
            key: "target",
            default: "0.4",
            meaning: "with threshold=auto: the part of the bytes that the short group should carry, 0.01 to 0.99",
            retunable: true,
        },
        Knob {
            key: "ratio",
            default: "2",
            meaning: "the short group's share of the link over the long group's, 0.001 to 1000000",
            retunable: true,
        },
        Knob { key: "timeout", default: "10s", meaning: "silence after which a flow counts as new", retunable: true },
        Knob {
            key: "quantum",
            default: "1514",
            meaning: "bytes that a flow of weight 1 earns a turn, 1B to 1GB; raised to the largest packet",
            retunable: true,
        },
        Knob {
            key: "steal",
            default: "shares",
            meaning: "which group drops when the buffer is full: the one over its share, or long-first as published",
            retunable: true,
        },
    ],
    cost: "O(1)",
    source: "Sun, Shi, Hu & Liu, ICNS 2007",
    build: |knobs, setup| {
        let policy = DrrSff::new(&Settings::of(knobs)?, setup.limits.has_buffer());
        Ok(Box::new(Queued::new(policy, setup.resources, setup.limits)))
    },
    caution: |knobs| {
        let Ok(Settings { threshold, ratio, .. }) = Settings::of(knobs) else { return None };
        match threshold {
            Threshold::Auto { target } if target >= ratio / (1.0 + ratio) => Some(
                "short flows carry more than their group's part of the link, ratio/(1 + ratio): they are not favoured",
            ),
            _ if ratio < 1.0 => Some("with a ratio under 1 it is the long flows that are favoured"),
            _ => None,
        }
    },
};

/// The threshold until enough has been sent to set another: the paper's.
const FIRST_THRESHOLD_BYTES: u64 = 20_000;

const SHORT: usize = 0;
const LONG: usize = 1;

/// Deficit round robin with short flows first.
#[derive(Debug)]
pub struct DrrSff {
    ratio: f64,
    steal: Steal,
    threshold_bytes: u64,
    following: Option<Following>,
    quantum_bytes: f64,
    // The groups' quanta relative to the base, and in bytes.
    bases: [f64; 2],
    quanta_bytes: [f64; 2],
    // Tracked only while a group overshot by more than the quantum in this round or the last: which groups had a turn in this
    // round, the first of them, and the largest overshoot, as the base that makes it up in one quantum. Rounds that are not
    // tracked begin with the same group as the last that was: otherwise a group could get two turns of a small base, and the
    // other two of a large one.
    is_raised: bool,
    had_turn: [bool; 2],
    begins_round: usize,
    over_bytes: f64,
    ages: Ages,
    active: Slab<Active>,
    // The index in `active` of a flow with queued packets.
    place: FlowMap<u32>,
    groups: [Group; 2],
    turn: usize,
}

impl DrrSff {
    /// An empty scheduler. `bounded`: whether there is a limit on all flows together, so that queues must be ordered by their
    /// lengths.
    #[must_use]
    pub fn new(settings: &Settings, bounded: bool) -> Self {
        let mut empty = Self {
            ratio: settings.ratio,
            steal: settings.steal,
            threshold_bytes: FIRST_THRESHOLD_BYTES,
            following: None,
            quantum_bytes: 0.0,
            bases: [0.0; 2],
            quanta_bytes: [0.0; 2],
            is_raised: false,
            had_turn: [false; 2],
            begins_round: SHORT,
            over_bytes: 0.0,
            ages: Ages::new(settings.timeout),
            active: Slab::new(),
            place: FlowMap::new(),
            groups: [Group::new(bounded), Group::new(bounded)],
            turn: SHORT,
        };
        empty.set(settings);
        empty
    }

    /// Changes the settings. Flows stay in their groups until they are served; a threshold that follows the traffic keeps what
    /// it has learnt.
    fn set(&mut self, settings: &Settings) {
        let Settings { threshold, ratio, timeout, quantum_bytes, steal } = *settings;
        (self.ratio, self.steal, self.quantum_bytes) = (ratio, steal, quantum_bytes as f64);
        self.ages.set_timeout(timeout);
        match (threshold, &mut self.following) {
            (Threshold::Bytes(bytes), following) => (self.threshold_bytes, *following) = (bytes, None),
            (Threshold::Auto { target }, Some(following)) => following.set_target(target),
            (Threshold::Auto { target }, following) => *following = Some(Following::new(target)),
        }
        // The smaller of the two is 1.
        self.bases = [ratio.max(1.0), (1.0 / ratio).max(1.0)];
        self.set_base(self.quantum_bytes);
    }

    /// Resets the deficit and passes the turn if `group` has run empty.
    #[inline]
    fn settle(&mut self, group: usize) {
        if !self.groups[group].is_empty() {
            return;
        }
        self.groups[group].deficit_bytes = 0.0;
        self.groups[group].over_bytes = 0.0;
        if self.turn == group {
            self.turn = other(group);
        }
    }

    /// The last packet of `at`, which arrived at `arrival`, leaves. Out of line, like everything that happens at most once per
    /// flow's turn: [`dequeue`](Policy::dequeue) is faster the fewer values it has to keep.
    #[inline(never)]
    fn runs_empty(&mut self, group: usize, at: u32, arrival: Nanos) {
        self.ages.ran_empty(self.active[at as usize].flow, arrival);
        self.groups[group].leave(&mut self.active, at, 0, 0);
        self.active.remove(at as usize);
        self.settle(group);
    }

    /// Moves `at` to the long group, with `packets` of `bytes` queued and a deficit this far below zero for weight 1.
    #[inline(never)]
    fn becomes_long(&mut self, at: u32, packets: u32, bytes: u64, over_bytes: f64) {
        self.groups[SHORT].leave(&mut self.active, at, packets, bytes);
        self.active[at as usize].is_long = true;
        self.groups[LONG].join(&mut self.active, at, packets, bytes);
        self.groups[LONG].went_over(over_bytes);
        self.settle(SHORT);
    }

    /// Begins the group's turn while the base is raised or to be raised: a group that has had its turn of this round begins
    /// another, with the base that the last one requires.
    #[cold]
    fn begin_raised_turn(&mut self, group: usize) {
        if self.had_turn[group] {
            self.had_turn = [false; 2];
            self.begins_round = group;
            self.set_base(self.quantum_bytes.max(self.over_bytes));
            self.is_raised = self.over_bytes > 0.0;
            self.over_bytes = 0.0;
        }
        self.had_turn[group] = true;
    }

    /// The group's turn ended so far below zero that the base of the next round must be raised.
    #[cold]
    fn turn_went_over(&mut self, group: usize) {
        if !self.is_raised {
            self.is_raised = true;
            // If it is the second one, the round is over.
            self.had_turn = [true; 2];
            self.had_turn[other(group)] = group != self.begins_round;
        }
        self.over_bytes = self.over_bytes.max(-self.groups[group].deficit_bytes / self.bases[group]);
    }

    fn set_base(&mut self, base_bytes: f64) {
        self.quanta_bytes = self.bases.map(|bases| bases * base_bytes);
    }

    /// Sends a packet of the group, which must not be empty.
    #[inline(always)]
    fn serve(&mut self, turn: usize, queues: &mut Queues) -> Option<Dispatch> {
        let begins = self.groups[turn].deficit_bytes <= 0.0;
        if self.is_raised && begins {
            self.begin_raised_turn(turn);
        }
        // A selection instead of a branch: whether the last turn ended is unpredictable.
        let earns_bytes = select_unpredictable(begins, self.quanta_bytes[turn], 0.0);
        let group = &mut self.groups[turn];
        let at = group.turns.first()?;
        let active = &mut self.active[at as usize];
        let (flow, next) = (active.flow, active.after(TURN));
        let head = queues.head(flow)?;
        let (bytes, arrival, is_last) = (head.bytes(), head.arrival(), head.next().is_none());
        let (size, weight) = (f64::from(bytes), queues.weight(flow));
        // Deficits are written once: the next choice depends on them, and reading what was just written takes time.
        let deficit_bytes = active.deficit_bytes + group.visit(active, weight, self.quantum_bytes) - size;
        active.deficit_bytes = deficit_bytes;
        let group_deficit_bytes = group.deficit_bytes + earns_bytes - size;
        group.deficit_bytes = group_deficit_bytes;
        group.sent_bytes += u64::from(bytes);
        let over_bytes = -deficit_bytes;
        let far_over = -group_deficit_bytes > self.quantum_bytes;
        self.turn = turn ^ usize::from(group_deficit_bytes <= 0.0);
        // A long flow stays long: its bytes are counted further only if the threshold may rise.
        let is_counted = turn == SHORT || self.following.is_some();
        if group.flows > OUT_OF_CACHE {
            let flow = self.active[next as usize].flow;
            queues.prefetch_flow(flow);
            if is_counted {
                self.ages.prefetch(flow);
            }
        }
        if let Some(held) = &mut group.held {
            let packets = queues.len(flow);
            held.change(&mut self.active, at, (packets, packets - 1), (bytes.into(), 0));
        }
        if far_over {
            self.turn_went_over(turn);
        }
        let group = &mut self.groups[turn];
        let position = if is_counted { self.ages.add(flow, bytes) } else { self.threshold_bytes };
        let has_had = position.saturating_add(bytes.into());
        if is_last {
            self.runs_empty(turn, at, arrival);
        } else if turn == SHORT && has_had >= self.threshold_bytes {
            let (packets, left) = (queues.len(flow) - 1, queues.flow_backlog(flow).bytes - u64::from(bytes));
            self.becomes_long(at, packets, left, over_bytes / weight);
        } else {
            if over_bytes > self.quantum_bytes * weight {
                group.went_over(over_bytes / weight);
            }
            group.turns.rotate_if(over_bytes >= 0.0, next);
        }
        if let Some(following) = &mut self.following
            && let Some(threshold_bytes) = following.sent(position, bytes)
        {
            self.threshold_bytes = threshold_bytes;
        }
        // Last, so that the packet is written in place and not moved.
        Some(Dispatch::plain(queues.pop(flow)))
    }

    /// The group that loses a packet for `arriving`.
    fn loser(&self, queues: &Queues, arriving: &Packet, now: Nanos) -> usize {
        if self.steal == Steal::LongFirst {
            return if self.groups[LONG].is_empty() { SHORT } else { LONG };
        }
        let is_long = match self.place.peek(arriving.flow) {
            Some(&at) if !queues.is_empty(arriving.flow) => self.active[at as usize].is_long,
            _ => self.ages.before_arrival(queues, arriving.flow, now) >= self.threshold_bytes,
        };
        let full_of_packets = queues.limits().packets.is_some_and(|most| queues.backlog().packets >= most.into());
        let holds = |group: usize| {
            let comes = usize::from(is_long) == group;
            self.groups[group].held.as_ref().map_or(0.0, |held| {
                if full_of_packets {
                    (held.packets + u64::from(comes)) as f64
                } else {
                    (held.bytes + u64::from(arriving.bytes) * u64::from(comes)) as f64
                }
            })
        };
        if holds(SHORT) > self.ratio * holds(LONG) { SHORT } else { LONG }
    }
}

#[inline]
const fn other(group: usize) -> usize {
    1 - group
}

impl Policy for DrrSff {
    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos) {
        let packets = queues.len(flow);
        if packets == 1 {
            let is_long = self.ages.opened(flow, now) >= self.threshold_bytes;
            let at = self.active.insert(Active::new(flow, is_long)) as u32;
            *self.place.at(flow) = at;
            let bytes = queues.flow_backlog(flow).bytes;
            self.groups[usize::from(is_long)].join(&mut self.active, at, 1, bytes);
        } else if self.groups[SHORT].held.is_some() {
            let at = *self.place.at(flow);
            let is_long = self.active[at as usize].is_long;
            let bytes = queues.tail(flow).map_or(0, |tail| u64::from(tail.bytes()));
            if let Some(held) = &mut self.groups[usize::from(is_long)].held {
                held.change(&mut self.active, at, (packets - 1, packets), (0, bytes));
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        let [is_short_empty, is_long_empty] = [SHORT, LONG].map(|group| self.groups[group].is_empty());
        if is_short_empty | is_long_empty {
            // The turn does not depend on the size of the last packet: with one group, which is known early, a packet need not
            // wait for the deficit that the one before left.
            self.serve(usize::from(is_short_empty), queues)
        } else {
            // 0 or 1; masked, so that no index needs a bounds check.
            self.serve(self.turn & 1, queues)
        }
    }

    fn has_drop_rule(&self) -> bool {
        true
    }

    fn victim(&self, queues: &Queues, arriving: &Packet, now: Nanos) -> Option<FlowId> {
        let group = &self.groups[self.loser(queues, arriving, now)];
        let longest = group.held.as_ref()?.lengths.longest()?;
        Some(self.active[longest as usize].flow)
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, _end: Evicted) {
        let flow = lost.flow;
        let at = *self.place.at(flow);
        let group = usize::from(self.active[at as usize].is_long);
        self.groups[group].evicted += 1;
        let packets = queues.len(flow);
        if let Some(held) = &mut self.groups[group].held {
            held.change(&mut self.active, at, (packets + 1, packets), (lost.bytes.into(), 0));
        }
        if packets == 0 {
            self.runs_empty(group, at, lost.arrival);
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, _old: Weight) {
        if queues.is_empty(flow) {
            return;
        }
        let active = &self.active[*self.place.at(flow) as usize];
        self.groups[usize::from(active.is_long)].went_over(-active.deficit_bytes / queues.weight(flow));
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        self.set(&Settings::of(knobs)?);
        Ok(())
    }

    fn forget(&mut self, flow: FlowId) {
        self.ages.forget(flow);
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("threshold_kb", self.threshold_bytes as f64 / 1e3);
        for (group, [flows, sent, evicted]) in self.groups.iter().zip([
            ["short_flows", "short_sent_bytes", "short_evicted"],
            ["long_flows", "long_sent_bytes", "long_evicted"],
        ]) {
            report(flows, group.flows as f64);
            report(sent, group.sent_bytes as f64);
            report(evicted, group.evicted as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{flow::BYTES_A_QUEUE, packet::ages::Age};

    #[test]
    fn an_idle_flow_costs_little() {
        let idle = BYTES_A_QUEUE + size_of::<Age>() + size_of::<u32>();
        assert_eq!(idle, 36);
        assert_eq!(size_of::<Option<Active>>(), 32, "and an active one another half cache line");
    }
}
