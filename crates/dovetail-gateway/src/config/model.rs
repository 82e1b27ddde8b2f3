//! The parsed configuration.

use std::{fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use dovetail_sched::{
    Weight,
    request::{Offer, RequestSpec},
    units::Rate,
};
use dovetail_toml::Token;

use super::{
    every::Every,
    groups::Groups,
    hosts::{HostIndex, HostPattern},
    hours::Hours,
    parents::Parent,
    prefixes::{Prefix, Prefixes},
};

/// A gateway's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens and how it identifies itself.
    pub proxy: Proxy,
    /// The narrow link that it schedules.
    pub downlink: Downlink,
    /// The opposite direction, if its rate is known.
    pub uplink: Option<Uplink>,
    /// Permitted clients and destinations.
    pub access: Access,
    /// Addresses and names that form one user.
    pub groups: Groups,
    /// Classes of users, including the default one.
    pub classes: Vec<Class>,
    /// The class of users without another, an index into `classes`.
    pub default_class: usize,
    /// Limits on how much users may transfer.
    pub quotas: Vec<Quota>,
    /// The class of requests to hosts that a class lists, an index into `classes`.
    pub hosts: HostIndex<usize>,
    /// Parent proxies, in the order in which they are tried.
    pub parents: Vec<Arc<Parent>>,
    /// Limits on the resources of clients.
    pub limits: Limits,
    /// Limits on how long anything may take.
    pub timeouts: Timeouts,
    /// The admin pages and metrics.
    pub admin: Option<Admin>,
    /// The access log.
    pub log: Option<Log>,
    /// The gateway's own pages.
    pub pages: Pages,
    /// Contents of the proxy auto-configuration file for browsers.
    pub pac: Pac,
    /// Where the usage of quotas is stored.
    pub store: Option<Store>,
}

/// `[proxy]`
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Addresses for clients that are configured to use the proxy.
    pub listen: Vec<SocketAddr>,
    /// Addresses for connections redirected by nftables.
    pub redirect: Vec<SocketAddr>,
    /// Addresses for connections intercepted by TPROXY.
    pub tproxy: Vec<SocketAddr>,
    /// TLS settings for clients that are configured to reach the proxy over TLS.
    pub tls: Option<ProxyTls>,
    /// Sources whose connections start with a PROXY header, which is trusted.
    pub trusted: Prefixes<()>,
    /// Its name in `Via`, and in error pages.
    pub name: Arc<str>,
    /// What `Forwarded` discloses about the client.
    pub forwarded: Forwarded,
    /// Name servers; if empty, the system's.
    pub nameservers: Vec<SocketAddr>,
}

/// `[proxy.tls]`
#[derive(Debug, Clone)]
pub struct ProxyTls {
    /// Addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// A PEM file with the gateway's certificate chain.
    pub certificate: PathBuf,
    /// A PEM file with its private key.
    pub key: PathBuf,
}

impl Proxy {
    /// Its TLS addresses, if any.
    #[must_use]
    pub fn tls_listen(&self) -> &[SocketAddr] {
        self.tls.as_ref().map_or(&[], |tls| &tls.listen)
    }
}

/// What `Forwarded` (RFC 7239) discloses about the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Forwarded {
    /// No such header.
    #[default]
    Off,
    /// `for=unknown`.
    Unknown,
    /// The client's address.
    Address,
}

/// `[downlink]`
#[derive(Debug, Clone)]
pub struct Downlink {
    /// The link's raw rate, including frames.
    pub rate: Rate,
    /// The fraction of a full packet's frame that is payload: 1448/1514 for Ethernet.
    pub payload: f64,
    /// Whether the rate is only a first estimate. Agrees with the policy's own knob; false if it has none.
    pub learn: bool,
    /// How the far queue is measured.
    pub probe: Probe,
    /// The interval between probes.
    pub probe_every: Duration,
    /// The scheduling policy, with its knobs.
    pub policy: RequestSpec,
}

/// `[uplink]`
#[derive(Debug, Clone, PartialEq)]
pub struct Uplink {
    /// The link's raw rate, including frames.
    pub rate: Rate,
    /// Whether a lower rate is learnt where the link carries less.
    pub learn: bool,
    /// The fraction of a full packet's frame that is payload, as for the downlink.
    pub payload: f64,
}

impl Uplink {
    /// The uplink's capacity for requests and their bodies, in bytes per second.
    #[must_use]
    pub fn goodput_bytes_per_s(&self) -> f64 {
        goodput(self.rate, self.payload)
    }
}

