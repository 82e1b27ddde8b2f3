//! A connection to a server that has switched to another protocol than HTTP.

use std::net::IpAddr;

use bytes::Bytes;

use super::line::Ungated;

/// The connection, and what is known of it.
#[derive(Debug)]
pub(crate) struct Switched {
    pub(crate) ungated: Ungated,
    /// The first bytes of the other protocol, which arrived with the last of HTTP.
    pub(crate) first: Bytes,
    pub(crate) server: Option<IpAddr>,
}
