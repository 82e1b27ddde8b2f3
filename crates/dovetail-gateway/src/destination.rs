//! Decides which addresses a gateway connects to for its clients.
//!
//! Through a gateway, clients could reach what only the gateway can: itself, its network, the machines next to it. So addresses
//! that are not on the public internet are refused unless the configuration allows them. The check applies to the address that
//! is connected to, after name resolution: a name may resolve to anything.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::Access;

/// Checks whether an address may be reached; `own` are the gateway's addresses.
///
/// # Errors
/// A phrase for the client.
pub(crate) fn check(address: IpAddr, access: &Access, own: &[IpAddr]) -> Result<(), &'static str> {
    let address = address.to_canonical();
    if access.deny.contains(address) {
        return Err("its address is on the list of those denied");
    }
    if access.allow.contains(address) {
        return Ok(());
    }
    if own.contains(&address) {
        return Err("that is the gateway itself");
    }
    if let IpAddr::V6(address) = address
        && let Some(embedded) = embedded(address)
    {
        return check(embedded.into(), access, own);
    }
    special(address).map_or(Ok(()), Err)
}

/// Checks that a connection would not lead to the gateway's admin port, which no list of addresses opens to clients: it trusts
/// those who are on this machine.
///
/// # Errors
/// A phrase for the client.
pub(crate) fn check_admin(
    (address, port): (IpAddr, u16),
    admin: Option<SocketAddr>,
    own: &[IpAddr],
) -> Result<(), &'static str> {
    let Some(admin) = admin.filter(|admin| admin.port() == port) else { return Ok(()) };
    let (address, listens) = (address.to_canonical(), admin.ip().to_canonical());
    // To the kernel, the unspecified address is this machine.
    let is_here = |ip: IpAddr| ip.is_unspecified() || ip.is_loopback() || own.contains(&ip);
    let is_wide = address.is_unspecified() || listens.is_unspecified();
    if address == listens || (is_wide && is_here(address) && is_here(listens)) {
        return Err("that is the gateway's admin port");
    }
    Ok(())
}

/// The IPv4 address embedded in an IPv6 one: IPv4-translated addresses (RFC 2765, section 2.1), NAT64 (RFC 6052) and 6to4 (RFC
/// 3056).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        [0, 0, 0, 0, 0xffff, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            (high, low)
        }
        _ => return None,
    };
    Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
}