/// How the far queue is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// Not at all.
    Off,
    /// By ICMP echoes to an address at the link's far end.
    Icmp(std::net::IpAddr),
    /// By UDP packets echoed from there (RFC 862).
    Udp(SocketAddr),
    /// By ICMP echoes that expire at this many hops on the way to an address.
    Hop {
        /// Hops from here.
        hops: u8,
        /// The destination; if `None`, a server that responses come from.
        towards: Option<std::net::IpAddr>,
    },
    /// By the kernel's round-trip times of connections to servers.
    Tcp,
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Tcp => f.write_str("round-trip times of TCP"),
            Self::Icmp(address) => write!(f, "ICMP echoes to {address}"),
            Self::Udp(address) => write!(f, "UDP echoes to {address}"),
            Self::Hop { hops, towards: None } => write!(f, "ICMP that expires at hop {hops} towards servers"),
            Self::Hop { hops, towards: Some(address) } => {
                write!(f, "ICMP that expires at hop {hops} towards {address}")
            }
        }
    }
}

/// `[access]`
#[derive(Debug, Clone)]
pub struct Access {
    /// Permitted clients.
    pub clients: Prefixes<()>,
    /// Addresses that may be reached although they are private, link-local, loopback or the gateway's own.
    pub allow: Prefixes<()>,
    /// Addresses that may not be reached.
    pub deny: Prefixes<()>,
    /// Ports that `CONNECT` may reach.
    pub connect_ports: Vec<u16>,
    /// Ports that requests may reach; if empty, any.
    pub ports: Vec<u16>,
    /// Length of the IPv6 prefix that identifies a user, 1 to 128 bits.
    pub ipv6_user: u8,
    /// A file of names and passwords as written by `htpasswd -B`; if given, clients must authenticate.
    pub passwords: Option<PathBuf>,
    /// A program that checks names and passwords; if given, clients must authenticate.
    pub helper: Option<Helper>,
}

/// `access.helper`: a program that speaks Squid's protocol of basic helpers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Maximum number of processes.
    pub processes: usize,
    /// Lookups that one process may have in flight, using channels; 0 for one at a time without channels.
    pub channels: usize,
    /// Maximum duration of a lookup.
    pub timeout: Duration,
}

impl Access {
    /// Whether clients must authenticate.
    #[must_use]
    pub const fn has_names(&self) -> bool {
        self.passwords.is_some() || self.helper.is_some()
    }
}

/// `[[class]]`
#[derive(Debug, Clone, Default)]
pub struct Class {
    /// Its name.
    pub name: Arc<str>,
    /// The share of each of its active users, outside the hours in `weights`.
    pub weight: Weight,
    /// Shares by hours of the week: the first entry whose hours match applies.
    pub weights: Vec<(Hours, Weight)>,
    /// Addresses of its users.
    pub clients: Vec<Prefix>,
    /// Names of its users, if they authenticate.
    pub users: Vec<Arc<str>>,
    /// Names of groups that belong to it.
    pub groups: Vec<Arc<str>>,
    /// Hosts for which requests of all users are in this class.
    pub hosts: Arc<[HostPattern]>,
    /// Limit on its rate on the downlink, including frames.
    pub rate: Option<Rate>,
    /// When its requests are permitted; `None` means always.
    pub hours: Option<Hours>,
    /// The quota whose exceeders this class holds, and no other users.
    pub beyond: Option<Arc<str>>,
    /// Whether a reload removed it: it has no users, and keeps its number while something in flight may refer to it.
    pub is_removed: bool,
}

/// `[[quota]]`
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// Its name.
    pub name: Arc<str>,
    /// Names of the classes that it applies to; if empty, all.
    pub classes: Vec<Arc<str>>,
    /// Whose bytes are counted together.
    pub per: Per,
    /// Its period.
    pub every: Every,
    /// The limit in bytes per period.
    pub bytes: u64,
    /// Whether uploaded bytes count too.
    pub uploads: bool,
    /// Hours that do not count.
    pub free: Option<Hours>,
    /// What happens to users who exceed it.
    pub beyond: Beyond,
}

/// Whose bytes are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Per {
    /// Each user's.
    #[default]
    User,
    /// Those of all users of a class.
    Class,
}

/// What happens to those who exceed a quota.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beyond {
    /// Requests are refused, and transfers are aborted.
    Refuse,
    /// Users get this weight.
    Weight(Weight),
}

impl Quota {
    /// Whether it applies to the users of a class.
    #[must_use]
    pub fn is_for(&self, class: &str) -> bool {
        self.classes.is_empty() || self.classes.iter().any(|name| **name == *class)
    }

    /// Its limit, in the largest suitable unit.
    #[must_use]
    pub fn size(&self) -> String {
        written_bytes(self.bytes)
    }

    /// The key under which usage is stored: a quota with another period, or counted differently, is another quota.
    #[must_use]
    pub fn key(&self) -> String {
        let per = if self.per == Per::User { "user" } else { "class" };
        let every = match self.every {
            Every::Day => "day".to_owned(),
            Every::Week(first) => format!("week from {first:?}"),
            Every::Month(first) => format!("month from {first}"),
        };
        format!("{} per {per} and {every}", self.name)
    }
}

