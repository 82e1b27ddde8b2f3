//! Compares headers with another library.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ppp::v2::{Builder as Header, Command, Protocol, Type, Version};
use proptest::prelude::*;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};

use super::{Announced, announced};

/// Another library's reading of a header: the client, if it has one, or `None` if it is invalid.
fn other_reader(header: &[u8]) -> Option<Option<(IpAddr, u16)>> {
    use ppp::{HeaderResult, v1, v2};
    match HeaderResult::parse(header) {
        HeaderResult::V1(Ok(found)) if found.header.len() == header.len() => match found.addresses {
            v1::Addresses::Tcp4(pair) => Some(Some((pair.source_address.into(), pair.source_port))),
            v1::Addresses::Tcp6(pair) => Some(Some((pair.source_address.into(), pair.source_port))),
            v1::Addresses::Unknown => Some(None),
        },
        HeaderResult::V2(Ok(found)) if found.len() == header.len() => match (found.command, found.addresses) {
            (Command::Local, _) => Some(None),
            (Command::Proxy, v2::Addresses::IPv4(pair)) => Some(Some((pair.source_address.into(), pair.source_port))),
            (Command::Proxy, v2::Addresses::IPv6(pair)) => Some(Some((pair.source_address.into(), pair.source_port))),
            (Command::Proxy, _) => Some(None),
        },
        _ => None,
    }
}

fn any_address() -> impl Strategy<Value = SocketAddr> {
    let four = any::<(u32, u16)>().prop_map(|(bits, port)| SocketAddr::new(Ipv4Addr::from(bits).into(), port));
    let six = any::<(u128, u16)>().prop_map(|(bits, port)| SocketAddr::new(Ipv6Addr::from(bits).into(), port));
    prop_oneof![four, six]
}

/// A header written by another library, and its client.
fn written(from: SocketAddr, is_text: bool, tlvs: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let met: SocketAddr =
        if from.is_ipv4() { "192.0.2.1:3128" } else { "[2001:db8::1]:3128" }.parse().expect("an address");
    if is_text {
        let addresses = ppp::v1::Addresses::from((from, met));
        return addresses.to_string().into_bytes();
    }
    let builder = Header::with_addresses(Version::Two | Command::Proxy, Protocol::Stream, (from, met));
    let builder = tlvs.iter().fold(builder, |builder, (kind, value)| builder.write_tlv(*kind, value).expect("room"));
    builder.write_tlv(Type::NoOp, &[0; 3]).and_then(Header::build).expect("room")
}

/// The gateway's reading.
fn read(header: &[u8]) -> Option<Option<(IpAddr, u16)>> {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a listener");
        let mut client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
        let (mut server, _) = listener.accept().await.expect("a connection");
        client.write_all(&[header, b"after"].concat()).await.expect("room");
        client.shutdown().await.expect("an end");
        let said = announced(&mut server).await.ok()?;
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.expect("an end");
        assert_eq!(rest, b"after", "not a byte more is read");
        Some(match said {
            Announced::Client { from, .. } => Some((from.ip(), from.port())),
            Announced::Itself => None,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_another_writes_is_read(
        from in any_address(),
        is_text: bool,
        tlvs in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 0..8),
    ) {
        let header = written(from, is_text, &tlvs);
        prop_assert_eq!(read(&header), Some(Some((from.ip(), from.port()))));
    }

    /// Both libraries read a modified header alike, except that a port has no sign.
    #[test]
    fn what_is_changed_is_read_as_another_reads_it(
        from in any_address(),
        is_text: bool,
        (at, byte, how) in (any::<prop::sample::Index>(), any::<u8>(), 0..3),
    ) {
        let mut header = written(from, is_text, &[]);
        let at = at.index(header.len());
        match how {
            0 => header[at] = byte,
            1 => drop(header.remove(at)),
            _ => header.insert(at, byte),
        }
        let has_sign = is_text && header.windows(2).any(|pair| pair == b" +");
        let expected = other_reader(&header).filter(|_| !has_sign);
        // Datagrams are not connections.
        let is_datagram = !is_text && header.get(13).is_some_and(|byte| byte & 15 != 1);
        if !is_datagram && (expected.is_some() || !has_more(&header, is_text)) {
            prop_assert_eq!(read(&header), expected, "{:?}", header);
        }
    }
}

/// Whether what follows may belong to it, so that both do not read the same header.
fn has_more(header: &[u8], is_text: bool) -> bool {
    if is_text {
        return !header.ends_with(b"\r\n") || header[..header.len() - 2].contains(&b'\n');
    }
    let length = header.get(14..16).map_or(0, |length| usize::from(u16::from_be_bytes([length[0], length[1]])));
    header.len() != 16 + length
}
