//! Numbered datagrams of many flows, sent through a lab by [`Raw`](super::Raw).
//!
//! Their Ethernet addresses belong to no host, so that none answers, and hosts' tables and stacks do not matter.

use std::net::Ipv4Addr;

use super::spec::Place;
use crate::functions::{
    checksum::{finish, sum},
    frame::{ETHERNET, IPV4, UDP, read_u16, write},
};

/// Destination port of all datagrams.
pub const PORT: u16 = 4500;
/// Minimum length of a datagram in bytes: headers and a number.
pub const MIN_BYTES: usize = NUMBER + 8;
const NUMBER: usize = ETHERNET + IPV4 + UDP;

/// Prefix of the Ethernet addresses: locally administered, of no vendor.
const STATION: [u8; 4] = [0x02, 0x77, 0x77, 0x77];
/// Source port of the first flow, and its offset in a frame.
pub(super) const SOURCE_PORT: u16 = 10_000;
#[cfg(feature = "af-xdp")]
pub(super) const SOURCE_PORT_AT: usize = ETHERNET + IPV4;

/// A frame of this length that holds a UDP datagram. Flows differ in their source port.
#[must_use]
pub fn frame(from: Place, flow: u16, number: u64, bytes: usize) -> Vec<u8> {
    let ends = [Ipv4Addr::new(10, 77, 0, 101), Ipv4Addr::new(10, 77, 0, 102)];
    let [source, target] = if from == Place::Inside { ends } else { [ends[1], ends[0]] };
    let mut frame = vec![0; bytes.max(MIN_BYTES)];
    let length = frame.len();
    let station = |of: Ipv4Addr| [STATION[0], STATION[1], STATION[2], STATION[3], 0, of.octets()[3]];
    write(&mut frame, 0, &station(target));
    write(&mut frame, 6, &station(source));
    // IPv4 without options, hop limit 64, UDP.
    write(&mut frame, 12, &[8, 0, 0x45, 0]);
    write(&mut frame, ETHERNET + 2, &((length - ETHERNET) as u16).to_be_bytes());
    write(&mut frame, ETHERNET + 8, &[64, 17]);
    write(&mut frame, ETHERNET + 12, &source.octets());
    write(&mut frame, ETHERNET + 16, &target.octets());
    let checksum = finish(sum(&frame[ETHERNET..ETHERNET + IPV4], 0));
    write(&mut frame, ETHERNET + 10, &checksum.to_be_bytes());
    let udp = ETHERNET + IPV4;
    write(&mut frame, udp, &SOURCE_PORT.wrapping_add(flow).to_be_bytes());
    write(&mut frame, udp + 2, &PORT.to_be_bytes());
    // No checksum, as IPv4 permits.
    write(&mut frame, udp + 4, &((length - udp) as u16).to_be_bytes());
    write(&mut frame, NUMBER, &number.to_be_bytes());
    frame
}

/// The number in one of these frames.
#[must_use]
pub fn number(frame: &[u8]) -> Option<u64> {
    let is_ours = frame.get(6..10)? == STATION && read_u16(frame, ETHERNET + IPV4 + 2)? == PORT;
    is_ours.then_some(u64::from_be_bytes(*frame.get(NUMBER..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::frame::Ip;

    #[test]
    fn a_datagram_is_one_and_says_its_number() {
        for (from, flow, bytes) in [(Place::Inside, 0, 60), (Place::Outside, u16::MAX, 1514), (Place::Inside, 3, 0)] {
            let made = frame(from, flow, 1 << 40 | 7, bytes);
            assert_eq!((made.len(), number(&made)), (bytes.max(MIN_BYTES), Some(1 << 40 | 7)));
            let ip = Ip::find(&made).unwrap();
            assert_eq!((ip.end, finish(sum(&made[ETHERNET..ETHERNET + IPV4], 0))), (made.len(), 0));
            let ports = ip.five_tuple(&made);
            assert_eq!((ports.source_port, ports.destination_port), (SOURCE_PORT.wrapping_add(flow), PORT));
        }
        assert_eq!(number(&[0; 60]), None);
    }
}
