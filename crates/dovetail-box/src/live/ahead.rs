//! Prefetching.
//!
//! Reading memory that another core has written, or that the kernel has evicted from the caches, takes longer than the
//! policy needs for a packet. Where the next access is known, it is prefetched while the previous packet is processed.

use dovetail_sched::prefetch;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;
/// Bytes of a frame to prefetch if another core has written it: a packet of 1,500. If only this core's first-level cache
/// has lost it, two lines are enough: the processor prefetches the others itself.
pub(super) const PACKET: usize = 2048;

/// Prefetches the beginning of `bytes`, at most `most` bytes.
#[inline]
pub(super) fn ask_for<B>(bytes: &[B], most: usize) {
    const { assert!(size_of::<B>() == 1) };
    let end = bytes.len().min(most);
    for line in (0..end).step_by(LINE) {
        prefetch(bytes, line);
    }
    // `bytes` need not start at a line boundary.
    prefetch(bytes, end.saturating_sub(1));
}
