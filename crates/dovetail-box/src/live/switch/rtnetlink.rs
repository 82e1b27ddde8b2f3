//! Queries the kernel about an interface.
//!
//! Sockets of rtnetlink belong to the calling thread's network namespace; `/sys` shows the one in which it was mounted.
//! Query and answer are one message each. Only the attributes that are needed are read, so what a newer kernel adds or
//! changes elsewhere is no error.

use std::{fmt, io};

use netlink_packet_core::{NLM_F_REQUEST, NetlinkBuffer, NlasIterator};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SocketAddrNetlink, recv, sendto, socket_with,
};

/// State of a bridge at a port, according to its spanning tree and the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortState {
    /// Inactive: the port or the bridge is down, or there is no carrier.
    Disabled,
    /// Inactive, about to learn.
    Listening,
    /// Learns addresses, does not forward.
    Learning,
    /// Forwards.
    Forwarding,
    /// Does not forward, as another path leads there.
    Blocking,
}

impl fmt::Display for PortState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disabled => "disabled",
            Self::Listening => "listening",
            Self::Learning => "learning",
            Self::Forwarding => "forwarding",
            Self::Blocking => "blocking",
        })
    }
}

/// Identifies the interface to query.
pub enum Query<'a> {
    Name(&'a str),
    Index(u32),
}

/// The kernel's description of an interface.
#[derive(Debug, Default)]
pub struct Link {
    pub name: String,
    pub index: u32,
    /// Its type of linux/if_arp.h.
    pub link: u16,
    pub is_up: bool,
    pub mtu_bytes: u32,
    pub above: Option<u32>,
    pub kind: Option<String>,
    /// Of a port of a bridge: the bridge's state there.
    pub state: Option<PortState>,
    /// Of a bridge: whether it forwards multicast only to those who have joined.
    pub snoops: bool,
}

/// Lengths of `struct nlmsghdr` and `struct ifinfomsg` of linux/netlink.h and linux/rtnetlink.h, and the offsets of the
/// interface's type, index and flags in the latter.
const HEADER_BYTES: usize = 16;
const INFO_BYTES: usize = 16;
const INFO_TYPE: usize = 2;
const INFO_INDEX: usize = 4;
const INFO_FLAGS: usize = 8;

/// Attributes of linux/if_link.h for an interface that is a port: its kind, and data of that kind; the state of a bridge's port.
const PORT_KIND: u16 = 4;
const PORT_DATA: u16 = 5;
const BRIDGE_PORT_STATE: u16 = 1;
/// `IFLA_BR_MCAST_SNOOPING` of linux/if_link.h, in the data of a bridge.
const BRIDGE_SNOOPS: u16 = 23;
/// `RTEXT_FILTER_SKIP_STATS` of linux/rtnetlink.h.
const SKIP_STATISTICS: u32 = 1 << 3;

