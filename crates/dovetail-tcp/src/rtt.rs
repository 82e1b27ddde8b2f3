//! Round-trip times and the retransmission timeout.
//!
//! RFC 6298 smooths the round-trip time with an eighth of each sample and its deviation with a quarter. Linux adds two rules.
//! A sample *below* the smoothed time widens the deviation by only an eighth of that, since a shorter path is no reason to
//! wait longer. And the deviation used is the largest of the last round trip, which decays by a quarter each round trip but
//! never below a configured minimum. The timeout is therefore `srtt + max(4 mdev, 200 ms)`.

use dovetail_sched::Nanos;

/// Before any sample (RFC 6298, section 2.1).
pub(crate) const INITIAL_TIMEOUT: Nanos = Nanos::from_secs(1);
/// After a SYN was retransmitted (RFC 6298, section 5.7).
pub(crate) const FALLBACK_TIMEOUT: Nanos = Nanos::from_secs(3);
/// `TCP_RTO_MAX`; RFC 6298, section 2.5, requires at least 60 s.
pub(crate) const MAX_TIMEOUT: Nanos = Nanos::from_secs(120);
/// How long the least round trip is valid (`tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(300);

/// Round-trip times of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rtt {
    floor: Nanos,
    floors_variance: bool,
    // Eight times the smoothed time and four times the mean deviation, in nanoseconds.
    smoothed8: u64,
    deviation4: u64,
    largest4: u64,
    variance4: u64,
    // End of the round trip whose largest deviation is being tracked.
    round_ends: u64,
    timeout: Nanos,
    // The least (initially the maximum), and when it was measured.
    least: (Nanos, Nanos),
}

impl Rtt {
    pub(crate) const fn new(floor: Nanos, floors_variance: bool) -> Self {
        Self {
            floor,
            floors_variance,
            smoothed8: 0,
            deviation4: 0,
            largest4: 0,
            variance4: 0,
            round_ends: 0,
            timeout: INITIAL_TIMEOUT,
            least: (Nanos::MAX, Nanos::ZERO),
        }
    }

    /// A segment was acknowledged after `took`. Everything before `una` is acknowledged, and everything before `nxt` sent.
    pub(crate) fn sample(&mut self, took: Nanos, una: u64, nxt: u64) {
        let took = took.0.max(1);
        let floor4 = if self.floors_variance { self.floor.0 } else { 0 };
        if self.smoothed8 == 0 {
            self.smoothed8 = took.saturating_mul(8);
            self.deviation4 = took.saturating_mul(2);
            self.variance4 = self.deviation4.max(floor4);
            self.largest4 = self.variance4;
            self.round_ends = nxt;
        } else {
            let smoothed = self.smoothed8 / 8;
            self.smoothed8 = (self.smoothed8 - smoothed).saturating_add(took);
            let (off, mean) = (took.abs_diff(smoothed), self.deviation4 / 4);
            let moved = i128::from(off) - i128::from(mean);
            // A sample below the mean that widens the deviation has an eighth of the weight.
            let moved = if took < smoothed && moved > 0 { moved / 8 } else { moved };
            self.deviation4 = u64::try_from(i128::from(self.deviation4) + moved).unwrap_or(0);
            if self.floors_variance {
                self.decay(una, nxt);
            } else {
                self.variance4 = self.deviation4;
            }
        }
        self.reset_timeout();
    }

    /// Uses the largest deviation of a round trip, with decay.
    fn decay(&mut self, una: u64, nxt: u64) {
        if self.deviation4 > self.largest4 {
            self.largest4 = self.deviation4;
            self.variance4 = self.variance4.max(self.largest4);
        }
        if una > self.round_ends {
            if self.largest4 < self.variance4 {
                self.variance4 -= (self.variance4 - self.largest4) / 4;
            }
            self.round_ends = nxt;
            self.largest4 = self.floor.0;
        }
    }

    /// A round trip for the minimum, also of segments that may have been sent twice.
    pub(crate) fn bound(&mut self, took: Nanos, now: Nanos) {
        let took = took.max(Nanos(1));
        let (least, at) = self.least;
        if took <= least || now - at > MIN_RTT_WINDOW {
            self.least = (took, now);
        }
    }

    /// Resets the timeout to what the samples give, without backoff.
    pub(crate) fn reset_timeout(&mut self) {
        if let Some(smoothed) = self.smoothed() {
            let timeout = smoothed + Nanos(self.variance4);
            let timeout = if self.floors_variance { timeout } else { timeout.max(self.floor) };
            self.timeout = timeout.min(MAX_TIMEOUT);
        }
    }

    /// The SYN was retransmitted, so that there is no sample.
    pub(crate) fn falls_back(&mut self) {
        self.timeout = FALLBACK_TIMEOUT;
    }

    /// Doubles the timeout (RFC 6298, section 5.5).
    pub(crate) fn back_off(&mut self) {
        self.timeout = (self.timeout + self.timeout).min(MAX_TIMEOUT);
    }

    pub(crate) const fn timeout(&self) -> Nanos {
        self.timeout
    }

    pub(crate) fn smoothed(&self) -> Option<Nanos> {
        (self.smoothed8 > 0).then_some(Nanos(self.smoothed8 / 8))
    }

    /// The least round trip, if known.
    pub(crate) fn least(&self) -> Option<Nanos> {
        Some(self.least.0).filter(|&least| least < Nanos::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    #[test]
    fn linux_adds_its_floor_to_the_round_trip() {
        let mut rtt = Rtt::new(MS(200), true);
        assert_eq!(rtt.timeout(), Nanos::from_secs(1));
        rtt.sample(MS(40), 1, 10);
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(MS(40)), MS(240)));
        rtt.back_off();
        assert_eq!(rtt.timeout(), MS(480));
        rtt.sample(MS(40), 2, 10);
        assert_eq!(rtt.timeout(), MS(240), "a sample ends backing off");
    }

    #[test]
    fn the_rfc_floors_the_whole_and_follows_its_worked_rule() {
        let mut rtt = Rtt::new(Nanos::from_secs(1), false);
        rtt.sample(MS(40), 1, 10);
        assert_eq!(rtt.timeout(), Nanos::from_secs(1));
        let mut slow = Rtt::new(MS(1), false);
        slow.sample(MS(800), 1, 10);
        // 800 ms and four deviations of 400 ms (RFC 6298, section 2.2).
        assert_eq!(slow.timeout(), MS(2400));
        slow.sample(MS(1600), 20, 30);
        // 7/8 of 800 and 1/8 of 1600; 3/4 of 400 and 1/4 of 800 (section 2.3).
        assert_eq!(slow.smoothed(), Some(MS(900)));
        assert_eq!(slow.timeout(), MS(900 + 4 * 500));
    }

    #[test]
    fn a_quicker_path_widens_the_deviation_by_an_eighth() {
        let mut rtt = Rtt::new(Nanos::ZERO, false);
        rtt.sample(MS(800), 1, 10);
        rtt.sample(MS(160), 2, 10);
        // Off by 640, the mean deviation being 400: an eighth of the excess of 240.
        assert_eq!(rtt.deviation4, MS(1600 + 30).0);
    }
}
