//! Every kind of frame leaves as it arrived, in both directions.

use std::{
    collections::HashMap,
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place, Raw};
use dovetail_netns::tool;

use crate::{
    live::{Running, by_each_io, is_judged, lab},
    traffic::PATIENCE,
};

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"10Gbps\"\n";
/// Prefix of the sources' addresses here.
const STATION: [u8; 4] = [0x02, 0x66, 0x66, 0x66];
/// Maximum number of runs disturbed by a machine that keeps the box from running.
const TRIES: usize = 5;

/// A frame to an address, with these bytes after the addresses, padded to a length with its own bytes. Its number is in its
/// source address.
fn frame(number: u16, to: [u8; 6], head: &[u8], bytes: usize) -> Vec<u8> {
    let mut frame = to.to_vec();
    frame.extend(STATION);
    frame.extend(number.to_be_bytes());
    frame.extend(head);
    let at = |at: usize| (at.wrapping_mul(usize::from(number) * 2 + 1) >> 3) as u8;
    frame.extend((frame.len()..bytes).map(at));
    frame
}

/// One frame of each kind.
fn kinds() -> Vec<Vec<u8>> {
    const TO: [u8; 6] = [0x02, 0x55, 0x55, 0x55, 0x55, 0x55];
    const ALL: [u8; 6] = [0xff; 6];
    let mut heads: Vec<(Vec<u8>, Vec<usize>)> = Vec::new();
    let lengths = vec![60, 61, 64, 255, 1001, 1514];
    // Unknown types, ARP, LLDP, a length (802.3), IP followed by nonsense.
    for kind in [0x9000_u16, 0x88b5, 0x0806, 0x88cc, 0x8847, 0x0040, 0x0800, 0x86dd, 0xffff] {
        heads.push((kind.to_be_bytes().to_vec(), lengths.clone()));
    }
    // The shortest, and each length modulo the unit of copies.
    heads.push((vec![0x90, 0], (14..=79).chain(1450..=1514).collect()));
    // Every priority, droppable or not; no VLAN, and the first and last. The kernel drops tagged frames of under 20 bytes.
    for control in (0..16).map(|priority: u16| priority << 12).chain([0x0001, 0x0fff, 0xffff]) {
        let [a, b] = control.to_be_bytes();
        heads.push((vec![0x81, 0, a, b, 0x88, 0xb5], vec![20, 60, 999, 1514, 1518]));
        // A packet socket counts a provider's tag as part of the packet.
        heads.push((vec![0x88, 0xa8, a, b, 0x88, 0xb5], vec![20, 60, 999, 1514]));
        for outer in [0x81, 0x88] {
            let kind = if outer == 0x81 { 0 } else { 0xa8 };
            heads.push((vec![outer, kind, 0x60, 5, 0x81, 0, a, b, 0x08, 0x00], vec![22, 60, 777, 1514]));
            heads.push((vec![outer, kind, a, b, 0x88, 0xa8, 0x20, 7, 0x86, 0xdd], vec![22, 60, 777, 1514]));
        }
    }
    let mut frames = Vec::new();
    for (head, lengths) in heads {
        for bytes in lengths {
            let to = if frames.len() % 5 == 0 { ALL } else { TO };
            frames.push(frame(frames.len() as u16, to, &head, bytes));
        }
    }
    frames
}

/// The numbers of these frames that arrive on the other side.
fn carried(lab: &Lab, from: Place, frames: &[Vec<u8>], all: bool) -> HashMap<u16, Vec<Vec<u8>>> {
    /// Few enough for the queues.
    const AT_ONCE: usize = 32;
    let to = if from == Place::Inside { Place::Outside } else { Place::Inside };
    let (source, mut target) = (lab.raw(from).unwrap(), lab.raw(to).unwrap());
    let mut arrived = HashMap::<u16, Vec<Vec<u8>>>::new();
    let mut sent = 0;
    for batch in frames.chunks(AT_ONCE) {
        for frame in batch {
            assert_eq!(source.send(std::iter::once(&**frame)).unwrap(), 1, "{} bytes", frame.len());
        }
        sent += batch.len();
        let asked = Instant::now();
        let patience = if all { PATIENCE / 20 } else { Duration::from_millis(300) };
        while arrived.len() < sent && asked.elapsed() < patience {
            collect(&mut target, &mut arrived);
            thread::sleep(Duration::from_millis(1));
        }
    }
    thread::sleep(Duration::from_millis(50));
    collect(&mut target, &mut arrived);
    arrived
}

fn collect(target: &mut Raw, arrived: &mut HashMap<u16, Vec<Vec<u8>>>) {
    while let Some(frame) = target.receive() {
        if frame.get(6..10) == Some(&STATION) {
            arrived.entry(u16::from_be_bytes([frame[10], frame[11]])).or_default().push(frame.to_vec());
        }
    }
}

