//! Explicit jobs: which user requests what, when and how. Each job is measured on its own.

use std::time::Duration;

use crate::{BedError, BedSpec, Via, load::MAX_BYTES, spec};

/// Maximum number of pieces of a stream, and of bytes in each.
pub(crate) const MAX_PIECES: u64 = 1 << 24;
pub(crate) const MAX_PIECE_BYTES: u64 = 1 << 20;
/// Maximum time between two pieces.
pub(crate) const MAX_GAP: Duration = Duration::from_secs(10);
const MAX_JOBS: usize = 2000;
const HOUR: Duration = Duration::from_secs(3600);
/// Each reading of the queue runs `tc`, which takes milliseconds.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// One job of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A response with a length, as fast as possible; 64 MiB at most.
    Get {
        /// Length of its body.
        bytes: u64,
    },
    /// A chunked response without a length: pieces that the server sends one by one.
    Stream {
        /// Number of pieces; 2²⁴ at most.
        pieces: u64,
        /// Bytes of each; 1 MiB at most.
        piece_bytes: u64,
        /// Time between two, 10 s at most. A server that falls behind does not catch up later.
        gap: Duration,
    },
    /// An upload; the server answers with the number of bytes it received.
    Post {
        /// Length of the request's body; 64 MiB at most.
        bytes: u64,
    },
}

impl What {
    /// Bytes of the body, in either direction.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Get { bytes } | Self::Post { bytes } => bytes,
            Self::Stream { pieces, piece_bytes, .. } => pieces * piece_bytes,
        }
    }
}

/// How often a job sends the same request, one after another on the same connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// This many times, at least once.
    Times(u32),
    /// Until the run's duration is over; requests in flight then have the drain to finish in.
    UntilDuration,
}

/// One connection, or tunnel, of a user to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// The class, from 0.
    pub class: usize,
    /// The user within the class, from 0.
    pub user: u32,
    /// The server's number, from 0.
    pub server: usize,
    /// When the job starts.
    pub at: Duration,
    /// The requests.
    pub what: What,
    /// How they reach the server.
    pub via: Via,
    /// How often they are sent.
    pub repeat: Repeat,
}

/// A run of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaySpec {
    /// When the downlink's counters and the proxy's resource usage start to count.
    pub warm_up: Duration,
    /// When they stop, and jobs still active send no more requests; an hour at most.
    pub duration: Duration,
    /// How long outstanding answers may take after that; an hour at most.
    pub drain: Duration,
    /// The downlink's rate from each of these times on, in bits of Ethernet frames per second; afterwards the testbed's rate is
    /// restored. The proxy is not informed.
    pub rates: Vec<(Duration, u64)>,
    /// How often the downlink's queue is read, every 20 ms at most; `None` means never.
    pub queue_every: Option<Duration>,
}

impl Default for PlaySpec {
    /// 30 s, of which the first 5 are warm-up, a drain of 10 s, and the queue read every 100 ms.
    fn default() -> Self {
        Self {
            warm_up: Duration::from_secs(5),
            duration: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            rates: Vec::new(),
            queue_every: Some(Duration::from_millis(100)),
        }
    }
}

