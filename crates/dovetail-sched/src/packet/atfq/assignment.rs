//! A short tour from the cheapest assignment of followers.
//!
//! An order gives every packet a follower, all different. The cheapest such assignment of any kind is a lower bound on every
//! order, and for no-wait pipelines a close one: most gaps can be avoided. It is found by shortest augmenting paths (Kuhn 1955;
//! Jonker and Volgenant, *Computing* 38, 1987): dual values `u`, `v` with `gap(p,q) - u(p) - v(q) >= 0`, equal to 0 for every
//! follower assigned, prove that it is least. As gaps are never negative and mostly 0, reducing rows and columns assigns nearly
//! all packets, and few need a path.
//!
//! The assignment consists of a few cycles. Following Karp (*SIAM Journal on Computing* 8, 1979), the others are merged into
//! the largest one after another, each by the exchange of two followers that costs least.
//!
//! O(n²) for reduction and patching, and for each path: O(n³) at worst, bounded by the callers' bound on n.

use alloc::vec::Vec;

use super::matrix::Matrix;

const NONE: u16 = u16::MAX;
/// The largest number of rows.
pub const MAX_ROWS: usize = 128;

/// The algorithm with its scratch memory.
#[derive(Debug, Default)]
pub struct Assignment {
    row_dual: Vec<i64>,
    column_dual: Vec<i64>,
    follower: Vec<u16>,
    leader: Vec<u16>,
    // By row, the columns whose slack is 0.
    tight: Vec<u128>,
    rows: Vec<u16>,
    columns: Vec<u16>,
    distance: Vec<i64>,
    reached_from: Vec<u16>,
    done: Vec<bool>,
    // For each cycle, a member and the size.
    cycles: Vec<(u16, u16)>,
}

impl Assignment {
    /// Writes a tour over `gaps`, from 0 to 0, into `tour`; returns a lower bound on the sum of gaps of every tour. At most
    /// [`MAX_ROWS`] rows.
    pub fn solve(&mut self, gaps: &Matrix, tour: &mut Vec<u16>) -> i64 {
        self.reduce(gaps);
        self.match_tight();
        for row in 0..gaps.side() as u16 {
            if self.follower[usize::from(row)] == NONE {
                self.augment(gaps, row);
            }
        }
        let bound = self.row_dual.iter().chain(&self.column_dual).sum();
        self.patch(gaps);
        tour.clear();
        let mut at = 0;
        loop {
            tour.push(at);
            at = self.follower[usize::from(at)];
            if at == 0 {
                break;
            }
        }
        tour.push(0);
        bound
    }

    /// Dual values from the least gap of each row, and the least remainder of each column.
    fn reduce(&mut self, gaps: &Matrix) {
        let side = gaps.side();
        self.row_dual.clear();
        self.column_dual.clear();
        self.column_dual.resize(side, i64::MAX);
        for p in 0..side as u16 {
            let row = gaps.row(p);
            let least = row.iter().copied().min().unwrap_or(0);
            self.row_dual.push(least);
            for (dual, &gap) in self.column_dual.iter_mut().zip(row) {
                *dual = (*dual).min(gap - least);
            }
        }
        self.tight.clear();
        for (p, &least) in (0..side as u16).zip(&self.row_dual) {
            let slack = gaps.row(p).iter().zip(&self.column_dual).map(|(&gap, &dual)| gap - least - dual);
            self.tight.push(slack.enumerate().fold(0, |set, (q, slack)| set | u128::from(slack == 0) << q));
        }
    }

    /// Assigns as many followers as the dual values allow, along paths of reassignments that cost nothing.
    fn match_tight(&mut self) {
        let side = self.tight.len();
        self.follower.clear();
        self.follower.resize(side, NONE);
        self.leader.clear();
        self.leader.resize(side, NONE);
        self.reached_from.clear();
        self.reached_from.resize(side, NONE);
        let mut free = u128::MAX >> (MAX_ROWS - side);
        // A later search cannot use what a failed one has reached.
        let mut unseen = free;
        for start in 0..side as u16 {
            let unseen_before = unseen;
            self.rows.clear();
            self.rows.push(start);
            let mut next = 0;
            while let Some(&row) = self.rows.get(next) {
                next += 1;
                let mut reached = self.tight[usize::from(row)] & unseen;
                if reached & free != 0 {
                    let end = (reached & free).trailing_zeros() as u16;
                    self.reached_from[usize::from(end)] = row;
                    free &= !(1 << end);
                    self.reassign(start, end);
                    unseen = unseen_before;
                    break;
                }
                unseen &= !reached;
                while reached != 0 {
                    let column = reached.trailing_zeros() as usize;
                    reached &= reached - 1;
                    self.reached_from[column] = row;
                    self.rows.push(self.leader[column]);
                }
            }
        }
    }

