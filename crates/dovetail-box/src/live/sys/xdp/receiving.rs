//! Receiving: the kernel has filled a chunk, the frame is read in place, and the chunk returns to the kernel.

use std::{io, os::fd::AsFd};

use super::{
    super::{
        super::ahead::{LINE, PACKET, ask_for},
        ring::{Bytes, Received},
    },
    XdpSocket,
    opening::option,
};
use crate::wire::offload::Offload;

/// Number of chunks returned to the kernel at once: each time takes cache lines from the processor that receives.
const RETURN_AT_ONCE: u32 = 16;

impl XdpSocket {
    /// Shows the oldest received frame to `take`, which returns whether it has read the whole of it; returns whether there
    /// was one. Its chunk returns to the kernel with the next few, or when no more frames have arrived.
    pub(crate) fn receive(&mut self, take: impl FnOnce(Received<'_>) -> bool) -> bool {
        let Some(frame) = self.received.next() else {
            self.give_back();
            return false;
        };
        if let Some(behind) = self.received.peek() {
            // SAFETY: as of the frame itself, below.
            let bytes = unsafe { self.memory.part(behind.addr, behind.len) };
            ask_for(bytes.unwrap_or_default(), if self.is_read { PACKET } else { 2 * LINE });
        }
        // SAFETY: the kernel has filled this part of a chunk, and does not touch the chunk until it gets it back.
        let bytes = unsafe { self.memory.part(frame.addr, frame.len) };
        let is_last = !self.received.has_next();
        let offload = Offload::NONE.bytes();
        let received = bytes.map(|bytes| Received { bytes: Bytes::Shared(bytes), offload, tag: None, is_last });
        self.is_read = received.is_some_and(take);
        self.fill.put(frame.addr & !u64::from(self.chunk_bytes - 1));
        self.unreturned += 1;
        if self.unreturned >= RETURN_AT_ONCE {
            self.give_back();
        }
        true
    }

    /// Publishes the returned chunks to the kernel.
    fn give_back(&mut self) {
        if self.unreturned > 0 {
            self.received.release();
            self.fill.publish();
            self.unreturned = 0;
        }
    }

    /// Number of frames that arrived and were not received: there was no chunk, or the ring was full.
    pub(crate) fn missed(&self) -> io::Result<u64> {
        let counts = option::<libc::xdp_statistics>(self.socket.as_fd(), libc::XDP_STATISTICS)?;
        Ok(counts.rx_dropped + counts.rx_ring_full)
    }
}
