//! Whatever arrives, the loop continues: traffic passes afterwards, and malformed frames are counted.

use dovetail_box::{
    functions,
    live::lab::{Place, Raw, datagram},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

use crate::{
    live::{Running, by_each_io, lab},
    traffic::{Stream, both_ways, go_on},
};

/// Frames of each kind.
const FRAMES: usize = 400;
/// `struct virtio_net_hdr`: needs a checksum; TCP over IPv4 and IPv6, UDP.
const NEEDS_CHECKSUM: u8 = 1;
const SPLIT: [u8; 3] = [1, 4, 5];

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        (self.0.next_u64() % most as u64) as usize
    }

    fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        let mut made = vec![0; bytes];
        self.0.fill_bytes(&mut made);
        made
    }
}

/// An Ethernet header from another source, for frames not made by [`datagram`].
fn ethernet(kind: u16) -> Vec<u8> {
    let mut frame = vec![2, 0x55, 0, 0, 0, 1, 2, 0x55, 0, 0, 0, 2];
    frame.extend(kind.to_be_bytes());
    frame
}

/// A frame unlike the others, whose class has functions.
fn packet(dice: &mut Dice, bytes: usize) -> Vec<u8> {
    let mut frame = datagram::frame(Place::Inside, 1, 0, bytes);
    // Its port selects the class.
    frame[36..38].copy_from_slice(&9_u16.to_be_bytes());
    let from = datagram::MIN_BYTES;
    let length = frame.len();
    frame[from..].copy_from_slice(&dice.bytes(length - from));
    frame
}

/// Headers with some bits flipped.
fn fuzzed(dice: &mut Dice) -> Vec<u8> {
    let bytes = 60 + dice.below(1455);
    let mut frame = packet(dice, bytes);
    for _ in 0..=dice.below(4) {
        let at = 12 + dice.below(40);
        frame[at] ^= 1 << dice.below(8);
    }
    frame
}

/// IPv4 and IPv6 packets shorter than they claim, or truncated within a header.
fn truncated(dice: &mut Dice) -> Vec<u8> {
    let mut frame = if dice.below(2) == 0 { packet(dice, 200) } else { chained(dice) };
    frame.truncate(14 + dice.below(frame.len() - 13));
    frame
}

fn fragment(dice: &mut Dice) -> Vec<u8> {
    let bytes = 60 + dice.below(1400);
    let mut frame = packet(dice, bytes);
    let place = dice.bytes(2);
    frame[20..22].copy_from_slice(&place);
    frame
}

/// IPv6 with extension headers of any type and length.
fn chained(dice: &mut Dice) -> Vec<u8> {
    const KINDS: [u8; 10] = [0, 43, 44, 51, 60, 135, 139, 50, 17, 59];
    let mut frame = ethernet(0x86dd);
    let body = 8 + dice.below(1400);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((body as u16).to_be_bytes());
    frame.extend([KINDS[dice.below(KINDS.len())], 64]);
    frame.extend(dice.bytes(32));
    frame.extend(dice.bytes(body));
    for at in (54..frame.len() - 2).step_by(8) {
        frame[at] = KINDS[dice.below(KINDS.len())];
        frame[at + 1] = if dice.below(4) == 0 { 0xff } else { 0 };
    }
    frame
}

