//! Asking for memory before it is read: what is queued leaves the caches, and which frame is next is known before its turn
//! comes.

use std::mem::size_of_val;

/// Asks the processor to load the beginning of this: two lines at most, since it goes on with the others itself.
#[inline]
pub(crate) fn prefetch<T>(items: &[T]) {
    const LINE: usize = 64;
    let (first, bytes) = (items.as_ptr().cast::<u8>(), size_of_val(items));
    if bytes > 0 {
        prefetch_at(first);
        prefetch_at(first.wrapping_add(bytes.min(2 * LINE) - 1));
    }
}

/// Asks the processor to load the line at an address, whatever is there.
#[inline(always)]
fn prefetch_at(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching reads nothing that the program can see, and no address makes it fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
