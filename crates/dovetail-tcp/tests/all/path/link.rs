//! The bottleneck: a FIFO buffer in front of a link with a single rate.

use std::collections::VecDeque;

use dovetail_sched::Nanos;
use dovetail_tcp::Ecn;

use super::Packet;

/// A path: a rate with a buffer in front of it, and a delay each way.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub bits_per_s: u64,
    pub delay: Nanos,
    /// Including the packet being sent.
    pub buffer_packets: usize,
    /// Packets that join a queue of this many or more are marked, if permitted.
    pub mark_above: usize,
    /// Depth of a token bucket, which may be sent at once after a pause; zero: packets take their transmission time.
    pub bucket_bytes: u64,
}

/// A packet in the buffer.
#[derive(Debug, Clone, Copy)]
pub struct Queued {
    pub packet: Packet,
    /// The data segment's number, from 1, if it is sent for the first time.
    pub first: Option<u32>,
}

pub struct Link {
    path: Path,
    queue: VecDeque<Queued>,
    sending: Option<Queued>,
    tokens: u64,
    filled_at: Nanos,
}

impl Link {
    pub fn new(path: Path) -> Self {
        Self { path, queue: VecDeque::new(), sending: None, tokens: path.bucket_bytes, filled_at: Nanos::ZERO }
    }

    /// False if there was no room.
    pub fn enqueue(&mut self, mut queued: Queued) -> bool {
        let held = self.queue.len() + usize::from(self.sending.is_some());
        if held >= self.path.buffer_packets {
            return false;
        }
        if held >= self.path.mark_above && queued.packet.segment.ecn == Ecn::Capable {
            queued.packet.segment.ecn = Ecn::Marked;
        }
        self.queue.push_back(queued);
        true
    }

    /// When the next packet will have been sent, if its transmission can begin now.
    pub fn begin(&mut self, now: Nanos) -> Option<Nanos> {
        if self.sending.is_some() {
            return None;
        }
        let queued = self.queue.pop_front()?;
        let segment = &queued.packet.segment;
        let took = self.takes(u64::from(20 + segment.header_bytes() + segment.payload_bytes), now);
        self.sending = Some(queued);
        Some(now + took)
    }

    /// The packet that has been sent.
    pub fn end(&mut self) -> Queued {
        self.sending.take().unwrap()
    }

    fn takes(&mut self, bytes: u64, now: Nanos) -> Nanos {
        let rate = self.path.bits_per_s;
        let nanos = |bytes: u64| Nanos(bytes * 8_000_000_000 / rate);
        if self.path.bucket_bytes == 0 {
            return nanos(bytes);
        }
        // It is sent at once, as soon as there are tokens for it.
        let earned = |time: Nanos| (u128::from(time.0) * u128::from(rate) / 8_000_000_000) as u64;
        self.tokens = (self.tokens + earned(now - self.filled_at)).min(self.path.bucket_bytes);
        let wait = nanos(bytes.saturating_sub(self.tokens));
        self.filled_at = now + wait;
        self.tokens = (self.tokens + earned(wait)).saturating_sub(bytes);
        wait.max(Nanos(1))
    }
}
