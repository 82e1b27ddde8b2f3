//! Needs root and iproute2; skipped with a reason if either is missing.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::{
    fs, io,
    net::{TcpListener, TcpStream},
    os::unix::{fs::MetadataExt, process::ExitStatusExt},
    process::{self, Command},
};

use dovetail_netns::{Namespace, NetnsError, exists, remove, tool};

fn name(what: &str) -> String {
    format!("dvn{}-{what}", process::id())
}

/// A namespace, or `None` if namespaces cannot be created.
fn namespace(what: &str) -> Option<Namespace> {
    match Namespace::new(name(what)) {
        Ok(namespace) => Some(namespace),
        Err(NetnsError::Refused { said, .. }) if said.contains("not permitted") || said.contains("denied") => {
            dovetail_skip::skipped("network namespaces need root");
            None
        }
        Err(error @ NetnsError::NoProgram { .. }) => {
            dovetail_skip::skipped(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn here() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").unwrap().ino()
}

#[test]
fn work_is_done_there_and_what_it_opens_stays_there() {
    let Some(namespace) = namespace("there") else { return };
    tool("ip", &format!("-n {} link set lo up", namespace.name())).unwrap();
    let outside = here();
    // The same port in both, so that neither can be another test's.
    let outer = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = outer.local_addr().unwrap();
    let (inside, inner) = namespace.within(|| Ok((here(), TcpListener::bind(address)?))).unwrap();
    assert_ne!(inside, outside);
    assert_eq!(here(), outside, "this thread has not moved");
    let from_inside = namespace.within(|| TcpStream::connect(address)).unwrap();
    let from_outside = TcpStream::connect(address).unwrap();
    for (listener, stream) in [(&inner, &from_inside), (&outer, &from_outside)] {
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap().1, stream.local_addr().unwrap());
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "one came, not both");
    }
    namespace.set("ipv4/ip_forward", "1").unwrap();
    assert_eq!(namespace.read("ipv4/ip_forward").unwrap().trim(), "1");
    let error = namespace.set("ipv4/nothing", "1").unwrap_err().to_string();
    assert!(error.starts_with("net/ipv4/nothing = 1: "), "{error}");
}

#[test]
fn nothing_is_left_of_it() {
    let Some(namespace) = namespace("left") else { return };
    let name = namespace.name().to_owned();
    let mut child = namespace.within(|| Command::new("sleep").arg("1000").spawn()).unwrap();
    assert_eq!(namespace.processes(), [child.id()]);
    let error = Namespace::new(&*name).unwrap_err();
    assert!(matches!(&error, NetnsError::Refused { said, .. } if said.contains("File exists")), "{error}");
    assert!(exists(&name));
    drop(namespace);
    assert!(!exists(&name));
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    // A missing namespace is not an error.
    remove(&name);
}

#[test]
fn a_program_that_fails_is_quoted() {
    let error = tool("ip", "nonsense").unwrap_err().to_string();
    if error.contains("missing") {
        return dovetail_skip::skipped(error);
    }
    assert!(error.starts_with("ip nonsense: Object \"nonsense\" is unknown"), "{error}");
}