/// `[store]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// The file that stores the usage of quotas.
    pub path: PathBuf,
    /// How often it is written.
    pub every: Duration,
}

/// `[limits]`
#[derive(Debug, Clone)]
pub struct Limits {
    /// Client connections in total.
    pub connections: usize,
    /// Connections of one client.
    pub connections_per_user: usize,
    /// Requests of one user, queued and in flight.
    pub requests_per_user: usize,
    /// Bytes of a message's start line and header.
    pub header_bytes: usize,
    /// Header fields.
    pub headers: usize,
    /// Idle connections kept to one server.
    pub idle_per_server: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            connections_per_user: 512,
            requests_per_user: 1024,
            header_bytes: 16_000,
            headers: 100,
            idle_per_server: Offer::MAX_IDLE_PER_SERVER,
        }
    }
}

/// `[timeouts]`
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// Time from a connection, or a request's first byte, to the end of the request's header.
    pub header: Duration,
    /// Time after which a client's connection without a request is closed.
    pub idle: Duration,
    /// Time to resolve a name.
    pub resolve: Duration,
    /// Time to connect to a server.
    pub connect: Duration,
    /// Time from the end of a request to the beginning of the server's response.
    pub response: Duration,
    /// Time without progress after which a transfer is aborted, or a tunnel that one side has ended; time queued does not count.
    pub stalled: Duration,
    /// Time without progress after which a tunnel is closed.
    pub tunnel: Duration,
    /// Time after which an idle connection to a server is closed.
    pub pool: Duration,
    /// Time after SIGTERM for open requests to finish.
    pub drain: Duration,
}

/// `[admin]`
#[derive(Debug, Clone)]
pub struct Admin {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The token required for changes; without one nothing can be changed.
    pub token: Option<Token>,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The file.
    pub path: PathBuf,
    /// The format of its lines.
    pub format: LogFormat,
}

/// The access log's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Squid's native format.
    #[default]
    Squid,
    /// One JSON document per line.
    Json,
}

/// `[pages]`
#[derive(Debug, Clone)]
pub struct Pages {
    /// The name under which clients of the proxy find them, in lower case.
    pub host: Arc<str>,
}

/// `[pac]`
#[derive(Debug, Clone)]
pub struct Pac {
    /// Proxies, of which browsers use the first that answers. If empty, the gateway at the address that the client used, or over
    /// TLS by the name.
    pub proxy: Vec<PacProxy>,
    /// Destinations that are fetched directly.
    pub direct: Vec<Direct>,
    /// Whether everything is fetched directly when no proxy answers.
    pub falls_back: bool,
}

/// A proxy for browsers to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacProxy {
    /// Whether it is reached over TLS.
    pub is_tls: bool,
    /// Its host, with brackets if it is an IPv6 address, and its port.
    pub at: Arc<str>,
}

/// Destinations that browsers fetch directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Direct {
    /// Names without a dot.
    PlainNames,
    /// This host, in lower case.
    Host(Arc<str>),
    /// This host and all hosts below it.
    Domain(Arc<str>),
    /// Addresses in this prefix, if written as addresses.
    Prefix(Prefix),
}

impl fmt::Display for PacProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_tls { "https://" } else { "" }, self.at)
    }
}

impl fmt::Display for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlainNames => f.write_str("<local>"),
            Self::Host(host) => f.write_str(host),
            Self::Domain(domain) => write!(f, ".{domain}"),
            Self::Prefix(prefix) => prefix.fmt(f),
        }
    }
}

impl Downlink {
    /// The link's capacity for responses, in bytes per second.
    #[must_use]
    pub fn goodput_bytes_per_s(&self) -> f64 {
        goodput(self.rate, self.payload)
    }

    /// The maximum for responses of a class, in bytes per second, if it has a rate.
    #[must_use]
    pub fn cap_bytes_per_s(&self, class: &Class) -> Option<f64> {
        class.rate.map(|rate| goodput(rate, self.payload))
    }
}

/// Payload in bytes per second of a link, given the fraction of payload in full packets.
fn goodput(rate: Rate, payload: f64) -> f64 {
    rate.bps() / 8.0 * payload
}

/// A number of bytes in the largest unit that gives at least 1, with at most three decimals.
pub(crate) fn written_bytes(bytes: u64) -> String {
    let (scale, unit) = match bytes {
        1_000_000_000.. => (1e9, "GB"),
        1_000_000.. => (1e6, "MB"),
        1_000.. => (1e3, "kB"),
        _ => (1.0, "bytes"),
    };
    format!("{} {unit}", (bytes as f64 / scale * 1e3).round() / 1e3)
}
