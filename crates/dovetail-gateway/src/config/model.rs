//! A configuration as it is used: what the keys of the file came to.

use std::{fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use dovetail_sched::{Weight, request::RequestSpec, units::Rate};
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
    /// The narrow link behind which it stands.
    pub downlink: Downlink,
    /// The way back, where its rate is known.
    pub uplink: Option<Uplink>,
    /// Permitted clients and destinations.
    pub access: Access,
    /// Addresses and names that are one user.
    pub groups: Groups,
    /// Classes of users, the default one included.
    pub classes: Vec<Class>,
    /// The class of users in no other, an index into `classes`.
    pub default_class: usize,
    /// How much users may have.
    pub quotas: Vec<Quota>,
    /// The class of requests to a host that a class lists, an index into `classes`.
    pub hosts: HostIndex<usize>,
    /// Parent proxies, in the order in which they are tried.
    pub parents: Vec<Arc<Parent>>,
    /// Bounds on what clients can take.
    pub limits: Limits,
    /// Bounds on how long anything takes.
    pub timeouts: Timeouts,
    /// The admin's pages and metrics.
    pub admin: Option<Admin>,
    /// The access log.
    pub log: Option<Log>,
    /// The gateway's own pages.
    pub pages: Pages,
    /// What browsers are told by the proxy auto-configuration file.
    pub pac: Pac,
    /// Where what was used of quotas is kept.
    pub store: Option<Store>,
}

/// `[proxy]`
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Addresses for clients that are configured to use the proxy.
    pub listen: Vec<SocketAddr>,
    /// Addresses where connections arrive that nftables redirected.
    pub redirect: Vec<SocketAddr>,
    /// Addresses where connections arrive by TPROXY.
    pub tproxy: Vec<SocketAddr>,
    /// Where clients that are configured to use the proxy reach it by TLS.
    pub tls: Option<ProxyTls>,
    /// Those whose connections begin with a PROXY header, which is believed.
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
    /// Addresses.
    pub listen: Vec<SocketAddr>,
    /// A PEM file of the gateway's certificate, and those above it.
    pub certificate: PathBuf,
    /// A PEM file of its private key.
    pub key: PathBuf,
}

impl Proxy {
    /// Its addresses by TLS, if it has any.
    #[must_use]
    pub fn tls_listen(&self) -> &[SocketAddr] {
        self.tls.as_ref().map_or(&[], |tls| &tls.listen)
    }
}

/// What `Forwarded` (RFC 7239) discloses about the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Forwarded {
    /// There is no such header.
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
    /// The link's raw rate, frames and all.
    pub rate: Rate,
    /// The payload's part of a full packet's frame: 1448/1514 for Ethernet.
    pub payload: f64,
    /// Whether the rate is only a first estimate. Agrees with the policy's own knob; false where it has none.
    pub learn: bool,
    /// How the far queue is measured.
    pub probe: Probe,
    /// How often.
    pub probe_every: Duration,
    /// Which policy decides, with its knobs.
    pub policy: RequestSpec,
}

/// `[uplink]`
#[derive(Debug, Clone)]
pub struct Uplink {
    /// The link's raw rate, frames and all.
    pub rate: Rate,
    /// The payload's part of a full packet's frame, as for the downlink.
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
    /// It is not.
    Off,
    /// By ICMP echoes to an address at the link's far end.
    Icmp(std::net::IpAddr),
    /// By UDP packets that come back (RFC 862) from there.
    Udp(SocketAddr),
    /// By ICMP echoes that expire at this many hops on the way to an address.
    Hop {
        /// Hops from here.
        hops: u8,
        /// Where to; a server that responses come from if that is not said.
        towards: Option<std::net::IpAddr>,
    },
    /// By round-trip times of the connections to servers, as the kernel knows them.
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
    /// Addresses that may be reached though they are private, link-local, loopback or the gateway's own.
    pub allow: Prefixes<()>,
    /// Addresses that may not be reached.
    pub deny: Prefixes<()>,
    /// Ports that `CONNECT` may reach.
    pub connect_ports: Vec<u16>,
    /// Ports that requests may reach; if empty, any.
    pub ports: Vec<u16>,
    /// Bits of an IPv6 address that are the same for all of a user's, 1 to 128.
    pub ipv6_user: u8,
    /// A file of names and passwords, as `htpasswd -B` writes it; with it clients must authenticate.
    pub passwords: Option<PathBuf>,
    /// A program that examines names and passwords; with it clients must authenticate.
    pub helper: Option<Helper>,
}

/// `access.helper`: a program that speaks Squid's protocol of basic helpers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// The program.
    pub program: PathBuf,
    /// And its arguments.
    pub arguments: Vec<String>,
    /// Processes, at most.
    pub processes: usize,
    /// Looks that one process may have in flight by channels; 0 for none, one at a time.
    pub channels: usize,
    /// How long a look may take.
    pub timeout: Duration,
}

impl Access {
    /// Whether clients have to say who they are.
    #[must_use]
    pub const fn has_names(&self) -> bool {
        self.passwords.is_some() || self.helper.is_some()
    }
}

