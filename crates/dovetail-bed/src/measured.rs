//! The results of a run.

use std::time::Duration;

use dovetail_stats::{Durations, Estimate, Quantile};

use crate::spec::wire_bytes;

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With its last byte, at this time.
    Answered(Duration),
    /// Without an answer, or with a wrong one.
    Failed(String),
    /// The run ended first.
    Unfinished,
}

/// A request and its outcome; times are relative to the start of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The class, from 0.
    pub class: usize,
    /// The user within the class, from 0.
    pub user: u32,
    /// The server's number, from 0.
    pub origin: usize,
    /// Length of the response's body.
    pub bytes: u64,
    /// When it was due.
    pub wanted: Duration,
    /// When its first byte arrived.
    pub first_byte: Option<Duration>,
    /// How it ended.
    pub end: End,
    /// Whether it reused a connection.
    pub reused: bool,
}

impl Exchange {
    /// From the time the request was due to the last byte, including connecting and waiting in the proxy; `None` without an
    /// answer.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        match self.end {
            End::Answered(done) => Some(done.saturating_sub(self.wanted)),
            _ => None,
        }
    }
}

/// Usage of the downlink between warm-up and duration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkUse {
    /// Length of the observation.
    pub seconds: f64,
    /// Bytes of the Ethernet frames it sent.
    pub bytes: u64,
    /// Frames that it sent.
    pub packets: u64,
    /// Packets that its queue dropped.
    pub drops: u64,
    /// The fraction of its capacity that was used.
    pub utilisation: f64,
}

impl LinkUse {
    /// The fraction of arriving packets that were dropped.
    #[must_use]
    pub fn dropped(&self) -> f64 {
        self.drops as f64 / (self.packets + self.drops).max(1) as f64
    }
}

/// Resources used by the proxy's processes.
#[derive(Debug, Clone, PartialEq)]
pub struct ProxyUse {
    /// CPU time in user and system mode between warm-up and duration, in seconds. Kernel work in interrupts, such as on
    /// acknowledgements, is not attributed to any process.
    pub cpu_s: f64,
    /// Resident memory in bytes, once requests had ended.
    pub resident_bytes: u64,
    /// Number of processes at that time.
    pub processes: usize,
    /// How the process that was started ended when it was stopped.
    pub exit: String,
}

/// How long answers took; unanswered requests count as [lasting](dovetail_stats) at least until the run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Counted requests: those that were answered or still outstanding when the run ended.
    pub requests: usize,
    /// How many of them were unanswered; if any, the mean is a lower bound.
    pub unfinished: usize,
    /// In seconds; NaN if no request counts.
    pub mean_s: f64,
    /// In seconds.
    pub median_s: f64,
    /// Whether the true median may be higher.
    pub median_is_lower_bound: bool,
    /// In seconds: 99 % took no longer.
    pub p99_s: f64,
    /// Whether the true value may be higher.
    pub p99_is_lower_bound: bool,
}

/// The results of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// All requests, in the order in which they were due.
    pub exchanges: Vec<Exchange>,
    /// Body bytes that arrived between warm-up and duration, by class.
    pub received_bytes: Vec<u64>,
    /// The downlink between warm-up and duration.
    pub link: LinkUse,
    /// The proxy, if the testbed started it.
    pub proxy: Option<ProxyUse>,
    /// The longest delay of a packet in the delay line beyond its due time: if more than a few milliseconds, the machine was
    /// too busy.
    pub latest: Duration,
    /// When requests and bytes began to count.
    pub counted_from: Duration,
    /// When the last request was sent and bytes stopped counting.
    pub counted_to: Duration,
    /// When the run ended.
    pub ended: Duration,
    pub(crate) rate_bps: u64,
}

impl Measured {
    fn counts(&self, at: Duration) -> bool {
        at >= self.counted_from && at < self.counted_to
    }

