//! Policers: if losses are heavy at a steady delivery rate, that rate is what the path allows, whatever it delivered before.
//!
//! A token bucket without a queue passes bursts at link speed and drops the rest, so the largest bandwidth of ten round trips
//! cannot be sustained (Cardwell et al., BBR: Congestion-Based Congestion Control, ACM Queue 2016, "Token-Bucket Policers").
//! No draft describes how Linux's `bbr` detects them (`lt_bw`). It observes intervals of four to sixteen round trips that
//! begin and end with a loss. If in two successive intervals the losses are at least a fifth of the deliveries and the rates
//! differ by at most an eighth, segments are paced at the mean of the two rates, without probing, for 48 round trips.

use dovetail_sched::Nanos;

use crate::bandwidth::Bandwidth;

/// Bounds for an interval in round trips, and how long its rate is used.
const MIN_TRIPS: u32 = 4;
const MAX_TRIPS: u32 = 16;
const KEPT: u32 = 48;
/// Minimum loss: segments lost per 256 delivered.
const LOST_OF_256: u64 = 50;
/// Largest difference between the rates of two intervals: as a fraction of the earlier, or in bytes per second.
const NEAR: u64 = 8;
const NEAR_BYTES_PER_S: u64 = 500;

/// Totals delivered and lost, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tally {
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) at: Nanos,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// No losses.
    Idle,
    /// An interval: totals and round trips since it began, and the rate of the previous one.
    Watches(Tally, u32, Option<Bandwidth>),
    /// A rate in use, and for how many round trips so far.
    Keeps(Bandwidth, u32),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Policer {
    state: State,
}

impl Policer {
    pub(super) const fn new() -> Self {
        Self { state: State::Idle }
    }

    /// The rate in use.
    pub(super) const fn rate(&self) -> Option<Bandwidth> {
        match self.state {
            State::Keeps(rate, _) => Some(rate),
            _ => None,
        }
    }

    /// The losses were spurious.
    pub(super) const fn forget(&mut self) {
        self.state = State::Idle;
    }

    /// Processes deliveries or losses. True if the rate has been used for long enough.
    pub(super) fn learn(&mut self, news: &News, segment_bytes: u32) -> bool {
        let tally = news.tally;
        match &mut self.state {
            State::Keeps(_, rounds) => {
                *rounds += u32::from(news.round_begins && news.is_probing);
                let is_over = *rounds >= KEPT;
                if is_over {
                    self.forget();
                }
                return is_over;
            }
            State::Idle if news.has_lost => self.state = State::Watches(tally, 0, None),
            State::Idle => return false,
            State::Watches(..) => {}
        }
        if news.is_app_limited {
            self.forget();
            return false;
        }
        let State::Watches(began, rounds, before) = &mut self.state else { return false };
        *rounds += u32::from(news.round_begins);
        if *rounds > MAX_TRIPS {
            self.forget();
            return false;
        }
        let (delivered, lost) = (tally.delivered - began.delivered, tally.lost - began.lost);
        let took = tally.at - began.at;
        let is_end = *rounds >= MIN_TRIPS && news.has_lost && took >= Nanos::from_millis(1);
        if !is_end || delivered == 0 || lost * 256 < LOST_OF_256 * delivered {
            return false;
        }
        let rate = Bandwidth::of(delivered, took);
        let near = Bandwidth::of(NEAR_BYTES_PER_S, Nanos::from_secs(u64::from(segment_bytes)));
        self.state = match *before {
            Some(before) if rate.is_near(before, NEAR) || rate.distance(before) <= near => {
                State::Keeps(rate.mean(before), 0)
            }
            _ => State::Watches(tally, 0, Some(rate)),
        };
        false
    }
}

/// An acknowledgement, or a timeout.
#[derive(Debug, Clone, Copy)]
pub(super) struct News {
    pub(super) tally: Tally,
    pub(super) has_lost: bool,
    pub(super) is_app_limited: bool,
    pub(super) round_begins: bool,
    /// Whether bandwidth is being probed.
    pub(super) is_probing: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of a thousand segments per second, in round trips of 10 ms, each ending with a loss.
    fn round_trips(policer: &mut Policer, from: u64, count: u64, lost_of_ten: u64) -> bool {
        let mut is_over = false;
        for round in from..from + count {
            let (at, delivered) = (Nanos::from_millis(round * 10), round * 10);
            let tally = Tally { delivered, lost: round * lost_of_ten, at };
            let has_lost = lost_of_ten > 0;
            let news = News { tally, has_lost, is_app_limited: false, round_begins: true, is_probing: true };
            is_over |= policer.learn(&news, 1460);
        }
        is_over
    }

    #[test]
    fn the_rate_of_two_lossy_intervals_is_kept_for_48_round_trips() {
        let mut policer = Policer::new();
        round_trips(&mut policer, 0, 4, 2);
        assert_eq!(policer.rate(), None, "an interval has four round trips");
        round_trips(&mut policer, 4, 4, 2);
        let rate = policer.rate().expect("a rate");
        assert!(rate.is_near(Bandwidth::of(1000, Nanos::from_secs(1)), 100));
        assert!(!round_trips(&mut policer, 8, 47, 2));
        assert!(round_trips(&mut policer, 55, 1, 2));
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn few_losses_or_a_rate_that_the_application_sets_are_no_policer() {
        let mut policer = Policer::new();
        round_trips(&mut policer, 0, 100, 1);
        assert_eq!(policer.rate(), None);
        let mut policer = Policer::new();
        for round in 0..100 {
            round_trips(&mut policer, round, 1, 2);
            let tally = Tally { delivered: round * 10, lost: round * 2, at: Nanos::from_millis(round * 10) };
            let news = News { tally, has_lost: false, is_app_limited: true, round_begins: false, is_probing: true };
            if round % 6 == 5 {
                policer.learn(&news, 1460);
            }
            assert_eq!(policer.rate(), None, "{round}");
        }
    }
}
