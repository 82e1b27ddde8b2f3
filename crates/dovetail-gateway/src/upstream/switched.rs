//! A connection to a server that speaks another protocol than HTTP from now on.

use std::net::IpAddr;

use bytes::Bytes;

use super::line::Ungated;

/// The connection, and what is known of it.
#[derive(Debug)]
pub(crate) struct Switched {
    pub(crate) ungated: Ungated,
    /// What came of the other protocol with the last of HTTP.
    pub(crate) first: Bytes,
    pub(crate) server: Option<IpAddr>,
}
