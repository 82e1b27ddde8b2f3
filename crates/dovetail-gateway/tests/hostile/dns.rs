//! A name server (RFC 1035) that answers as a test requires.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    thread,
};

/// The answer to a query.
pub enum Reply {
    /// These addresses, with a TTL of zero.
    Addresses(Vec<Ipv4Addr>),
    /// The name does not exist.
    NoName,
    /// The server failed.
    Fails,
    /// No answer.
    Silence,
}

/// Starts one. `reply` gets names without their trailing dot, and the number of earlier queries for addresses.
pub fn name_server(reply: impl Fn(&str, usize) -> Reply + Send + 'static) -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let (mut packet, mut asked) = ([0; 512], 0);
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            let question = &packet[12..length];
            let (name, end) = name(question);
            let is_a = question[end..].starts_with(&[0, 1]);
            let (code, addresses) = match reply(&name, asked) {
                Reply::Addresses(addresses) => (0, addresses),
                Reply::NoName => (3, Vec::new()),
                Reply::Fails => (2, Vec::new()),
                Reply::Silence => continue,
            };
            // Queries for IPv6 addresses get none.
            let addresses = if is_a { addresses } else { Vec::new() };
            asked += usize::from(is_a);
            let mut answer = packet[..2].to_vec();
            answer.extend([0x81, 0x80 | code, 0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
            answer.extend(&question[..end + 4]);
            for address in addresses {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                answer.extend(address.octets());
            }
            socket.send_to(&answer, from).unwrap();
        }
    });
    address
}

/// The name in a query, and where it ends.
fn name(question: &[u8]) -> (String, usize) {
    let (mut labels, mut at) = (Vec::new(), 0);
    while question[at] > 0 {
        let end = at + 1 + usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..end]).to_ascii_lowercase());
        at = end;
    }
    (labels.join("."), at + 1)
}
