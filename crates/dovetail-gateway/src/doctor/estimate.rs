//! Interprets series of measurements of a link. No clock and no I/O: times are relative to the start of a measurement.
//!
//! **Rate.** Arrivals are divided into windows of equal length. The ramp is skipped: all windows before the first that reaches
//! four fifths of the later half's median. The rate is the interquartile mean of the others, which neither a pause nor a burst
//! affects. If their later half differs from the earlier by more than 15 %, the rate has changed (a link may be faster for its
//! first seconds), and the later half is used.
//!
//! **Far buffer.** While transfers fill the link, a probe waits in the queue in front of it. The longest of these waits is the
//! size of the buffer: the 95th percentile of the round trips minus the shortest at rest, so that a single late answer does not
//! count.

use std::time::Duration;

/// Number of windows that a measurement is divided into.
const WINDOWS: u32 = 20;
/// Minimum length of a window: senders send in bursts, and retransmissions arrive late.
const MIN_WINDOW: Duration = Duration::from_millis(200);
/// Minimum number of windows after the ramp for a result.
const MIN_WINDOWS: usize = 4;
/// The ramp is over once this fraction of the later half's rate is reached.
const RAMP: f64 = 0.8;
/// If halves differ by more than this, the link's rate has changed.
const CHANGE: f64 = 0.15;
/// Minimum rise of a round trip that indicates a queue on its way.
const MIN_RISE: Duration = Duration::from_millis(3);
/// Minimum fraction of probes at rest that must be answered.
const MIN_ANSWERED: f64 = 0.75;
/// Probes whose rise is at least this fraction of the largest measure the same queue.
const SEES: f64 = 0.6;

/// The number of bytes that had arrived at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) at: Duration,
    pub(super) bytes: u64,
}

/// A measured rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// Payload, in bytes per second.
    pub bytes_per_s: f64,
    /// Variation between windows: half of the interquartile range, as a fraction of the rate.
    pub spread: f64,
    /// When the ramp was over, since the start.
    pub full_from: Duration,
    /// The rate before it changed, in bytes per second, if it did.
    pub before: Option<f64>,
}

/// The link's rate, or `None` if too little arrived to tell. O(samples).
pub(super) fn throughput(arrived: &[Arrived]) -> Option<Throughput> {
    let (first, last) = (arrived.first()?, arrived.last()?);
    let lasted = last.at.saturating_sub(first.at);
    let window = (lasted / WINDOWS).max(MIN_WINDOW);
    let rates = windows(arrived, window);
    let later = sorted(&rates[rates.len() / 2..]);
    let full = RAMP * later.get(later.len() / 2).copied().filter(|&rate| rate > 0.0)?;
    let ramp = rates.iter().position(|&rate| rate >= full)?;
    let steady = &rates[ramp..];
    if steady.len() < MIN_WINDOWS {
        return None;
    }
    let (early, late) = steady.split_at(steady.len() / 2);
    let [early_rate, late_rate] = [early, late].map(middle);
    let has_changed = early.len() >= MIN_WINDOWS && (early_rate / late_rate - 1.0).abs() > CHANGE;
    let (from, counted) = if has_changed { (ramp + early.len(), late) } else { (ramp, steady) };
    let bytes_per_s = middle(counted);
    let sorted = sorted(counted);
    let quartile = |quarter: usize| sorted[quarter * (sorted.len() - 1) / 4];
    Some(Throughput {
        bytes_per_s,
        spread: (quartile(3) - quartile(1)) / 2.0 / bytes_per_s,
        full_from: first.at + window * from as u32,
        before: has_changed.then_some(early_rate),
    })
}

/// Bytes per second in each whole window, interpolated linearly between samples.
fn windows(arrived: &[Arrived], window: Duration) -> Vec<f64> {
    let Some(first) = arrived.first() else { return Vec::new() };
    let mut rates = Vec::new();
    let (mut end, mut counted) = (first.at + window, first.bytes as f64);
    for pair in arrived.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        while to.at >= end && to.at > from.at {
            let part = (end - from.at).as_secs_f64() / (to.at - from.at).as_secs_f64();
            let bytes = (to.bytes - from.bytes) as f64 * part + from.bytes as f64;
            rates.push((bytes - counted) / window.as_secs_f64());
            counted = bytes;
            end += window;
        }
    }
    rates
}

