//! A threshold that adapts to the traffic.
//!
//! The paper's section 3.2 asks for one and gives no rule; this one is ours. A sent packet has a position in its flow: the
//! bytes of the flow sent before it. Under a threshold `th` the short group carries exactly the packets at positions below
//! `th`, whatever the current threshold is, so the bytes at each position give the short group's share under any threshold.
//! They are counted between candidates half an octave apart, 1 kB to 16 MB, and halved every [`HALF_LIFE`](self) of 16 MiB
//! sent, so that the memory covers the same number of flows at any speed. Every 256 KiB the threshold becomes the smallest
//! candidate whose share reaches the target. At half an octave more the share is at most `sqrt(2)` times as large: the fraction
//! carried stays between the target and 1.42 times it, as far as the traffic is steady. In any case the threshold is one of the
//! 29 candidates.

/// Bytes sent between two updates.
const EVERY_BYTES: u64 = 256 * 1024;
/// 2^(-1/64): halves in 64 updates, 16 MiB.
const KEPT: f64 = 0.989_228_013_193_975_5;

const CANDIDATES: usize = 29;

/// The possible thresholds: 1 kB times a power of the square root of 2, in whole bytes.
const fn candidate(at: usize) -> u64 {
    (if at.is_multiple_of(2) { 1_000_000 } else { 1_414_214 } << (at / 2)) / 1000
}

/// A threshold that follows the traffic: the target share of the short group, and the bytes sent so far.
#[derive(Debug)]
pub(super) struct Following {
    target: f64,
    // Bytes at positions below each candidate and not below the one before it; the last entry is for positions above all.
    sent_bytes: [f64; CANDIDATES + 1],
    until_look: u64,
}

impl Following {
    pub(super) const fn new(target: f64) -> Self {
        Self { target, sent_bytes: [0.0; CANDIDATES + 1], until_look: EVERY_BYTES }
    }

    pub(super) const fn set_target(&mut self, target: f64) {
        self.target = target;
    }

    /// Records that a packet at `position` of its flow was sent. Returns the threshold if it is time to update it. O(1).
    #[inline]
    pub(super) fn sent(&mut self, position: u64, bytes: u32) -> Option<u64> {
        self.sent_bytes[first_above(position)] += f64::from(bytes);
        self.until_look = self.until_look.saturating_sub(bytes.into());
        if self.until_look > 0 {
            return None;
        }
        self.until_look = EVERY_BYTES;
        Some(self.look())
    }

    #[cold]
    fn look(&mut self) -> u64 {
        let wanted = self.target * self.sent_bytes.iter().sum::<f64>();
        let mut below = 0.0;
        let reaches = |bytes: &f64| {
            below += bytes;
            below >= wanted
        };
        let least = self.sent_bytes.iter().position(reaches).unwrap_or(CANDIDATES);
        for bytes in &mut self.sent_bytes {
            *bytes *= KEPT;
        }
        candidate(least.min(CANDIDATES - 1))
    }
}

/// The least candidate above `position`, [`CANDIDATES`] if there is none.
#[inline]
fn first_above(position: u64) -> usize {
    let Some(octave) = (position / candidate(0)).checked_ilog2() else { return 0 };
    let at = (2 * octave as usize + 1).min(CANDIDATES);
    (at + usize::from(position >= candidate(at))).min(CANDIDATES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn candidates_are_half_an_octave_apart() {
        assert_eq!((candidate(0), candidate(1), candidate(2), candidate(28)), (1000, 1414, 2000, 16_384_000));
        assert!((1..CANDIDATES).all(|at| candidate(at - 1) < candidate(at)));
    }

    proptest! {
        #[test]
        fn the_first_candidate_above_is_that_of_a_scan(position in prop_oneof![0u64..5000, 0u64..40_000_000, any::<u64>()]) {
            let scanned = (0..CANDIDATES).find(|&at| candidate(at) > position).unwrap_or(CANDIDATES);
            prop_assert_eq!(first_above(position), scanned);
        }

        /// Against every packet sent, its bytes halved in 16 MiB.
        #[test]
        fn it_is_the_least_candidate_that_carries_the_target(
            target in 0.01..0.99f64,
            packets in prop::collection::vec((prop_oneof![0u64..5000, 0u64..20_000_000], 30_000u32..300_000), 1..120),
        ) {
            let mut following = Following::new(target);
            let (mut sent, mut since) = (std::vec::Vec::new(), 0);
            let mut updates = 0;
            for (position, bytes) in packets {
                let threshold = following.sent(position, bytes);
                sent.push((position, f64::from(bytes), updates));
                since += bytes;
                prop_assert_eq!(threshold.is_some(), since >= 256 << 10, "after {} bytes", since);
                let Some(threshold) = threshold else { continue };
                let below = |limit: u64| -> f64 {
                    let counted = sent.iter().filter(|&&(position, ..)| position < limit);
                    counted.map(|&(_, bytes, at)| bytes * 0.5f64.powf(f64::from(updates - at) / 64.0)).sum()
                };
                let all = below(u64::MAX);
                let most = candidate(CANDIDATES - 1);
                prop_assert!(threshold == most || below(threshold) >= (target - 1e-9) * all);
                let smaller = (0..CANDIDATES).map(candidate).take_while(|&other| other < threshold).last();
                prop_assert!(smaller.is_none_or(|smaller| below(smaller) < (target + 1e-9) * all));
                (since, updates) = (0, updates + 1);
            }
        }
    }
}
