//! ESP in tunnel mode with AES-128-GCM (RFC 4303, RFC 4106).
//!
//! ```text
//! Ethernet │ outer IPv4 │ SPI  sequence │ IV │ inner packet  padding  length  next header │ ICV
//!                         4 B  4 B        8 B  └───────────────── encrypted ────────────┘   16 B
//!                         └─ authenticated ─┘  └──────────────── authenticated ─────────┘
//! ```
//!
//! The nonce is the salt, which both ends know, and the IV. IVs count up and never come again under a key; when the
//! 32-bit sequence numbers are used up, so is the key. The padding brings the encrypted part to a multiple of four
//! bytes. Traffic class and congestion bits go to the outer header; the inner hop limit is left to forwarding.

use rand_xoshiro::{
    SplitMix64,
    rand_core::{Rng, SeedableRng},
};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::{
    NetworkFunction, Processing, Reason, Verdict,
    frame::{IPV4, Ip, TYPE_IPV4, Version, write, write_checksum},
};

/// As it is called on the command line.
pub const NAME: &str = "ipsec";

/// SPI and sequence number.
const HEADER: usize = 8;
const IV: usize = 8;
const ICV: usize = 16;
/// Padding to four bytes, its length and the number of the protocol inside (RFC 4303, 2.4).
const TRAILER: usize = 3 + 2;
/// By how much a packet grows at most.
pub const GROWTH: u32 = (IPV4 + HEADER + IV + TRAILER + ICV) as u32;

/// Protocol number of ESP.
const PROTOCOL_ESP: u8 = 50;
/// Protocol numbers of IP within IP.
const NEXT_IPV4: u8 = 4;
const NEXT_IPV6: u8 = 41;

/// What both ends of a tunnel have agreed on for one direction.
#[derive(Clone, Copy)]
pub struct Association {
    /// The key of AES-128.
    pub key: [u8; 16],
    /// The first four bytes of every nonce, as secret as the key.
    pub salt: [u8; 4],
    /// By which the other end finds this association.
    pub spi: u32,
    /// This end.
    pub source: [u8; 4],
    /// The other end.
    pub destination: [u8; 4],
}

/// The function.
pub struct Ipsec {
    key: LessSafeKey,
    association: Association,
    /// Of the next packet; none is left at 2^32.
    sequence: u64,
    /// Of the next packet.
    iv: u64,
}

impl Ipsec {
    /// The sending end of a tunnel, from its first packet on. A key must be used for one such end only.
    ///
    /// # Panics
    /// Never: the key has the length of the cipher's.
    #[must_use]
    pub fn new(association: Association) -> Self {
        let key = UnboundKey::new(&AES_128_GCM, &association.key).expect("16 bytes are a key of AES-128");
        Self { key: LessSafeKey::new(key), association, sequence: 1, iv: 1 }
    }

    /// A tunnel with a key derived from a seed: for measurements.
    #[must_use]
    pub fn example(seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        let (mut key, mut salt) = ([0; 16], [0; 4]);
        random.fill_bytes(&mut key);
        random.fill_bytes(&mut salt);
        Self::new(Association { key, salt, spi: 0x0000_1000, source: [192, 0, 2, 1], destination: [198, 51, 100, 1] })
    }

    /// Puts what lies at `at..end` of the frame, and is called `next`, into ESP, with room for an outer header before
    /// it.
    fn seal(&mut self, frame: &mut Vec<u8>, at: usize, end: usize, next: u8) {
        let padding = (4 - (end - at + 2) % 4) % 4;
        frame.truncate(end);
        frame.extend_from_slice(&[1, 2, 3][..padding]);
        frame.extend_from_slice(&[padding as u8, next]);
        let mut spi_and_sequence = [0; HEADER];
        spi_and_sequence[..4].copy_from_slice(&self.association.spi.to_be_bytes());
        spi_and_sequence[4..].copy_from_slice(&(self.sequence as u32).to_be_bytes());
        let iv = self.iv.to_be_bytes();
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.association.salt);
        nonce[4..].copy_from_slice(&iv);
        frame.splice(at..at, [0; IPV4 + HEADER + IV]);
        write(frame, at + IPV4, &spi_and_sequence);
        write(frame, at + IPV4 + HEADER, &iv);
        let (nonce, text) = (Nonce::assume_unique_for_key(nonce), at + IPV4 + HEADER + IV..frame.len());
        // The cipher refuses only texts beyond 2^36 bytes, and this one fits into an IP packet.
        let icv = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(spi_and_sequence), &mut frame[text])
            .expect("the text is shorter than the cipher's limit");
        frame.extend_from_slice(icv.as_ref());
        self.sequence += 1;
        self.iv = self.iv.wrapping_add(1);
    }
}

impl NetworkFunction for Ipsec {
    fn name(&self) -> &str {
        NAME
    }

    fn processing(&self) -> Processing {
        Processing::Payload
    }

    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let ip = match Ip::find(frame) {
            Ok(ip) => ip,
            Err(verdict) => return verdict,
        };
        let inner = ip.end - ip.at;
        let outer = IPV4 + HEADER + IV + (inner + 2).next_multiple_of(4) + ICV;
        if self.sequence > u64::from(u32::MAX) {
            return Verdict::Drop(Reason::KeyUsedUp);
        }
        let Ok(length) = u16::try_from(outer) else { return Verdict::Drop(Reason::TooLong) };
        let (next, class) = match ip.version {
            Version::V4 => (NEXT_IPV4, frame[ip.at + 1]),
            Version::V6 => (NEXT_IPV6, frame[ip.at] << 4 | frame[ip.at + 1] >> 4),
        };
        self.seal(frame, ip.at, ip.end, next);
        let [high, low] = length.to_be_bytes();
        // No identification, do not fragment, 64 hops, checksum to come.
        let mut header = [0; IPV4];
        header[..12].copy_from_slice(&[0x45, class, high, low, 0, 0, 0x40, 0, 64, PROTOCOL_ESP, 0, 0]);
        header[12..16].copy_from_slice(&self.association.source);
        header[16..].copy_from_slice(&self.association.destination);
        write(frame, ip.at, &header);
        write(frame, ip.at - 2, &TYPE_IPV4.to_be_bytes());
        let outer = Ip { version: Version::V4, at: ip.at, body: ip.at + IPV4, end: frame.len() };
        write_checksum(frame, &outer);
        Verdict::Forward
    }
}

/// Without the key.
impl std::fmt::Debug for Ipsec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ipsec").field("spi", &self.association.spi).field("sequence", &self.sequence).finish()
    }
}

#[cfg(test)]
mod tests;
