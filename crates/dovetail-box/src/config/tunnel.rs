//! What `ipsec` encrypts by.

use std::sync::Arc;

use crate::functions::ipsec::Association;

/// A tunnel of ESP's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// Its name.
    pub name: Arc<str>,
    /// Its ends, its number and its key.
    pub association: Association,
}
