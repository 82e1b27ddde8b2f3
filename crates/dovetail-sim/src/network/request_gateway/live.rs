//! A request at the gateway, from its arrival to the last byte that the gateway reads of its response.

use dovetail_sched::request::RequestId;

use crate::network::packets::EndId;

/// A request at the gateway.
#[derive(Debug)]
pub(super) struct Live {
    /// Its index in the outcome.
    pub(super) exchange: usize,
    /// The gateway's end of the connection, once it is released.
    pub(super) end: Option<EndId>,
    /// That of a connection that was idle when the request arrived, and waits with it for its release.
    pub(super) kept: Option<EndId>,
    /// Bytes of header and body that the gateway has not read.
    pub(super) left: u64,
    /// Where the response begins in the connection's stream, and how much of it may be read.
    pub(super) begins: u64,
    pub(super) granted: u64,
    /// Bytes that may be read but were not; unlimited if all may be read.
    pub(super) allowed: u64,
    /// Bytes that have arrived and were not read, as last reported.
    pub(super) unread_told: u64,
    /// Bytes of the upload that were not handed to the connection.
    pub(super) upload_left: u64,
    /// Bytes of it that were handed over.
    pub(super) uploaded: u64,
    pub(super) length_told: bool,
    pub(super) ready_told: bool,
}

impl Live {
    /// A request for this exchange, with an idle connection if there is one, `left` bytes of response and `upload_left` bytes of upload.
    pub(super) fn new(exchange: usize, kept: Option<EndId>, left: u64, upload_left: u64) -> Self {
        let (length_told, ready_told) = (false, false);
        Self {
            exchange,
            end: None,
            kept,
            left,
            begins: 0,
            granted: 0,
            allowed: 0,
            unread_told: 0,
            upload_left,
            uploaded: 0,
            length_told,
            ready_told,
        }
    }
}

/// The id of a request in schedulers.
pub(super) fn id_of(live: usize) -> RequestId {
    RequestId(live as u32)
}
