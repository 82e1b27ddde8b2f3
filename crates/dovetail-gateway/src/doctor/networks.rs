//! Finds the networks of this machine in which its users are.
//!
//! What is written of them into a configuration has to be valid in a year. So addresses that the kernel replaces every day (RFC
//! 8981) or has deprecated are left out, as are networks between this machine and its own containers or virtual machines.

use std::{
    collections::HashMap,
    fs,
    net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket},
};

use super::error::DoctorError;

/// Prefixes of the names of bridges and cables that container engines and hypervisors create.
const VIRTUAL: [&str; 10] = ["docker", "veth", "virbr", "vnet", "podman", "cni", "lxcbr", "lxdbr", "flannel", "cali"];
/// Digits of the name of a network that Docker's users create: `br-0123456789ab`. Other bridges have names such as `br-lan`.
const BRIDGE_DIGITS: usize = 12;
/// `IFA_F_TEMPORARY` and `IFA_F_DEPRECATED` (linux/if_addr.h).
const PASSING: u32 = 0x01 | 0x20;

/// An address of this machine and its network's prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// The machine's address in it.
    pub address: IpAddr,
    /// Length of the network prefix in bits.
    pub prefix: u8,
}

/// This machine's networks except the one towards the server: its users are there.
pub(super) fn inner(server: Option<SocketAddr>) -> Result<Vec<Network>, DoctorError> {
    let Some(towards) = server.and_then(towards) else { return Ok(Vec::new()) };
    // Absent if the kernel has no IPv6.
    let flags = flags(&fs::read_to_string("/proc/net/if_inet6").unwrap_or_default());
    let interfaces = if_addrs::get_if_addrs()?;
    let all = interfaces.iter().map(|interface| {
        let prefix = match &interface.addr {
            if_addrs::IfAddr::V4(address) => address.prefixlen,
            if_addrs::IfAddr::V6(address) => address.prefixlen,
        };
        (&*interface.name, Network { address: interface.ip(), prefix })
    });
    Ok(stable(&all.collect::<Vec<_>>(), towards, &flags))
}

/// This machine's address on the route to that server. Sends nothing.
fn towards(server: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((server.ip(), server.port().max(1))).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The flags of IPv6 addresses, from the kernel's table: address, interface's number, prefix, scope, flags and interface's name
/// in each line, numbers in hexadecimal.
fn flags(table: &str) -> HashMap<Ipv6Addr, u32> {
    let of_line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address = u128::from_str_radix(words.next()?, 16).ok()?;
        Some((address.into(), u32::from_str_radix(words.nth(3)?, 16).ok()?))
    };
    table.lines().filter_map(of_line).collect()
}

/// Those of the networks, by their interfaces, whose addresses users may be told. Empty if no interface has the address that is
/// towards the server.
fn stable(all: &[(&str, Network)], towards: IpAddr, flags: &HashMap<Ipv6Addr, u32>) -> Vec<Network> {
    let Some((outer, _)) = all.iter().find(|(_, network)| network.address == towards) else { return Vec::new() };
    let is_passing = |address| flags.get(&address).is_some_and(|flags| flags & PASSING != 0);
    let is_stable = |address: IpAddr| match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local() && !is_passing(address),
    };
    let inner = all.iter().filter(|(name, network)| name != outer && !is_virtual(name) && is_stable(network.address));
    inner.map(|(_, network)| *network).collect()
}

/// Whether an interface leads to containers or virtual machines on this machine.
fn is_virtual(name: &str) -> bool {
    let is_number = |rest: &str| rest.len() == BRIDGE_DIGITS && rest.bytes().all(|digit| digit.is_ascii_hexdigit());
    VIRTUAL.iter().any(|prefix| name.starts_with(prefix)) || name.strip_prefix("br-").is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As of a machine with privacy extensions.
    const TABLE: &str = "\
        00000000000000000000000000000001 01 80 10 80       lo\n\
        20010db8000000010000000000000001 03 40 00 80     eth1\n\
        20010db8000000017c5e12fffe3409ab 03 40 00 01     eth1\n\
        fd00000000000000000000000000dead 03 40 00 a0     eth1\n\
        fe80000000000000505400fffe123456 03 40 20 80     eth1\n";

    #[test]
    fn addresses_that_pass_and_networks_of_containers_are_no_users_side() {
        let at =
            |name, address: &str, prefix| (name, Network { address: address.parse().expect("an address"), prefix });
        let all = [
            at("lo", "127.0.0.1", 8),
            at("lo", "::1", 128),
            at("eth0", "203.0.113.5", 24),
            at("eth0", "2001:db8:9::5", 64),
            at("eth1", "10.1.0.1", 16),
            at("eth1", "169.254.7.7", 16),
            at("eth1", "2001:db8:0:1::1", 64),
            at("eth1", "2001:db8:0:1:7c5e:12ff:fe34:9ab", 64),
            at("eth1", "fd00::dead", 64),
            at("eth1", "fe80::5054:ff:fe12:3456", 64),
            at("docker0", "172.17.0.1", 16),
            at("br-0a1b2c3d4e5f", "172.18.0.1", 16),
            at("veth12ab34c", "172.19.0.1", 16),
            at("virbr0", "192.168.122.1", 24),
            at("br-lan", "192.168.1.1", 24),
            at("br0", "192.168.2.1", 24),
            at("wg0", "10.9.0.1", 24),
        ];
        let inner = |towards: &str| {
            let found = stable(&all, towards.parse().expect("an address"), &flags(TABLE));
            found.iter().map(|network| network.address.to_string()).collect::<Vec<_>>()
        };
        let expected = ["10.1.0.1", "2001:db8:0:1::1", "192.168.1.1", "192.168.2.1", "10.9.0.1"];
        assert_eq!(inner("203.0.113.5"), expected);
        assert_eq!(inner("198.51.100.1"), Vec::<String>::new(), "no interface is towards the server");
    }

    #[test]
    fn a_table_that_is_none_has_no_flags() {
        assert!(flags("").is_empty() && flags("zz 01 40 00 01 eth0\n20010db8\n").is_empty());
    }
}
