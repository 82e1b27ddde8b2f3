//! Extracts the marks that decide a frame's class.

use crate::{
    config::Marks,
    functions::frame::{ETHERNET, Ip, MAX_VLANS, Version, read_u16},
    wire::{
        named::named,
        tag::{self, TAG, Tag},
    },
};

/// The marks of a frame. `tag` is the outer tag if the interface stripped it. Reads headers only. `names`: whether to look
/// for the name that the frame carries.
pub(super) fn marks(frame: &[u8], tag: Option<Tag>, names: bool) -> Marks {
    let inline = || {
        let kind = read_u16(frame, ETHERNET - 2)?;
        matches!(kind, 0x8100 | 0x88a8).then(|| read_u16(frame, ETHERNET)).flatten()
    };
    let vlan = tag.map(|tag| tag.control).or_else(inline).map(|control| control & 0xfff);
    // Functions get the frame with its tag, and look behind no more than these.
    let ip = Ip::find(frame).ok().filter(|ip| ip.at + tag::bytes(tag) <= ETHERNET + MAX_VLANS * TAG);
    let dscp = ip.as_ref().and_then(|ip| match ip.version {
        Version::V4 => Some(*frame.get(ip.at + 1)? >> 2),
        Version::V6 => Some((read_u16(frame, ip.at)? >> 6) as u8 & 0x3f),
    });
    let named = ip.as_ref().filter(|_| names).and_then(|ip| named(frame, ip));
    Marks { tuple: ip.map(|ip| ip.five_tuple(frame)), vlan, dscp, named }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{Long, long_datagram};

    #[test]
    fn a_frame_means_the_same_with_its_tag_beside_it_as_with_it_inside() {
        for (v6, tags) in [false, true].into_iter().flat_map(|v6| (1..=3).map(move |tags| (v6, tags))) {
            let tags = vec![[0x81, 0, 0x20, 7], [0x81, 0, 0, 8], [0x81, 0, 0, 9]][..tags].to_vec();
            let whole = Long { tags: tags.clone(), ..long_datagram(v6) }.frame();
            let bare = Long { tags: tags[1..].to_vec(), ..long_datagram(v6) }.frame();
            let inside = marks(&whole, None, true);
            assert_eq!(marks(&bare, Some(Tag { protocol: 0x8100, control: 0x2007 }), true), inside);
            assert_eq!((inside.vlan, inside.tuple.is_some()), (Some(7), tags.len() < 3), "{tags:?}");
        }
    }
}
