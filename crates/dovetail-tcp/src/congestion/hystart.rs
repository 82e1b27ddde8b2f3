//! Ends slow start before it overfills the bottleneck queue (Ha and Rhee, Taming the elephants, 2011, as Linux implements it;
//! RFC 9406 is its successor).
//!
//! Two signals. *Train*: closely spaced acknowledgements belong to one burst; when it lasts longer than half a round trip,
//! the path is half full, and the next doubling fills it. Pacing in slow start spreads a burst over half a round trip even
//! where the path is nearly empty, so a paced one must last a whole round trip. *Delay*: the least of a round's first eight
//! round-trip times exceeds the least ever by an eighth of that (clamped to 4 to 16 ms).

use dovetail_sched::Nanos;

use super::window::Acked;

/// Slow start does not end in a smaller window (`hystart_low_window`).
const MIN_WINDOW: u32 = 16;
/// Samples of a round that its minimum is taken from (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Acknowledgements further apart belong to different trains (`hystart_ack_delta_us`).
const TRAIN_GAP: Nanos = Nanos::from_millis(2);
/// How long a network card may delay acknowledgements (`hystart_ack_delay`).
const CARD_DELAY: Nanos = Nanos::from_millis(1);
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const DELAYS: [Nanos; 2] = [Nanos::from_millis(4), Nanos::from_millis(16)];

#[derive(Debug, Clone, Copy)]
pub(super) struct Hystart {
    is_paced: bool,
    is_over: bool,
    round_ends: u64,
    round_began: Nanos,
    last: Nanos,
    samples: u32,
    least: Nanos,
}

impl Hystart {
    pub(super) const fn new(is_paced: bool) -> Self {
        Self {
            is_paced,
            is_over: false,
            round_ends: 1,
            round_began: Nanos::ZERO,
            last: Nanos::ZERO,
            samples: 0,
            least: Nanos::MAX,
        }
    }

    /// After a timeout.
    pub(super) const fn afresh(self) -> Self {
        Self::new(self.is_paced)
    }

    /// Whether slow start has filled the path; true only once.
    pub(super) fn on_ack(&mut self, rtt: Nanos, least_ever: Nanos, acked: &Acked, window: u32, now: Nanos) -> bool {
        if self.is_over {
            return false;
        }
        if acked.una > self.round_ends {
            *self = Self { round_ends: acked.nxt, round_began: now, last: now, ..self.afresh() };
        }
        if window < MIN_WINDOW {
            return false;
        }
        if now - self.last <= TRAIN_GAP {
            self.last = now;
            let round_trip = (least_ever + CARD_DELAY).0;
            self.is_over = (now - self.round_began).0 > if self.is_paced { round_trip } else { round_trip / 2 };
        }
        self.least = self.least.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let later = Nanos(least_ever.0 / 8).max(DELAYS[0]).min(DELAYS[1]);
            self.is_over |= self.least > least_ever + later;
        }
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a train of acknowledgements 1 ms apart ends slow start, over a path of 40 ms.
    fn train_ends_at(is_paced: bool) -> Option<u64> {
        let mut hystart = Hystart::new(is_paced);
        let rtt = Nanos::from_millis(40);
        (0..100).find(|&ms| {
            let acked = Acked { segments: 2, rtt: Some(rtt), una: 2 + ms, nxt: 1000 };
            hystart.on_ack(rtt, rtt, &acked, 100, Nanos::from_millis(500 + ms))
        })
    }

    #[test]
    fn a_paced_train_lasts_a_round_trip() {
        assert_eq!([false, true].map(train_ends_at), [Some(21), Some(42)]);
    }
}
