//! Extracts the marks that decide a frame's class.

use crate::{
    config::Marks,
    functions::frame::{ETHERNET, Ip, Version, read_u16},
    wire::{named::named, tag::Tag},
};

/// The marks of a frame. `tag` is the outer tag if the interface stripped it. Reads headers only. `names`: whether to look
/// for the name that the frame carries.
pub(super) fn marks(frame: &[u8], tag: Option<Tag>, names: bool) -> Marks {
    let inline = || {
        let kind = read_u16(frame, ETHERNET - 2)?;
        matches!(kind, 0x8100 | 0x88a8).then(|| read_u16(frame, ETHERNET)).flatten()
    };
    let vlan = tag.map(|tag| tag.control).or_else(inline).map(|control| control & 0xfff);
    let ip = Ip::find(frame).ok();
    let dscp = ip.as_ref().and_then(|ip| match ip.version {
        Version::V4 => Some(*frame.get(ip.at + 1)? >> 2),
        Version::V6 => Some((read_u16(frame, ip.at)? >> 6) as u8 & 0x3f),
    });
    let named = ip.as_ref().filter(|_| names).and_then(|ip| named(frame, ip));
    Marks { tuple: ip.map(|ip| ip.five_tuple(frame)), vlan, dscp, named }
}
