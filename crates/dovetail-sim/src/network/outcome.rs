//! The results of a run.

use dovetail_sched::Nanos;
use dovetail_stats::Durations;

use crate::{Outcome, measure::Percentiles};

/// The results of a network's run.
#[derive(Debug, Clone, Default)]
pub struct NetworkOutcome {
    /// Packets at the watched link.
    pub link: Outcome,
    /// How many of those dropped were dropped for lack of memory for their flow.
    pub unknown: u64,
    /// Packets marked for congestion as they joined the watched link's queue; `None` if it does not mark.
    pub marked: Option<u64>,
    /// Flows that the watched link evicted before their timeout to make room for others.
    pub evicted_flows: u64,
    /// When the run ended.
    pub ended: Nanos,
    /// Transfers, in the order in which they began.
    pub transfers: Vec<Transfer>,
    /// Traffic without an end of its own: long-lived connections, and UDP traffic as a whole.
    pub streams: Vec<Stream>,
    /// The policy's own figures.
    pub counters: Vec<(&'static str, f64)>,
    /// Results of users behind the gateway, if there is one.
    pub access: Option<AccessOutcome>,
}

/// Results of users behind a gateway.
#[derive(Debug, Clone, Default)]
pub struct AccessOutcome {
    /// Requests, in the order in which users wanted them.
    pub exchanges: Vec<Exchange>,
    /// Bodies and headers received by the users of each traffic, by its index.
    pub classes: Vec<Stream>,
    /// The request scheduler's own figures, one second apart.
    pub notes: Vec<(Nanos, Vec<(&'static str, f64)>)>,
    /// Probes of the far queue that were not answered.
    pub lost_probes: u64,
    /// Packets between users and gateway that were dropped for lack of room; the requests they belong to never end.
    pub lost_among_users: u64,
    /// Connections opened by the gateway.
    pub dialled: u64,
    /// Connections opened by users to the gateway, if they speak TCP.
    pub users_dialled: u64,
    /// The most bytes that the gateway held for one of these: read from a server, and not acknowledged by the user.
    pub most_held_bytes: u64,
    /// Requests neither answered nor cancelled.
    pub open: u64,
}

#[cfg(feature = "network")]
impl AccessOutcome {
    pub(super) fn new(traffic: usize) -> Self {
        let classes = (0..traffic).map(|traffic| Stream { traffic, ..Stream::default() }).collect();
        Self { classes, ..Self::default() }
    }
}

/// A request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Index of the traffic that it belongs to.
    pub traffic: usize,
    /// Its user, numbered across all traffic.
    pub user: usize,
    /// Index of the server's node.
    pub server: usize,
    /// Length of the body.
    pub bytes: u64,
    /// Length of the request's own body, sent up to the server.
    pub upload: u64,
    /// When the user wanted the response.
    pub wanted: Nanos,
    /// When it arrived at the gateway.
    pub arrived: Option<Nanos>,
    /// When the gateway released it.
    pub released: Option<Nanos>,
    /// When the user had the last byte.
    pub ended: Option<Nanos>,
    /// When the user cancelled it.
    pub cancelled: Option<Nanos>,
}

impl Exchange {
    /// For a user and the index of their traffic: the server, the lengths of body and upload, and when it is wanted.
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

    /// From the moment the user wants it to the last byte.
    #[must_use]
    pub fn took(&self) -> Option<Nanos> {
        self.ended.map(|ended| ended - self.wanted)
    }

    /// Adds its duration, in seconds. An unanswered request lasted at least until the user cancelled it, or else until the
    /// run ended.
    pub fn add_to(&self, durations: &mut Durations, run_ended: Nanos) {
        match self.took() {
            Some(took) => durations.ended(took.as_secs_f64()),
            None => durations.not_ended((self.cancelled.unwrap_or(run_ended) - self.wanted).as_secs_f64()),
        }
    }

    /// How long it was queued at the gateway before its release.
    #[must_use]
    pub fn queued(&self) -> Option<Nanos> {
        Some(self.released? - self.arrived?)
    }
}

/// A TCP connection that carries a number of bytes and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Index of the traffic that it belongs to.
    pub traffic: usize,
    /// Bytes that it carries.
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

    /// Adds its duration, in seconds. One that did not finish lasted at least until the run ended.
    pub fn add_to(&self, durations: &mut Durations, run_ended: Nanos) {
        match self.took() {
            Some(took) => durations.ended(took.as_secs_f64()),
            None => durations.not_ended((run_ended - self.begun).as_secs_f64()),
        }
    }
}

/// One unlimited flow or several.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stream {
    /// Index of the traffic that it belongs to.
    pub traffic: usize,
    /// Its packets that arrived at the watched link.
    pub packets: u64,
    /// Its packets that the watched link dropped.
    pub dropped: u64,
    /// Time at the watched link of packets sent, from arrival to the end of transmission; `None` if there were none, and for
    /// streams after the first 64.
    pub at_link: Option<Percentiles>,
    /// Results of keystrokes, if it is interactive.
    pub echoes: Option<Echoes>,
    /// The second in which the receiver received its first byte.
    pub first_second: usize,
    /// Bytes that the receiver received in each second from that one on: TCP payload, or whole UDP packets.
    pub received_bytes: Vec<u64>,
}

/// Results of the keystrokes of an interactive session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Echoes {
    /// Keystrokes whose echo returned.
    pub answered: u64,
    /// Keystrokes without an echo when the run ended.
    pub unanswered: u64,
    /// From a keystroke until its whole echo returned. Those without an echo lasted at least until the run ended.
    pub took: Option<Percentiles>,
    /// How long the last one without an echo had waited.
    pub shortest_wait: Option<Nanos>,
}

impl Echoes {
    /// Whether this percentile of [`took`](Self::took) is only a lower bound, because unanswered keystrokes count in it.
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

    /// Mean rate received from second `from` to before second `to`, in bits per second.
    #[must_use]
    pub fn mean_bps(&self, from: usize, to: usize) -> f64 {
        let got = |second: usize| self.received_bytes.get(second.checked_sub(self.first_second)?);
        let bytes: u64 = (from..to).filter_map(got).sum();
        bytes as f64 * 8.0 / to.saturating_sub(from).max(1) as f64
    }
}
