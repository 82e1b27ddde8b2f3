//! The VLAN tag that the kernel strips from a received frame and reports beside it.
//!
//! Only the outer one: if there are two tags, the inner one stays in the frame.

use super::Refused;

/// Bytes of a tag.
pub const TAG: usize = 4;

/// Length of the two addresses in front of a tag.
pub(crate) const ADDRESSES: usize = 12;
/// `TP_STATUS_VLAN_VALID`, `TP_STATUS_VLAN_TPID_VALID`.
const TAGGED: u32 = 1 << 4;
const PROTOCOL_KNOWN: u32 = 1 << 6;
/// Implied by kernels that do not report it.
const IEEE_802_1Q: u16 = 0x8100;

/// A VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// TPID: 0x8100, or 0x88a8 of a provider.
    pub protocol: u16,
    /// TCI: priority, drop eligibility, VLAN.
    pub control: u16,
}

impl Tag {
    /// The tag that a ring's slot reports by `tp_status`, `tp_vlan_tci` and `tp_vlan_tpid`. Constant time.
    #[must_use]
    pub fn of_slot(status: u32, control: u16, protocol: u16) -> Option<Self> {
        let protocol = if status & PROTOCOL_KNOWN != 0 { protocol } else { IEEE_802_1Q };
        (status & TAGGED != 0).then_some(Self { protocol, control })
    }

    fn bytes(self) -> [u8; TAG] {
        let [[a, b], [c, d]] = [self.protocol, self.control].map(u16::to_be_bytes);
        [a, b, c, d]
    }
}

/// Bytes that a tag adds.
#[must_use]
pub fn bytes(tag: Option<Tag>) -> usize {
    if tag.is_some() { TAG } else { 0 }
}

/// Replaces the contents of `into` by the frame with its tag reinserted. Copies the frame once.
///
/// # Errors
/// The frame is too short to have a tag; `into` is then unchanged.
pub fn put_back(frame: &[u8], tag: Option<Tag>, into: &mut Vec<u8>) -> Result<(), Refused> {
    let (addresses, rest) = frame.split_at_checked(ADDRESSES).ok_or(Refused::Short)?;
    into.clear();
    into.extend_from_slice(addresses);
    if let Some(tag) = tag {
        into.extend_from_slice(&tag.bytes());
    }
    into.extend_from_slice(rest);
    Ok(())
}

#[cfg(test)]
mod tests;