/// `[[class]]`
#[derive(Debug, Clone, Default)]
pub struct Class {
    /// What it is called.
    pub name: Arc<str>,
    /// Its share for each active user, outside of the hours in `weights`.
    pub weight: Weight,
    /// Shares at hours of the week: the first whose hours hold counts.
    pub weights: Vec<(Hours, Weight)>,
    /// Addresses of its users.
    pub clients: Vec<Prefix>,
    /// Names of its users, where they say who they are.
    pub users: Vec<Arc<str>>,
    /// Names of groups that are its users.
    pub groups: Vec<Arc<str>>,
    /// Hosts whose requests are in this class, for all users.
    pub hosts: Arc<[HostPattern]>,
    /// A rate of the downlink that it may not exceed, frames and all.
    pub rate: Option<Rate>,
    /// When its requests are let through; if not said, always.
    pub hours: Option<Hours>,
    /// It has those who are beyond this quota, and no others.
    pub beyond: Option<Arc<str>>,
}

/// `[[quota]]`
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    /// What it is called.
    pub name: Arc<str>,
    /// Names of the classes that it is for; if empty, it is for all.
    pub classes: Vec<Arc<str>>,
    /// Whose bytes are counted together.
    pub per: Per,
    /// When it begins anew.
    pub every: Every,
    /// How many bytes there are.
    pub bytes: u64,
    /// Whether bytes that go up count too.
    pub uploads: bool,
    /// Hours that do not count.
    pub free: Option<Hours>,
    /// What happens to those who have used it up.
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

/// What happens beyond a quota.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beyond {
    /// Requests are refused, and transfers are broken off.
    Refuse,
    /// Users have this weight.
    Weight(Weight),
}

impl Quota {
    /// Whether it is for the users of a class.
    #[must_use]
    pub fn is_for(&self, class: &str) -> bool {
        self.classes.is_empty() || self.classes.iter().any(|name| **name == *class)
    }

    /// How much it is, in the largest unit.
    #[must_use]
    pub fn size(&self) -> String {
        written_bytes(self.bytes)
    }

    /// What its use is kept under: with another period, or counted otherwise, it is another quota.
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
    /// The file that keeps what was used of quotas.
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
    /// Requests of one user, waiting and outstanding.
    pub requests_per_user: usize,
    /// Bytes of a request's or a response's line and header.
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
            idle_per_server: 64,
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
    /// Time without progress after which a transfer is aborted; time queued does not count.
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
    /// Where.
    pub listen: SocketAddr,
    /// With this token changes are permitted; without one there are none.
    pub token: Option<Token>,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Where.
    pub path: PathBuf,
    /// How.
    pub format: LogFormat,
}

/// The access log's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Squid's own.
    #[default]
    Squid,
    /// One JSON document a line.
    Json,
}

/// `[pages]`
#[derive(Debug, Clone)]
pub struct Pages {
    /// The name under which clients of the proxy find them, in small letters.
    pub host: Arc<str>,
}

/// `[pac]`
#[derive(Debug, Clone)]
pub struct Pac {
    /// Proxies, the first that answers being used. If empty, the gateway, as the client met it.
    pub proxy: Vec<PacProxy>,
    /// What is fetched directly.
    pub direct: Vec<Direct>,
    /// Whether everything is where no proxy answers.
    pub falls_back: bool,
}

/// A proxy that browsers are told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacProxy {
    /// Whether it is spoken to by TLS.
    pub is_tls: bool,
    /// Its host, an IPv6 address in brackets, and its port.
    pub at: Arc<str>,
}

/// What browsers fetch directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Direct {
    /// From names without a dot.
    PlainNames,
    /// From this host, in small letters.
    Host(Arc<str>),
    /// From this host and all below it.
    Domain(Arc<str>),
    /// From an address of this prefix, where it is written as one.
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
    /// What responses can get of the link, in bytes a second.
    #[must_use]
    pub fn goodput_bytes_per_s(&self) -> f64 {
        goodput(self.rate, self.payload)
    }

    /// What responses of a class can get at most, in bytes a second, if it has a rate.
    #[must_use]
    pub fn cap_bytes_per_s(&self, class: &Class) -> Option<f64> {
        class.rate.map(|rate| goodput(rate, self.payload))
    }
}

/// Bytes of payload a second of a link whose full packets have this share of it.
fn goodput(rate: Rate, payload: f64) -> f64 {
    rate.bps() / 8.0 * payload
}

/// Bytes in the largest unit that leaves a number of at least 1, with at most three digits after the point.
pub(crate) fn written_bytes(bytes: u64) -> String {
    let (scale, unit) = match bytes {
        1_000_000_000.. => (1e9, "GB"),
        1_000_000.. => (1e6, "MB"),
        1_000.. => (1e3, "kB"),
        _ => (1.0, "bytes"),
    };
    format!("{} {unit}", (bytes as f64 / scale * 1e3).round() / 1e3)
}
