//! What is encrypted and decrypted by.

use std::sync::Arc;

use ipnet::IpNet;

use crate::functions::ipsec::Association;

/// A tunnel of ESP's: one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// Its name.
    pub name: Arc<str>,
    /// Its ends, its number and its key.
    pub association: Association,
    /// Which of its ends the box is.
    pub direction: Direction,
}

/// Which end of a tunnel the box is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Direction {
    /// The sending one: `ipsec` encrypts for it.
    Out,
    /// The receiving one, for what passes the other way than what is scheduled.
    In {
        /// Packets within come from these addresses alone.
        prefixes: Vec<IpNet>,
    },
}
