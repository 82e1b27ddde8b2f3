//! A request at the gateway, from its arrival to the last byte that the gateway reads of its response.

use dovetail_sched::request::RequestId;

use crate::network::packets::EndId;

/// A request at the gateway.
#[derive(Debug)]
pub(super) struct Live {
    /// Its place in the outcome.
    pub(super) exchange: usize,
    /// The gateway's end of the connection, once it is released.
    pub(super) end: Option<EndId>,
    /// Of header and body, what the gateway has not read.
    pub(super) left: u64,
    /// Where the response begins in the connection's stream, and how much of it may be read.
    pub(super) begins: u64,
    pub(super) granted: u64,
    /// Of what may be read, what was not; without limit where all may.
    pub(super) unread: u64,
    pub(super) window: u64,
    /// Of what the request carries, what was not handed to the connection.
    pub(super) upload_left: u64,
    pub(super) length_told: bool,
    pub(super) ready_told: bool,
}

impl Live {
    /// A request of this exchange, whose response has this many bytes, that carries so many up.
    pub(super) fn new(exchange: usize, left: u64, upload_left: u64) -> Self {
        let (length_told, ready_told) = (false, false);
        Self {
            exchange,
            end: None,
            left,
            begins: 0,
            granted: 0,
            unread: 0,
            window: 0,
            upload_left,
            length_told,
            ready_told,
        }
    }
}

/// The schedulers' name for a request.
pub(super) fn id_of(live: usize) -> RequestId {
    RequestId(live as u32)
}