/// A long frame that is to be split, and its offload header. The kernel checks that protocol and checksum offset match;
/// lengths, headers and segment size may be wrong.
fn to_split(dice: &mut Dice) -> ([u8; 10], Vec<u8>) {
    const TCP: u8 = 6;
    let kind = SPLIT[dice.below(SPLIT.len())];
    let bytes = 100 + dice.below(65_000);
    let mut frame = packet(dice, bytes);
    let (mut start, mut offset) = (34, 16);
    match kind {
        1 => frame[23] = TCP,
        4 => {
            frame = ethernet(0x86dd);
            frame.extend([0x60, 0, 0, 0, 0xff, 0, TCP, 64]);
            frame.extend(dice.bytes(bytes));
            start = 54;
            frame.resize(frame.len().max(100), 0);
        }
        _ => offset = 6,
    }
    if dice.below(4) == 0 {
        // A TCP header of any length.
        frame[usize::from(start) + 12] = dice.bytes(1)[0];
    } else {
        frame[usize::from(start) + 12] = 0x50;
    }
    if dice.below(4) == 0 {
        // A wrong length.
        let length = dice.bytes(2);
        frame[16..18].copy_from_slice(&length);
    }
    if dice.below(8) == 0 {
        (start, offset) = ([0, 5, 14, 300][dice.below(4)], [0, 6, 16, 200][dice.below(4)]);
    }
    let sizes: [u16; 7] = [0, 1, 8, 536, 1448, 9000, 65_535];
    (header(kind, sizes[dice.below(sizes.len())], start, offset), frame)
}

fn header(kind: u8, size: u16, start: u16, offset: u16) -> [u8; 10] {
    let mut header = [NEEDS_CHECKSUM, kind, 0, 0, 0, 0, 0, 0, 0, 0];
    for (at, value) in [(2, 54), (4, size), (6, start), (8, offset)] {
        header[at..at + 2].copy_from_slice(&u16::to_ne_bytes(value));
    }
    header
}

/// Sends a frame; one that the kernel rejects is not received.
fn offer(source: &Raw, header: [u8; 10], frame: &[u8]) -> usize {
    source.send_with(&header, frame).unwrap_or(0)
}

fn nonsense_stops_no_function(io: &str) {
    let Some(lab) = lab("hostile") else { return };
    let mut nonsense = 0;
    for entry in functions::REGISTRY {
        // Frames that were changed cannot be split afterwards, and a configuration with both is rejected.
        for (segments, effect) in [("split", "apply"), ("whole", "discard")] {
            let name = entry.name;
            let settings = format!(
                "{io}policy = \"drfq\"\nsegments = \"{segments}\"\n[link]\nrate = \"10Gbps\"\n[[class]]\nname = \"clean\"\n\
                 ports = [{}]\n[[class]]\nname = \"default\"\nfunctions = [\"{name}\"]\neffect = \"{effect}\"\n",
                datagram::PORT
            );
            let running = Running::start(&lab, &settings);
            let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(7));
            let sides = [Place::Inside, Place::Outside].map(|side| lab.raw(side).unwrap());
            let (mut offered, mut to_be_split) = (0, 0);
            for _ in 0..FRAMES {
                for source in &sides {
                    for make in [fuzzed, truncated, fragment, chained] {
                        offered += offer(source, [0; 10], &make(&mut dice));
                    }
                    let (header, frame) = to_split(&mut dice);
                    to_be_split += offer(source, header, &frame);
                }
            }
            let traffic = both_ways(&lab);
            go_on(&traffic, 200);
            let passed = running.control.status().ports[1].sent;
            running.until(|status| status.ports[1].sent > passed + 100);
            let records = traffic.map(Stream::end);
            let status = running.stop();
            println!(
                "{name}, {segments}: {offered} and {to_be_split} long ones offered, {} received, {} malformed, {} ended by the \
                 function, {} by the interface, {} lapses",
                status.ports[0].received + status.ports[1].received,
                status.oddities.malformed,
                status.classes[1].1.ended_by_function,
                status.ports[0].refused + status.ports[1].refused,
                status.oddities.lapses
            );
            assert!(to_be_split > FRAMES / 4, "the kernel takes many of those");
            nonsense += status.oddities.malformed + status.classes[1].1.ended_by_function;
            assert!(records.iter().all(|record| record.duplicated() == 0));
        }
    }
    assert!(nonsense > 0, "what it ends is counted");
}

by_each_io!(nonsense_stops_no_function);
