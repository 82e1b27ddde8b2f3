//! Policers: where much is lost at one steady rate, that rate is what the path allows, whatever it delivered for a while.
//!
//! A token bucket without a queue lets bursts pass at the speed of the link and drops the rest, so the largest bandwidth of
//! ten round trips is one that cannot be kept (Cardwell et al., BBR: Congestion-Based Congestion Control, ACM Queue 2016,
//! "Token-Bucket Policers"). No draft says how Linux's `bbr` finds them (`lt_bw`). Intervals from loss to loss of four to
//! sixteen round trips are watched. Where a fifth as much is lost as is delivered in two of them that follow each other, and their rates differ by
//! an eighth at most, segments leave at the mean of the two, and nothing is probed, for 48 round trips.

use dovetail_sched::Nanos;

use crate::bandwidth::Bandwidth;

/// Round trips of an interval, and of how long its rate is kept.
const SHORTEST: u32 = 4;
const LONGEST: u32 = 16;
const KEPT: u32 = 48;
/// The least loss: segments lost for each 256 delivered.
const LOST_OF_256: u64 = 50;
/// Rates of two intervals that are the same, as a part of the earlier; and in any case, in bytes per second.
const NEAR: u64 = 8;
const NEAR_BYTES_PER_S: u64 = 500;

/// What was delivered and lost, when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tally {
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) at: Nanos,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Nothing is lost.
    Idle,
    /// An interval began so many round trips ago; with the rate of the one before.
    Watches(Tally, u32, Option<Bandwidth>),
    /// A rate is kept, for so many round trips by now.
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

    /// The rate that is kept.
    pub(super) const fn rate(&self) -> Option<Bandwidth> {
        match self.state {
            State::Keeps(rate, _) => Some(rate),
            _ => None,
        }
    }

    /// Nothing was lost after all.
    pub(super) const fn forget(&mut self) {
        self.state = State::Idle;
    }

    /// Something is delivered or lost. True: the rate was kept for long enough.
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
        if *rounds > LONGEST {
            self.forget();
            return false;
        }
        let (delivered, lost) = (tally.delivered - began.delivered, tally.lost - began.lost);
        let took = tally.at - began.at;
        let is_end = *rounds >= SHORTEST && news.has_lost && took >= Nanos::from_millis(1);
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

    /// A path of a thousand segments a second, in round trips of 10 ms, each with a loss at its end.
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
