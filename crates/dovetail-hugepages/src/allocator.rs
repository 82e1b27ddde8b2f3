//! The one place with `unsafe`: an allocator has no other way.
//!
//! Every call goes to [`System`] with what it was given, and its answer comes back as it is, so that whatever [`System`]
//! promises holds. Advice changes no byte of what it is about, nor who may use it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

/// What is as large has huge pages, in bytes: at least one of 2 MiB, wherever it begins.
pub const LEAST_BYTES: usize = 4 << 20;

/// [`System`], with huge pages under what has [`LEAST_BYTES`] or more. One system call more for each such table. When it
/// grows it is copied, and for that long there twice.
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
        if bytes < LEAST_BYTES || bytes <= layout.size() {
            // SAFETY: as the caller promises.
            return unsafe { System.realloc(place, layout, bytes) };
        }
        // The system would move pages, and huge ones come apart where they do not lie as before.
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

/// The same place, whose pages may be huge if it is large.
fn advised(place: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= LEAST_BYTES && !place.is_null() {
        advise(place, bytes);
    }
    place
}

#[cfg(target_os = "linux")]
fn advise(place: *mut u8, bytes: usize) {
    use rustix::mm::{Advice, madvise};

    // Whole pages of it, of the largest that any Linux has as its small ones.
    const PAGE_BYTES: usize = 64 << 10;
    let before = place.align_offset(PAGE_BYTES);
    let whole = bytes.saturating_sub(before) / PAGE_BYTES * PAGE_BYTES;
    // SAFETY: these pages lie within what was just allocated, and this advice leaves their contents alone.
    let advised = unsafe { madvise(place.wrapping_add(before).cast(), whole, Advice::LinuxHugepage) };
    // A kernel without huge pages says that it has none.
    advised.unwrap_or_default();
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}
