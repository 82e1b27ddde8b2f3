//! Protocol numbers of IPv4 and next headers of IPv6 (IANA, "Assigned Internet Protocol Numbers").

pub(crate) const ICMP: u8 = 1;
/// IPv4 in IP.
pub(crate) const IPV4: u8 = 4;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const DCCP: u8 = 33;
/// IPv6 in IP.
pub(crate) const IPV6: u8 = 41;
pub(crate) const GRE: u8 = 47;
pub(crate) const ESP: u8 = 50;
pub(crate) const ICMPV6: u8 = 58;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;
/// For experiments (RFC 3692).
pub(crate) const EXPERIMENT: u8 = 253;

// Extension headers of IPv6.
pub(crate) const HOP_BY_HOP: u8 = 0;
pub(crate) const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
pub(crate) const AUTHENTICATION: u8 = 51;
pub(crate) const DESTINATION: u8 = 60;

/// Whether the number is an IPv6 extension header that is skipped.
pub(crate) fn is_extension(protocol: u8) -> bool {
    matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION)
}

/// Whether the transport header begins with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
pub(crate) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE)
}
