//! One box per interface: two would each forward every frame, and neither would notice.
//!
//! A box binds a Unix socket whose name is the interface's index. Such abstract names belong to the network namespace, as
//! indices do; they need no file, and the kernel frees them however the process ends.

use std::{
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    thread,
    time::{Duration, Instant},
};

use super::ports::{Port, PortError};

/// How long a process that was killed may take to end.
const TO_END: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);

/// Reserves an interface of the calling thread's network namespace until dropped.
#[derive(Debug)]
pub(super) struct Claim {
    _socket: UnixDatagram,
}

impl Claim {
    /// # Errors
    /// When another box has the interface, or the system's error.
    pub(super) fn take(port: &Port) -> Result<Self, PortError> {
        let claim = patiently(|| match UnixDatagram::bind_addr(&name(port)?) {
            Ok(_socket) => Ok(Some(Self { _socket })),
            Err(taken) if taken.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(other) => Err(other),
        });
        found(port, claim)
    }
}

/// That a box has one of the interfaces, if one has.
///
/// # Errors
/// The system's error.
pub(in crate::live) fn taken(ports: &[Port; 2]) -> Result<Option<PortError>, PortError> {
    match ports.iter().try_for_each(check_free) {
        Ok(()) => Ok(None),
        Err(taken @ PortError::InUse { .. }) => Ok(Some(taken)),
        Err(other) => Err(other),
    }
}

/// Checks that no box has the interface, without reserving it.
fn check_free(port: &Port) -> Result<(), PortError> {
    let free = patiently(|| match UnixDatagram::unbound()?.connect_addr(&name(port)?) {
        Ok(()) => Ok(None),
        Err(free) if free.kind() == io::ErrorKind::ConnectionRefused => Ok(Some(())),
        Err(other) => Err(other),
    });
    found(port, free)
}

fn name(port: &Port) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("dovetail-middlebox/{}", port.index))
}

/// What `look` finds, within the time that a process takes to end.
fn patiently<T>(look: impl Fn() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    let begun = Instant::now();
    loop {
        let found = look()?;
        if found.is_some() || begun.elapsed() > TO_END {
            return Ok(found);
        }
        thread::sleep(LOOK);
    }
}

fn found<T>(port: &Port, found: io::Result<Option<T>>) -> Result<T, PortError> {
    let error = |error| PortError::System { name: format!("the box of {}", port.name), error };
    found.map_err(error)?.ok_or_else(|| PortError::InUse { port: port.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_one_box_s_at_a_time() {
        // No interface has these indices, and other tests that run here have others.
        let highest = u32::MAX - 2 * std::process::id();
        let port = |index| Port {
            name: "eth1".into(),
            index,
            mtu_bytes: 1500,
            link: 1,
            is_up: true,
            is_bridge: false,
            above: None,
        };
        let (one, other) = (port(highest), port(highest - 1));
        check_free(&one).unwrap();
        let claim = Claim::take(&one).unwrap();
        for refused in [Claim::take(&one).map(drop), check_free(&one)] {
            let error = refused.unwrap_err().to_string();
            assert_eq!(error, "interface eth1 belongs to another middlebox that is running: stop it first");
        }
        drop(Claim::take(&other).unwrap());
        drop(claim);
        check_free(&one).unwrap();
        drop(Claim::take(&one).unwrap());
    }
}
