//! Numbered datagrams from one side of a lab to the other.

use std::{io::ErrorKind, net::UdpSocket, time::Duration};

use dovetail_box::live::lab::{HOST_INTERFACE, Lab, Place};
use dovetail_netns::tool;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use crate::numbered::Stream;

const PORT: u16 = 5005;

/// Gives hosts permanent entries for each other's Ethernet addresses: address resolution may lose packets.
pub fn introduce(lab: &Lab) {
    let sides =
        [(Place::Inside, Place::Outside, lab.spec().outside[0]), (Place::Outside, Place::Inside, lab.spec().inside[0])];
    for (here, there, address) in sides {
        let of = format!("-n {} -br link show {HOST_INTERFACE}", lab.namespace(there).name());
        let shown = String::from_utf8(tool("ip", &of).unwrap()).unwrap();
        let ethernet = shown.split_whitespace().nth(2).unwrap();
        let name = lab.namespace(here).name();
        let known = format!("-n {name} neigh replace {address} lladdr {ethernet} dev {HOST_INTERFACE} nud permanent");
        tool("ip", &known).unwrap();
    }
}

/// Sends from the inside or the outside to the other side.
pub fn stream(lab: &Lab, from: Place) -> Stream {
    let spec = lab.spec();
    let (to, source, target) = match from {
        Place::Inside => (Place::Outside, spec.inside[0], spec.outside[0]),
        _ => (Place::Inside, spec.outside[0], spec.inside[0]),
    };
    let receiver = lab.namespace(to).within(|| UdpSocket::bind((target, PORT))).unwrap();
    // Room for everything that a test sends, so that nothing is lost here.
    set_socket_recv_buffer_size_force(&receiver, 256 << 20).unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let sender = lab.namespace(from).within(|| UdpSocket::bind((source, 0))).unwrap();
    sender.connect((target, PORT)).unwrap();
    // The port responds that nothing listens while namespaces are removed.
    let send = move |number: u64| sender.send(&number.to_be_bytes()).unwrap() == 8;
    let hear = move || {
        let mut datagram = [0; 8];
        match receiver.recv(&mut datagram) {
            Ok(8) => Some(u64::from_be_bytes(datagram)),
            Ok(bytes) => panic!("a datagram of {bytes} bytes"),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    };
    Stream::start(1, send, hear)
}
