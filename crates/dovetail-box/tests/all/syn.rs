//! TCP hosts are told smaller segments where functions make packets longer, also by a SYN whose checksum the sending host left
//! to its interface.

use std::{
    thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    live::lab::{Lab, Place},
    wire::offload::{Offload, Partial},
};
use etherparse::{PacketBuilder, TcpOptionElement};

use crate::{
    live::{Running, by_each_io, lab},
    traffic::PATIENCE,
};

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n[[class]]\nname = \"vpn\"\nports = [4500]\n\
                        functions = [\"ipsec\"]\n";
/// For an MTU of 1,500 bytes.
const MSS: u16 = 1460;
const ETHERNET: usize = 14;
const TRANSPORT: usize = ETHERNET + 20;
const CHECKSUM: usize = 16;
const SOURCES_STATION: [u8; 6] = [0x02, 0x55, 0, 0, 0, 1];

/// A SYN with all checksums, as built by a library.
fn syn(mss: u16) -> Vec<u8> {
    let options = [TcpOptionElement::MaximumSegmentSize(mss), TcpOptionElement::WindowScale(7)];
    let builder = PacketBuilder::ethernet2(SOURCES_STATION, [0x02, 0x55, 0, 0, 0, 2])
        .ipv4([10, 77, 0, 101], [10, 77, 0, 102], 64)
        .tcp(40_000, 443, 7, 64_000)
        .syn()
        .options(&options)
        .unwrap();
    let mut frame = Vec::new();
    builder.write(&mut frame, &[]).unwrap();
    frame
}

/// The same as a host passes it to an interface with checksum offload: its field holds the pseudo-header's sum.
fn left_to_the_interface(mut frame: Vec<u8>) -> ([u8; Offload::BYTES], Vec<u8>) {
    let bytes = (frame.len() - TRANSPORT) as u32;
    let words = frame[ETHERNET + 12..TRANSPORT].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum = words.sum::<u32>() + 6 + bytes;
    let sum = ((sum & 0xffff) + (sum >> 16)) as u16;
    frame[TRANSPORT + CHECKSUM..TRANSPORT + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    let partial = Some(Partial { start: TRANSPORT as u16, offset: CHECKSUM as u16 });
    (Offload { partial, segmented: None }.bytes(), frame)
}

/// The SYN as it arrives on the other side.
fn arrives(lab: &Lab, from: Place) -> Vec<u8> {
    let to = if from == Place::Inside { Place::Outside } else { Place::Inside };
    let (source, mut target) = (lab.raw(from).unwrap(), lab.raw(to).unwrap());
    let (offload, frame) = left_to_the_interface(syn(MSS));
    assert_ne!(frame, syn(MSS), "there is something to fill in");
    let asked = Instant::now();
    loop {
        assert_eq!(source.send_with(&offload, &frame).unwrap(), 1);
        thread::sleep(Duration::from_millis(20));
        while let Some(frame) = target.receive() {
            if frame.get(6..12) == Some(&SOURCES_STATION) {
                return frame.to_vec();
            }
        }
        assert!(asked.elapsed() < PATIENCE, "no SYN arrives from {from:?}");
    }
}

fn a_syn_is_told_smaller_segments_and_keeps_a_right_checksum(io: &str) {
    let Some(lab) = lab("syn") else { return };
    for from in [Place::Inside, Place::Outside] {
        // If the bridge was in charge for a moment, it forwarded the SYN unchanged.
        let said = (0..5).find_map(|_| {
            let running = Running::start(&lab, &(io.to_owned() + SETTINGS));
            let frame = arrives(&lab, from);
            let status = running.stop();
            (status.oddities.lapses == 0).then_some(frame)
        });
        let Some(frame) = said else {
            dovetail_skip::skipped("the machine is too busy: the box was kept from running five times");
            return;
        };
        let mss = u16::from_be_bytes([frame[TRANSPORT + 22], frame[TRANSPORT + 23]]);
        assert!((1200..MSS).contains(&mss), "from {from:?}: {mss}");
        assert_eq!(frame, syn(mss), "from {from:?}");
    }
}

by_each_io!(a_syn_is_told_smaller_segments_and_keeps_a_right_checksum);
