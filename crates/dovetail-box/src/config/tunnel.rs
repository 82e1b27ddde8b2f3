//! Tunnels to encrypt and decrypt for.

use std::sync::Arc;

use ipnet::IpNet;

use crate::functions::ipsec::Association;

/// One direction of an ESP tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// Its name.
    pub name: Arc<str>,
    /// Endpoints, SPI and key.
    pub association: Association,
    /// Which of its ends the box is.
    pub direction: Direction,
}

/// Which end of a tunnel the box is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Direction {
    /// The sending end: `ipsec` encrypts for it.
    Out,
    /// The receiving end, for traffic opposite to the scheduled direction.
    In {
        /// Decrypted packets must have a source address within these prefixes.
        prefixes: Vec<IpNet>,
    },
}
