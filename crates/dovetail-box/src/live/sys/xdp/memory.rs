//! Memory shared with the kernel: the chunks and the rings.

use std::{
    io,
    ptr::{self, NonNull},
};

/// A memory mapping, unmapped on drop.
#[derive(Debug)]
pub(super) struct Mapping {
    pub at: NonNull<u8>,
    pub bytes: usize,
}

// SAFETY: the mapping is of this process, and only this value refers to it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Anonymous memory.
    pub(super) fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::new(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    /// Maps memory with these arguments of `mmap`.
    pub(super) fn new(bytes: usize, flags: libc::c_int, file: libc::c_int, offset: libc::off_t) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, file, offset) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { at, bytes })
    }

    /// A range of bytes, if it lies within the mapping.
    ///
    /// # Safety
    /// Nothing may write there while they are borrowed.
    pub(super) unsafe fn part(&self, at: u64, bytes: u32) -> Option<&[u8]> {
        let (at, bytes) = (usize::try_from(at).ok()?, bytes as usize);
        let is_within = at.checked_add(bytes)? <= self.bytes;
        // SAFETY: it is within the mapping; the rest is the caller's promise.
        is_within.then(|| unsafe { std::slice::from_raw_parts(self.at.as_ptr().add(at), bytes) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that was made for this value, and nothing refers to it any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}
