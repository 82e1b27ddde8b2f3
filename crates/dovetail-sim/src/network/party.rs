//! An end's buffers and application, independent of the protocol.

/// What the application at an end does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Application {
    /// Bytes still to be handed to the connection.
    pub(super) to_send: u64,
    /// Bytes that may still be read.
    pub(super) to_read: u64,
    /// Whether it closes once everything is handed over.
    pub(super) closes: bool,
}

impl Application {
    /// It read `bytes` bytes.
    pub(super) fn has_read(&mut self, bytes: u64) {
        self.to_read -= if self.to_read == u64::MAX { 0 } else { bytes };
    }
}

/// An end's buffers and application.
#[derive(Debug, Clone, Copy)]
pub(super) struct Party {
    /// Sizes of the receive and send buffers.
    pub(super) receive_bytes: u32,
    pub(super) send_bytes: u64,
    pub(super) application: Application,
}
