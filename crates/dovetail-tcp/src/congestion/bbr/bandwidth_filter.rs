//! The largest bandwidth of the last ten round trips (draft-00, section 4.1.1).
//!
//! The maximum, because a sample is below the path's capacity whenever something else limited the sender; the last ten,
//! because any eight of them include one in which the sender probes for more.
//!
//! Three samples represent all (Nichols' windowed maximum, which the draft suggests): the largest, the largest since that
//! one, and the largest since that. When the first expires, the second replaces it. A second or third sample as old as the
//! one before it is replaced, whatever its value, after a quarter or half of the window, respectively. So when a maximum
//! expires, its successor is no older than that, and may be lower than the true one.

use crate::bandwidth::Bandwidth;

/// `BtlBwFilterLen`, in round trips.
const ROUNDS: u64 = 10;

/// A sample, and its round trip.
type Sample = (Bandwidth, u64);

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BandwidthFilter {
    best: [Sample; 3],
    round: u64,
}

impl BandwidthFilter {
    /// A round trip begins.
    pub(super) const fn next_round(&mut self) {
        self.round += 1;
    }

    pub(super) fn sample(&mut self, bandwidth: Bandwidth) {
        let new = (bandwidth, self.round);
        let [first, second, third] = &mut self.best;
        let age = |sample: &Sample| new.1 - sample.1;
        if bandwidth >= first.0 || age(third) > ROUNDS {
            self.best = [new; 3];
            return;
        }
        if bandwidth >= second.0 {
            (*second, *third) = (new, new);
        } else if bandwidth >= third.0 {
            *third = new;
        }
        if age(first) > ROUNDS {
            (*first, *second, *third) = (*second, *third, new);
            if age(first) > ROUNDS {
                (*first, *second) = (*second, *third);
            }
        } else if second.1 == first.1 && age(first) > ROUNDS / 4 {
            (*second, *third) = (new, new);
        } else if third.1 == second.1 && age(first) > ROUNDS / 2 {
            *third = new;
        }
    }

    pub(super) const fn largest(&self) -> Bandwidth {
        self.best[0].0
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use dovetail_sched::Nanos;

    use super::*;

    fn of(segments: u64) -> Bandwidth {
        Bandwidth::of(segments, Nanos::from_secs(1))
    }

    #[test]
    fn a_sample_counts_for_ten_round_trips() {
        let mut filter = BandwidthFilter::default();
        filter.sample(of(9));
        filter.sample(of(5));
        for _ in 0..10 {
            filter.next_round();
            filter.sample(of(7));
            assert_eq!(filter.largest(), of(9));
        }
        filter.next_round();
        filter.sample(of(6));
        assert_eq!(filter.largest(), of(7));
    }

    /// Compared with the true maximum: never larger, and never smaller than the largest of the last quarter of the window.
    #[test]
    fn it_is_between_the_maxima_of_a_long_window_and_a_short_one() {
        let mut filter = BandwidthFilter::default();
        let mut samples = Vec::new();
        let mut state = 1u64;
        for round in 0..2_000usize {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Random values scaled by a changing divisor, so that there are long falls and sudden rises.
            samples.push((state >> 33) % 1000 / (1 + round as u64 % 17));
            filter.next_round();
            filter.sample(of(samples[round]));
            let largest_of = |rounds: usize| samples.iter().rev().take(rounds).max().copied().map(of);
            assert!(Some(filter.largest()) <= largest_of(11), "round {round}");
            assert!(Some(filter.largest()) >= largest_of(3), "round {round}");
        }
    }
}
