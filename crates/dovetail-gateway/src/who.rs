//! The user of a request.

use std::{fmt, net::IpAddr, sync::Arc};

/// A user: an address, or a name that was proved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// A client's address.
    Address(IpAddr),
    /// The name that goes with a password.
    Name(Arc<str>),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}
