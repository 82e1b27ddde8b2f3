//! The only `unsafe` code: implementing an allocator requires it.
//!
//! Every call is forwarded to [`System`] with its arguments, and the result is returned unchanged, so that whatever
//! [`System`] guarantees holds. Advice changes neither the contents nor the owner of memory.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// Minimum size of allocations with huge pages, in bytes: they contain at least one of 2 MiB, wherever they begin.
pub const MIN_BYTES: usize = 4 << 20;

/// [`System`], with huge pages for allocations of [`MIN_BYTES`] or more. Costs one extra system call for each of them.
/// Growing copies the allocation, and both copies exist meanwhile.
#[derive(Debug, Clone, Copy, Default)]
pub struct HugePages;

// SAFETY: all of it is `System`'s, see above.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if bytes < MIN_BYTES || bytes <= layout.size() {
            // SAFETY: as the caller promises.
            return unsafe { System.realloc(place, layout, bytes) };
        }
        // The system would move pages, and huge ones break up unless their new alignment is the same.
        // SAFETY: the caller promises that `bytes` is within what a layout of this alignment may have.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(bytes, layout.align())) };
        if !moved.is_null() {
            // SAFETY: both are of the size of `layout` at least, apart, and the old place goes only then.
            unsafe {
                place.copy_to_nonoverlapping(moved, layout.size());
                self.dealloc(place, layout);
            }
        }
        moved
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Returns `place`, after advising the kernel that its pages may be huge if it is large.
fn advised(place: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= MIN_BYTES && !place.is_null() {
        advise(place, bytes);
    }
    place
}

#[cfg(target_os = "linux")]
fn advise(place: *mut u8, bytes: usize) {
    use rustix::mm::{Advice, madvise};

    // Only whole pages, of the largest base page size of any Linux.
    const PAGE_BYTES: usize = 64 << 10;
    let before = place.align_offset(PAGE_BYTES);
    let whole = bytes.saturating_sub(before) / PAGE_BYTES * PAGE_BYTES;
    // SAFETY: these pages lie within what was just allocated, and this advice leaves their contents alone.
    let advised = unsafe { madvise(place.wrapping_add(before).cast(), whole, Advice::LinuxHugepage) };
    // A kernel without huge pages reports an error.
    advised.unwrap_or_default();
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}
