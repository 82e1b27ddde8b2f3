//! Address prefixes, `10.0.0.0/8` or `2001:db8::/32`.

use std::{net::IpAddr, str::FromStr};

use thiserror::Error;

use super::clip;

/// The addresses that start with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    // IPv4 as IPv4-mapped IPv6, so that one comparison covers both.
    address: u128,
    mask: u128,
}

impl Prefix {
    /// Whether it contains `address` (IPv4 as IPv4-mapped IPv6).
    #[inline]
    #[must_use]
    pub fn contains(&self, address: [u8; 16]) -> bool {
        u128::from_be_bytes(address) & self.mask == self.address
    }
}

/// A text that is not an address prefix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is not an address prefix such as 10.0.0.0/8, 192.168.1.7 or 2001:db8::/32")]
pub struct PrefixError(String);

impl FromStr for Prefix {
    type Err = PrefixError;

    /// Bits beyond the prefix's length are ignored; without a length, it is a single address.
    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let wrong = || PrefixError(clip(text));
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let (bits, width) = match address {
            IpAddr::V4(v4) => (v4.to_ipv6_mapped(), 32),
            IpAddr::V6(v6) => (v6, 128),
        };
        let length = match length {
            None => width,
            Some(length) => length.trim().parse().ok().filter(|&length| length <= width).ok_or_else(wrong)?,
        };
        let mask = u128::MAX.checked_shl(width - length).unwrap_or(0) | if width == 32 { u128::MAX << 32 } else { 0 };
        Ok(Self { address: u128::from(bits) & mask, mask })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn v4(text: &str) -> [u8; 16] {
        text.parse::<Ipv4Addr>().unwrap().to_ipv6_mapped().octets()
    }

    #[test]
    fn contains_what_starts_alike() {
        let ten: Prefix = "10.1.2.3/8".parse().unwrap();
        assert!(ten.contains(v4("10.255.0.1")));
        assert!(!ten.contains(v4("11.0.0.1")));
        let one: Prefix = "192.168.1.7".parse().unwrap();
        assert!(one.contains(v4("192.168.1.7")) && !one.contains(v4("192.168.1.6")));
        let all: Prefix = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(v4("8.8.8.8")) && !all.contains([0x20; 16]));
        let doc: Prefix = "2001:db8::/32".parse().unwrap();
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        assert!(doc.contains(address) && !doc.contains(v4("10.0.0.1")));
        let every: Prefix = "::/0".parse().unwrap();
        assert!(every.contains(address) && every.contains(v4("10.0.0.1")));
    }

    #[test]
    fn what_is_no_prefix() {
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/-1", "10.0.0.0/", "host/8"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}