/// Describes an address that is not on the public internet.
///
/// According to the registries of RFC 6890, 8190 and their updates.
fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (0, ..) => Some("that is not a host's address"),
        (127, ..) => Some("that is the gateway itself"),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => Some("that is a private network"),
        (100, 64..=127, _) => Some("that is a provider's own network"),
        (169, 254, _) => Some("that is a link-local address"),
        (192, 0, 0) | (192, 0, 2) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) => {
            Some("that address is for documents and tests")
        }
        (192, 88, 99) => Some("that is a relay's address"),
        (224..=239, ..) => Some("that is a multicast address"),
        (240.., ..) => Some("that address is reserved"),
        _ => None,
    }
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("that is not a host's address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("that is the gateway itself"),
        // IPv4-compatible addresses (RFC 4291, section 2.5.5.1, deprecated).
        [0, 0, 0, 0, 0, 0, ..] => Some("that is not a host's address"),
        [0x64, 0xff9b, 1, ..] => Some("that is a private network"),
        [0x100, 0, 0, 0, ..] => Some("that address is discarded"),
        // Teredo, benchmarking, ORCHID, documentation.
        [0x2001, 0x0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0x0..=0xfff, ..] => {
            Some("that address is for documents and tests")
        }
        // Segment routing (RFC 9602).
        [0x5f00, ..] => Some("that is a provider's own network"),
        [0xfc00..=0xfdff, ..] => Some("that is a private network"),
        [0xfe80..=0xfebf, ..] => Some("that is a link-local address"),
        [0xfec0..=0xfeff, ..] => Some("that is a private network"),
        [0xff00..=0xffff, ..] => Some("that is a multicast address"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Prefixes;

    fn access(allow: &[&str], deny: &[&str]) -> Access {
        let prefixes = |texts: &[&str]| Prefixes::new(texts.iter().map(|text| (text.parse().expect("a prefix"), ())));
        Access {
            clients: Prefixes::default(),
            allow: prefixes(allow),
            deny: prefixes(deny),
            connect_ports: vec![443],
            ports: Vec::new(),
            ipv6_user: 64,
            passwords: None,
            helper: None,
        }
    }

    #[test]
    fn only_the_public_internet_is_reached() {
        let own = ["198.17.0.1".parse().expect("an address")];
        let access = access(&[], &[]);
        for refused in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.17.0.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "5f00::1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "64:ff9b:1::1",
            "100::1",
        ] {
            assert!(check(refused.parse().expect("an address"), &access, &own).is_err(), "{refused}");
        }
        for reached in [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1",
            "64:ff9b::101:101",
            "2002:101:101::",
            "2a00::1",
            "::ffff:1.1.1.1",
        ] {
            assert_eq!(check(reached.parse().expect("an address"), &access, &own), Ok(()), "{reached}");
        }
    }

    #[test]
    fn the_admin_port_is_no_destination() {
        let own = ["198.17.0.1".parse().expect("an address")];
        let is_refused = |to: &str, listens: &str| {
            let to: SocketAddr = to.parse().expect("an address");
            check_admin((to.ip(), to.port()), listens.parse().ok(), &own).is_err()
        };
        for to in ["127.0.0.1:9180", "[::ffff:127.0.0.1]:9180", "0.0.0.0:9180", "[::]:9180"] {
            assert!(is_refused(to, "127.0.0.1:9180"), "{to}");
        }
        for to in ["127.0.0.9:9180", "198.17.0.1:9180", "[::1]:9180", "0.0.0.0:9180"] {
            assert!(is_refused(to, "0.0.0.0:9180") && is_refused(to, "[::]:9180"), "{to}");
        }
        assert!(is_refused("198.17.0.1:9180", "198.17.0.1:9180"));
        for to in ["127.0.0.1:9181", "127.0.0.2:9180", "10.0.0.1:9180"] {
            assert!(!is_refused(to, "127.0.0.1:9180") && !is_refused(to, "none"), "{to}");
        }
        assert!(!is_refused("10.0.0.1:9180", "0.0.0.0:9180"));
    }

    #[test]
    fn what_is_denied_is_denied_and_what_is_allowed_is_allowed() {
        let access = access(&["10.200.0.0/16", "127.0.0.1/32"], &["10.200.9.0/24", "1.1.1.0/24"]);
        let at = |text: &str| check(text.parse().expect("an address"), &access, &[]);
        assert_eq!(at("10.200.0.1"), Ok(()));
        assert_eq!(at("::ffff:10.200.0.1"), Ok(()));
        assert_eq!(at("127.0.0.1"), Ok(()));
        assert!(at("127.0.0.2").is_err() && at("10.200.9.1").is_err() && at("1.1.1.1").is_err());
        // An address that embeds another is treated like that one.
        for (prefix, suffix) in [("64:ff9b::", ""), ("::ffff:0:", ""), ("2002:", "::1")] {
            let of = |v4: &str| format!("{prefix}{v4}{suffix}");
            assert_eq!(at(&of("ac8:1")), Ok(()), "10.200.0.1 by {prefix}");
            for refused in ["101:101", "ac8:901", "7f00:2"] {
                assert!(at(&of(refused)).is_err(), "{}", of(refused));
            }
        }
        let own = ["198.17.0.1".parse().expect("an address")];
        assert!(check("64:ff9b::c611:1".parse().expect("an address"), &access, &own).is_err(), "the gateway itself");
    }
}
