//! The results of a run of jobs.

use std::time::Duration;

use crate::{End, Job, LinkUse, ProxyUse};

/// The resolution of timelines.
const BIN: Duration = Duration::from_millis(10);

/// Bytes over the time of a run, with a resolution of 10 ms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    bins: Vec<u64>,
}

impl Timeline {
    fn bin(at: Duration) -> usize {
        (at.as_nanos() / BIN.as_nanos()) as usize
    }

    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn add(&mut self, at: Duration, bytes: u64) {
        let bin = Self::bin(at);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += bytes;
    }

    /// Bytes from one time up to another.
    #[must_use]
    pub fn between(&self, from: Duration, to: Duration) -> u64 {
        let end = Self::bin(to).min(self.bins.len());
        self.bins.get(Self::bin(from)..end).map_or(0, |bins| bins.iter().sum())
    }

    /// All bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The mean rate from one time up to another, in bits per second.
    #[must_use]
    pub fn rate_bps(&self, from: Duration, to: Duration) -> f64 {
        self.between(from, to) as f64 * 8.0 / to.saturating_sub(from).as_secs_f64()
    }
}

/// A request of a job; times are relative to the start of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// When it was sent; for the first, when the job began to connect.
    pub begun: Duration,
    /// When the first byte of its response arrived.
    pub first_byte: Option<Duration>,
    /// How it ended; [`End::Answered`] means that the response was complete and the requested one.
    pub end: End,
}

impl Round {
    /// From sending to the last byte; `None` without a complete answer.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        match self.end {
            End::Answered(done) => Some(done.saturating_sub(self.begun)),
            _ => None,
        }
    }
}

/// The outcome of a job. A job ends at its first unanswered request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedJob {
    /// The job as specified.
    pub job: Job,
    /// Its requests in order; empty if the run ended before the job began.
    pub rounds: Vec<Round>,
    /// Body bytes: of a download those that arrived, of an upload those that the user's socket took.
    pub bytes: Timeline,
    /// The number of connections it took: one, plus one for each time that the other side closed it between two requests.
    pub connections: u32,
}

impl PlayedJob {
    /// Whether it sent requests and every answer was complete.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.rounds.is_empty() && self.rounds.iter().all(|round| round.took().is_some())
    }

    /// From the first request to the last byte of the last; `None` if an answer is incomplete.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        let (first, last) = (self.rounds.first()?, self.rounds.last()?);
        Some(last.begun.saturating_sub(first.begun) + last.took()?)
    }
}

/// The downlink's queue at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// Time since the start of the run.
    pub at: Duration,
    /// Bytes of the queued Ethernet frames.
    pub bytes: u64,
    /// Number of queued frames.
    pub packets: u64,
    /// The link's rate at that time, in bits per second.
    pub rate_bps: u64,
}

impl Queued {
    /// How long the link needs to send the queue.
    #[must_use]
    pub fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.bytes as f64 * 8.0 / self.rate_bps as f64)
    }
}

/// The results of a run of jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// In the order of their specification.
    pub jobs: Vec<PlayedJob>,
    /// The downlink between warm-up and duration.
    pub link: LinkUse,
    /// The queue over the whole run, sampled at the requested interval.
    pub queue: Vec<Queued>,
    /// The proxy, if the testbed started it.
    pub proxy: Option<ProxyUse>,
    /// The longest delay of a packet in the delay line beyond its due time: if more than a few milliseconds, the machine was
    /// too busy.
    pub latest: Duration,
    /// When the counters started.
    pub counted_from: Duration,
    /// When they stopped.
    pub counted_to: Duration,
    /// When the run ended.
    pub ended: Duration,
}

impl Played {
    /// The total rate of the jobs that `which` selects, between warm-up and duration, in bits per second.
    #[must_use]
    pub fn rate_bps(&self, which: impl Fn(&Job) -> bool) -> f64 {
        let jobs = self.jobs.iter().filter(|played| which(&played.job));
        jobs.map(|played| played.bytes.rate_bps(self.counted_from, self.counted_to)).sum()
    }

    /// The longest queue of the downlink between two times.
    #[must_use]
    pub fn longest_queue(&self, from: Duration, to: Duration) -> Duration {
        let seen = self.queue.iter().filter(|queued| queued.at >= from && queued.at < to);
        seen.map(Queued::delay).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Repeat, Via, What};

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn bytes_of_a_window() {
        let mut line = Timeline::default();
        for (at, bytes) in [(5, 1), (1000, 10), (1009, 100), (1990, 1000), (2000, 10_000)] {
            line.add(ms(at), bytes);
        }
        assert_eq!((line.total(), line.between(ms(1000), ms(2000))), (11_111, 1110));
        assert_eq!(line.rate_bps(ms(1000), ms(2000)), 8880.0);
        assert_eq!((line.between(ms(2000), ms(9000)), line.between(ms(5000), ms(9000))), (10_000, 0));
        assert_eq!(line.between(ms(2000), ms(1000)), 0);
    }

    #[test]
    fn a_job_is_whole_when_all_its_answers_are() {
        let round = |begun, end| Round { begun: ms(begun), first_byte: None, end };
        let job = Job {
            class: 0,
            user: 0,
            server: 0,
            at: ms(0),
            what: What::Get { bytes: 1 },
            via: Via::Direct,
            repeat: Repeat::UntilDuration,
        };
        let played = |rounds| PlayedJob { job, rounds, bytes: Timeline::default(), connections: 1 };
        let answered = |begun, end| round(begun, End::Answered(ms(end)));
        let whole = played(vec![answered(10, 20), answered(20, 50)]);
        assert_eq!((whole.is_whole(), whole.took()), (true, Some(ms(40))));
        let cut = played(vec![answered(10, 20), round(20, End::Unfinished)]);
        assert_eq!((cut.is_whole(), cut.took()), (false, None));
        assert!(!played(Vec::new()).is_whole());
    }

    #[test]
    fn a_queue_is_as_long_as_the_link_needs_for_it() {
        let queued = |at, bytes, rate_bps| Queued { at: ms(at), bytes, packets: 1, rate_bps };
        let played = Played {
            jobs: Vec::new(),
            link: LinkUse { seconds: 1.0, bytes: 0, packets: 0, drops: 0, utilisation: 0.0 },
            queue: vec![queued(0, 125_000, 1_000_000), queued(100, 12_500, 1_000_000), queued(200, 12_500, 500_000)],
            proxy: None,
            latest: ms(0),
            counted_from: ms(0),
            counted_to: ms(1000),
            ended: ms(1000),
        };
        assert_eq!(played.longest_queue(ms(0), ms(1000)), ms(1000));
        assert_eq!(played.longest_queue(ms(100), ms(200)), ms(100));
        assert_eq!(played.longest_queue(ms(100), ms(1000)), ms(200));
        assert_eq!(played.longest_queue(ms(500), ms(1000)), ms(0));
    }
}
