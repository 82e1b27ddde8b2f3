//! What the other end of a tunnel encrypts arrives decrypted, once, and nothing else claiming to be from it does;
//! meanwhile, packets leave encrypted.
//!
//! The other end is implemented here and seals according to RFC 4106; if the kernel has ESP, it is also the kernel.

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::{
    TunnelCounters,
    lab::{Lab, Place, Raw, datagram},
};
use dovetail_netns::tool;
use etherparse::{IpNumber, Ipv4Header};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use tempfile::TempDir;

use crate::{
    failing::unbridge,
    key::KeyFile,
    live::{Running, by_each_io, config, lab},
    traffic::{PATIENCE, echo, frames},
};

const KEY: &str = "000102030405060708090a0b0c0d0e0fcafebabe";
const OTHER_KEY: &str = "100102030405060708090a0b0c0d0e0fcafebabe";
const SPI: u32 = 0x2000;
/// The box's end, and the other one.
const HERE: [u8; 4] = [192, 0, 2, 1];
const THERE: [u8; 4] = [198, 51, 100, 1];

/// The files of a box with a tunnel in each direction: the inbound and outbound keys, and sequence numbers.
struct Files {
    incoming: KeyFile,
    outgoing: KeyFile,
    folder: TempDir,
}

impl Files {
    fn new() -> Self {
        Self { incoming: KeyFile::new(KEY), outgoing: KeyFile::new(OTHER_KEY), folder: tempfile::tempdir().unwrap() }
    }
}

/// The box, for packets that match these conditions of a class.
fn settings(files: &Files, io: &str, class: &str) -> String {
    let Files { incoming, outgoing, folder } = files;
    let numbers = folder.path().join("numbers");
    format!(
        "on_failure = \"closed\"\n{io}policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n[ipsec]\nsequence_file = \"{}\"\n\
         [[tunnel]]\nname = \"back\"\ndirection = \"in\"\nspi = {SPI}\nsource = \"198.51.100.1\"\n\
         destination = \"192.0.2.1\"\nkey_file = \"{incoming}\"\nprefixes = [\"10.77.0.0/24\"]\n\
         [[tunnel]]\nname = \"branch\"\nspi = 0x1000\nsource = \"192.0.2.1\"\ndestination = \"198.51.100.1\"\n\
         key_file = \"{outgoing}\"\n\
         [[class]]\nname = \"vpn\"\n{class}\nfunctions = [\"ipsec\"]\ntunnel = \"branch\"\n",
        numbers.display()
    )
}

/// Decrypts a frame at the other end.
fn seal(spi: u32, sequence: u32, frame: &[u8]) -> Vec<u8> {
    let bytes: Vec<u8> = (0..40).step_by(2).map(|at| u8::from_str_radix(&KEY[at..at + 2], 16).unwrap()).collect();
    let cipher = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &bytes[..16]).unwrap());
    let (head, iv) = ([spi.to_be_bytes(), sequence.to_be_bytes()].concat(), (!u64::from(sequence)).to_be_bytes());
    let nonce: [u8; 12] = [&bytes[16..], &iv].concat().try_into().unwrap();
    let mut text = frame[14..].to_vec();
    let padding = (4 - (text.len() + 2) % 4) % 4;
    text.extend_from_slice(&[1, 2, 3][..padding]);
    text.extend([padding as u8, 4]);
    cipher.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(head.clone()), &mut text).unwrap();
    let length = (8 + 8 + text.len()) as u16;
    let mut header = Ipv4Header::new(length, 64, IpNumber(50), THERE, HERE).unwrap();
    header.header_checksum = header.calc_header_checksum();
    [&frame[..14], &header.to_bytes(), &head, &iv, &text].concat()
}

fn plain(number: u64) -> Vec<u8> {
    datagram::frame(Place::Outside, (number % 7) as u16, number, 60 + number as usize % 1300)
}

fn send(source: &Raw, frame: &[u8]) {
    assert_eq!(source.send(std::iter::once(frame)).unwrap(), 1);
    thread::sleep(Duration::from_micros(100));
}

