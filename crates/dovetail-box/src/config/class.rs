//! Traffic classes: which packets belong to a class and how they are processed.

use std::{net::IpAddr, sync::Arc};

use dovetail_sched::{Weight, cost::Cost, flow::FiveTuple};
use ipnet::IpNet;

use super::tunnel::Tunnel;
use crate::{functions, wire::named::Name};

/// A class of traffic.
#[derive(Debug, Clone)]
pub struct Class {
    /// Its name.
    pub name: Arc<str>,
    /// Which packets belong to it.
    pub matches: Match,
    /// The weight of each of its flows relative to flows of other classes.
    pub weight: Weight,
    /// The functions that its packets pass through, in this order.
    pub functions: Vec<&'static functions::Entry>,
    /// The tunnel that `ipsec` encrypts for; without one, an example's key.
    pub tunnel: Option<Arc<Tunnel>>,
    /// The program that its packets run after the functions: its name, without the `.wasm` of its file.
    pub program: Option<Arc<str>>,
    /// Whether the processed frame is forwarded.
    pub effect: Effect,
    /// Processing time of a packet on a whole CPU, where it is not measured.
    pub time: Option<Cost>,
    /// Factor by which processing time is multiplied before it counts.
    pub cost: f64,
}

impl Class {
    /// Whether its packets leave encrypted.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.tunnel.is_some() && self.effect == Effect::Apply
    }
}

/// Whether the frame that the functions produced is forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The processed frame is forwarded.
    Apply,
    /// The work is done, and the original frame is forwarded: for trials, where the other end would not understand the
    /// result.
    Discard,
}

/// The criteria of a class: a packet must match one value of each kind that is given. With nothing given, every packet
/// matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Match {
    /// Source or destination port.
    pub ports: Vec<u16>,
    /// Prefixes that contain the source or destination address.
    pub prefixes: Vec<IpNet>,
    /// VLAN id of the outer tag.
    pub vlans: Vec<u16>,
    /// Differentiated services code point.
    pub dscp: Vec<u8>,
    /// The name carried in an option of the IP header.
    pub named: Vec<Name>,
}

/// The properties of a packet that decide its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Protocol, addresses and ports; `None` if the packet is not IP.
    pub tuple: Option<FiveTuple>,
    /// VLAN id of the outer tag.
    pub vlan: Option<u16>,
    /// Differentiated services code point.
    pub dscp: Option<u8>,
    /// The name that it carries; only read if some class matches by name.
    pub named: Option<Name>,
}

impl Match {
    /// Whether a packet matches. Linear in the number of values given.
    #[must_use]
    pub fn fits(&self, packet: &Marks) -> bool {
        let tuple = packet.tuple.as_ref();
        let has_port =
            |tuple: &FiveTuple| self.ports.contains(&tuple.source_port) || self.ports.contains(&tuple.destination_port);
        let has_address = |tuple: &FiveTuple| {
            let ends = [tuple.source, tuple.destination].map(|octets| IpAddr::from(octets).to_canonical());
            self.prefixes.iter().any(|prefix| ends.iter().any(|end| prefix.contains(end)))
        };
        (self.ports.is_empty() || tuple.is_some_and(has_port))
            && (self.prefixes.is_empty() || tuple.is_some_and(has_address))
            && (self.vlans.is_empty() || packet.vlan.is_some_and(|vlan| self.vlans.contains(&vlan)))
            && (self.dscp.is_empty() || packet.dscp.is_some_and(|dscp| self.dscp.contains(&dscp)))
            && (self.named.is_empty() || packet.named.is_some_and(|name| self.named.contains(&name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(a: [u8; 4]) -> [u8; 16] {
        std::net::Ipv4Addr::from(a).to_ipv6_mapped().octets()
    }

    #[test]
    fn every_kind_that_is_given_must_be_there() {
        let (source, destination) = (v4([10, 7, 0, 1]), v4([192, 0, 2, 1]));
        let tuple = FiveTuple { protocol: 17, source, destination, source_port: 4500, destination_port: 9 };
        let name = |text: &str| Name::new(text.as_bytes());
        let packet = Marks { tuple: Some(tuple), vlan: Some(5), dscp: Some(46), named: name("count") };
        let prefix = |text: &str| vec![text.parse::<IpNet>().expect("a prefix")];
        let named = ["mark", "count"].into_iter().filter_map(name).collect();
        let (ports, prefixes) = (vec![4500, 1], prefix("10.7.0.0/16"));
        let all = Match { ports, prefixes, vlans: vec![5], dscp: vec![46], named };
        assert!(all.fits(&packet) && Match::default().fits(&packet));
        for other in [
            Match { ports: vec![4501], ..all.clone() },
            Match { prefixes: prefix("10.8.0.0/16"), ..all.clone() },
            Match { vlans: vec![6], ..all.clone() },
            Match { dscp: vec![0], ..all.clone() },
            Match { named: name("Count").into_iter().collect(), ..all.clone() },
        ] {
            assert!(!other.fits(&packet), "{other:?}");
        }
        let bare = Marks { tuple: None, vlan: None, dscp: None, named: None };
        assert!(!all.fits(&bare) && Match::default().fits(&bare));
    }
}
