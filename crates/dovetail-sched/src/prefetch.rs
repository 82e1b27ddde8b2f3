//! A hint that memory will soon be read: the crate's only `unsafe`.
//!
//! With 100,000 flows the next flow's state and its head packet are not in the first caches when its turn comes; a round-robin
//! policy knows which flow is next and can prefetch both a few packets ahead.

/// Prefetches `slice[index]`, its beginning and its end, into the processor's caches; does nothing if out of range or on
/// architectures other than x86-64. Takes about 1 ns, and waits for nothing.
///
/// For programs that know some packets ahead what they will read, for example from
/// [`Scheduler::upcoming`](crate::Scheduler::upcoming).
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = slice.get(index) {
        let first: *const i8 = core::ptr::from_ref(item).cast();
        // SAFETY: prefetching reads nothing the program can see and cannot fault; both addresses are in a live item.
        unsafe {
            core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(first);
            // Tables begin at multiples of 16 bytes: an item that is as small, or aligned to its size, lies in one line.
            if size_of::<T>() > align_of::<T>().max(16) {
                core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(first.add(size_of::<T>() - 1));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
