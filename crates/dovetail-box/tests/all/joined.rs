//! Packets of a stream in a tunnel that an interface has joined arrive one by one, as sent.

use std::{
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{HOST_INTERFACE, Lab, PORTS, Place};
use dovetail_netns::{NetnsError, run};
use etherparse::PacketBuilder;

use crate::{
    live::{Running, is_judged, lab},
    traffic::PATIENCE,
};

/// Prefix of the sender's address here.
const STATION: [u8; 6] = [0x02, 0x55, 0, 0, 0, 1];
/// Few enough that one frame may hold all of them.
const PACKETS: usize = 20;
const PAYLOAD_BYTES: usize = 1000;
/// Maximum number of runs disturbed by a machine that keeps the box from running.
const TRIES: usize = 5;

/// A packet of a stream within GRE with a key, with all checksums filled in.
fn packet(number: usize) -> Vec<u8> {
    const GRE: [u8; 8] = [0x20, 0, 0x08, 0, 0, 0, 0, 42];
    let mut inner = GRE.to_vec();
    PacketBuilder::ipv4([10, 1, 0, 1], [10, 1, 0, 2], 64)
        .tcp(40_000, 443, (number * PAYLOAD_BYTES) as u32, 500)
        .ack(7)
        .write(&mut inner, &[number as u8; PAYLOAD_BYTES])
        .unwrap();
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(STATION, [0x02, 0x55, 0, 0, 0, 2])
        .ipv4([10, 77, 0, 101], [10, 77, 0, 102], 64)
        .write(&mut frame, 47.into(), &inner)
        .unwrap();
    // Outer and inner packets are numbered, as Linux numbers them.
    for at in [14, 42] {
        frame[at + 4..at + 6].copy_from_slice(&(number as u16).to_be_bytes());
        frame[at + 10..at + 12].fill(0);
        let words = frame[at..at + 20].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum = words.sum::<u32>();
        let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
        frame[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
    }
    frame
}

/// Makes a port join what arrives there within 20 ms.
fn join(lab: &Lab, side: Place, port: &str) -> Result<(), NetnsError> {
    let within = |place, words: &[&str]| {
        run("ip", &[&["netns", "exec", lab.namespace(place).name()][..], words].concat()).map(drop)
    };
    // A veth passes frames on unjoined if its other end could have sent them as long frames.
    within(side, &["ethtool", "-K", HOST_INTERFACE, "tso", "off"])?;
    within(Place::Box, &["ethtool", "-K", port, "gro", "on"])?;
    let path = format!("/sys/class/net/{port}");
    let wait = format!("echo 10 > {path}/napi_defer_hard_irqs && echo 20000000 > {path}/gro_flush_timeout");
    within(Place::Box, &["sh", "-c", &wait])
}

/// The packets that arrive on the other side.
fn carried(lab: &Lab, from: Place, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let to = if from == Place::Inside { Place::Outside } else { Place::Inside };
    let (source, mut target) = (lab.raw(from).unwrap(), lab.raw(to).unwrap());
    assert_eq!(source.send(packets.iter().map(Vec::as_slice)).unwrap(), packets.len());
    let mut arrived = Vec::new();
    let asked = Instant::now();
    while arrived.len() < packets.len() && asked.elapsed() < PATIENCE / 20 {
        thread::sleep(Duration::from_millis(1));
        while let Some(frame) = target.receive() {
            if frame.get(6..12) == Some(&STATION) {
                arrived.push(frame.to_vec());
            }
        }
    }
    arrived
}

#[test]
fn what_was_joined_in_a_tunnel_arrives_in_parts() {
    let Some(lab) = lab("joined") else { return };
    for (side, port) in [Place::Inside, Place::Outside].into_iter().zip(PORTS) {
        if let Err(wrong) = join(&lab, side, port) {
            dovetail_skip::skipped(wrong);
            return;
        }
    }
    let packets: Vec<_> = (0..PACKETS).map(packet).collect();
    for segments in ["split", "whole"] {
        let settings = format!("policy = \"drfq\"\nsegments = \"{segments}\"\n[link]\nrate = \"1Gbps\"\n");
        for (number, from) in [Place::Inside, Place::Outside].into_iter().enumerate() {
            let judged = (0..TRIES).find_map(|_| {
                let running = Running::start(&lab, &settings);
                let arrived = carried(&lab, from, &packets);
                let status = running.stop();
                is_judged(&status).then_some((arrived, status))
            });
            let Some((arrived, status)) = judged else {
                dovetail_skip::skipped("the machine is too busy: the box was kept from running five times");
                return;
            };
            let received = status.ports[number].received;
            println!("{segments}, from {from:?}: {PACKETS} packets came in at most {received} frames");
            assert!(received < PACKETS as u64 / 2, "none were joined: {status:#?}");
            assert!(arrived == packets, "{} of {PACKETS} arrive: {status:#?}", arrived.len());
            assert_eq!((status.oddities.malformed, status.ports[1 - number].refused), (0, 0), "{status:#?}");
        }
    }
}