impl PlaySpec {
    /// Checks whether these jobs can be played on this testbed.
    ///
    /// # Errors
    /// What is out of range, in words.
    pub fn validate(&self, jobs: &[Job], bed: &BedSpec) -> Result<(), BedError> {
        let wrong = |what: &str| Err(BedError::Wrong(what.to_owned()));
        if self.warm_up >= self.duration || self.duration > HOUR || self.drain > HOUR {
            return wrong("the warm-up is shorter than the duration, and that and the drain an hour at most");
        }
        if !self.rates.iter().all(|&(at, bps)| at < self.duration && spec::RATES_BPS.contains(&bps)) {
            return wrong("the downlink's rate changes before the duration is over, to 10 kbit/s to 10 Gbit/s");
        }
        if self.queue_every.is_some_and(|every| every < MIN_POLL_INTERVAL) {
            return wrong("the queue is read every 20 ms at most");
        }
        if jobs.len() > MAX_JOBS {
            return wrong("there are 2,000 jobs at most");
        }
        for job in jobs {
            if bed.users.get(job.class).is_none_or(|&users| job.user >= users) {
                return wrong("a job is of a user that the testbed does not have");
            }
            if job.server >= bed.round_trips.len() {
                return wrong("a job names a server that the testbed does not have");
            }
            if job.at >= self.duration {
                return wrong("a job begins when the duration is over");
            }
            if job.repeat == Repeat::Times(0) {
                return wrong("a job sends at least one request");
            }
            match job.what {
                What::Get { bytes } | What::Post { bytes } if bytes > MAX_BYTES => {
                    return wrong("a body has 64 MiB at most");
                }
                What::Stream { pieces, piece_bytes, gap }
                    if pieces > MAX_PIECES || !(1..=MAX_PIECE_BYTES).contains(&piece_bytes) || gap > MAX_GAP =>
                {
                    return wrong("a stream has 2²⁴ pieces at most, of 1 byte to 1 MiB and at most 10 s apart");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Bits that the downlink could send between the end of the warm-up and the duration.
    pub(crate) fn capacity_bits(&self, bed_bps: u64) -> f64 {
        let (mut at, mut bps, mut bits) = (self.warm_up, bed_bps, 0.0);
        for (change, rate) in self.sorted_rates() {
            if change > at {
                bits += (change - at).as_secs_f64() * bps as f64;
                at = change;
            }
            bps = rate;
        }
        bits + self.duration.saturating_sub(at).as_secs_f64() * bps as f64
    }

    /// The rate changes, sorted by time.
    pub(crate) fn sorted_rates(&self) -> Vec<(Duration, u64)> {
        let mut rates = self.rates.clone();
        rates.sort_by_key(|&(at, _)| at);
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn job() -> Job {
        let what = What::Stream { pieces: 10, piece_bytes: 1, gap: Duration::ZERO };
        Job { class: 0, user: 0, server: 0, at: s(0), what, via: Via::Connect, repeat: Repeat::Times(1) }
    }

    #[test]
    fn what_cannot_be_is_said() {
        let bed = BedSpec::default();
        let good = PlaySpec::default();
        assert!(good.validate(&[job()], &bed).is_ok() && good.validate(&[], &bed).is_ok());
        let stream = |pieces, piece_bytes, gap| Job { what: What::Stream { pieces, piece_bytes, gap }, ..job() };
        let wrong = [
            Job { class: 3, ..job() },
            Job { user: 4, ..job() },
            Job { server: 12, ..job() },
            Job { at: s(30), ..job() },
            Job { repeat: Repeat::Times(0), ..job() },
            Job { what: What::Get { bytes: MAX_BYTES + 1 }, ..job() },
            Job { what: What::Post { bytes: u64::MAX }, ..job() },
            stream(u64::MAX, 1, s(0)),
            stream(1, 0, s(0)),
            stream(1, MAX_PIECE_BYTES + 1, s(0)),
            stream(1, 1, Duration::MAX),
        ];
        for job in wrong {
            assert!(good.validate(&[job], &bed).is_err(), "{job:?}");
        }
        assert!(good.validate(&vec![job(); MAX_JOBS + 1], &bed).is_err());
        for play in [
            PlaySpec { warm_up: s(30), ..good.clone() },
            PlaySpec { drain: Duration::MAX, ..good.clone() },
            PlaySpec { rates: vec![(s(30), 1_000_000)], ..good.clone() },
            PlaySpec { rates: vec![(s(1), 1)], ..good.clone() },
            PlaySpec { queue_every: Some(Duration::ZERO), ..good.clone() },
        ] {
            assert!(play.validate(&[job()], &bed).is_err(), "{play:?}");
        }
    }

    #[test]
    fn the_link_can_send_what_its_rates_come_to() {
        let play = |rates| PlaySpec { warm_up: s(5), duration: s(15), rates, ..PlaySpec::default() };
        assert_eq!(play(vec![]).capacity_bits(1000), 10_000.0);
        // From 1,000 bit/s to 500 before the warm-up ends, to 100 at 10 s.
        assert_eq!(play(vec![(s(10), 100), (s(3), 500)]).capacity_bits(1000), 3000.0);
    }
}
