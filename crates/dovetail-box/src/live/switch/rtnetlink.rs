//! Asks the kernel about an interface.
//!
//! Sockets of rtnetlink belong to the calling thread's network namespace; `/sys` shows the one in which it was mounted. A
//! question is one message and so is its answer. Of its attributes only those that are needed are read, so what a newer
//! kernel adds or changes elsewhere is no error.

use std::{fmt, io};

use netlink_packet_core::{NLM_F_REQUEST, NetlinkBuffer, NlasIterator};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SocketAddrNetlink, recv, sendto, socket_with,
};

/// What a bridge does at a port, as its spanning tree and the link have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortState {
    /// Nothing: the port or the bridge is down, or there is no carrier.
    Disabled,
    /// Nothing yet.
    Listening,
    /// Notes addresses.
    Learning,
    /// Forwards.
    Forwarding,
    /// Nothing, as another way leads there.
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

/// Which interface is asked about.
pub enum Query<'a> {
    Name(&'a str),
    Index(u32),
}

/// What the kernel says of an interface.
#[derive(Debug, Default)]
pub struct Link {
    pub name: String,
    pub index: u32,
    pub mtu_bytes: u32,
    pub above: Option<u32>,
    pub kind: Option<String>,
    pub state: Option<PortState>,
}

/// Lengths of `struct nlmsghdr` and `struct ifinfomsg` of linux/netlink.h and linux/rtnetlink.h, and where the latter has
/// the interface's number.
const HEADER_BYTES: usize = 16;
const INFO_BYTES: usize = 16;
const INFO_INDEX: usize = 4;

/// Attributes of linux/if_link.h, of an interface that is a port: of what kind, and more of it; of a bridge's port its state.
const PORT_KIND: u16 = 4;
const PORT_DATA: u16 = 5;
const BRIDGE_PORT_STATE: u16 = 1;
/// `RTEXT_FILTER_SKIP_STATS` of linux/rtnetlink.h.
const SKIP_STATISTICS: u32 = 1 << 3;

/// # Errors
/// The system's: `ENODEV` where there is no such interface.
pub fn ask(query: &Query<'_>) -> io::Result<Link> {
    // The protocol of number 0, which is none to rustix, is rtnetlink.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &question(query), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    // The kernel has answered when the call returns.
    let mut answer = vec![0; 64 << 10];
    let (bytes, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    read(&answer[..bytes])
}

fn question(query: &Query<'_>) -> Vec<u8> {
    let index = if let Query::Index(index) = query { *index } else { 0 };
    let mut message = vec![0; HEADER_BYTES + INFO_BYTES];
    message[HEADER_BYTES + INFO_INDEX..][..4].copy_from_slice(&index.to_ne_bytes());
    let mut attribute = |kind: u16, value: &[u8]| {
        // A name of more than the kernel's 15 bytes is refused there.
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
    let (Some(index), Some(attributes)) = (payload.get(INFO_INDEX..).and_then(word), payload.get(INFO_BYTES..)) else {
        return Err(unreadable());
    };
    if message.message_type() != libc::RTM_NEWLINK {
        return Err(unreadable());
    }
    let mut link = Link { index, ..Link::default() };
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

/// The attributes in these bytes, as far as they can be read: kinds and values.
fn within(bytes: &[u8]) -> impl Iterator<Item = (u16, Vec<u8>)> + '_ {
    NlasIterator::new(bytes).map_while(Result::ok).map(|attribute| (attribute.kind(), attribute.value().to_vec()))
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|&bytes| u32::from_ne_bytes(bytes))
}

/// A text that ends with a zero.
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
        // An attribute that says it is longer than what is there.
        answer.extend([200, 0, 3, 0, b'l']);
        NetlinkBuffer::new(&mut answer).set_length(37);
        assert_eq!(read(&answer).unwrap().name, "");
    }
}
