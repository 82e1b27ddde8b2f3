//! The low-water mark of a connection: how many bytes must have arrived before its task is woken.

use std::{cell::Cell, os::fd::AsFd};

use tokio::net::TcpStream;

use crate::sys;

/// The mark of a connection that has none of its own yet.
#[derive(Debug)]
pub(crate) struct LowWater(Cell<u64>);

impl LowWater {
    /// Wakes the task whatever arrives.
    pub(crate) const LEAST: u64 = 1;

    /// Of a connection whose mark was never set, or is the least.
    pub(crate) const fn new() -> Self {
        Self(Cell::new(Self::LEAST))
    }

    /// Wakes the task when this many bytes lie unread, or the window has closed, or the connection has ended.
    pub(crate) fn set(&self, stream: &TcpStream, bytes: u64) {
        // If it cannot be set, the task wakes earlier, which is harmless.
        if bytes != self.0.get() && sys::set_low_water(stream.as_fd(), u32::try_from(bytes).unwrap_or(u32::MAX)).is_ok()
        {
            self.0.set(bytes);
        }
    }

    /// Sets it unless it is lower.
    pub(crate) fn lower(&self, stream: &TcpStream, bytes: u64) {
        if self.0.get() > bytes {
            self.set(stream, bytes);
        }
    }
}
