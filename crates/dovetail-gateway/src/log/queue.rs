//! What the handle and the writer share.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// What they share besides messages.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Lines that were dropped.
    pub(super) lost: AtomicU64,
    /// The file was moved away when no message could be queued.
    pub(super) must_reopen: AtomicBool,
}

#[derive(Debug)]
pub(super) enum Message {
    Line(String),
    /// The file was moved away: reopen it.
    Reopen,
}
