//! Sending: each frame is copied to a free chunk, and the kernel is called until it has taken all frames in the ring, or
//! takes no more. Frames that it has not taken are made invalid so that it skips them, since the caller offers them again.

use std::{io, os::fd::AsRawFd, ptr};

use super::{super::packet::done, SENDING, XdpSocket};

impl XdpSocket {
    /// Sends up to [`BATCH`](super::super::sending::BATCH) frames in few calls; returns how many the interface took: zero
    /// if it has no room.
    ///
    /// # Errors
    /// The system's error about the first frame.
    pub(crate) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
        let before = self.sent.at;
        while let Some(chunk) = self.sent.next() {
            // Linux 6.18 also returns the entries that it has skipped.
            if chunk < self.memory.bytes as u64 {
                self.freed(chunk & !u64::from(self.chunk_bytes - 1));
            }
        }
        if self.sent.at != before {
            self.sent.release();
        }
        if !self.step_over()? {
            return Ok(0);
        }
        let first = self.sending.at;
        let most = if self.is_refusing { 1 } else { self.batch };
        for bytes in frames.take(most) {
            if bytes.len() > self.chunk_bytes as usize {
                if self.sending.at == first {
                    return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
                }
                break;
            }
            let Some(chunk) = self.free.pop() else { break };
            let number = self.number(chunk);
            self.is_free[number] = false;
            // SAFETY: the chunk is for sending and not the kernel's, and the frame is no longer than it.
            unsafe {
                let to = self.memory.at.as_ptr().add(chunk as usize);
                ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
            self.sending.put(libc::xdp_desc { addr: chunk, len: bytes.len() as u32, options: 0 });
        }
        let count = self.sending.at.wrapping_sub(first);
        if count == 0 {
            return Ok(0);
        }
        self.sending.publish();
        let mut taken = 0;
        let answer = loop {
            let answer = self.push_out();
            let before = taken;
            taken = self.sending.theirs().wrapping_sub(first);
            // A call sends a whole batch, or 32 frames.
            if taken == count || taken == before {
                break answer;
            }
        };
        // The kernel would send the remaining frames at the next call: make it skip them.
        for left in taken..count {
            let chunk = self.sending.leave_out(first.wrapping_add(left));
            self.freed(chunk);
        }
        self.is_refusing = taken == 0 && answer.is_err();
        if taken == 0 { answer.map(|()| 0) } else { Ok(taken as usize) }
    }

    /// Marks a chunk as no longer the kernel's.
    fn freed(&mut self, chunk: u64) {
        let number = self.number(chunk);
        if self.is_free.get_mut(number).is_some_and(|is_free| !std::mem::replace(is_free, true)) {
            self.free.push(chunk);
        }
    }

    /// Index of a chunk among those for sending, which come after those for receiving.
    fn number(&self, chunk: u64) -> usize {
        let sending = self.memory.bytes as u64 - u64::from(SENDING) * u64::from(self.chunk_bytes);
        (chunk.wrapping_sub(sending) / u64::from(self.chunk_bytes)) as usize
    }

    /// Makes the kernel skip what was left in the ring; returns whether it has.
    fn step_over(&self) -> io::Result<bool> {
        /// The kernel skips them in one call, and reports it in the next.
        const CALLS: u32 = 3;
        for _ in 0..CALLS {
            if self.sending.theirs() == self.sending.at {
                return Ok(true);
            }
            self.push_out()?;
        }
        Ok(self.sending.theirs() == self.sending.at)
    }

    /// Makes the kernel send what is in the ring, as far as there is room.
    fn push_out(&self) -> io::Result<()> {
        // SAFETY: nothing is read or written at an address.
        let answer =
            unsafe { libc::sendto(self.socket.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
        match done(answer as libc::c_int) {
            Err(wrong) if matches!(wrong.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::EBUSY)) => Ok(()),
            answer => answer,
        }
    }
}
