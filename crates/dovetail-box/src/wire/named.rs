//! The name that a packet carries to select its processing: an experimental IP option that contains letters.
//!
//! ```text
//! IPv4   option 222 (copied into fragments; RFC 3692's style, RFC 4727):   222 | length, these two included | letters
//! IPv6   option 0x1e, skipped by hosts that do not know it (RFC 4727), of a hop-by-hop or destination header:
//!                                                                          0x1e | length of what follows | letters
//! ```
//!
//! Nothing in it is trusted: an option that is truncated, too long or not a valid name is ignored, and at most
//! [`MAX_OPTIONS`] are read.

use crate::functions::{
    frame::{IPV4, Ip, MAX_EXTENSIONS, Version},
    protocol::{DESTINATION, HOP_BY_HOP},
};

/// Maximum length of a name, in letters.
pub const MAX_NAME: usize = 32;
/// IPv4's option.
pub const OPTION_V4: u8 = 222;
/// IPv6's option.
pub const OPTION_V6: u8 = 0x1e;
/// Maximum number of a packet's options that are read.
pub const MAX_OPTIONS: usize = 40;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
/// The only IPv6 option without a length: a single byte.
const PAD1: u8 = 0;

/// A name as packets carry it: letters, digits, `-` and `_`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    letters: [u8; MAX_NAME],
    length: u8,
}

impl Name {
    /// `None` if it is not a valid name: too long, empty, or with other characters.
    #[must_use]
    pub fn new(name: &[u8]) -> Option<Self> {
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        let mut letters = [0; MAX_NAME];
        letters.get_mut(..name.len())?.copy_from_slice(name);
        let is_name = !name.is_empty() && name.iter().all(is_letter);
        is_name.then_some(Self { letters, length: name.len() as u8 })
    }

    /// The name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.letters[..self.length.into()]).unwrap_or_default()
    }
}

impl std::fmt::Debug for Name {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(formatter)
    }
}

/// The name that a packet carries: its first option of that kind. Linear in its options.
#[must_use]
pub fn named(frame: &[u8], ip: &Ip) -> Option<Name> {
    match ip.version {
        Version::V4 => in_v4(frame.get(ip.at + IPV4..ip.body)?),
        Version::V6 => in_v6(ip.protocol(frame), frame.get(ip.body..ip.end)?),
    }
}

fn in_v4(mut options: &[u8]) -> Option<Name> {
    for _ in 0..MAX_OPTIONS {
        match *options.first()? {
            END => return None,
            NO_OPERATION => options = &options[1..],
            kind => {
                let length = usize::from(*options.get(1)?);
                let content = options.get(2..length)?;
                if kind == OPTION_V4 {
                    return Name::new(content);
                }
                options = &options[length..];
            }
        }
    }
    None
}

fn in_v6(mut protocol: u8, mut headers: &[u8]) -> Option<Name> {
    let mut left = MAX_OPTIONS;
    for _ in 0..MAX_EXTENSIONS {
        if !matches!(protocol, HOP_BY_HOP | DESTINATION) {
            return None;
        }
        let length = 8 + usize::from(*headers.get(1)?) * 8;
        let mut options = headers.get(2..length)?;
        while let Some(&kind) = options.first() {
            left = left.checked_sub(1)?;
            if kind == PAD1 {
                options = &options[1..];
                continue;
            }
            let end = 2 + usize::from(*options.get(1)?);
            let content = options.get(2..end)?;
            if kind == OPTION_V6 {
                return Name::new(content);
            }
            options = &options[end..];
        }
        protocol = headers[0];
        headers = &headers[length..];
    }
    None
}

#[cfg(test)]
mod tests;
