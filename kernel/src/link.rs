//! The bottleneck: a first-in-first-out buffer before a link of one rate.
//!
//! It counts as the harness of `crates/dovetail-tcp/tests/all/path` does, which the recorded figures are for.

use std::collections::VecDeque;

use crate::packet::mark;

/// A path: a rate with a buffer before it, and a delay on each way.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub bits_per_s: u64,
    pub delay_us: u64,
    /// Including the packet that is being sent.
    pub buffer_packets: usize,
    /// Packets that join a queue of this many or more are marked, if they may be.
    pub mark_above: usize,
    /// A token bucket's depth, which it may send at once after a pause; zero: packets take their time on the wire.
    pub bucket_bytes: u64,
}

/// A packet in the buffer.
#[derive(Debug, Clone)]
pub struct Queued {
    pub flow: usize,
    /// The data segment's number from 1 on, where it is sent for the first time.
    pub first: Option<u32>,
    pub bytes: Vec<u8>,
}

pub struct Link {
    path: Path,
    queue: VecDeque<Queued>,
    sending: Option<Queued>,
    tokens: u64,
    filled_at: u64,
}

impl Link {
    pub fn new(path: Path, now: u64) -> Self {
        Self { path, queue: VecDeque::new(), sending: None, tokens: path.bucket_bytes, filled_at: now }
    }

    /// False: there was no room.
    pub fn enqueue(&mut self, mut packet: Queued) -> bool {
        let held = self.queue.len() + usize::from(self.sending.is_some());
        if held >= self.path.buffer_packets {
            return false;
        }
        if held >= self.path.mark_above {
            mark(&mut packet.bytes);
        }
        self.queue.push_back(packet);
        true
    }

    /// When the next packet will have been sent, if one can begin now.
    pub fn begin(&mut self, now: u64) -> Option<u64> {
        if self.sending.is_some() {
            return None;
        }
        let packet = self.queue.pop_front()?;
        let took = self.takes(packet.bytes.len() as u64, now);
        self.sending = Some(packet);
        Some(now + took)
    }

    /// The packet that has been sent.
    pub fn end(&mut self) -> Option<Queued> {
        self.sending.take()
    }

    fn takes(&mut self, bytes: u64, now: u64) -> u64 {
        let rate = self.path.bits_per_s;
        let nanos = |bytes: u64| bytes * 8_000_000_000 / rate;
        if self.path.bucket_bytes == 0 {
            return nanos(bytes);
        }
        let earned = |nanos: u64| (u128::from(nanos) * u128::from(rate) / 8_000_000_000) as u64;
        self.tokens = (self.tokens + earned(now - self.filled_at)).min(self.path.bucket_bytes);
        let wait = nanos(bytes.saturating_sub(self.tokens));
        self.filled_at = now + wait;
        self.tokens = (self.tokens + earned(wait)).saturating_sub(bytes);
        wait.max(1)
    }
}