fn sorted(rates: &[f64]) -> Vec<f64> {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The mean of the middle half.
fn middle(rates: &[f64]) -> f64 {
    let sorted = sorted(rates);
    let off = sorted.len() / 4;
    let half = &sorted[off..sorted.len() - off];
    half.iter().sum::<f64>() / half.len() as f64
}

/// A probe: when it was sent, and its round trip if it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Echoed {
    pub(super) at: Duration,
    pub(super) took: Option<Duration>,
}

/// Statistics of a series of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrips {
    /// Probes sent.
    pub sent: u32,
    /// Probes answered.
    pub back: u32,
    /// The shortest round trip.
    pub least: Duration,
    /// The median.
    pub median: Duration,
    /// The 95th percentile.
    pub long: Duration,
}

/// Statistics of the probes sent at this time or later. O(n log n).
pub(super) fn round_trips(echoed: &[Echoed], from: Duration) -> RoundTrips {
    let counted = || echoed.iter().filter(|one| one.at >= from);
    let mut took: Vec<Duration> = counted().filter_map(|one| one.took).collect();
    took.sort_unstable();
    // The smallest value that this percentage does not exceed.
    let rank = |percent: usize| took.get((took.len() * percent).div_ceil(100).max(1) - 1).copied().unwrap_or_default();
    RoundTrips {
        sent: counted().count() as u32,
        back: took.len() as u32,
        least: rank(0),
        median: rank(50),
        long: rank(95),
    }
}

/// A probe's measurements at rest and while the link was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// At rest.
    pub idle: RoundTrips,
    /// While the downlink was full, if it was.
    pub down: Option<RoundTrips>,
    /// While the uplink was full, if it was.
    pub up: Option<RoundTrips>,
}

impl Seen {
    /// Whether enough of the probes at rest were answered.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.idle.back > 0 && f64::from(self.idle.back) >= MIN_ANSWERED * f64::from(self.idle.sent)
    }

    /// How much a full downlink added to the round trip: the far buffer.
    #[must_use]
    pub fn downlink_buffer(&self) -> Option<Duration> {
        self.rise(self.down)
    }

    /// How much a full uplink added to the round trip.
    #[must_use]
    pub fn uplink_buffer(&self) -> Option<Duration> {
        self.rise(self.up)
    }

    fn rise(&self, full: Option<RoundTrips>) -> Option<Duration> {
        let full = full.filter(|full| full.back > 0 && self.is_answered())?;
        Some(full.long.saturating_sub(self.idle.least))
    }
}

