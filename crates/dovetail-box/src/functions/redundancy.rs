//! Redundancy elimination between the two ends of a link: content seen before is sent as a reference.
//!
//! Both ends store the chunks of past packets (see the module `chunks`). The sending end replaces each chunk that it has
//! stored by the number of its slot, the receiving end restores the bytes, and then both learn the packet; references are
//! to earlier packets only. After Spring and Wetherall, *A protocol-independent technique for eliminating redundant network
//! traffic*, SIGCOMM 2000. An encoded packet carries, after its IP header and with the protocol number 253 (RFC 3692, for
//! experiments),
//!
//! ```text
//! protocol 1 B │ 0 1 B │ original length 2 B │ check 4 B │ parts:  0 length 15 bit, bytes   or   1 place 31 bit
//! ```
//!
//! The check is a keyed hash of the original content. If packets are lost or reordered between the two ends, their stores
//! diverge, and the check tells the receiving end to drop what it cannot restore rather than deliver something else: such a
//! pair belongs on a link that neither loses nor reorders. Packets that would not shrink pass unchanged, fragments pass
//! without being learnt.

use rand_xoshiro::{
    SplitMix64,
    rand_core::{Rng, SeedableRng},
};
use siphasher::sip::SipHasher13;
use std::{hash::Hasher, ops::Range};

use super::{
    NetworkFunction, Processing, Reason, Verdict,
    chunks::{Store, cut},
    frame::{Ip, Version, read_u16, write, write_length},
    protocol,
};

/// Its name on the command line.
pub const NAME: &str = "redundancy";

/// Length of the header before the parts.
const SHIM: usize = 8;
/// Length of a reference, and the bit that marks one.
const REFERENCE: usize = 4;
const MARK: u32 = 1 << 31;
/// Length of the number before a literal part, and the part's maximum length in bytes.
const LITERAL: usize = 2;
const MAX_LITERAL_BYTES: usize = 0x7fff;
/// Maximum growth of a packet in bytes: of one that has the protocol number already, if nothing is replaced. A reference
/// saves more than it costs.
pub const GROWTH: u32 = (SHIM + LITERAL * (u16::MAX as usize - SHIM).div_ceil(MAX_LITERAL_BYTES)) as u32;

/// State common to both ends.
#[derive(Debug)]
struct End {
    store: Store,
    key: [u8; 16],
    chunks: Vec<Range<usize>>,
    /// The new payload.
    new: Vec<u8>,
}

impl End {
    fn new(chunks: usize, key: [u8; 16]) -> Self {
        Self { store: Store::new(chunks, key), key, chunks: Vec::new(), new: Vec::new() }
    }

    fn check(&self, content: &[u8]) -> [u8; 4] {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write(content);
        // The store is indexed by the low half of the hash; the check uses the other half.
        ((hasher.finish() >> 32) as u32).to_be_bytes()
    }

    /// Replaces the packet's payload.
    fn replace(&self, frame: &mut Vec<u8>, mut ip: Ip, protocol: u8) {
        frame.truncate(ip.body);
        frame.extend_from_slice(&self.new);
        ip.end = frame.len();
        write(frame, ip.protocol_at(), &[protocol]);
        write_length(frame, &ip);
    }
}

/// The sending end: the function.
#[derive(Debug)]
pub struct Redundancy(End);

impl Redundancy {
    /// Stores `chunks` chunks (2 to 2^20, rounded up to a power of two), at some 270 bytes each; the other end needs the
    /// same number and key.
    #[must_use]
    pub fn new(chunks: usize, key: [u8; 16]) -> Self {
        Self(End::new(chunks, key))
    }

    /// A store of 16,384 chunks with a key derived from a seed: for measurements.
    #[must_use]
    pub fn example(seed: u64) -> Self {
        let mut key = [0; 16];
        SplitMix64::seed_from_u64(seed).fill_bytes(&mut key);
        Self::new(1 << 14, key)
    }
}

/// The packet in a frame; fragments are left untouched.
fn whole(frame: &[u8]) -> Result<Ip, Verdict> {
    let ip = Ip::find(frame)?;
    if ip.is_fragment(frame) { Err(Verdict::Untouched) } else { Ok(ip) }
}

