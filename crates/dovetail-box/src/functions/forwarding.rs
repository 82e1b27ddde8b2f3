//! IP forwarding: what a router does to each packet (RFC 1812, RFC 8200).
//!
//! Verifies the IPv4 header checksum, decrements the hop limit, and rewrites the Ethernet addresses to those of the next
//! hop of the longest matching prefix. The checksum is updated incrementally for the one word that changed (RFC 1624).

use rand_xoshiro::{
    SplitMix64,
    rand_core::{Rng, SeedableRng},
};

use super::{
    NetworkFunction, Processing, Reason, Verdict,
    checksum::{adjusted, finish, sum},
    frame::{Ip, Version, read_u16, write},
    routes::{Route, Routes},
};

/// Its name on the command line.
pub const NAME: &str = "forwarding";

/// A neighbour on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// The neighbour's Ethernet address.
    pub destination: [u8; 6],
    /// Our own Ethernet address on that link.
    pub source: [u8; 6],
}

/// A routing table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    v4: Vec<Route>,
    v6: Vec<Route>,
    hops: Vec<NextHop>,
}

impl Table {
    /// Adds a neighbour and returns its number, for routes; `None` beyond 65,535.
    pub fn neighbour(&mut self, hop: NextHop) -> Option<u16> {
        let number = u16::try_from(self.hops.len()).ok().filter(|&number| number < u16::MAX)?;
        self.hops.push(hop);
        Some(number)
    }

    /// Adds a route: packets to addresses that share the first `length` bits (0 to 32) of `address` go to `neighbour`.
    pub fn route_v4(&mut self, address: [u8; 4], length: u8, neighbour: u16) {
        let address = u32::from_be_bytes(address).into();
        self.v4.push(Route { address, length: u32::from(length).min(32), hop: neighbour });
    }

    /// Same as [`route_v4`](Self::route_v4), with 0 to 128 bits.
    pub fn route_v6(&mut self, address: [u8; 16], length: u8, neighbour: u16) {
        let address = u128::from_be_bytes(address);
        self.v6.push(Route { address, length: u32::from(length).min(128), hop: neighbour });
    }

    /// Number of routes, and of neighbours.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.v4.len() + self.v6.len(), self.hops.len())
    }
}

/// The forwarding function.
#[derive(Debug, Clone)]
pub struct Forwarding {
    v4: Routes,
    v6: Routes,
    hops: Vec<NextHop>,
}

impl Forwarding {
    /// Forwards according to `table`.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        Self { v4: Routes::new(32, &table.v4), v6: Routes::new(128, &table.v6), hops: table.hops.clone() }
    }

    /// A synthetic table of 1,000 IPv4 and 1,000 IPv6 prefixes, with default routes, to 64 neighbours.
    #[must_use]
    pub fn example(seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        let mut table = Table::default();
        for _ in 0..64 {
            let [a, b, c, d, e, f, ..] = random.next_u64().to_be_bytes();
            // Locally administered unicast addresses.
            table.neighbour(NextHop { destination: [0x02, a, b, c, d, e], source: [0x02, f, e, d, c, b] });
        }
        table.route_v4([0; 4], 0, 0);
        table.route_v6([0; 16], 0, 0);
        for _ in 0..1000 {
            let (address, choice) = (random.next_u64(), random.next_u64());
            let hop = (choice >> 8) as u16 % 64;
            table.route_v4((address as u32).to_be_bytes(), 8 + (choice % 17) as u8, hop);
            // Global addresses begin with the bits 001.
            let global = u128::from(address >> 3 | 1 << 61) << 64;
            table.route_v6(global.to_be_bytes(), 16 + (choice % 49) as u8, hop);
        }
        Self::new(&table)
    }
}

impl Forwarding {
    /// The next hop of a frame's packet; `None` if there is no route. O(log n).
    #[must_use]
    pub fn next_hop(&self, frame: &[u8], ip: &Ip) -> Option<NextHop> {
        let (_, destination) = ip.addresses(frame);
        let routes = if ip.version == Version::V4 { &self.v4 } else { &self.v6 };
        self.hops.get(usize::from(routes.find(destination)?)).copied()
    }
}

/// Forwards a frame's packet, whose header is known to be sound, to its next hop.
pub fn forward(frame: &mut [u8], ip: &Ip, hop: Option<NextHop>) -> Verdict {
    let at = ip.hop_limit_at();
    let Some(&limit) = frame.get(at).filter(|&&limit| limit > 1) else {
        return Verdict::Drop(Reason::HopLimit);
    };
    let Some(hop) = hop else {
        return Verdict::Drop(Reason::NoRoute);
    };
    if ip.version == Version::V4 {
        // The hop limit shares its 16-bit word with the protocol.
        let (old, checksum) = (read_u16(frame, at).unwrap_or(0), read_u16(frame, ip.at + 10).unwrap_or(0));
        write(frame, ip.at + 10, &adjusted(checksum, old, old - 0x100).to_be_bytes());
    }
    write(frame, at, &[limit - 1]);
    write(frame, 0, &hop.destination);
    write(frame, 6, &hop.source);
    Verdict::Forward
}

impl NetworkFunction for Forwarding {
    fn name(&self) -> &str {
        NAME
    }

    fn processing(&self) -> Processing {
        Processing::Header
    }

    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let ip = match Ip::find(frame) {
            Ok(ip) => ip,
            Err(verdict) => return verdict,
        };
        let header = frame.get(ip.at..ip.body).unwrap_or_default();
        if ip.version == Version::V4 && finish(sum(header, 0)) != 0 {
            return Verdict::Drop(Reason::Malformed);
        }
        let hop = self.next_hop(frame, &ip);
        forward(frame, &ip, hop)
    }
}

#[cfg(test)]
mod tests;
