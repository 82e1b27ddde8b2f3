//! The order of packets over two resources that minimises the gaps, in O(x log x).
//!
//! Packet `i` occupies the first resource for `A(i)` and the second for `B(i)`; when `k` follows `i` without waiting,
//! the first idles for `max(0, B(i) - A(k))`. The order with the smallest sum is a travelling salesman's tour that
//! Gilmore and Gomory (*Sequencing a one state-variable machine*, Operations Research 12, 1964) find as follows.
//!
//! 1. Let the packet with the `i`-th least B be followed by that with the `i`-th least A. No assignment of followers
//!    `φ` costs less, but it may fall into several cycles.
//! 2. Exchanging the followers of neighbours `i` and `i+1` (in order of B) joins their cycles, and costs
//!    `c(i) = max(0, min(B(i+1), A(φ(i+1))) - max(B(i), A(φ(i))))`. Choose exchanges as a minimum spanning tree over
//!    the cycles.
//! 3. Apply them in an order in which each costs its `c` and no more: those with `A(φ(i)) >= B(i)` by falling `i`, then the
//!    others by rising `i`, each exchanging the *current* followers of `i` and `i+1`. As a permutation:
//!    `ψ(m) = φ(X_s1(X_s2(… X_t1(X_t2(… m)))))`. (Zhang et al. print the exchanges as applied to `φ(m)`, which exchanges
//!    predecessors instead of followers and is often not optimal.)
//!
//! A virtual packet closes the tour (their eq. 9): its B is the second time of the packet that went before these, so that the
//! gap at that seam counts, and its A the largest B, so that the gap after the last packet does not.

use alloc::vec::Vec;

/// Times below [`TIME_BOUND`] and this many bits of index fit into one sort key.
const INDEX_BITS: u32 = 13;
/// The maximum number of packets of one order.
pub const MAX_PACKETS: usize = 4096;
/// A time on a resource, and a sum of times, must be below this; in nanoseconds, 13 days.
pub const TIME_BOUND: u64 = 1 << (63 - INDEX_BITS);

/// The algorithm with its scratch memory.
#[derive(Debug, Default)]
pub struct GilmoreGomory {
    by_a: Vec<u64>,
    by_b: Vec<u64>,
    // A packet's place in order of B.
    rank: Vec<u16>,
    // In order of B: the follower, as a place in that order.
    follower: Vec<u16>,
    // In order of B: a place of the same cycle; a place that names itself represents its cycle.
    cycle: Vec<u16>,
    // In order of B: whether this packet and the next exchange followers.
    exchanged: Vec<bool>,
    costly: Vec<u64>,
}

const UNSEEN: u16 = u16::MAX;

fn key(time: u64, index: usize) -> u64 {
    debug_assert!(time < TIME_BOUND && index <= MAX_PACKETS);
    time << INDEX_BITS | index as u64
}

fn time(key: u64) -> u64 {
    key >> INDEX_BITS
}

fn index(key: u64) -> u16 {
    (key & ((1 << INDEX_BITS) - 1)) as u16
}

impl GilmoreGomory {
    /// Appends the best order of `packets`, pairs of A and B in nanoseconds, to `order`, and returns its sum of gaps, including
    /// the gap after a preceding packet whose B is `before`. At most [`MAX_PACKETS`] packets, times below [`TIME_BOUND`].
    pub fn solve(&mut self, packets: impl Iterator<Item = (u64, u64)>, before: u64, order: &mut Vec<u16>) -> u64 {
        self.by_a.clear();
        self.by_b.clear();
        let mut longest = 0;
        for (i, (a, b)) in packets.enumerate() {
            self.by_a.push(key(a, i));
            self.by_b.push(key(b, i));
            longest = longest.max(b);
        }
        let last = self.by_a.len();
        self.by_a.push(key(longest, last));
        self.by_b.push(key(before, last));
        self.by_a.sort_unstable();
        self.by_b.sort_unstable();

        let mut gaps = self.assign();
        let cycles = self.find_cycles();
        if cycles > 1 {
            gaps += self.join(cycles);
        }

        let virtual_place = self.rank[last];
        let mut at = self.follower[usize::from(virtual_place)];
        while at != virtual_place {
            order.push(index(self.by_b[usize::from(at)]));
            at = self.follower[usize::from(at)];
        }
        gaps
    }

