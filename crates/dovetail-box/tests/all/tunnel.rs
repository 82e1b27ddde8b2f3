//! Packets that are encrypted with a configured key and routed by the configured table: the other end decrypts them, and no
//! sequence number is used twice, over reloads and restarts.
//!
//! The other end is implemented here: it finds ESP with another parser and decrypts it according to RFC 4106.

use std::{
    collections::BTreeSet,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Place, Raw, datagram};
use etherparse::{NetSlice, SlicedPacket};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::{
    failing::unbridge,
    key::KeyFile,
    live::{Running, by_each_io, config, lab},
    traffic::PATIENCE,
};

const KEY: [u8; 32] = *b"thirty-two bytes of a secret key";
const SALT: [u8; 4] = *b"salt";
const SPI: u32 = 0xdead_beef;
const HERE: [u8; 4] = [192, 0, 2, 1];
const THERE: [u8; 4] = [198, 51, 100, 1];
const NEXT: [u8; 6] = [2, 0, 0, 0, 0, 0x22];
const OURS: [u8; 6] = [2, 0, 0, 0, 0, 0x11];
const FLOWS: u64 = 7;

fn key() -> KeyFile {
    KeyFile::new(&KEY.iter().chain(&SALT).map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn settings(folder: &Path, key: &KeyFile, io: &str, workers: usize) -> String {
    let numbers = folder.join("numbers");
    format!(
        "on_failure = \"closed\"\n{io}policy = \"drfq\"\n[cpu]\nworkers = {workers}\n[link]\nrate = \"1Gbps\"\n\
         [ipsec]\nsequence_file = \"{}\"\n\
         [[tunnel]]\nname = \"branch\"\nspi = {SPI}\nsource = \"192.0.2.1\"\ndestination = \"198.51.100.1\"\nkey_file = \"{key}\"\n\
         [[route]]\nprefix = \"0.0.0.0/0\"\nvia = \"02:00:00:00:00:99\"\nfrom = \"02:00:00:00:00:11\"\n\
         [[route]]\nprefix = \"198.51.100.0/24\"\nvia = \"02:00:00:00:00:22\"\nfrom = \"02:00:00:00:00:11\"\n\
         [[class]]\nname = \"vpn\"\nports = [4500]\nfunctions = [\"ipsec\", \"forwarding\"]\ntunnel = \"branch\"\n",
        numbers.display()
    )
}

/// Decrypts a frame at the other end: the sequence number, and the number of the inner datagram.
fn open(frame: &[u8]) -> Option<(u32, u64)> {
    let sliced = SlicedPacket::from_ethernet(frame).ok()?;
    let Some(NetSlice::Ipv4(outer)) = &sliced.net else { return None };
    let header = outer.header().to_header();
    if (header.source, header.destination, header.protocol.0) != (HERE, THERE, 50) {
        return None;
    }
    assert_eq!((&frame[..6], &frame[6..12], header.time_to_live), (&NEXT[..], &OURS[..], 63));
    assert_eq!(header.header_checksum, header.calc_header_checksum());
    let esp = outer.payload().payload;
    assert_eq!(esp[..4], SPI.to_be_bytes());
    let nonce: [u8; 12] = [&SALT[..], &esp[8..16]].concat().try_into().unwrap();
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &KEY).unwrap());
    let mut text = esp[16..].to_vec();
    let inner = key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(&esp[..8]), &mut text).unwrap();
    let sequence = u32::from_be_bytes(esp[4..8].try_into().unwrap());
    assert_eq!(u64::from_be_bytes(esp[8..16].try_into().unwrap()), u64::from(sequence), "a number is a nonce");
    assert_eq!(inner.last(), Some(&4), "IPv4 within");
    // The inner packet has no Ethernet header.
    let whole = [&datagram::frame(Place::Inside, 0, 0, 60)[..14], &*inner].concat();
    Some((sequence, datagram::number(&whole).unwrap()))
}

/// Sends this many, starting with this number, until all have arrived, repeating what was lost while the machine kept the
/// box from running; returns their sequence numbers.
fn pass(source: &Raw, target: &mut Raw, first: u64, count: u64) -> BTreeSet<u32> {
    let (mut sequences, mut lacking) = (BTreeSet::new(), (first..first + count).collect::<BTreeSet<_>>());
    let asked = Instant::now();
    while !lacking.is_empty() {
        assert!(asked.elapsed() < PATIENCE, "{} of {count} did not arrive", lacking.len());
        for &number in &lacking {
            let frame = datagram::frame(Place::Inside, (number % FLOWS) as u16, number, 200);
            source.send(std::iter::once(&*frame)).unwrap();
            thread::sleep(Duration::from_micros(100));
        }
        let mut last = Instant::now();
        while last.elapsed() < Duration::from_millis(300) && !lacking.is_empty() {
            while let Some(frame) = target.receive() {
                assert_eq!(datagram::number(frame), None, "a packet left as it came");
                if let Some((sequence, number)) = open(frame) {
                    assert!(sequences.insert(sequence), "{sequence} came twice");
                    lacking.remove(&number);
                    last = Instant::now();
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    sequences
}

fn the_other_end_has_every_packet_and_no_number_twice(io: &str) {
    let Some(lab) = lab("esp") else { return };
    unbridge(&lab);
    let (folder, key) = (tempfile::tempdir().unwrap(), key());
    let (source, mut target) = (lab.raw(Place::Inside).unwrap(), lab.raw(Place::Outside).unwrap());
    let mut highest = 0;
    let mut first = 0;
    for workers in [1, 2] {
        let settings = settings(folder.path(), &key, io, workers);
        let running = Running::start(&lab, &settings);
        let mut with = |count| {
            let seen = pass(&source, &mut target, first, count);
            first += count;
            assert!(*seen.first().unwrap() > highest, "{seen:?} after {highest}");
            highest = *seen.last().unwrap();
        };
        with(300);
        let other = settings.replace("\"drfq\"", "\"fifo\"") + "weight = 2\n";
        running.control.reload(config(&lab, &other)).unwrap();
        with(100);
        let moved = settings.replace("/numbers", "/others");
        let refused = running.control.reload(config(&lab, &moved)).unwrap_err();
        assert!(refused.contains("ipsec.sequence_file needs a restart of the box"), "{refused}");
        let status = running.stop();
        assert!(status.classes[0].1.sent >= 400, "{status:#?}");
    }
}

by_each_io!(the_other_end_has_every_packet_and_no_number_twice);
