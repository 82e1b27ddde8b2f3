//! What a test's thread allocates: the allocator of the test program counts.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

thread_local! {
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The bytes that this thread has allocated and not freed.
pub fn live_bytes() -> i64 {
    LIVE_BYTES.get()
}

/// How often this thread has allocated.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

fn count(bytes: i64) {
    // A thread that ends frees after its counters are gone.
    let _ = LIVE_BYTES.try_with(|live| live.set(live.get() + bytes));
    let _ = ALLOCATIONS.try_with(|times| times.set(times.get() + u64::from(bytes > 0)));
}

#[expect(unsafe_code, reason = "an allocator that counts has no other way")]
// SAFETY: every call is forwarded unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
