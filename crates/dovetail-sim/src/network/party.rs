//! What an end of a connection has and does, whatever the protocol.

/// What the application at an end is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Application {
    /// Bytes that are still to be handed to the connection.
    pub(super) to_send: u64,
    /// Bytes that may still be read.
    pub(super) to_read: u64,
    /// Whether it closes when all is handed over.
    pub(super) closes: bool,
}

impl Application {
    /// It read so much.
    pub(super) fn has_read(&mut self, bytes: u64) {
        self.to_read -= if self.to_read == u64::MAX { 0 } else { bytes };
    }
}

/// What an end has and does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Party {
    /// Room for what is received and what is to be sent.
    pub(super) receive_bytes: u32,
    pub(super) send_bytes: u64,
    pub(super) application: Application,
}
