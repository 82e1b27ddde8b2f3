//! A hint that memory will soon be read: the crate's only `unsafe`.
//!
//! With 100,000 flows the next flow's state and its head packet are not in the first caches when its turn comes; a
//! round-robin policy knows whose turn is next and can ask for both a few packets ahead.

/// Asks the processor to load `slice[index]` into its caches; does nothing out of range or on other architectures.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = slice.get(index) {
        // SAFETY: prefetching reads nothing the program can see and cannot fault; the address is that of a live item.
        unsafe {
            core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(core::ptr::from_ref(item).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