    /// The counted requests: those due between warm-up and duration.
    pub fn counted(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|one| self.counts(one.wanted))
    }

    /// The latency of counted requests that did not fail.
    #[must_use]
    pub fn latency(&self) -> Latency {
        self.latency_of(|_| true)
    }

    /// Same as [`latency`](Self::latency), for the requests that `which` selects.
    #[must_use]
    pub fn latency_of(&self, which: impl Fn(&Exchange) -> bool) -> Latency {
        let mut durations = Durations::new();
        for one in self.counted().filter(|one| which(one)) {
            match &one.end {
                End::Answered(done) => durations.ended(done.saturating_sub(one.wanted).as_secs_f64()),
                End::Unfinished => durations.not_ended(self.ended.saturating_sub(one.wanted).as_secs_f64()),
                End::Failed(_) => {}
            }
        }
        let durations = durations.sorted();
        let or_none =
            |estimate: Option<Estimate>| estimate.unwrap_or(Estimate { value: f64::NAN, is_lower_bound: false });
        let (mean, median) = (or_none(durations.mean()), or_none(durations.median()));
        let p99 = or_none(durations.quantile(Quantile::P99));
        Latency {
            requests: durations.count(),
            unfinished: durations.not_ended(),
            mean_s: mean.value,
            median_s: median.value,
            median_is_lower_bound: median.is_lower_bound,
            p99_s: p99.value,
            p99_is_lower_bound: p99.is_lower_bound,
        }
    }

    /// The requests that failed, counted or not.
    pub fn failed(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|one| matches!(one.end, End::Failed(_)))
    }

    /// Requests that were answered between warm-up and duration.
    #[must_use]
    pub fn answered_in_window(&self) -> usize {
        let done = |one: &&Exchange| matches!(one.end, End::Answered(done) if self.counts(done));
        self.exchanges.iter().filter(done).count()
    }

    /// Bytes received by each class, relative to the class that received least of those that received anything.
    #[must_use]
    pub fn ratio(&self) -> Vec<f64> {
        let least = self.received_bytes.iter().copied().filter(|&bytes| bytes > 0).min().unwrap_or(1);
        self.received_bytes.iter().map(|&bytes| bytes as f64 / least as f64).collect()
    }

    /// The load that was requested, as a fraction of the downlink's rate: depending on the seed, it is more or less than the
    /// open loop's nominal load.
    #[must_use]
    pub fn offered(&self) -> f64 {
        let bytes: f64 = self.exchanges.iter().map(|one| wire_bytes(one.bytes as f64)).sum();
        bytes * 8.0 / (self.rate_bps as f64 * self.counted_to.as_secs_f64())
    }

    /// Milliseconds of the proxy's CPU time per request answered between warm-up and duration.
    #[must_use]
    pub fn cpu_ms_per_request(&self) -> Option<f64> {
        self.proxy.as_ref().map(|proxy| proxy.cpu_s * 1e3 / self.answered_in_window() as f64)
    }

    /// Milliseconds of the proxy's CPU time per megabyte that users received between warm-up and duration.
    #[must_use]
    pub fn cpu_ms_per_megabyte(&self) -> Option<f64> {
        let megabytes = self.received_bytes.iter().sum::<u64>() as f64 / 1e6;
        self.proxy.as_ref().map(|proxy| proxy.cpu_s * 1e3 / megabytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn exchange(class: usize, wanted: u64, end: End) -> Exchange {
        Exchange { class, user: 0, origin: 0, bytes: 1000, wanted: s(wanted), first_byte: None, end, reused: false }
    }

    fn measured(exchanges: Vec<Exchange>) -> Measured {
        Measured {
            exchanges,
            received_bytes: vec![3000, 0, 1000],
            link: LinkUse { seconds: 10.0, bytes: 0, packets: 90, drops: 10, utilisation: 0.0 },
            proxy: Some(ProxyUse { cpu_s: 0.5, resident_bytes: 0, processes: 1, exit: String::new() }),
            latest: Duration::ZERO,
            counted_from: s(10),
            counted_to: s(20),
            ended: s(30),
            rate_bps: 1_000_000,
        }
    }

    #[test]
    fn what_counts_and_with_how_much() {
        let answered = |at| End::Answered(s(at));
        let all = measured(vec![
            exchange(0, 9, answered(29)),
            exchange(0, 10, answered(11)),
            exchange(0, 12, answered(14)),
            exchange(1, 13, End::Failed("refused".into())),
            exchange(2, 15, answered(25)),
            exchange(2, 19, End::Unfinished),
            exchange(2, 20, answered(21)),
        ]);
        // 1, 2, 10 and, still unfinished, 11 seconds.
        let latency = all.latency();
        assert_eq!(
            latency,
            Latency {
                requests: 4,
                unfinished: 1,
                mean_s: 6.0,
                median_s: 2.0,
                median_is_lower_bound: false,
                p99_s: 11.0,
                p99_is_lower_bound: true,
            },
            "{latency:?}"
        );
        assert_eq!(all.latency_of(|one| one.class == 0).mean_s, 1.5);
        assert!(all.latency_of(|one| one.class == 1).mean_s.is_nan());
        assert_eq!((all.failed().count(), all.answered_in_window()), (1, 2));
        assert_eq!(all.ratio(), [3.0, 0.0, 1.0]);
        assert_eq!(all.cpu_ms_per_request(), Some(250.0));
        assert_eq!(all.cpu_ms_per_megabyte(), Some(125_000.0));
        assert_eq!(all.link.dropped(), 0.1);
        // Seven times 1000·1514/1448 + 350 bytes in 20 s at 1 Mbit/s.
        assert!((all.offered() - 7.0 * 1395.58 * 8.0 / 20e6).abs() < 1e-6);
    }
}
