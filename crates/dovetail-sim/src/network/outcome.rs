//! The results of a run.

use dovetail_sched::Nanos;
use dovetail_stats::Durations;

use crate::{Outcome, measure::Percentiles};

/// How a network's run ended.
#[derive(Debug, Clone, Default)]
pub struct NetworkOutcome {
    /// Packets at the watched link.
    pub link: Outcome,
    /// Of those dropped, how many for want of memory for their flow.
    pub unknown: u64,
    /// Packets that joined the watched link's queue with a mark of congestion that they got there; `None`: it marks none.
    pub marked: Option<u64>,
    /// Flows that the watched link forgot before their time to make room for others.
    pub evicted_flows: u64,
    /// When the run ended.
    pub ended: Nanos,
    /// Transfers, in order of beginning.
    pub transfers: Vec<Transfer>,
    /// What has no end of its own: long-lived connections, and UDP traffic as a whole.
    pub streams: Vec<Stream>,
    /// The policy's own figures.
    pub counters: Vec<(&'static str, f64)>,
    /// What users got through the gateway, if there is one.
    pub access: Option<AccessOutcome>,
}

/// What users got through a gateway.
#[derive(Debug, Clone, Default)]
pub struct AccessOutcome {
    /// Requests, in the order in which users wanted them.
    pub exchanges: Vec<Exchange>,
    /// What the users of each traffic got, by its index: bodies and headers.
    pub classes: Vec<Stream>,
    /// The request scheduler's own figures, a second apart.
    pub notes: Vec<(Nanos, Vec<(&'static str, f64)>)>,
    /// Probes of the far queue that were not answered.
    pub lost_probes: u64,
    /// Packets between users and gateway that found no room; what they were part of never ends.
    pub lost_among_users: u64,
    /// Connections that the gateway opened.
    pub dialled: u64,
    /// Connections that users opened to the gateway, where they speak TCP.
    pub users_dialled: u64,
    /// The most bytes that the gateway held for one of those: read from a server, and not acknowledged by the user.
    pub most_held_bytes: u64,
    /// Requests that are neither answered nor cancelled.
    pub open: u64,
}

#[cfg(feature = "network")]
impl AccessOutcome {
    pub(super) fn new(traffic: usize) -> Self {
        let classes = (0..traffic).map(|traffic| Stream { traffic, ..Stream::default() }).collect();
        Self { classes, ..Self::default() }
    }
}

/// A request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The traffic that it is of, as an index.
    pub traffic: usize,
    /// Whose it is: users are numbered through all traffic.
    pub user: usize,
    /// The server's node, as an index.
    pub server: usize,
    /// Length of the body.
    pub bytes: u64,
    /// What the request carries up to the server, beside its header.
    pub upload: u64,
    /// When the user wanted it.
    pub wanted: Nanos,
    /// When it arrived at the gateway.
    pub arrived: Option<Nanos>,
    /// When the gateway released it.
    pub released: Option<Nanos>,
    /// When the user had the last byte.
    pub ended: Option<Nanos>,
    /// When the user gave it up.
    pub cancelled: Option<Nanos>,
}

impl Exchange {
    /// Of a user and what traffic that is of: whom they ask, for how much, and what they send there.
    #[cfg(feature = "network")]
    pub(super) fn new(
        (traffic, user): (usize, usize),
        server: usize,
        [bytes, upload]: [u64; 2],
        wanted: Nanos,
    ) -> Self {
        Self {
            traffic,
            user,
            server,
            bytes,
            upload,
            wanted,
            arrived: None,
            released: None,
            ended: None,
            cancelled: None,
        }
    }

    /// From the user's wish to the last byte.
    #[must_use]
    pub fn took(&self) -> Option<Nanos> {
        self.ended.map(|ended| ended - self.wanted)
    }

