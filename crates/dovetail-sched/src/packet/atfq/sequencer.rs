//! The order of one loop's packets.
//!
//! For two resources Gilmore and Gomory's algorithm gives the least sum of gaps. For more, no-wait flow shop sequencing is
//! NP-hard, but the gap is the largest of `m - 1` terms (see [`nowait`](crate::packet::nowait)):
//!
//! ```text
//! gap(p, q) = max over n = 2..m of gap_n(p, q),   gap_n(p, q) = max(0, B_n(p) - A_n(q)),
//! B_n(p) = L(p,2) + … + L(p,n),   A_n(q) = L(q,1) + … + L(q,n-1)
//! ```
//!
//! and each `gap_n` alone is a problem of two resources. Its least sum is at most that of any order under the true gap, so the
//! largest of the `m - 1` least sums is a lower bound for every order, and each of the `m - 1` orders is a candidate. If the
//! last resources take the least time, such as a fast link after slow processing, the bound is met (the paper's eq. 8) and the
//! search ends. Otherwise the best candidate is cut into blocks of at most 64 packets, and each block is reordered, starting
//! from the cheapest [assignment](super::assignment) of followers, which is also a bound if the loop is one block.
//!
//! A flow's packets must leave in order. Algorithms that ignore flows may reorder them; then the places that they assign to a
//! flow go to the flow's packets in order of arrival. If a flow's packets differ, that reintroduces gaps, for two resources
//! too. A search that keeps each flow's order, by [merging](super::merge), then improves the blocks until the bound is met,
//! nothing helps, or its budget is spent.

use alloc::vec::Vec;

use super::{assignment::Assignment, gilmore_gomory::GilmoreGomory, matrix::Matrix, merge::Merge};
use crate::{FlowId, Nanos};

pub use super::gilmore_gomory::MAX_PACKETS;

/// 39 hours: longer times on a resource are capped at this, which keeps sums of seven in range.
const TIME_CAP: u64 = super::gilmore_gomory::TIME_BOUND / 8;

/// The number of packets ordered together if no exact algorithm is known.
const BLOCK: usize = 64;

/// Packets, with the sums that determine their gaps.
#[derive(Debug, Default)]
struct Jobs {
    // The number of sums per packet: one less than resources.
    cuts: usize,
    // A_n and B_n for n = 2..m, in ns.
    comes: Vec<u64>,
    leaves: Vec<u64>,
    flow: Vec<FlowId>,
}

impl Jobs {
    #[inline]
    fn gap(&self, before: u16, after: u16) -> u64 {
        let (p, q) = (usize::from(before) * self.cuts, usize::from(after) * self.cuts);
        let (leaves, comes) = (&self.leaves[p..p + self.cuts], &self.comes[q..q + self.cuts]);
        leaves.iter().zip(comes).fold(0, |most, (&leaves, &comes)| most.max(leaves.saturating_sub(comes)))
    }

    fn clear(&mut self) {
        self.comes.clear();
        self.leaves.clear();
        self.flow.clear();
    }

    #[inline]
    fn push(&mut self, flow: FlowId, times: &[Nanos]) {
        let (mut comes, mut leaves) = (0, 0);
        for pair in times.windows(2) {
            comes += pair[0].0.min(TIME_CAP);
            leaves += pair[1].0.min(TIME_CAP);
            self.comes.push(comes);
            self.leaves.push(leaves);
        }
        self.flow.push(flow);
    }

    fn same(&self, one: u16, other: u16) -> bool {
        let (i, j) = (usize::from(one) * self.cuts, usize::from(other) * self.cuts);
        self.comes[i..i + self.cuts] == self.comes[j..j + self.cuts]
            && self.leaves[i..i + self.cuts] == self.leaves[j..j + self.cuts]
    }

    fn sum(&self, tour: &[u16]) -> u64 {
        tour.windows(2).map(|pair| self.gap(pair[0], pair[1])).sum()
    }
}

/// The result of ordering a loop, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    /// The sum of gaps on the first resource, including the one before the first packet.
    pub gaps: u64,
    /// A lower bound on that sum for every order.
    pub bound: u64,
}

/// Collects a loop's packets and orders them.
#[derive(Debug, Default)]
pub struct Sequencer {
    effort: u64,
    jobs: Jobs,
    // A flow's packets of this loop as a list: for each packet the flow's first, and the next.
    first: Vec<u16>,
    next: Vec<u16>,
    // Whether some flow's packets differ, so that their order matters.
    differ: bool,
    // At a flow's first packet: which of its packets gets the flow's next place.
    turn: Vec<u16>,
    gilmore_gomory: GilmoreGomory,
    assignment: Assignment,
    merge: Merge,
    gaps: Matrix,
    // Packets in order, after the one that went before.
    tour: Vec<u16>,
    best: Vec<u16>,
    // A block's packets and orders of them.
    block: Vec<u16>,
    block_tour: Vec<u16>,
    block_best: Vec<u16>,
}

impl Sequencer {
    /// Sets the number of states per packet to search.
    pub const fn set_effort(&mut self, effort: u64) {
        self.effort = effort;
    }

    /// For `resources` resources. If no exact algorithm applies, searches up to `effort` states per packet; with 0 only the
    /// algorithm for two resources is used.
    #[must_use]
    pub fn new(resources: usize, effort: u64) -> Self {
        let jobs = Jobs { cuts: resources.saturating_sub(1), ..Jobs::default() };
        Self { effort, jobs, ..Self::default() }
    }

    /// Starts a new loop.
    pub fn clear(&mut self) {
        self.jobs.clear();
        self.first.clear();
        self.next.clear();
        self.differ = false;
    }