    /// Step 1; returns the cost of the assignment.
    fn assign(&mut self) -> u64 {
        let n = self.by_b.len();
        self.rank.resize(n, 0);
        for (place, &b) in self.by_b.iter().enumerate() {
            self.rank[usize::from(index(b))] = place as u16;
        }
        self.follower.clear();
        let mut cost = 0;
        for (&a, &b) in self.by_a.iter().zip(&self.by_b) {
            self.follower.push(self.rank[usize::from(index(a))]);
            cost += time(b).saturating_sub(time(a));
        }
        cost
    }

    fn find_cycles(&mut self) -> usize {
        let n = self.follower.len();
        self.cycle.clear();
        self.cycle.resize(n, UNSEEN);
        let mut cycles = 0;
        for start in 0..n {
            if self.cycle[start] != UNSEEN {
                continue;
            }
            cycles += 1;
            let mut at = start;
            while self.cycle[at] == UNSEEN {
                self.cycle[at] = start as u16;
                at = usize::from(self.follower[at]);
            }
        }
        cycles
    }

    fn cycle_of(&mut self, mut place: usize) -> usize {
        while usize::from(self.cycle[place]) != place {
            let above = self.cycle[usize::from(self.cycle[place])];
            self.cycle[place] = above;
            place = usize::from(above);
        }
        place
    }

    /// Exchanges the followers of `place` and the next if that joins two cycles; returns whether it does.
    fn exchange(&mut self, place: usize) -> bool {
        let (one, other) = (self.cycle_of(place), self.cycle_of(place + 1));
        if one != other {
            self.cycle[other] = one as u16;
            self.exchanged[place] = true;
        }
        one != other
    }

    /// Steps 2 and 3; returns the cost of the exchanges.
    fn join(&mut self, mut cycles: usize) -> u64 {
        let n = self.follower.len();
        self.exchanged.clear();
        self.exchanged.resize(n, false);
        self.costly.clear();
        for place in 0..n - 1 {
            let least = time(self.by_b[place + 1]).min(time(self.by_a[place + 1]));
            let cost = least.saturating_sub(time(self.by_b[place]).max(time(self.by_a[place])));
            if cost > 0 {
                self.costly.push(key(cost, place));
            } else if self.exchange(place) {
                cycles -= 1;
                if cycles == 1 {
                    break;
                }
            }
        }
        let mut cost = 0;
        if cycles > 1 {
            let mut costly = core::mem::take(&mut self.costly);
            costly.sort_unstable();
            for &edge in &costly {
                if self.exchange(usize::from(index(edge))) {
                    cost += time(edge);
                    cycles -= 1;
                    if cycles == 1 {
                        break;
                    }
                }
            }
            self.costly = costly;
        }
        for place in (0..n - 1).rev() {
            if self.exchanged[place] && time(self.by_a[place]) >= time(self.by_b[place]) {
                self.follower.swap(place, place + 1);
            }
        }
        for place in 0..n - 1 {
            if self.exchanged[place] && time(self.by_a[place]) < time(self.by_b[place]) {
                self.follower.swap(place, place + 1);
            }
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The least sum of gaps over all orders that begin after `before`, by brute force.
    fn least(before: u64, rest: &mut std::vec::Vec<(u64, u64)>) -> u64 {
        let mut best = if rest.is_empty() { 0 } else { u64::MAX };
        for pick in 0..rest.len() {
            let (a, b) = rest.swap_remove(pick);
            best = best.min(before.saturating_sub(a) + least(b, rest));
            rest.push((a, b));
            let end = rest.len() - 1;
            rest.swap(pick, end);
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn no_order_has_less_gaps(
            packets in prop::collection::vec((0u64..30, 0u64..30), 1..8),
            before in 0u64..30,
        ) {
            let mut order = Vec::new();
            let gaps = GilmoreGomory::default().solve(packets.iter().copied(), before, &mut order);
            let mut seen: std::vec::Vec<_> = order.clone();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..packets.len() as u16).collect::<std::vec::Vec<_>>());
            let (mut sum, mut b) = (0, before);
            for &i in &order {
                sum += b.saturating_sub(packets[usize::from(i)].0);
                b = packets[usize::from(i)].1;
            }
            prop_assert_eq!(gaps, sum, "the claimed gaps are those of the order");
            prop_assert_eq!(gaps, least(before, &mut packets.clone()));
        }
    }

    #[test]
    fn the_longest_order_has_every_packet() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 14
        };
        let packets: Vec<_> = (0..MAX_PACKETS).map(|_| (draw(), draw())).collect();
        let mut order = Vec::new();
        GilmoreGomory::default().solve(packets.into_iter(), TIME_BOUND - 1, &mut order);
        order.sort_unstable();
        assert_eq!(order, (0..MAX_PACKETS as u16).collect::<Vec<_>>());
    }
}