    /// Adds how long it took, in seconds. One that was not answered lasted at least until the user gave it up or, if they
    /// did not, until the run ended.
    pub fn add_to(&self, durations: &mut Durations, run_ended: Nanos) {
        match self.took() {
            Some(took) => durations.ended(took.as_secs_f64()),
            None => durations.not_ended((self.cancelled.unwrap_or(run_ended) - self.wanted).as_secs_f64()),
        }
    }

    /// How much of its time it waited at the gateway before it was released.
    #[must_use]
    pub fn queued(&self) -> Option<Nanos> {
        Some(self.released? - self.arrived?)
    }
}

/// A TCP connection that carries so much and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The traffic that it is of, as an index.
    pub traffic: usize,
    /// What it carries.
    pub bytes: u64,
    /// When its first packet was sent.
    pub begun: Nanos,
    /// When the receiver had the last byte; `None` if it never did.
    pub ended: Option<Nanos>,
    /// Its packets that arrived at the watched link.
    pub packets: u64,
    /// Its packets that the watched link dropped.
    pub dropped: u64,
}

impl Transfer {
    /// From the first packet to the last byte.
    #[must_use]
    pub fn took(&self) -> Option<Nanos> {
        self.ended.map(|ended| ended - self.begun)
    }

    /// Adds how long it took, in seconds. One that was not done lasted at least until the run ended.
    pub fn add_to(&self, durations: &mut Durations, run_ended: Nanos) {
        match self.took() {
            Some(took) => durations.ended(took.as_secs_f64()),
            None => durations.not_ended((run_ended - self.begun).as_secs_f64()),
        }
    }
}

/// An unlimited flow, or several.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stream {
    /// The traffic that it is of, as an index.
    pub traffic: usize,
    /// Its packets that arrived at the watched link.
    pub packets: u64,
    /// Its packets that the watched link dropped.
    pub dropped: u64,
    /// How long those that were sent took at the watched link, from their arrival until they were sent whole; `None` if none
    /// were, and for streams after the first 64.
    pub at_link: Option<Percentiles>,
    /// What became of keystrokes, where it is interactive.
    pub echoes: Option<Echoes>,
    /// The second in which the receiver got its first byte.
    pub first_second: usize,
    /// Bytes that the receiver got in each second from that one on: TCP's payload, UDP's whole packets.
    pub received_bytes: Vec<u64>,
}

/// What became of the keystrokes of an interactive session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Echoes {
    /// Keystrokes whose echo came back.
    pub answered: u64,
    /// Keystrokes without an echo when the run ended.
    pub unanswered: u64,
    /// From a keystroke until its whole echo was back. Those without one lasted at least until the run ended.
    pub took: Option<Percentiles>,
    /// How long the last of those without an echo had waited.
    pub shortest_wait: Option<Nanos>,
}

impl Echoes {
    /// Whether this percentile of [`took`](Self::took) may be more, as keystrokes that count in it are unanswered.
    #[must_use]
    pub fn is_at_least(&self, percentile: Nanos) -> bool {
        self.shortest_wait.is_some_and(|wait| wait <= percentile)
    }
}

impl Stream {
    #[cfg(feature = "network")]
    pub(super) fn received(&mut self, bytes: u64, now: Nanos) {
        let now_second = (now.0 / 1_000_000_000) as usize;
        if self.received_bytes.is_empty() {
            self.first_second = now_second;
        }
        let second = now_second - self.first_second;
        if second >= self.received_bytes.len() {
            self.received_bytes.resize(second + 1, 0);
        }
        self.received_bytes[second] += bytes;
    }

    /// Bytes received from second `from` to before second `to`, over that time, in bits per second.
    #[must_use]
    pub fn mean_bps(&self, from: usize, to: usize) -> f64 {
        let got = |second: usize| self.received_bytes.get(second.checked_sub(self.first_second)?);
        let bytes: u64 = (from..to).filter_map(got).sum();
        bytes as f64 * 8.0 / to.saturating_sub(from).max(1) as f64
    }
}
