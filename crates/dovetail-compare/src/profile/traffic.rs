//! Packets for measurements, generated from a seed.
//!
//! Network functions get UDP over IPv4 of [`FLOWS`] flows. Half of the payload consists of pieces of a corpus that is used
//! repeatedly, the other half is random: without repetition, redundancy elimination would find nothing. `jpeg` gets raw
//! pictures, square and in 4:2:0 (a plane of brightness, two of colour at half the width and height): a gradient, a disc that
//! moves from picture to picture, and a little noise.

use dovetail_box::functions::{checksum, frame, jpeg};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

use crate::error::Misuse;

/// Number of flows, each equally likely for a packet.
const FLOWS: u64 = 4096;
/// Bytes of the repeated content.
const CORPUS: usize = 1 << 18;
/// Longest piece of payload.
const PIECE: usize = 512;
/// Ethernet, IPv4 and UDP.
pub(crate) const HEADERS: usize = frame::ETHERNET + frame::IPV4 + frame::UDP;

/// Generates frames one by one.
pub(super) struct Traffic {
    random: Xoshiro256PlusPlus,
    corpus: Vec<u8>,
    pictures: bool,
    number: u32,
}

impl Traffic {
    pub(super) fn new(function: &str, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x9e37_79b9_7f4a_7c15);
        let pictures = function == jpeg::NAME;
        let mut corpus = vec![0; if pictures { 0 } else { CORPUS }];
        random.fill_bytes(&mut corpus);
        Self { random, corpus, pictures, number: 0 }
    }

    /// Default sizes for measuring a function.
    pub(super) fn usual_sizes(function: &str) -> Vec<usize> {
        if function == jpeg::NAME {
            // Squares of 32, 64, 96 and 128 pixels.
            vec![1536, 6144, 13_824, 24_576]
        } else {
            vec![64, 128, 256, 512, 768, 1024, 1280, 1514]
        }
    }

    /// Whether there are packets of this size.
    pub(super) fn check(&self, size: usize) -> Result<(), Misuse> {
        if self.pictures {
            return jpeg::side(size).map(|_| ()).ok_or_else(|| {
                Misuse::NoSuchSize(format!(
                    "jpeg: no square picture has {size} bytes: w·w·3/2 with an even w up to 208, such as 1536 for \
                     32 pixels"
                ))
            });
        }
        // Headers added by functions must fit into an IP packet too.
        if (64..=65_000).contains(&size) {
            Ok(())
        } else {
            Err(Misuse::NoSuchSize(format!("no packet has {size} bytes: sizes are from 64 to 65000")))
        }
    }

    /// The next frame of this size.
    pub(super) fn fill(&mut self, frame: &mut Vec<u8>, size: usize) {
        frame.clear();
        self.number = self.number.wrapping_add(1);
        let payload = if self.pictures { size } else { size - HEADERS };
        self.headers(frame, payload);
        if self.pictures {
            self.picture(frame, jpeg::side(payload).unwrap_or(0));
        } else {
            self.pieces(frame, payload);
        }
    }

    fn headers(&mut self, frame: &mut Vec<u8>, payload: usize) {
        let flow = (self.random.next_u64() % FLOWS) as u32;
        // Spread over all prefixes, but constant per flow.
        let [a, b, c, d] = flow.wrapping_mul(0x9e37_79b9).to_be_bytes();
        let ports = [(1024 + flow) as u16, 443].map(u16::to_be_bytes);
        let lengths = [payload + frame::UDP + frame::IPV4, payload + frame::UDP].map(|n| (n as u16).to_be_bytes());
        frame.extend_from_slice(&[0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x08, 0x00]);
        let at = frame.len();
        frame.extend_from_slice(&[0x45, 0]);
        frame.extend_from_slice(&lengths[0]);
        // No identification, don't fragment, 64 hops, UDP, checksum to follow.
        frame.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0, 10, a, b, c, b, c, d, a]);
        let checksum = checksum::finish(checksum::sum(&frame[at..], 0));
        frame[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
        frame.extend_from_slice(&ports[0]);
        frame.extend_from_slice(&ports[1]);
        frame.extend_from_slice(&lengths[1]);
        // No UDP checksum, as IPv4 allows.
        frame.extend_from_slice(&[0, 0]);
    }

    fn pieces(&mut self, frame: &mut Vec<u8>, payload: usize) {
        let end = frame.len() + payload;
        while frame.len() < end {
            let drawn = self.random.next_u64();
            let length = (PIECE / 4 + (drawn >> 1) as usize % (PIECE * 3 / 4)).min(end - frame.len());
            if drawn & 1 == 0 {
                let from = (drawn >> 32) as usize % (CORPUS - PIECE);
                frame.extend_from_slice(&self.corpus[from..from + length]);
            } else {
                let at = frame.len();
                frame.resize(at + length, 0);
                self.random.fill_bytes(&mut frame[at..]);
            }
        }
    }

    fn picture(&mut self, frame: &mut Vec<u8>, side: usize) {
        let size = side as i32;
        // The disc moves along a diagonal and back, by a sixteenth of it per picture.
        let step = (self.number % 32) as i32;
        let way = if step < 16 { step } else { 32 - step };
        let (x0, y0) = (size * way / 16, size * (16 - way) / 16);
        let inside = |x: i32, y: i32| (x - x0).pow(2) + (y - y0).pow(2) < (size / 4).pow(2);
        let mut noise = 0u64;
        for y in 0..size {
            for x in 0..size {
                if x % 16 == 0 {
                    noise = self.random.next_u64();
                }
                let grain = (noise >> (4 * (x % 16))) as i32 & 15;
                let slope = 40 + (x + y) * 120 / (2 * size);
                frame.push((slope + grain + if inside(x, y) { 60 } else { 0 }) as u8);
            }
        }
        for (outer, disc) in [(110, 160), (140, 90)] {
            for y in 0..size / 2 {
                for x in 0..size / 2 {
                    let tint = if inside(2 * x, 2 * y) { disc } else { outer + y * 20 / size };
                    frame.push(tint as u8);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_box::functions::{REGISTRY, Verdict};

    fn frames(function: &str, seed: u64, sizes: &[usize]) -> Vec<Vec<u8>> {
        let mut traffic = Traffic::new(function, seed);
        let mut frame = Vec::new();
        sizes
            .iter()
            .map(|&size| {
                traffic.check(size).unwrap();
                traffic.fill(&mut frame, size);
                frame.clone()
            })
            .collect()
    }

    #[test]
    fn every_function_handles_its_packets_at_every_size() {
        for entry in REGISTRY {
            let mut sizes = Traffic::usual_sizes(entry.name);
            sizes.extend(if entry.name == jpeg::NAME { [6, 64_896] } else { [65, 65_000] });
            let mut function = entry.example(3);
            for (mut frame, &size) in frames(entry.name, 3, &sizes).into_iter().zip(&sizes) {
                assert_eq!(frame.len(), size + if entry.name == jpeg::NAME { HEADERS } else { 0 });
                assert_eq!(function.process(&mut frame), Verdict::Forward, "{} at {size}", entry.name);
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_packets_and_another_others() {
        for (function, size) in [("ipsec", 1000), (jpeg::NAME, 1536)] {
            let of = |seed| frames(function, seed, &[size; 20]);
            assert_eq!(of(1), of(1));
            assert_ne!(of(1), of(2));
            let [first, second, ..] = &of(1)[..] else { panic!("20 frames") };
            assert_ne!(first[HEADERS..], second[HEADERS..], "packets differ from each other");
        }
    }
}
