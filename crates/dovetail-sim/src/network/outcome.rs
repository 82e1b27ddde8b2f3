//! What came out of a run.

use dovetail_sched::Nanos;

use super::packets::Of;
use crate::Outcome;

/// How a network's run ended.
#[derive(Debug, Clone, Default)]
pub struct NetworkOutcome {
    /// Packets at the watched link.
    pub link: Outcome,
    /// Of those dropped, how many for want of room to tell their flow from others.
    pub unknown: u64,
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
}

impl NetworkOutcome {
    pub(super) fn packets(&mut self, of: Of) -> &mut u64 {
        match of {
            Of::Transfer(at) => &mut self.transfers[at].packets,
            Of::Stream(at) => &mut self.streams[at].packets,
        }
    }

    pub(super) fn dropped(&mut self, of: Of) -> &mut u64 {
        match of {
            Of::Transfer(at) => &mut self.transfers[at].dropped,
            Of::Stream(at) => &mut self.streams[at].dropped,
        }
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
    /// When the receiver had the last byte; `None` if that never came to be.
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
}

/// A flow, or flows, without end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// The traffic that it is of, as an index.
    pub traffic: usize,
    /// Its packets that arrived at the watched link.
    pub packets: u64,
    /// Its packets that the watched link dropped.
    pub dropped: u64,
    /// The second in which the receiver got its first byte.
    pub first_second: usize,
    /// Bytes that the receiver got in each second from that one on: TCP's payload, UDP's whole packets.
    pub received_bytes: Vec<u64>,
}

impl Stream {
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
