//! Packets that select their processing by name.

use std::{
    thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    functions::{
        checksum::{finish, sum},
        frame::{ETHERNET, IPV4},
    },
    live::lab::{Place, datagram},
};

use crate::{
    live::{Running, is_judged, lab},
    traffic::PATIENCE,
};

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"100Mbps\"\n[[class]]\nname = \"counted\"\nnamed = [\"count\"]\n\
    functions = [\"monitoring\"]\n[[class]]\nname = \"marked\"\nports = [4500]\nnamed = [\"mark\", \"stamp\"]\n";

/// A numbered datagram of one flow, with these options.
fn frame(number: u64, options: &[u8]) -> Vec<u8> {
    let mut frame = datagram::frame(Place::Inside, 0, number, 200);
    let behind = ETHERNET + IPV4;
    frame.splice(behind..behind, options.iter().copied());
    let header = IPV4 + options.len();
    let length = (frame.len() - ETHERNET) as u16;
    frame[ETHERNET] = 0x40 | (header / 4) as u8;
    frame[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&length.to_be_bytes());
    frame[ETHERNET + 10..ETHERNET + 12].fill(0);
    let checksum = finish(sum(&frame[ETHERNET..ETHERNET + header], 0));
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
    frame
}

/// An option of this length with these letters, and padding.
fn option(length: u8, letters: &[u8]) -> Vec<u8> {
    let mut option = [&[222, length], letters].concat();
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

#[test]
fn each_packet_of_a_flow_names_its_class_and_nonsense_names_none() {
    let Some(lab) = lab("name") else { return };
    let running = Running::start(&lab, SETTINGS);
    let (source, mut target) = (lab.raw(Place::Inside).unwrap(), lab.raw(Place::Outside).unwrap());
    let name = |name: &str| option(2 + name.len() as u8, name.as_bytes());
    let options = [
        name("count"),
        name("mark"),
        name("stamp"),
        name("unknown"),
        name("../count"),
        name("Count"),
        name(""),
        option(200, b"count"),
        option(0, b"count"),
        option(1, b"count"),
        vec![1; 40],
        vec![0xff; 40],
        Vec::new(),
    ];
    let frames: Vec<_> = options.iter().enumerate().map(|(number, options)| frame(number as u64, options)).collect();
    for frame in &frames {
        assert_eq!(source.send(std::iter::once(&**frame)).unwrap(), 1);
    }
    // All of them arrive as sent, whatever their options.
    let (asked, mut heard) = (Instant::now(), Vec::new());
    while heard.len() < frames.len() {
        assert!(asked.elapsed() < PATIENCE, "{} arrived", heard.len());
        match target.receive() {
            Some(frame) if frame[6] == 2 && frame[7] == 0x77 => heard.push(frame.to_vec()),
            Some(_) => {}
            None => thread::sleep(Duration::from_millis(1)),
        }
    }
    assert_eq!(heard, frames);
    let status = running.stop();
    if is_judged(&status) {
        let sent = [0, 1].map(|class| status.classes[class].1.sent);
        assert_eq!((sent, status.oddities.malformed), ([1, 2], 0), "{status:#?}");
        assert!(status.classes[2].1.sent >= 10, "{status:#?}");
    }
}