fn every_kind_of_frame_passes_bit_identical(io: &str) {
    let Some(lab) = lab("kinds") else { return };
    let frames = kinds();
    for _ in 0..TRIES {
        let running = Running::start(&lab, &(io.to_owned() + SETTINGS));
        let ways = [Place::Inside, Place::Outside].map(|from| (from, carried(&lab, from, &frames, true)));
        let status = running.stop();
        if !is_judged(&status) {
            continue;
        }
        for (from, arrived) in ways {
            for (number, frame) in frames.iter().enumerate() {
                let arrived = arrived.get(&(number as u16)).map(Vec::as_slice).unwrap_or_default();
                assert_eq!(arrived, std::slice::from_ref(frame), "from {from:?}, {} bytes", frame.len());
            }
        }
        let [inside, outside] = status.ports;
        println!("{} frames each way, bit-identical", frames.len());
        assert!(inside.sent >= frames.len() as u64 && outside.sent >= frames.len() as u64, "{status:#?}");
        assert_eq!((status.oddities.malformed, inside.refused, outside.refused), (0, 0, 0), "{status:#?}");
        return;
    }
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms five times");
}

/// The numbers of frames to groups near the link-local ones that the bridge, or the box, forwards, tagged and untagged.
fn groups_carried(lab: &Lab, from: Place) -> Vec<u16> {
    let group = |number: u16| {
        let tag: &[u8] = if number >= 32 { &[0x81, 0, 0, 5, 0x88, 0xcc] } else { &[0x88, 0xcc] };
        frame(number, [0x01, 0x80, 0xc2, 0, 0, number as u8 % 32], tag, 60)
    };
    let mut frames: Vec<_> = (0..64).map(group).collect();
    // With the same prefix, and others.
    frames.push(frame(64, [0x01, 0x80, 0xc2, 0, 1, 1], &[0x88, 0xcc], 60));
    frames.push(frame(65, [0x01, 0x80, 0xc2, 1, 0, 1], &[0x88, 0xcc], 60));
    frames.push(frame(66, [0x02, 0x80, 0xc2, 0, 0, 1], &[0x88, 0xcc], 60));
    let mut carried: Vec<_> = carried(lab, from, &frames, false).into_keys().collect();
    carried.sort_unstable();
    carried
}

fn what_a_bridge_keeps_from_other_links_the_box_does_too(io: &str) {
    let Some(lab) = lab("groups") else { return };
    let sides = [Place::Inside, Place::Outside];
    let by_bridge = sides.map(|from| groups_carried(&lab, from));
    // Of the sixteen, only those of the spanning tree.
    let expected: Vec<u16> = (0..=66).filter(|number| !(1..16).contains(&(number % 32)) || *number >= 64).collect();
    assert_eq!(by_bridge, [expected.clone(), expected]);
    for _ in 0..TRIES {
        let running = Running::start(&lab, &(io.to_owned() + SETTINGS));
        let by_box = sides.map(|from| groups_carried(&lab, from));
        let status = running.stop();
        if is_judged(&status) {
            assert_eq!(by_box, by_bridge);
            return;
        }
    }
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms five times");
}

/// A bridge in front of the box strips tags from frames that it forwards, and its port reports them beside the frames.
fn tags_beside_frames_stay(io: &str) {
    let Some(lab) = lab("beside") else { return };
    let name = lab.namespace(Place::Inside).name();
    for words in [
        "link set eth0 down",
        "link set eth0 name port0",
        "link add eth0 type veth peer name port1",
        "link add br1 type bridge",
        "link set port0 master br1 up",
        "link set port1 master br1 up",
        "link set eth0 up",
        "link set br1 up",
    ] {
        tool("ip", &format!("-n {name} {words}")).unwrap();
    }
    // The first frames show when both bridges forward.
    let is_tagged = |frame: &Vec<u8>| frame[12..14] == [0x81, 0] && frame.len() < 1000;
    let frames: Vec<_> = kinds().into_iter().filter(is_tagged).collect();
    let asked = Instant::now();
    while carried(&lab, Place::Inside, &frames[..8], false).len() < 8 {
        assert!(asked.elapsed() < PATIENCE, "the bridges do not forward");
    }
    for _ in 0..TRIES {
        let by_bridge = carried(&lab, Place::Inside, &frames, false);
        let running = Running::start(&lab, &(io.to_owned() + SETTINGS));
        let by_box = carried(&lab, Place::Inside, &frames, false);
        let status = running.stop();
        if !is_judged(&status) {
            continue;
        }
        // A bridge forwards less than a wire, and not always unchanged: the box forwards the same as it.
        let tagged = by_box.values().flatten().filter(|frame| frame[12..14] == [0x81, 0]).count();
        println!("{} frames passed a bridge and the box, {tagged} of them tagged", by_box.len());
        assert!(tagged > 50 && by_box == by_bridge, "{} by the bridge", by_bridge.len());
        return;
    }
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms five times");
}

by_each_io!(
    every_kind_of_frame_passes_bit_identical,
    what_a_bridge_keeps_from_other_links_the_box_does_too,
    tags_beside_frames_stay
);