/// The other end, and a host behind the box.
struct Ends {
    there: Raw,
    here: Raw,
    sequence: u32,
}

impl Ends {
    fn next(&mut self) -> u32 {
        self.sequence += 1;
        self.sequence
    }

    /// Sends these until all have arrived unchanged, repeating what was lost while the machine kept the box from running;
    /// returns everything that was sent.
    fn pass(&mut self, numbers: std::ops::Range<u64>) -> Vec<Vec<u8>> {
        let (mut lacking, mut sent) = (numbers.collect::<BTreeSet<_>>(), Vec::new());
        let asked = Instant::now();
        while !lacking.is_empty() {
            assert!(asked.elapsed() < PATIENCE, "{} did not arrive", lacking.len());
            let mut sealed: Vec<_> = lacking.iter().map(|&number| seal(SPI, self.next(), &plain(number))).collect();
            // Out of order, as on multiple paths.
            sealed.chunks_mut(5).for_each(<[_]>::reverse);
            sealed.iter().for_each(|frame| send(&self.there, frame));
            sent.extend(sealed);
            let mut last = Instant::now();
            while last.elapsed() < Duration::from_millis(300) && !lacking.is_empty() {
                while let Some(frame) = self.here.receive() {
                    if let Some(number) = datagram::number(frame).filter(|_| frame[29] == 102) {
                        assert_eq!(frame, plain(number));
                        assert!(lacking.remove(&number), "{number} came twice");
                        last = Instant::now();
                    }
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        sent
    }

    /// Sends a frame until this counter counts it; it must not arrive.
    fn is_counted(&self, running: &Running, frame: &[u8], count: fn(&TunnelCounters) -> u64) {
        let before = count(&running.control.status().tunnels[0].1);
        let asked = Instant::now();
        while count(&running.control.status().tunnels[0].1) == before {
            assert!(asked.elapsed() < PATIENCE, "{:?}", running.control.status().tunnels);
            send(&self.there, frame);
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn what_comes_back_is_decrypted_once(io: &str) {
    let Some(lab) = lab("espin") else { return };
    unbridge(&lab);
    let files = Files::new();
    let settings = settings(&files, io, "ports = [4500]");
    let running = Running::start(&lab, &settings);
    let mut ends = Ends { there: lab.raw(Place::Outside).unwrap(), here: lab.raw(Place::Inside).unwrap(), sequence: 0 };
    // Packets leave encrypted meanwhile: none arrives outside unencrypted.
    let traffic = frames(&lab, Place::Inside, 7, 200);
    let sent = ends.pass(0..300);
    running.until(|status| status.classes[0].1.sent > 300);
    assert_eq!(traffic.heard(), 0, "a packet left as it came");
    drop(traffic.end());
    let other = settings.replace("\"drfq\"", "\"fifo\"");
    running.control.reload(config(&lab, &other)).unwrap();
    for frame in &sent {
        send(&ends.there, frame);
    }
    ends.is_counted(&running, &sent[7], |counted| counted.replay);
    let mut forged = seal(SPI, ends.next(), &plain(1000));
    forged[60] ^= 1;
    ends.is_counted(&running, &forged, |counted| counted.authentication);
    let mut short = forged;
    // Truncated within the IV.
    short[16..18].copy_from_slice(&32u16.to_be_bytes());
    short[24..26].fill(0);
    let header = Ipv4Header::from_slice(&short[14..34]).unwrap().0;
    short[24..26].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
    ends.is_counted(&running, &short, |counted| counted.malformed);
    let mut spoofed = plain(1001);
    spoofed[27] = 78;
    let header = Ipv4Header::from_slice(&spoofed[14..34]).unwrap().0;
    spoofed[24..26].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
    // Each has its own number: otherwise the second would be a replay.
    let asked = Instant::now();
    while running.control.status().tunnels[0].1.not_allowed == 0 {
        assert!(asked.elapsed() < PATIENCE, "{:?}", running.control.status().tunnels);
        let frame = seal(SPI, ends.next(), &spoofed);
        send(&ends.there, &frame);
        thread::sleep(Duration::from_millis(50));
    }
    // A packet with an SPI of no tunnel passes unchanged; none of the earlier ones has arrived.
    let strange = seal(SPI + 1, 1, &plain(1002));
    let asked = Instant::now();
    'arrives: loop {
        assert!(asked.elapsed() < PATIENCE, "it does not pass");
        send(&ends.there, &strange);
        thread::sleep(Duration::from_millis(20));
        while let Some(frame) = ends.here.receive() {
            if frame == strange {
                break 'arrives;
            }
            assert!(datagram::number(frame).is_none_or(|_| frame[29] == 101), "a packet arrived that was refused");
        }
    }
    ends.pass(400..500);
    let counted = running.stop().tunnels[0].1;
    assert!(counted.decrypted >= 400, "{counted:?}");
    assert_eq!((counted.congestion, counted.hop_limit, counted.dummy), (0, 0, 0), "{counted:?}");
}

/// Whether this kernel has ESP with AES-GCM; reports it if not.
fn has_esp(lab: &Lab) -> bool {
    let host = lab.namespace(Place::Outside).name();
    let state = |ends: &str, spi: u32, key: &str| {
        let words = format!("-n {host} xfrm state add {ends} proto esp spi {spi:#x} mode tunnel aead");
        let mut words: Vec<_> = words.split(' ').collect();
        let digits = format!("0x{key}");
        words.extend(["rfc4106(gcm(aes))", &digits, "128"]);
        dovetail_netns::run("ip", &words)
    };
    let states =
        [state("src 192.0.2.1 dst 198.51.100.1", 0x1000, OTHER_KEY), state("src 198.51.100.1 dst 192.0.2.1", SPI, KEY)];
    match states.into_iter().find_map(Result::err) {
        None => true,
        Some(wrong) => {
            dovetail_skip::skipped(format!("this kernel has no ESP with AES-GCM: {wrong}"));
            false
        }
    }
}

/// A host outside terminates the tunnels in its kernel, and TCP passes through both.
#[test]
fn a_kernel_is_the_other_end() {
    let Some(lab) = lab("xfrm") else { return };
    if !has_esp(&lab) {
        return;
    }
    unbridge(&lab);
    let ip = |place, words: &str| tool("ip", &format!("-n {} {words}", lab.namespace(place).name())).unwrap();
    const INSIDE: &str = "02:00:00:00:00:33";
    ip(Place::Inside, &format!("link set eth0 address {INSIDE}"));
    // The box has no Ethernet address of its own: frames for its end go to the host behind it.
    ip(Place::Outside, "address add 198.51.100.1/32 dev eth0");
    ip(Place::Outside, "route add 192.0.2.1/32 dev eth0");
    ip(Place::Outside, &format!("neighbour replace 192.0.2.1 lladdr {INSIDE} nud permanent dev eth0"));
    let (out, back) = ("src 198.51.100.1 dst 192.0.2.1", "src 192.0.2.1 dst 198.51.100.1");
    let policy = "proto esp mode tunnel";
    ip(Place::Outside, &format!("xfrm policy add src 10.77.0.2 dst 10.77.0.1 dir out tmpl {out} {policy}"));
    ip(Place::Outside, &format!("xfrm policy add src 10.77.0.1 dst 10.77.0.2 dir in tmpl {back} {policy}"));
    let files = Files::new();
    let running = Running::start(&lab, &settings(&files, "", "prefixes = [\"10.77.0.0/24\"]"));
    echo(&lab, 300_000);
    let status = running.stop();
    let (decrypted, encrypted) = (status.tunnels[0].1, status.classes[0].1.sent);
    assert!(decrypted.decrypted > 100 && encrypted > 100, "{decrypted:?}, {encrypted} encrypted");
}

by_each_io!(what_comes_back_is_decrypted_once);
