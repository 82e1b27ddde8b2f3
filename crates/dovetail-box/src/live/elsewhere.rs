//! Work on a thread of its own, where it changes what belongs to a thread: its namespace, its cores, its capabilities.

use std::{panic::resume_unwind, thread};

/// What `work` returns, or panics with, on another thread.
pub(super) fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic)))
}
