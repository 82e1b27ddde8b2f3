//! Marks packets by how many their flow has sent: AF21 for the first [`FEW`], AF23 for later ones (RFC 2597), which
//! routers drop first. So short flows get through a congested link.
//!
//! Packets are counted in a table of fixed size, by a hash of addresses, protocol and ports; flows with the same entry
//! are counted together. ECN does not change. IPv4's checksum is adjusted for the one word that changes (RFC 1624).

/// Number of packets of a flow that count as its first.
pub const FEW: u16 = 16;
/// AF21, for a flow's first packets.
pub const FIRST: u8 = 18;
/// AF23, for later ones.
pub const LATER: u8 = 22;

const FLOWS: usize = 4096;

/// The packet counts of flows.
pub struct Marker {
    packets: [u16; FLOWS],
}

impl Marker {
    /// Before the first packet.
    pub const NEW: Self = Self { packets: [0; FLOWS] };

    /// Marks the IP packet in a frame. Returns `false` and changes nothing if there is none.
    pub fn mark(&mut self, frame: &mut [u8]) -> bool {
        let Some((at, version)) = ip(frame) else { return false };
        let Some(packet) = frame.get_mut(at..) else { return false };
        match version {
            4 => {
                let header = usize::from(packet[0] & 0xf) * 4;
                if packet.len() < header.max(20) {
                    return false;
                }
                // A later fragment has no ports.
                let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
                let at_ports = if fragment { usize::MAX } else { header };
                let class = self.class(packet, 12..20, packet[9], at_ports);
                let old = u16::from_be_bytes([packet[0], packet[1]]);
                packet[1] = class << 2 | packet[1] & 3;
                let new = u16::from_be_bytes([packet[0], packet[1]]);
                let checksum = u16::from_be_bytes([packet[10], packet[11]]);
                packet[10..12].copy_from_slice(&adjusted(checksum, old, new).to_be_bytes());
            }
            _ => {
                if packet.len() < 40 {
                    return false;
                }
                let class = self.class(packet, 8..40, packet[6], 40);
                // The traffic class spans two bytes: its upper half is in the first.
                packet[0] = packet[0] & 0xf0 | class >> 2;
                packet[1] = (class & 3) << 6 | packet[1] & 0x3f;
            }
        }
        true
    }

    /// Counts a packet, and returns its code point.
    fn class(&mut self, packet: &[u8], addresses: core::ops::Range<usize>, protocol: u8, at_ports: usize) -> u8 {
        let ports = matches!(protocol, 6 | 17).then(|| packet.get(at_ports..)?.get(..4)).flatten().unwrap_or_default();
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for &byte in packet[addresses].iter().chain([&protocol]).chain(ports) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let count = &mut self.packets[(hash >> 32) as usize % FLOWS];
        *count = count.saturating_add(1);
        if *count <= FEW { FIRST } else { LATER }
    }
}

/// Where the IP header begins, after up to two VLAN tags, and its version, if link and header agree on that.
fn ip(frame: &[u8]) -> Option<(usize, u8)> {
    let mut at = 12;
    let mut kind = word(frame, at)?;
    for _ in 0..2 {
        if matches!(kind, 0x8100 | 0x88a8) {
            at += 4;
            kind = word(frame, at)?;
        }
    }
    let version = frame.get(at + 2)? >> 4;
    matches!((kind, version), (0x0800, 4) | (0x86dd, 6)).then_some((at + 2, version))
}

fn word(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]))
}

/// HC' = ~(~HC + ~m + m').
fn adjusted(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}
