//! Transfer times, by size.

use dovetail_sched::Nanos;
use dovetail_sim::network::{NetworkOutcome, Stream, Transfer};
use dovetail_stats::{Durations, Estimate, Quantile};
use serde::Serialize;

/// Transfers by size. The thresholds are the paper's: 20 and 1,000 packets of 1,000 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeClass {
    /// Under 20 kB.
    Short,
    /// Up to 1 MB.
    Middle,
    /// Over that.
    Long,
}

impl SizeClass {
    /// From the shortest.
    pub const ALL: [Self; 3] = [Self::Short, Self::Middle, Self::Long];

    /// The class of a transfer of this many bytes.
    pub const fn of(bytes: u64) -> Self {
        match bytes {
            0..20_000 => Self::Short,
            20_000..=1_000_000 => Self::Middle,
            _ => Self::Long,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Middle => "middle",
            Self::Long => "long",
        }
    }

    /// The transfers in this class.
    pub fn transfers(self, outcome: &NetworkOutcome) -> impl Iterator<Item = &Transfer> {
        outcome.transfers.iter().filter(move |transfer| Self::of(transfer.bytes) == self)
    }
}

/// Transfer times, from the first packet to the last byte; unfinished transfers lasted at least until the run ended.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Times {
    /// Transfers completed.
    pub done: u64,
    /// Transfers not completed at the end.
    pub unfinished: u64,
    /// Their mean time; `None` without any.
    pub mean_s: Option<f64>,
    /// The median.
    pub median_s: Option<f64>,
    /// The 95th percentile.
    pub p95_s: Option<f64>,
    /// Which of these are lower bounds because of unfinished transfers.
    pub at_least: TimesAtLeast,
    /// Packets that they lost at the link.
    pub dropped_packets: u64,
}

/// Which times are lower bounds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct TimesAtLeast {
    /// The mean.
    pub mean_s: bool,
    /// The median.
    pub median_s: bool,
    /// The 95th percentile.
    pub p95_s: bool,
}

/// A figure, and whether it is a lower bound.
pub fn split(estimate: Option<Estimate>) -> (Option<f64>, bool) {
    (estimate.map(|known| known.value), estimate.is_some_and(|known| known.is_lower_bound))
}

impl Times {
    /// The times of these transfers, in a run that ended at `run_ended`.
    pub fn of<'a>(transfers: impl Iterator<Item = &'a Transfer>, run_ended: Nanos) -> Self {
        let (mut durations, mut dropped_packets) = (Durations::new(), 0);
        for transfer in transfers {
            dropped_packets += transfer.dropped;
            transfer.add_to(&mut durations, run_ended);
        }
        let durations = durations.sorted();
        let (mean_s, mean) = split(durations.mean());
        let (median_s, median) = split(durations.median());
        let (p95_s, p95) = split(durations.quantile(Quantile::P95));
        let unfinished = durations.not_ended() as u64;
        Self {
            done: durations.count() as u64 - unfinished,
            unfinished,
            mean_s,
            median_s,
            p95_s,
            at_least: TimesAtLeast { mean_s: mean, median_s: median, p95_s: p95 },
            dropped_packets,
        }
    }
}

/// A stream's first seconds do not count: TCP is still searching for its rate. The paper counts from congestion avoidance on.
pub const SLOW_START_S: usize = 10;

/// Width of the windows in which a stream's least rate is taken (the paper's figure 8), in seconds.
pub const WINDOW_S: usize = 10;

/// Rates of a stream after its start-up.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Rates {
    /// `None` if the run ended before.
    pub mean_mbps: Option<f64>,
    /// The minimum over windows of ten seconds; `None` if there was no complete window.
    pub least_window_mbps: Option<f64>,
}

impl Rates {
    /// From second `from` until the run or the stream's traffic ended.
    pub fn of(stream: &Stream, from: usize, ended: Nanos) -> Self {
        let to = ended.as_secs_f64() as usize;
        let least = windows(stream, from, ended).into_iter().min_by(f64::total_cmp);
        Self { mean_mbps: (to > from).then(|| stream.mean_bps(from, to) / 1e6), least_window_mbps: least }
    }
}

/// The rate in each complete window of ten seconds from second `from` on, in Mbit/s.
pub fn windows(stream: &Stream, from: usize, ended: Nanos) -> Vec<f64> {
    let seconds = ended.as_secs_f64() as usize;
    let windows = seconds.saturating_sub(from) / WINDOW_S;
    (0..windows).map(|at| from + at * WINDOW_S).map(|at| stream.mean_bps(at, at + WINDOW_S) / 1e6).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_times_and_windows_by_hand() {
        let transfer = |bytes, took: Option<u64>| Transfer {
            traffic: 0,
            bytes,
            begun: Nanos::from_secs(5),
            ended: took.map(|took| Nanos::from_secs(5 + took)),
            packets: 3,
            dropped: 1,
        };
        let transfers = vec![
            transfer(19_999, Some(1)),
            transfer(20_000, Some(2)),
            transfer(1_000_001, None),
            transfer(1_000, Some(3)),
        ];
        let outcome = NetworkOutcome { transfers, ..NetworkOutcome::default() };
        let ended = Nanos::from_secs(9);
        let times = SizeClass::ALL.map(|class| Times::of(class.transfers(&outcome), ended));
        assert_eq!(times.map(|times| (times.done, times.unfinished)), [(2, 0), (1, 0), (0, 1)]);
        assert_eq!((times[0].mean_s, times[0].median_s, times[0].dropped_packets), (Some(2.0), Some(1.0), 2));
        assert_eq!((times[2].median_s, times[2].at_least.median_s), (Some(4.0), true), "begun at 5, and never done");
        assert!(!times[0].at_least.mean_s);
        let stream = Stream { received_bytes: [vec![9; 5], vec![125_000; 25]].concat(), ..Stream::default() };
        assert_eq!(windows(&stream, 5, Nanos::from_millis(29_900)), [1.0, 1.0]);
        let rates = Rates::of(&stream, 5, Nanos::from_secs(30));
        assert_eq!((rates.mean_mbps, rates.least_window_mbps), (Some(1.0), Some(1.0)));
        let short = Rates::of(&stream, 10, Nanos::from_secs(9));
        assert_eq!((short.mean_mbps, short.least_window_mbps), (None, None));
    }
}
