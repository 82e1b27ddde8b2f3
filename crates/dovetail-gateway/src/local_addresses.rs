//! This machine's own addresses: through them, clients of the gateway could reach it and anything else that listens here.
//!
//! They are read at the start, at each reload and every half a minute. A gateway does not start without them; a running one
//! continues with those that it knows.

use std::{
    cell::{Ref, RefCell},
    io,
    net::IpAddr,
};

use tracing::warn;

/// Known addresses, at least one.
#[derive(Debug)]
pub(crate) struct OwnAddresses {
    addresses: RefCell<Vec<IpAddr>>,
}

impl OwnAddresses {
    /// Reads the current addresses.
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self { addresses: RefCell::new(read()?) })
    }

    /// Reads them again. If that fails, the known ones stay, with a warning.
    pub(crate) fn refresh(&self) {
        self.renew(read());
    }

    fn renew(&self, found: io::Result<Vec<IpAddr>>) {
        match found {
            Ok(found) => *self.addresses.borrow_mut() = found,
            Err(error) => {
                warn!("cannot read this machine's addresses: {error}: those known before are still refused");
            }
        }
    }

    pub(crate) fn all(&self) -> Ref<'_, Vec<IpAddr>> {
        self.addresses.borrow()
    }
}

fn read() -> io::Result<Vec<IpAddr>> {
    let interfaces = if_addrs::get_if_addrs()?;
    some(interfaces.into_iter().map(|interface| interface.ip().to_canonical()).collect())
}

/// There is always the loopback address: an empty list means that addresses were withheld.
fn some(addresses: Vec<IpAddr>) -> io::Result<Vec<IpAddr>> {
    if addresses.is_empty() { Err(io::Error::other("the kernel names none")) } else { Ok(addresses) }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn this_machine_has_loopback() {
        assert!(OwnAddresses::read().expect("addresses").all().contains(&Ipv4Addr::LOCALHOST.into()));
    }

    #[test]
    fn no_addresses_are_an_error_and_change_nothing() {
        let own = OwnAddresses { addresses: RefCell::new(vec![Ipv4Addr::LOCALHOST.into()]) };
        for failed in [Err(io::ErrorKind::PermissionDenied.into()), some(Vec::new())] {
            assert!(failed.is_err());
            own.renew(failed);
            assert_eq!(*own.all(), [Ipv4Addr::LOCALHOST]);
        }
        own.renew(some(vec![Ipv4Addr::new(192, 0, 2, 1).into()]));
        assert_eq!(*own.all(), [Ipv4Addr::new(192, 0, 2, 1)]);
    }
}
