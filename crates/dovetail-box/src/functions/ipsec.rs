//! ESP in tunnel mode with AES-GCM, with keys of 128 or 256 bits (RFC 4303, RFC 4106).
//!
//! ```text
//! Ethernet │ outer IPv4 │ SPI  sequence │ IV │ inner packet  padding  length  next header │ ICV
//!                         4 B  4 B        8 B  └───────────────── encrypted ────────────┘   16 B
//!                         └─ authenticated ─┘  └──────────────── authenticated ─────────┘
//! ```
//!
//! The nonce is the salt, which both ends know, and the IV, which must be unique under a key (RFC 4106, 3.1): it is the
//! sequence number, and once its 32 bits are exhausted, so is the key (RFC 4303, 3.3.3). [`Numbers`] hands out each number
//! once, also when several workers encrypt for the same tunnel. The padding extends the encrypted part to a multiple of
//! four bytes. Traffic class and ECN bits are copied to the outer header; the inner hop limit is left to forwarding.
//!
//! Decryption, [`opening`], is not a function of a class, as traffic in the other direction has no class.

mod ecn;
pub mod opening;
pub mod replay;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rand_xoshiro::{
    SplitMix64,
    rand_core::{Rng, SeedableRng},
};
use ring::{
    aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    digest::{SHA256, digest},
};

use super::{
    NetworkFunction, Processing, Reason, Verdict,
    frame::{IPV4, Ip, TYPE_IPV4, Version, write, write_checksum},
    protocol,
};

/// Its name on the command line.
pub const NAME: &str = "ipsec";

/// SPI and sequence number.
const HEADER: usize = 8;
const IV: usize = 8;
const ICV: usize = 16;
/// Padding to four bytes, pad length and next header (RFC 4303, 2.4).
const TRAILER: usize = 3 + 2;
/// Maximum growth of a packet in bytes.
pub const GROWTH: u32 = (IPV4 + HEADER + IV + TRAILER + ICV) as u32;

/// Length of the salt, which follows the key where a key is written down (RFC 4106, 8.1).
const SALT: usize = 4;

/// A key with its salt, the first four bytes of every nonce. Its `Debug` output does not reveal it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// An AES-128 key.
    Short([u8; 16 + SALT]),
    /// An AES-256 key.
    Long([u8; 32 + SALT]),
}

impl Keys {
    /// Describes what [`parse`](Self::parse) reads.
    pub const WRITTEN: &str = "a key of AES-128 or AES-256 and its salt of 4 bytes, as 40 or 72 hexadecimal digits";
    /// Number of digits of the longest key.
    pub const MAX_DIGITS: usize = 2 * (32 + SALT);