/// # Errors
/// The system's error: `ENODEV` if there is no such interface.
pub fn ask(query: &Query<'_>) -> io::Result<Link> {
    // Protocol number 0, which rustix represents as `None`, is rtnetlink.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &question(query), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    // The kernel has answered by the time the call returns.
    let mut answer = vec![0; 64 << 10];
    let (bytes, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    read(&answer[..bytes])
}

fn question(query: &Query<'_>) -> Vec<u8> {
    let index = if let Query::Index(index) = query { *index } else { 0 };
    let mut message = vec![0; HEADER_BYTES + INFO_BYTES];
    message[HEADER_BYTES + INFO_INDEX..][..4].copy_from_slice(&index.to_ne_bytes());
    let mut attribute = |kind: u16, value: &[u8]| {
        // The kernel rejects names of more than 15 bytes.
        let bytes = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        message.extend(bytes.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(value);
        message.resize(message.len().next_multiple_of(4), 0);
    };
    attribute(libc::IFLA_EXT_MASK, &SKIP_STATISTICS.to_ne_bytes());
    if let Query::Name(name) = query {
        attribute(libc::IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
    }
    let length = message.len() as u32;
    let mut header = NetlinkBuffer::new(&mut message);
    header.set_length(length);
    header.set_message_type(libc::RTM_GETLINK);
    header.set_flags(NLM_F_REQUEST);
    message
}

fn read(answer: &[u8]) -> io::Result<Link> {
    let unreadable = || io::Error::new(io::ErrorKind::InvalidData, "an answer that cannot be read");
    let message = NetlinkBuffer::new_checked(answer).map_err(|_| unreadable())?;
    let payload = message.payload();
    if message.message_type() == libc::NLMSG_ERROR as u16 {
        let number = word(payload).ok_or_else(unreadable)?;
        return Err(io::Error::from_raw_os_error((number as i32).wrapping_neg()));
    }
    let Some((info, attributes)) = payload.split_at_checked(INFO_BYTES) else { return Err(unreadable()) };
    let (Some(kind), Some(index), Some(flags)) =
        (info[INFO_TYPE..].first_chunk(), word(&info[INFO_INDEX..]), word(&info[INFO_FLAGS..]))
    else {
        return Err(unreadable());
    };
    if message.message_type() != libc::RTM_NEWLINK {
        return Err(unreadable());
    }
    let is_up = flags & libc::IFF_UP as u32 != 0;
    let mut link = Link { index, link: u16::from_ne_bytes(*kind), is_up, ..Link::default() };
    let mut port_kind = None;
    for (kind, value) in within(attributes) {
        match kind {
            libc::IFLA_IFNAME => link.name = text(&value),
            libc::IFLA_MTU => link.mtu_bytes = word(&value).ok_or_else(unreadable)?,
            libc::IFLA_MASTER => link.above = word(&value),
            libc::IFLA_LINKINFO => {
                for (kind, value) in within(&value) {
                    match kind {
                        libc::IFLA_INFO_KIND => link.kind = Some(text(&value)),
                        libc::IFLA_INFO_DATA if link.kind.as_deref() == Some("bridge") => {
                            link.snoops = within(&value).any(|(kind, value)| kind == BRIDGE_SNOOPS && value != [0]);
                        }
                        PORT_KIND => port_kind = Some(text(&value)),
                        PORT_DATA if port_kind.as_deref() == Some("bridge") => {
                            link.state = within(&value).find_map(|(kind, value)| state(kind, &value));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(link)
}

/// The attributes in these bytes, as far as they can be parsed: kinds and values.
fn within(bytes: &[u8]) -> impl Iterator<Item = (u16, Vec<u8>)> + '_ {
    NlasIterator::new(bytes).map_while(Result::ok).map(|attribute| (attribute.kind(), attribute.value().to_vec()))
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|&bytes| u32::from_ne_bytes(bytes))
}

/// A string terminated by a zero byte.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

fn state(kind: u16, value: &[u8]) -> Option<PortState> {
    (kind == BRIDGE_PORT_STATE).then_some(())?;
    [PortState::Disabled, PortState::Listening, PortState::Learning, PortState::Forwarding, PortState::Blocking]
        .get(usize::from(*value.first()?))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_answer_is_an_error_or_half_known() {
        let mut answer = vec![0; HEADER_BYTES + INFO_BYTES];
        let mut header = NetlinkBuffer::new(&mut answer);
        header.set_length(32);
        header.set_message_type(libc::RTM_NEWLINK);
        for bytes in 0..answer.len() {
            assert!(read(&answer[..bytes]).is_err(), "{bytes}");
        }
        assert_eq!(read(&answer).unwrap().name, "");
        // An attribute that claims to be longer than the message.
        answer.extend([200, 0, 3, 0, b'l']);
        NetlinkBuffer::new(&mut answer).set_length(37);
        assert_eq!(read(&answer).unwrap().name, "");
    }
}