/// The recommended probe: of those that measure the full downlink's queue, the one with the shortest round trip; if the link
/// was not filled, of all that are answered. `None` if none is answered, or none sees a queue. Ties go to the earlier one.
pub(super) fn choose(seen: &[Seen]) -> Option<usize> {
    let most = seen.iter().filter_map(Seen::downlink_buffer).max();
    if most.is_some_and(|most| most < MIN_RISE) {
        return None;
    }
    let sees = |seen: &Seen| match most {
        Some(most) => seen.downlink_buffer().is_some_and(|rise| rise >= most.mul_f64(SEES)),
        None => seen.is_answered(),
    };
    let useful = seen.iter().enumerate().filter(|(_, seen)| sees(seen));
    // A busy machine adds a millisecond.
    useful.min_by_key(|(_, seen)| seen.idle.least.as_millis()).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Samples every 50 ms of a transfer at `rate` bytes per millisecond, a function of the millisecond.
    fn series(millis: u64, rate: impl Fn(u64) -> u64) -> Vec<Arrived> {
        let mut bytes = 0;
        let mut samples = vec![Arrived { at: ms(0), bytes: 0 }];
        for at in 0..millis {
            bytes += rate(at);
            if (at + 1) % 50 == 0 {
                samples.push(Arrived { at: ms(at + 1), bytes });
            }
        }
        samples
    }

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.01, "{found} is not {expected}");
    }

    #[test]
    fn an_even_rate_is_that_rate() {
        let found = throughput(&series(10_000, |_| 250)).expect("a rate");
        close(found.bytes_per_s, 250_000.0);
        assert_eq!((found.before, found.full_from), (None, ms(0)));
        assert!(found.spread < 1e-9, "{found:?}");
    }

    #[test]
    fn a_ramp_does_not_count() {
        // Slow start: doubling every 300 ms up to the link's rate after 2.4 s.
        let found = throughput(&series(10_000, |at| 256_u64.min(1 << (at / 300)))).expect("a rate");
        close(found.bytes_per_s, 256_000.0);
        assert!(found.full_from >= ms(2000) && found.full_from <= ms(2500), "{found:?}");
    }

    #[test]
    fn a_pause_and_what_comes_after_it_in_one_burst_do_not_count() {
        let paused = |at| match at {
            4000..4900 => 0,
            4900..5000 => 1000,
            _ => 100,
        };
        close(throughput(&series(10_000, paused)).expect("a rate").bytes_per_s, 100_000.0);
        // A pause that is not followed by a burst.
        let lost = |at| if (6000..7000).contains(&at) { 0 } else { 100 };
        close(throughput(&series(10_000, lost)).expect("a rate").bytes_per_s, 100_000.0);
    }

    #[test]
    fn bursts_of_a_sender_are_the_rate_on_average() {
        // 40 ms of data every 120 ms: windows contain one burst more or less.
        let bursts = |at| if at % 120 < 40 { 300 } else { 0 };
        let found = throughput(&series(12_000, bursts)).expect("a rate");
        assert!((found.bytes_per_s / 100_000.0 - 1.0).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn a_rate_that_changes_is_the_later_one_and_said() {
        let found = throughput(&series(10_000, |at| if at < 5000 { 400 } else { 100 })).expect("a rate");
        close(found.bytes_per_s, 100_000.0);
        close(found.before.expect("it changed"), 400_000.0);
    }

    #[test]
    fn too_little_is_no_rate() {
        assert_eq!(throughput(&[]), None);
        assert_eq!(throughput(&series(10_000, |_| 0)), None);
        assert_eq!(throughput(&series(700, |_| 100)), None);
        let twice = Arrived { at: ms(5), bytes: 9 };
        assert_eq!(throughput(&[twice, twice]), None);
    }

    fn probes(took: impl IntoIterator<Item = Option<u64>>) -> Vec<Echoed> {
        (0..).zip(took).map(|(number, took)| Echoed { at: ms(100 * number), took: took.map(ms) }).collect()
    }

    #[test]
    fn round_trips_are_nearest_ranks() {
        let all = probes((1..=20).map(Some).chain([None]));
        let expected = RoundTrips { sent: 21, back: 20, least: ms(1), median: ms(10), long: ms(19) };
        assert_eq!(round_trips(&all, ms(0)), expected);
        let late = RoundTrips { sent: 3, back: 2, least: ms(19), median: ms(19), long: ms(20) };
        assert_eq!(round_trips(&all, ms(1800)), late);
        assert_eq!(round_trips(&[], ms(0)), RoundTrips::default());
    }

    /// A probe with these round trips in milliseconds at rest and while the link is full.
    fn seen(idle: impl Into<Option<u64>>, full: impl Into<Option<u64>>) -> Seen {
        let trips = |took: Option<u64>| round_trips(&probes([took; 20]), ms(0));
        Seen { idle: trips(idle.into()), down: Some(trips(full.into())), up: None }
    }

    #[test]
    fn the_buffer_is_the_rise_and_one_late_answer_is_none_of_it() {
        let mut full = vec![Some(160); 40];
        full[7] = Some(900);
        let idle = round_trips(&probes([Some(25), Some(21), Some(40)]), ms(0));
        let seen = Seen { idle, down: Some(round_trips(&probes(full), ms(0))), up: None };
        assert_eq!(seen.downlink_buffer(), Some(ms(139)));
        assert_eq!(seen.uplink_buffer(), None);
    }

    #[test]
    fn the_nearest_that_sees_the_queue_is_used() {
        // The user's own router, the provider's end, a hop beyond it, the server.
        let all = [seen(1, 1), seen(20, 160), seen(30, 172), seen(45, 190)];
        assert_eq!(choose(&all), Some(1));
        assert_eq!(choose(&[seen(1, 1), seen(None, None), seen(30, 172)]), Some(2), "one is not answered");
        assert_eq!(choose(&[seen(20, None), seen(30, 172)]), Some(1), "one is not answered while the link is full");
        assert_eq!(choose(&[seen(20, 21), seen(30, 32)]), None, "there is no queue");
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn without_a_full_link_the_nearest_that_is_answered_is_used() {
        let at_rest = |idle: Option<u64>| Seen { down: None, ..seen(idle, None) };
        assert_eq!(choose(&[at_rest(None), at_rest(Some(30)), at_rest(Some(20))]), Some(2));
        assert_eq!(choose(&[at_rest(None)]), None);
    }
}
