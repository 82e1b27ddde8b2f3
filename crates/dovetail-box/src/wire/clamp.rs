//! Clamps the MSS: makes TCP hosts agree on segments that fit the path although a middlebox makes packets longer.
//!
//! Each end announces in its SYN the maximum segment size that it accepts (MSS, RFC 9293, 3.7.1). A larger value than fits
//! is lowered on the way, so that no packet has to be answered by "too big", which many networks drop.

use crate::functions::{
    checksum::adjusted,
    frame::{IPV4, IPV6, Ip, TCP, Version, read_u16, write},
    protocol,
};

/// The SYN flag.
const SYN: u8 = 0x02;
const END: u8 = 0;
const NOTHING: u8 = 1;
const MSS: u8 = 2;
const MSS_BYTES: usize = 4;
/// TCP-AO (RFC 5925): both ends share a key, and a hash covers all options.
const AUTHENTICATION: u8 = 29;

/// The MSS whose packets fit an MTU after they have grown by up to `growth`, all in bytes: without the headers of IP and
/// TCP without options, as the MSS is defined (RFC 6691). `None` if nothing fits.
#[must_use]
pub fn mss_that_fits(version: Version, mtu: u32, growth: u32) -> Option<u16> {
    let header = if version == Version::V4 { IPV4 } else { IPV6 };
    let room = mtu.saturating_sub(growth).saturating_sub((header + TCP) as u32);
    (room > 0).then_some(u16::try_from(room).unwrap_or(u16::MAX))
}

/// Lowers the MSS of a TCP SYN to `most` bytes if it is greater, and returns whether it did. The checksum is updated (RFC
/// 1624): a correct one stays correct, a wrong one stays wrong. It must be filled in already.
///
/// Any other frame is left unchanged, and so is an option that is truncated or has a wrong length, and a SYN whose options
/// are authenticated: a change would be a forgery. If there are several MSS options, each is lowered. Reads at most 40
/// bytes of options, twice.
pub fn clamp_mss(frame: &mut [u8], most: u16) -> bool {
    let Some(options) = syn_options(frame) else { return false };
    let transport = options.at - TCP;
    let mut rest = options.clone();
    while let Some(option) = rest.next(frame) {
        if option.kind == AUTHENTICATION {
            return false;
        }
    }
    let mut lowered = false;
    let mut rest = options;
    while let Some(option) = rest.next(frame) {
        let mss = read_u16(frame, option.at + 2).unwrap_or(0);
        if (option.kind, option.bytes) == (MSS, MSS_BYTES) && mss > most {
            replace(frame, transport, option.at + 2, mss, most);
            lowered = true;
        }
    }
    lowered
}

/// Same as for [`clamp_mss`], with the MSS for the frame's version of IP.
pub fn clamp_mss_to(frame: &mut [u8], v4: u16, v6: u16) -> bool {
    match Ip::find(frame) {
        Ok(Ip { version: Version::V4, .. }) => clamp_mss(frame, v4),
        Ok(Ip { version: Version::V6, .. }) => clamp_mss(frame, v6),
        Err(_) => false,
    }
}

/// The options of a SYN.
fn syn_options(frame: &[u8]) -> Option<Options> {
    let ip = Ip::find(frame).ok()?;
    let (protocol::TCP, Some(transport)) = ip.transport(frame) else { return None };
    let header = frame.get(transport..ip.end)?.first_chunk::<TCP>()?;
    let end = transport + usize::from(header[12] >> 4) * 4;
    let is_syn = header[13] & SYN != 0 && end >= transport + TCP && end <= ip.end;
    is_syn.then_some(Options { at: transport + TCP, end })
}

/// The options not read yet.
#[derive(Clone)]
struct Options {
    at: usize,
    end: usize,
}

struct TcpOption {
    kind: u8,
    at: usize,
    bytes: usize,
}

impl Options {
    /// The next option, if it lies within the header.
    fn next(&mut self, frame: &[u8]) -> Option<TcpOption> {
        let ahead = frame.get(self.at..self.end)?;
        let (kind, bytes) = match *ahead {
            [END, ..] => return None,
            [NOTHING, ..] => (NOTHING, 1),
            [kind, bytes, ..] if bytes >= 2 => (kind, usize::from(bytes)),
            _ => return None,
        };
        let option = TcpOption { kind, at: self.at, bytes };
        self.at += bytes;
        (bytes <= ahead.len()).then_some(option)
    }
}

fn replace(frame: &mut [u8], transport: usize, at: usize, old: u16, new: u16) {
    write(frame, at, &new.to_be_bytes());
    let Some(checksum) = read_u16(frame, transport + 16) else { return };
    // At an odd offset the bytes are halves of two words: the high one is the low half of the first.
    let [old, new] = [old, new].map(|word| if (at - transport).is_multiple_of(2) { word } else { word.swap_bytes() });
    write(frame, transport + 16, &adjusted(checksum, old, new).to_be_bytes());
}

#[cfg(test)]
mod tests;
