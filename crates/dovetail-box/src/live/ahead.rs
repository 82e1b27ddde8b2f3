//! Memory that is asked for before it is read.
//!
//! What another core has written, or what the kernel has pushed out of the caches meanwhile, takes longer to read than a
//! packet's turn in the policy. Where it is known what comes next, it arrives while the packet before is dealt with.

use dovetail_sched::prefetch;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;
/// Bytes of a frame to ask for where another core has written it: a packet of 1,500. Where only this core's first cache has
/// lost it, two lines are enough: the processor goes on with the others itself.
pub(super) const PACKET: usize = 2048;

/// Asks for the beginning of some memory, `most` bytes of it at most.
#[inline]
pub(super) fn ask_for<B>(bytes: &[B], most: usize) {
    const { assert!(size_of::<B>() == 1) };
    let end = bytes.len().min(most);
    for line in (0..end).step_by(LINE) {
        prefetch(bytes, line);
    }
    // It need not begin where a line does.
    prefetch(bytes, end.saturating_sub(1));
}