    /// Assigns a follower to `start` along the cheapest path of reassignments.
    fn augment(&mut self, gaps: &Matrix, start: u16) {
        let side = gaps.side();
        self.distance.clear();
        self.distance.resize(side, i64::MAX);
        // Columns by when they are reached for good; the first `done` are.
        self.columns.clear();
        self.columns.extend(0..side as u16);
        let (mut row, mut so_far, mut done) = (start, 0, 0);
        let end = loop {
            let base = so_far - self.row_dual[usize::from(row)];
            let gaps = gaps.row(row);
            let (mut nearest, mut least, mut free) = (done, i64::MAX, false);
            for (place, &column) in self.columns.iter().enumerate().skip(done) {
                let q = usize::from(column);
                let through = base + gaps[q] - self.column_dual[q];
                let distance = &mut self.distance[q];
                if through < *distance {
                    *distance = through;
                    self.reached_from[q] = row;
                }
                if *distance <= least && (*distance < least || !free) {
                    (nearest, least, free) = (place, *distance, self.leader[q] == NONE);
                }
            }
            so_far = least;
            let column = self.columns[nearest];
            row = self.leader[usize::from(column)];
            if row == NONE {
                break column;
            }
            self.columns.swap(done, nearest);
            done += 1;
        };
        self.row_dual[usize::from(start)] += so_far;
        for &column in &self.columns[..done] {
            let q = usize::from(column);
            let nearer = so_far - self.distance[q];
            self.column_dual[q] -= nearer;
            self.row_dual[usize::from(self.leader[q])] += nearer;
        }
        self.reassign(start, end);
    }

    /// Applies the path from row `start` to the free column `end`.
    fn reassign(&mut self, start: u16, end: u16) {
        let mut column = end;
        loop {
            let row = self.reached_from[usize::from(column)];
            self.leader[usize::from(column)] = row;
            column = core::mem::replace(&mut self.follower[usize::from(row)], column);
            if row == start {
                break;
            }
        }
    }

    /// Joins the cycles into one.
    fn patch(&mut self, gaps: &Matrix) {
        self.cycles.clear();
        self.done.clear();
        self.done.resize(gaps.side(), false);
        for start in 0..gaps.side() {
            let (mut at, mut size) = (start, 0);
            while !core::mem::replace(&mut self.done[at], true) {
                at = usize::from(self.follower[at]);
                size += 1;
            }
            if size > 0 {
                self.cycles.push((size, start as u16));
            }
        }
        self.cycles.sort_unstable_by(|one, other| other.cmp(one));
        let Some((&(mut size, first), others)) = self.cycles.split_first() else { return };
        for &(other_size, other) in others {
            let (mut least, mut pair) = (i64::MAX, (first, other));
            let mut p = first;
            for _ in 0..size {
                let after_p = self.follower[usize::from(p)];
                let row = gaps.row(p);
                let saved = row[usize::from(after_p)];
                let mut q = other;
                for _ in 0..other_size {
                    let after_q = self.follower[usize::from(q)];
                    let more = row[usize::from(after_q)] - saved + gaps.gap(q, after_p) - gaps.gap(q, after_q);
                    if more < least {
                        (least, pair) = (more, (p, q));
                    }
                    q = after_q;
                }
                p = after_p;
            }
            self.follower.swap(usize::from(pair.0), usize::from(pair.1));
            size += other_size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The least sum of gaps over all assignments of followers to the rows from `row` on, by brute force.
    fn least(gaps: &[Vec<u64>], row: usize, taken: u32) -> u64 {
        if row == gaps.len() {
            return 0;
        }
        let columns = (0..gaps.len()).filter(|&q| q != row && taken & (1 << q) == 0);
        let sums = columns.map(|q| gaps[row][q].saturating_add(least(gaps, row + 1, taken | 1 << q)));
        sums.min().unwrap_or(u64::MAX)
    }

    fn square() -> impl Strategy<Value = Vec<Vec<u64>>> {
        let gap = prop_oneof![Just(0u64), 0u64..4, 0u64..1000];
        (2usize..=7).prop_flat_map(move |side| prop::collection::vec(prop::collection::vec(gap.clone(), side), side))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// And what was solved before leaves no trace.
        #[test]
        fn the_bound_is_the_least_assignment_and_the_tour_has_every_row(all in prop::collection::vec(square(), 1..4)) {
            let mut reused = Assignment::default();
            for gaps in &all {
                let mut matrix = Matrix::default();
                matrix.fill(gaps.len(), |p, q| gaps[p][q]);
                let (mut tour, mut fresh_tour) = (Vec::new(), Vec::new());
                let bound = reused.solve(&matrix, &mut tour);
                prop_assert_eq!(bound as u64, least(gaps, 0, 0));
                prop_assert_eq!(bound, Assignment::default().solve(&matrix, &mut fresh_tour));
                prop_assert_eq!(&tour, &fresh_tour);
                prop_assert!(matrix.sum(&tour) >= bound);
                prop_assert_eq!((tour.first(), tour.last()), (Some(&0), Some(&0)));
                tour.pop();
                tour.sort_unstable();
                prop_assert_eq!(tour, (0..gaps.len() as u16).collect::<Vec<_>>());
            }
        }
    }
}
