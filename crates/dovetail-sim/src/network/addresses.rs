//! Addresses and ports.

use std::net::{Ipv4Addr, SocketAddrV4};

/// The first port that connections are opened from (RFC 6335, section 6: dynamic ports), and their number.
const FIRST_DYNAMIC: u16 = 49152;
/// Destination port of datagrams without a connection.
pub(super) const SERVICE: u16 = 80;
/// Ports used per forged address.
const FORGED_PORTS: u64 = 60_000;

/// The address of a node, out of 10.0.0.0/8.
fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + node as u32)
}

/// A port of a node.
pub(super) fn port(node: usize, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address(node), port)
}

/// Allocates addresses and ports.
#[derive(Debug)]
pub(super) struct Addresses {
    next: Vec<u16>,
    forged: u64,
}

impl Addresses {
    pub(super) fn new(nodes: usize) -> Self {
        Self { next: vec![FIRST_DYNAMIC; nodes], forged: 0 }
    }

    /// Source of a connection from `node`. Ports repeat after 16,384 connections.
    pub(super) fn dynamic(&mut self, node: usize) -> SocketAddrV4 {
        let port = self.next[node];
        self.next[node] = port.checked_add(1).unwrap_or(FIRST_DYNAMIC);
        SocketAddrV4::new(address(node), port)
    }

    /// A source that was not used before, out of 11.0.0.0/8 and upwards; there are 250 billion.
    pub(super) fn forged(&mut self) -> SocketAddrV4 {
        let number = self.forged;
        self.forged += 1;
        let address = Ipv4Addr::from_bits(0x0b00_0000u32.wrapping_add((number / FORGED_PORTS) as u32));
        SocketAddrV4::new(address, 1024 + (number % FORGED_PORTS) as u16)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_host_has_two_and_forged_ones_are_new() {
        let mut addresses = Addresses::new(2);
        let mut seen = HashSet::new();
        for _ in 0..100_000 {
            assert!(seen.insert(addresses.forged()));
        }
        let ports: HashSet<u16> = (0..16_384).map(|_| addresses.dynamic(1).port()).collect();
        assert_eq!(ports.len(), 16_384);
        assert_eq!(addresses.dynamic(1).port(), FIRST_DYNAMIC);
        assert_ne!(addresses.dynamic(0).ip(), addresses.dynamic(1).ip());
    }
}
