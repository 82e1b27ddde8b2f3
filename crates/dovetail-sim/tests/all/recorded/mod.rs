//! The contents of a capture, read without any of the simulator's code.

#![allow(clippy::unwrap_used, dead_code)]

use std::collections::{BTreeMap, BTreeSet};

use etherparse::{NetSlice, SlicedPacket, TransportSlice};

/// Nanoseconds and bytes of every record of a little-endian pcap file with nanoseconds and raw IP (link type 101).
pub fn records(file: &[u8]) -> Vec<(u64, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!([0, 4, 8, 12, 20].map(word), [0xa1b2_3c4d, 2 | 4 << 16, 0, 0, 101]);
    let (mut at, mut records) = (24, Vec::new());
    while at < file.len() {
        let [seconds, nanos, captured, length] = [at, at + 4, at + 8, at + 12].map(word);
        assert!(nanos < 1_000_000_000 && captured == length && length <= word(16));
        let bytes = &file[at + 16..at + 16 + captured as usize];
        records.push((u64::from(seconds) * 1_000_000_000 + u64::from(nanos), bytes));
        at += 16 + captured as usize;
    }
    records
}

/// Bytes of TCP streams that the capture contains, each counted once, by (source, port, destination, port).
///
/// No port may be used twice.
pub fn delivered(file: &[u8]) -> BTreeMap<([u8; 4], u16, [u8; 4], u16), u64> {
    let mut streams: BTreeMap<_, (u32, BTreeSet<(u32, u32)>)> = BTreeMap::new();
    for (_, bytes) in records(file) {
        let packet = SlicedPacket::from_ip(bytes).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (packet.net, packet.transport) else {
            continue;
        };
        let ends = (ip.header().source(), tcp.source_port(), ip.header().destination(), tcp.destination_port());
        if tcp.syn() {
            streams.entry(ends).or_default().0 = tcp.sequence_number().wrapping_add(1);
        } else if let Some((first, pieces)) = streams.get_mut(&ends) {
            let from = tcp.sequence_number().wrapping_sub(*first);
            pieces.insert((from, from + tcp.payload().len() as u32));
        }
    }
    let whole = |pieces: BTreeSet<(u32, u32)>| {
        let (mut end, mut bytes) = (0, 0);
        for (from, to) in pieces {
            bytes += u64::from(to.max(end) - from.max(end));
            end = end.max(to);
        }
        bytes
    };
    streams.into_iter().map(|(ends, (_, pieces))| (ends, whole(pieces))).collect()
}