    /// Parses hexadecimal digits, the salt's last, as `ip xfrm` takes them, with an optional prefix `0x`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) || digits.len() > Self::MAX_DIGITS {
            return None;
        }
        let bytes = digits.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        });
        let bytes = bytes.collect::<Option<Vec<u8>>>()?;
        match digits.len() {
            40 => Some(Self::Short(bytes.try_into().ok()?)),
            72 => Some(Self::Long(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// Identifies a key without revealing it.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 16] {
        let whole = digest(&SHA256, self.bytes());
        whole.as_ref().first_chunk().copied().unwrap_or_default()
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(bytes) => bytes,
            Self::Long(bytes) => bytes,
        }
    }

    fn cipher(&self) -> LessSafeKey {
        let (bytes, cipher) = match self {
            Self::Short(bytes) => (&bytes[..16], &AES_128_GCM),
            Self::Long(bytes) => (&bytes[..32], &AES_256_GCM),
        };
        LessSafeKey::new(UnboundKey::new(cipher, bytes).expect("a key has the length of its cipher's"))
    }

    fn salt(&self) -> [u8; SALT] {
        self.bytes().last_chunk().copied().unwrap_or_default()
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// Sequence numbers of an association, from the next one up to the permitted limit. Can be shared between threads.
#[derive(Debug)]
pub struct Numbers {
    next: AtomicU64,
    /// The first number that is not permitted.
    until: AtomicU64,
}

impl Numbers {
    /// One past the largest sequence number: they have 32 bits.
    pub const END: u64 = 1 << 32;

    /// Numbers from `next`, which is at least 1 (RFC 4303, 2.2), up to `until`, exclusive.
    #[must_use]
    pub fn new(next: u64, until: u64) -> Self {
        Self { next: AtomicU64::new(next.max(1)), until: AtomicU64::new(until.min(Self::END)) }
    }

    /// Raises the limit to `until`.
    pub fn permit(&self, until: u64) {
        self.until.fetch_max(until.min(Self::END), Ordering::Release);
    }

    /// The next number to be used.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// The first number that is not permitted.
    #[must_use]
    pub fn until(&self) -> u64 {
        self.until.load(Ordering::Relaxed)
    }

    fn take(&self) -> Option<u64> {
        let until = self.until.load(Ordering::Acquire);
        let take = |next| (next < until).then_some(next + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()
    }
}

/// The parameters that both ends of a tunnel have agreed on for one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Association {
    /// The key and its salt.
    pub keys: Keys,
    /// The security parameters index, by which the other end finds this association.
    pub spi: u32,
    /// This end.
    pub source: [u8; 4],
    /// The other end.
    pub destination: [u8; 4],
}

/// The encrypting function.
pub struct Ipsec {
    cipher: LessSafeKey,
    association: Association,
    numbers: Arc<Numbers>,
}

impl Ipsec {
    /// The sending end of a tunnel. All sending ends with the same key must share `numbers`.
    ///
    /// # Panics
    /// Never: keys have the lengths of their ciphers'.
    #[must_use]
    pub fn new(association: Association, numbers: Arc<Numbers>) -> Self {
        Self { cipher: association.keys.cipher(), association, numbers }
    }

    /// A tunnel with a key derived from a seed: for measurements.
    #[must_use]
    pub fn example(seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        let mut keys = [0; 16 + SALT];
        random.fill_bytes(&mut keys);
        let keys = Keys::Short(keys);
        let association =
            Association { keys, spi: 0x0000_1000, source: [192, 0, 2, 1], destination: [198, 51, 100, 1] };
        Self::new(association, Arc::new(Numbers::new(1, Numbers::END)))
    }

    /// Wraps `at..end` of the frame, whose protocol number is `next`, in ESP, leaving room for an outer header before it.
    fn seal(&self, frame: &mut Vec<u8>, at: usize, end: usize, next: u8, sequence: u32, iv: u64) {
        let padding = (4 - (end - at + 2) % 4) % 4;
        frame.truncate(end);
        frame.extend_from_slice(&[1, 2, 3][..padding]);
        frame.extend_from_slice(&[padding as u8, next]);
        let mut spi_and_sequence = [0; HEADER];
        spi_and_sequence[..4].copy_from_slice(&self.association.spi.to_be_bytes());
        spi_and_sequence[4..].copy_from_slice(&sequence.to_be_bytes());
        let iv = iv.to_be_bytes();
        let mut nonce = [0; 12];
        nonce[..SALT].copy_from_slice(&self.association.keys.salt());
        nonce[SALT..].copy_from_slice(&iv);
        frame.splice(at..at, [0; IPV4 + HEADER + IV]);
        write(frame, at + IPV4, &spi_and_sequence);
        write(frame, at + IPV4 + HEADER, &iv);
        let (nonce, text) = (Nonce::assume_unique_for_key(nonce), at + IPV4 + HEADER + IV..frame.len());
        // The cipher rejects only plaintexts beyond 2^36 bytes, and this one fits into an IP packet.
        let icv = self
            .cipher
            .seal_in_place_separate_tag(nonce, Aad::from(spi_and_sequence), &mut frame[text])
            .expect("the text is shorter than the cipher's limit");
        frame.extend_from_slice(icv.as_ref());
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
        let Ok(length) = u16::try_from(outer) else { return Verdict::Drop(Reason::TooLong) };
        let Some(number) = self.numbers.take() else { return Verdict::Drop(Reason::KeyUsedUp) };
        let (next, class) = match ip.version {
            Version::V4 => (protocol::IPV4, frame[ip.at + 1]),
            Version::V6 => (protocol::IPV6, frame[ip.at] << 4 | frame[ip.at + 1] >> 4),
        };
        self.seal(frame, ip.at, ip.end, next, number as u32, number);
        let [high, low] = length.to_be_bytes();
        // Identification 0, don't fragment, hop limit 64, checksum filled in below.
        let mut header = [0; IPV4];
        header[..12].copy_from_slice(&[0x45, class, high, low, 0, 0, 0x40, 0, 64, protocol::ESP, 0, 0]);
        header[12..16].copy_from_slice(&self.association.source);
        header[16..].copy_from_slice(&self.association.destination);
        write(frame, ip.at, &header);
        write(frame, ip.at - 2, &TYPE_IPV4.to_be_bytes());
        let outer = Ip { version: Version::V4, at: ip.at, body: ip.at + IPV4, end: frame.len() };
        write_checksum(frame, &outer);
        Verdict::Forward
    }
}

impl std::fmt::Debug for Ipsec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ipsec").field("association", &self.association).field("numbers", &self.numbers).finish()
    }
}

#[cfg(test)]
mod tests;
