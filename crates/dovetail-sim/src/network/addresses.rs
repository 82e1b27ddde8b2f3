//! Who has which address and port.

use smoltcp::wire::Ipv4Address;

use super::end::Place;

/// The first port that connections are opened from (RFC 6335, section 6: dynamic ports), and how many there are.
const FIRST_DYNAMIC: u16 = 49152;
/// The port that everybody listens on.
const SERVICE: u16 = 80;
/// Flows of one forged address.
const FORGED_PORTS: u64 = 60_000;

/// The address of a node, out of 10.0.0.0/8.
fn address(node: usize) -> Ipv4Address {
    Ipv4Address::from_bits(0x0a00_0001 + node as u32)
}

/// Ports in turn.
#[derive(Debug)]
pub(super) struct Addresses {
    next: Vec<u16>,
    forged: u64,
}

impl Addresses {
    pub(super) fn new(nodes: usize) -> Self {
        Self { next: vec![FIRST_DYNAMIC; nodes], forged: 0 }
    }

    /// Where a connection from `node` begins. Ports come again after 16,384 connections.
    pub(super) fn dynamic(&mut self, node: usize) -> Place {
        let port = self.next[node];
        self.next[node] = port.checked_add(1).unwrap_or(FIRST_DYNAMIC);
        Place { address: address(node), port }
    }

    /// Where connections to `node` end.
    pub(super) fn service(&self, node: usize) -> Place {
        Place { address: address(node), port: SERVICE }
    }

    /// A place that nobody sent from before, out of 11.0.0.0/8 and what follows; 250 billion of them.
    pub(super) fn forged(&mut self) -> Place {
        let number = self.forged;
        self.forged += 1;
        let address = Ipv4Address::from_bits(0x0b00_0000u32.wrapping_add((number / FORGED_PORTS) as u32));
        Place { address, port: 1024 + (number % FORGED_PORTS) as u16 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn nobody_has_two_and_forged_ones_are_new() {
        let mut addresses = Addresses::new(2);
        let mut seen = HashSet::new();
        for _ in 0..100_000 {
            let Place { address, port } = addresses.forged();
            assert!(seen.insert((address, port)));
        }
        let ports: HashSet<u16> = (0..16_384).map(|_| addresses.dynamic(1).port).collect();
        assert_eq!(ports.len(), 16_384);
        assert_eq!(addresses.dynamic(1).port, FIRST_DYNAMIC);
        assert_ne!(addresses.dynamic(0).address, addresses.dynamic(1).address);
    }
}
