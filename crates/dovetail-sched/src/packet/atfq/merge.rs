//! Improves an order by taking out all packets of one flow and reinserting them where they fit best.
//!
//! The flow's packets keep their order among themselves, and so do the others. The best of all such merges of the two sequences
//! is found exactly, by dynamic programming: with `i` of the others and `j` of the flow's packets placed,
//!
//! ```text
//! X(i,j) = min(X(i-1,j) + gap(x_i-1, x_i),  Y(i-1,j) + gap(y_j, x_i))      the last one placed is another's, x_i
//! Y(i,j) = min(X(i,j-1) + gap(x_i, y_j),    Y(i,j-1) + gap(y_j-1, y_j))    the last one placed is the flow's, y_j
//! ```
//!
//! in O(a·b) for `b` packets among `a` others. For a flow with one packet that is the best insertion. Flow after flow is tried,
//! until a round of all improves nothing, the order meets its bound, or the budget of states is spent.

use alloc::vec::Vec;

use super::matrix::Matrix;

/// Larger than any sum of gaps, and small enough to be added to without overflow.
const FAR: i64 = i64::MAX / 2;

/// The search with its scratch memory.
#[derive(Debug, Default)]
pub struct Merge {
    // The first packet of each flow.
    flows: Vec<u16>,
    // Both sequences, each behind the packet that went before all.
    others: Vec<u16>,
    own: Vec<u16>,
    // X and Y for one i, by j.
    after_other: Vec<i64>,
    after_own: Vec<i64>,
    // By i and j, whether the packet before the last was the flow's, for X and for Y.
    came_from_own: Vec<[bool; 2]>,
}

impl Merge {
    /// Improves `tour`, which runs from 0 to 0 and has the sum of gaps `sum`, until the sum falls to `bound`, no merge improves
    /// it, or about `budget` states are examined. Packets of equal `flow` keep their order. Returns the new sum.
    pub fn improve(
        &mut self,
        gaps: &Matrix,
        tour: &mut [u16],
        mut sum: i64,
        bound: i64,
        mut budget: u64,
        flow: impl Fn(u16) -> u16,
    ) -> i64 {
        self.flows.clear();
        for packet in 1..gaps.side() as u16 {
            if !self.flows.iter().any(|&first| flow(first) == flow(packet)) {
                self.flows.push(packet);
            }
        }
        let mut in_vain = 0;
        let mut turn = 0;
        while in_vain < self.flows.len() && sum > bound && budget > 0 {
            let own = flow(self.flows[turn]);
            turn = (turn + 1) % self.flows.len();
            self.take_out(tour, |packet| flow(packet) == own);
            budget = budget.saturating_sub((self.others.len() * self.own.len()) as u64);
            let (merged, last_is_own) = self.merge(gaps);
            if merged < sum {
                sum = merged;
                in_vain = 0;
                self.put_back(tour, last_is_own);
            } else {
                in_vain += 1;
            }
        }
        sum
    }

    fn take_out(&mut self, tour: &[u16], is_own: impl Fn(u16) -> bool) {
        self.others.clear();
        self.own.clear();
        self.others.push(0);
        self.own.push(0);
        for &packet in &tour[1..tour.len() - 1] {
            if is_own(packet) { self.own.push(packet) } else { self.others.push(packet) }
        }
    }

    /// The least sum of gaps over all merges, and whether its last packet is the flow's.
    fn merge(&mut self, gaps: &Matrix) -> (i64, bool) {
        let Self { others, own, after_other, after_own, came_from_own, .. } = self;
        let width = own.len();
        came_from_own.clear();
        after_other.clear();
        after_own.clear();
        // None of the others placed: the flow's packets in a row.
        let mut sum = 0;
        for j in 0..width {
            if j > 0 {
                sum += gaps.gap(own[j - 1], own[j]);
            }
            after_other.push(if j == 0 { 0 } else { FAR });
            after_own.push(if j == 0 { FAR } else { sum });
            came_from_own.push([false, j > 1]);
        }
        for pair in others.windows(2) {
            let (between, row) = (gaps.gap(pair[0], pair[1]), gaps.row(pair[1]));
            let (mut left_other, mut left_own) = (FAR, FAR);
            for j in 0..width {
                let packet = own[j];
                let (from_other, from_own) = (after_other[j] + between, after_own[j] + gaps.gap(packet, pair[1]));
                // If j is 0 these gaps are meaningless, but the sums they are added to are `FAR`.
                let onto_other = left_other + row[usize::from(packet)];
                let onto_own = left_own + gaps.gap(own[j.saturating_sub(1)], packet);
                came_from_own.push([from_own < from_other, onto_own < onto_other]);
                left_other = from_other.min(from_own).min(FAR);
                left_own = onto_other.min(onto_own).min(FAR);
                after_other[j] = left_other;
                after_own[j] = left_own;
            }
        }
        let end = |sum: i64, last: &[u16]| if last.len() == 1 { FAR } else { sum + gaps.gap(last[last.len() - 1], 0) };
        let (other_last, own_last) = (end(after_other[width - 1], others), end(after_own[width - 1], own));
        (other_last.min(own_last), own_last < other_last)
    }

    /// Walks the states back from the last, and writes the merged order.
    fn put_back(&mut self, tour: &mut [u16], mut is_own: bool) {
        let (mut i, mut j) = (self.others.len() - 1, self.own.len() - 1);
        for place in (1..tour.len() - 1).rev() {
            let came_from_own = self.came_from_own[i * self.own.len() + j][usize::from(is_own)];
            if is_own {
                tour[place] = self.own[j];
                j -= 1;
            } else {
                tour[place] = self.others[i];
                i -= 1;
            }
            is_own = came_from_own;
        }
    }
}
