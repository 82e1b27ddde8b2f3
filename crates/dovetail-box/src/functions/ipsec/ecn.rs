//! Propagates congestion marks from the outer header to the inner packet (RFC 6040, 4.2).

use super::super::{
    checksum::adjusted,
    frame::{Ip, Version, read_u16, write},
};

/// The ECN field of a traffic class (RFC 3168, 5).
const MASK: u8 = 0b11;
const NOT_ECT: u8 = 0b00;
const ECT_1: u8 = 0b01;
const CE: u8 = 0b11;

/// The inner packet's new ECN field, given both headers' traffic classes; `None` if the packet is to be dropped, as its
/// ends cannot be told of congestion in any other way.
const fn within(outer: u8, inner: u8) -> Option<u8> {
    match (outer & MASK, inner & MASK) {
        (CE, NOT_ECT) => None,
        (_, NOT_ECT) => Some(NOT_ECT),
        (CE, _) => Some(CE),
        (_, CE) => Some(CE),
        (ECT_1, _) => Some(ECT_1),
        (_, inner) => Some(inner),
    }
}

/// Applies the outer header's congestion mark to the inner packet; `false` if the packet is to be dropped.
pub(super) fn pass_on(outer: u8, frame: &mut [u8], inner: &Ip) -> bool {
    let Some(word) = read_u16(frame, inner.at) else { return false };
    // After the version, IPv4 has the header length, and IPv6 the traffic class.
    let shift = if inner.version == Version::V4 { 0 } else { 4 };
    let Some(becomes) = within(outer, (word >> shift) as u8) else { return false };
    let changed = word & !(u16::from(MASK) << shift) | u16::from(becomes) << shift;
    if changed != word {
        write(frame, inner.at, &changed.to_be_bytes());
        if inner.version == Version::V4 {
            let checksum = read_u16(frame, inner.at + 10).unwrap_or(0);
            write(frame, inner.at + 10, &adjusted(checksum, word, changed).to_be_bytes());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 4 of RFC 6040, line by line: inner Not-ECT, ECT(0), ECT(1), CE; outer in the same order.
    #[test]
    fn the_table() {
        let [not, zero, one, ce] = [NOT_ECT, 0b10, ECT_1, CE];
        let table = [
            (not, [Some(not), Some(not), Some(not), None]),
            (zero, [Some(zero), Some(zero), Some(one), Some(ce)]),
            (one, [Some(one), Some(one), Some(one), Some(ce)]),
            (ce, [Some(ce); 4]),
        ];
        for (inner, become_these) in table {
            assert_eq!([not, zero, one, ce].map(|outer| within(outer | 0xb8, inner | 0x28)), become_these, "{inner:b}");
        }
    }
}