    /// The number of packets in the loop.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Adds the next packet of `flow`, with `times` on each resource, and returns its name; `previous` is the name of the
    /// flow's packet before it in this loop. At most [`MAX_PACKETS`] packets.
    #[inline]
    pub fn push(&mut self, flow: FlowId, times: &[Nanos], previous: Option<u16>) -> u16 {
        let at = self.first.len() as u16;
        self.jobs.push(flow, times);
        self.next.push(at);
        match previous {
            None => self.first.push(at),
            Some(previous) => {
                self.differ |= !self.jobs.same(previous, at);
                let previous = usize::from(previous);
                self.first.push(self.first[previous]);
                self.next[previous] = at;
            }
        }
        at
    }

    /// Orders the loop, to follow a packet that takes `before` (zeros for none): writes the flow of each packet in order to
    /// `order`.
    pub fn finish(&mut self, before: &[Nanos], order: &mut Vec<FlowId>) -> Outcome {
        order.clear();
        let packets = self.len();
        self.jobs.push(FlowId::default(), before);
        if packets <= 1 || self.jobs.cuts == 0 {
            order.extend_from_slice(&self.jobs.flow[..packets]);
            let gaps = if packets == 1 { self.jobs.gap(1, 0) } else { 0 };
            return Outcome { gaps, bound: gaps };
        }
        let mut outcome = self.candidates();
        if outcome.gaps > outcome.bound && self.effort > 0 {
            self.improve(&mut outcome);
        }
        order.extend(self.best[1..].iter().map(|&packet| self.jobs.flow[usize::from(packet)]));
        outcome
    }

    /// The best of the orders that are each optimal for two resources.
    fn candidates(&mut self) -> Outcome {
        let (packets, cuts) = (self.len(), self.jobs.cuts);
        let mut outcome = Outcome { gaps: u64::MAX, bound: 0 };
        for cut in 0..cuts {
            self.tour.clear();
            self.tour.push(packets as u16);
            let comes = self.jobs.comes[cut..].iter().step_by(cuts);
            let leaves = self.jobs.leaves[cut..].iter().step_by(cuts);
            let times = comes.zip(leaves).map(|(&comes, &leaves)| (comes, leaves)).take(packets);
            let seam = self.jobs.leaves[packets * cuts + cut];
            let least = self.gilmore_gomory.solve(times, seam, &mut self.tour);
            outcome.bound = outcome.bound.max(least);
            if self.differ {
                self.hand_out();
            }
            let gaps = if cuts == 1 && !self.differ { least } else { self.jobs.sum(&self.tour) };
            if gaps < outcome.gaps {
                outcome.gaps = gaps;
                core::mem::swap(&mut self.tour, &mut self.best);
            }
        }
        outcome
    }

    /// Assigns the places of each flow to its packets in order of arrival.
    fn hand_out(&mut self) {
        self.turn.clear();
        self.turn.extend(0..self.first.len() as u16);
        for place in &mut self.tour[1..] {
            let turn = &mut self.turn[usize::from(self.first[usize::from(*place)])];
            *place = *turn;
            *turn = self.next[usize::from(*turn)];
        }
    }

    /// Reorders the best candidate, block by block.
    fn improve(&mut self, outcome: &mut Outcome) {
        let packets = self.len();
        let blocks = packets.div_ceil(BLOCK);
        let length = packets.div_ceil(blocks);
        for start in (1..=packets).step_by(length) {
            let end = (start + length).min(packets + 1);
            let excess = outcome.gaps - outcome.bound;
            let (less, bound) = self.improve_block(start, end, excess);
            outcome.gaps -= less;
            if blocks == 1 {
                outcome.bound = outcome.bound.max(bound);
            }
            if outcome.gaps <= outcome.bound {
                break;
            }
        }
    }

    /// Reorders the packets at these places of the best candidate, where at most `excess` can be gained. Returns the reduction
    /// of the gaps, and a lower bound on the gaps of these packets in any order.
    fn improve_block(&mut self, start: usize, end: usize, excess: u64) -> (u64, u64) {
        let Self { jobs, first, gaps, block, block_tour, block_best, .. } = self;
        block.clear();
        block.extend_from_slice(&self.best[start - 1..end]);
        let after = self.best.get(end).copied();
        gaps.fill(block.len(), |p, q| match q {
            0 => after.map_or(0, |after| jobs.gap(block[p], after)),
            _ => jobs.gap(block[p], block[q]),
        });
        block_best.clear();
        block_best.extend(0..block.len() as u16);
        block_best.push(0);
        let before = gaps.sum(block_best);
        let mut sum = before;
        let mut bound = 0;
        let flow = |name: u16| first[usize::from(block[usize::from(name)])];
        // For two resources the candidate is already such an assignment.
        if jobs.cuts > 1 {
            bound = self.assignment.solve(gaps, block_tour);
            if self.differ {
                // A flow's names increase with arrival.
                for place in 1..block.len() {
                    for later in place + 1..block.len() {
                        let (one, other) = (block_tour[place], block_tour[later]);
                        if other < one && flow(one) == flow(other) {
                            block_tour.swap(place, later);
                        }
                    }
                }
            }
            let assigned = gaps.sum(block_tour);
            if assigned < sum {
                sum = assigned;
                core::mem::swap(block_tour, block_best);
            }
        }
        let goal = bound.max(before.saturating_sub_unsigned(excess));
        let budget = self.effort * (end - start) as u64;
        sum = self.merge.improve(gaps, block_best, sum, goal, budget, flow);
        for (place, &name) in self.best[start..end].iter_mut().zip(&block_best[1..]) {
            *place = block[usize::from(name)];
        }
        ((before - sum) as u64, bound as u64)
    }
}
