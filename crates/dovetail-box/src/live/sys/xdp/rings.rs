//! The rings that pass chunks between the kernel and this process.
//!
//! A ring has an entry for each chunk that may be in it, and two counters that wrap: entries written, stored by one side,
//! and entries read, stored by the other. A side sees the other's work once the other has stored its counter; until then an
//! entry belongs to the other side.

use std::{
    io,
    marker::PhantomData,
    mem::size_of,
    os::fd::{AsRawFd, BorrowedFd},
    sync::atomic::{AtomicU32, Ordering},
};

use super::memory::Mapping;

/// An address outside the memory: the kernel skips such a frame.
const NOWHERE: u64 = u64::MAX;

/// One of the four rings: this process writes to two of them and reads from the others.
#[derive(Debug)]
pub(super) struct Ring<T> {
    map: Mapping,
    producer: usize,
    consumer: usize,
    entries: usize,
    mask: u32,
    /// The next entry to write, or read; wraps.
    pub at: u32,
    /// The kernel's write counter when it was last read.
    until: u32,
    kind: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Maps a ring of a socket whose counters and entries lie at these offsets of this page offset.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        offset: &libc::xdp_ring_offset,
        count: u32,
        page: libc::off_t,
    ) -> io::Result<Self> {
        let bytes = offset.desc as usize + count as usize * size_of::<T>();
        let map = Mapping::new(bytes, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), page)?;
        let (producer, consumer, entries) = (offset.producer as usize, offset.consumer as usize, offset.desc as usize);
        // The kernel reports the offsets, which are trusted only within the mapping.
        if producer.max(consumer) + size_of::<AtomicU32>() > bytes || !entries.is_multiple_of(align_of::<T>()) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { map, producer, consumer, entries, mask: count - 1, at: 0, until: 0, kind: PhantomData })
    }

    fn index(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the offset is within the mapping, of a word that both sides change as one.
        unsafe { AtomicU32::from_ptr(self.map.at.as_ptr().add(offset).cast()) }
    }

    fn entry(&self, at: u32) -> *mut T {
        // SAFETY: the masked place is below the number of entries, which the mapping has room for.
        unsafe { self.map.at.as_ptr().add(self.entries).cast::<T>().add((at & self.mask) as usize) }
    }

    /// Writes the next entry. There must be room: a ring has as many entries as there are chunks for it.
    pub(super) fn put(&mut self, entry: T) {
        // SAFETY: the place is this side's until it is published.
        unsafe { self.entry(self.at).write(entry) };
        self.at = self.at.wrapping_add(1);
    }

    /// Publishes the written entries to the kernel.
    pub(super) fn publish(&self) {
        self.index(self.producer).store(self.at, Ordering::Release);
    }

    /// The kernel's read counter.
    pub(super) fn theirs(&self) -> u32 {
        self.index(self.consumer).load(Ordering::Acquire)
    }

    /// Reads the next entry, which belongs to this side until it is [released](Self::release).
    pub(super) fn next(&mut self) -> Option<T> {
        if !self.has_next() {
            return None;
        }
        let entry = self.peek();
        self.at = self.at.wrapping_add(1);
        entry
    }

    /// Whether there is an entry to read.
    pub(super) fn has_next(&mut self) -> bool {
        if self.at == self.until {
            self.until = self.index(self.producer).load(Ordering::Acquire);
        }
        self.at != self.until
    }

    /// What [`next`](Self::next) will read, if an entry is known to exist.
    pub(super) fn peek(&self) -> Option<T> {
        // SAFETY: the kernel has written this place and waits for it to be given back.
        (self.at != self.until).then(|| unsafe { self.entry(self.at).read() })
    }

    /// Returns the entries read.
    pub(super) fn release(&self) {
        self.index(self.consumer).store(self.at, Ordering::Release);
    }
}

impl Ring<libc::xdp_desc> {
    /// Makes the kernel skip a frame that it has not taken; returns the frame's chunk.
    pub(super) fn leave_out(&mut self, at: u32) -> u64 {
        let entry = self.entry(at);
        // SAFETY: the kernel reads the ring only within a call of this thread's.
        unsafe {
            let chunk = (*entry).addr;
            (*entry).addr = NOWHERE;
            chunk
        }
    }
}
