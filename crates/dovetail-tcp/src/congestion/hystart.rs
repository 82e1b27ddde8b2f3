//! Ends slow start before it overfills the bottleneck queue (Ha and Rhee, Taming the elephants, 2011, as Linux implements it;
//! RFC 9406 is its successor).
//!
//! Two signals. *Train*: closely spaced acknowledgements belong to one burst; when it lasts longer than half a round trip,
//! the path is half full, and the next doubling fills it. *Delay*: the least of a round's first eight round-trip times
//! exceeds the least ever by an eighth of that (clamped to 4 to 16 ms).

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
    is_over: bool,
    round_ends: u64,
    round_began: Nanos,
    last: Nanos,
    samples: u32,
    least: Nanos,
}

impl Hystart {
    pub(super) const fn new() -> Self {
        Self {
            is_over: false,
            round_ends: 1,
            round_began: Nanos::ZERO,
            last: Nanos::ZERO,
            samples: 0,
            least: Nanos::MAX,
        }
    }

    /// Whether slow start has filled the path; true only once.
    pub(super) fn on_ack(&mut self, rtt: Nanos, least_ever: Nanos, acked: &Acked, window: u32, now: Nanos) -> bool {
        if self.is_over {
            return false;
        }
        if acked.una > self.round_ends {
            *self = Self { round_ends: acked.nxt, round_began: now, last: now, ..Self::new() };
        }
        if window < MIN_WINDOW {
            return false;
        }
        if now - self.last <= TRAIN_GAP {
            self.last = now;
            self.is_over = (now - self.round_began).0 > (least_ever + CARD_DELAY).0 / 2;
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