/// Whether a payload of this many bytes fits into the packet: its length field counts the header in IPv4 only.
fn fits(ip: &Ip, payload_bytes: usize) -> bool {
    let header = if ip.version == Version::V4 { ip.body - ip.at } else { 0 };
    payload_bytes + header <= usize::from(u16::MAX)
}

impl NetworkFunction for Redundancy {
    fn name(&self) -> &str {
        NAME
    }

    fn processing(&self) -> Processing {
        Processing::Payload
    }

    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let ip = match whole(frame) {
            Ok(ip) => ip,
            Err(verdict) => return verdict,
        };
        let end = &mut self.0;
        let (content, protocol) = (&frame[ip.body..ip.end], ip.protocol(frame));
        end.chunks.clear();
        cut(content, &mut end.chunks);
        let check = end.check(content);
        end.new.clear();
        end.new.extend_from_slice(&[protocol, 0]);
        end.new.extend_from_slice(&(content.len() as u16).to_be_bytes());
        end.new.extend_from_slice(&check);
        let mut from = 0;
        for chunk in &end.chunks {
            if let Some(place) = end.store.find(&content[chunk.clone()]) {
                push_bytes(&mut end.new, &content[from..chunk.start]);
                end.new.extend_from_slice(&(MARK | place as u32).to_be_bytes());
                from = chunk.end;
            }
        }
        push_bytes(&mut end.new, &content[from..]);
        // A packet that already has this protocol number must be encoded, or the other end would try to decode it.
        let must = protocol == protocol::EXPERIMENT;
        if must && !fits(&ip, end.new.len()) {
            return Verdict::Drop(Reason::TooLong);
        }
        end.store.learn(content, &end.chunks);
        if must || end.new.len() < content.len() {
            end.replace(frame, ip, protocol::EXPERIMENT);
        }
        Verdict::Forward
    }
}

/// Appends literal bytes, in as many parts as it takes.
fn push_bytes(new: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.chunks(MAX_LITERAL_BYTES) {
        new.extend_from_slice(&(part.len() as u16).to_be_bytes());
        new.extend_from_slice(part);
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct Restoration(End);

impl Restoration {
    /// The other end of a [`Redundancy`] of the same size and key.
    #[must_use]
    pub fn new(chunks: usize, key: [u8; 16]) -> Self {
        Self(End::new(chunks, key))
    }

    /// Decodes a payload into `new` and returns its protocol; `None` if it cannot be restored.
    fn restore(end: &mut End, payload: &[u8]) -> Option<u8> {
        let (shim, mut parts) = payload.split_at_checked(SHIM)?;
        let length = usize::from(read_u16(shim, 2)?);
        end.new.clear();
        while let Some(&first) = parts.first() {
            let content = if first & 0x80 != 0 {
                let (reference, rest) = parts.split_first_chunk::<REFERENCE>()?;
                parts = rest;
                end.store.get((u32::from_be_bytes(*reference) & !MARK) as usize)?
            } else {
                let (head, rest) = parts.split_first_chunk()?;
                let (content, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*head)))?;
                parts = rest;
                content
            };
            if end.new.len() + content.len() > length {
                return None;
            }
            end.new.extend_from_slice(content);
        }
        (end.new.len() == length && shim[4..] == end.check(&end.new)).then_some(shim[0])
    }
}

impl NetworkFunction for Restoration {
    fn name(&self) -> &str {
        "restoration"
    }

    fn processing(&self) -> Processing {
        Processing::Payload
    }

    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let ip = match whole(frame) {
            Ok(ip) => ip,
            Err(verdict) => return verdict,
        };
        let end = &mut self.0;
        if ip.protocol(frame) == protocol::EXPERIMENT {
            let Some(protocol) = Self::restore(end, &frame[ip.body..ip.end]) else {
                return Verdict::Drop(Reason::Malformed);
            };
            if !fits(&ip, end.new.len()) {
                return Verdict::Drop(Reason::TooLong);
            }
            end.replace(frame, ip, protocol);
        } else {
            end.new.clear();
            end.new.extend_from_slice(&frame[ip.body..ip.end]);
        }
        end.chunks.clear();
        cut(&end.new, &mut end.chunks);
        end.store.learn(&end.new, &end.chunks);
        Verdict::Forward
    }
}

#[cfg(test)]
mod tests;
