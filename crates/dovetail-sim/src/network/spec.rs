//! Specification of a network.

use std::sync::Arc;

use dovetail_sched::{Limits, Nanos, PolicySpec, Weight, units::Rate};

use super::transport::Transport;
use crate::workload::Size;

/// Hosts and routers, the links between them, and what crosses them.
#[derive(Debug, Clone)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its source, such as a paper and its figure.
    pub source: String,
    /// Seeds all random numbers.
    pub seed: u64,
    /// End of the run: nothing happens at this time or later. Without it, a run ends when every transfer is done.
    pub stop_at: Option<Nanos>,
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// Links, one direction each.
    pub links: Vec<Link>,
    /// Index of the link whose queue is under the policy being examined.
    pub watched: usize,
    /// How hosts send.
    pub transport: Transport,
    /// The traffic.
    pub traffic: Vec<Traffic>,
    /// The gateway between users and servers, if there is one.
    pub access: Option<Access>,
}

/// A gateway between users and a narrow downlink, at the users' end.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// Index of the gateway's node.
    pub gateway: usize,
    /// Index of the node at the link's other end, which returns probes.
    pub provider: usize,
    /// The link's capacity as configured at the gateway, in bytes of responses per second; `None`: its real capacity.
    pub capacity_bytes_per_s: Option<f64>,
    /// Interval between probes of the far queue; `None` sends none.
    pub probe: Option<Nanos>,
    /// Length of a request.
    pub request_bytes: u32,
    /// Length of a response's header.
    pub header_bytes: u32,
    /// Whether the header states the body's length.
    pub tells_length: bool,
    /// If it does not: whether the gateway detects, when it waits for permission to read, that the response has arrived
    /// completely, as with a chunked response.
    pub sees_end: bool,
    /// Latencies and shares are measured from here on.
    pub warm_up: Nanos,
    /// The uplink as configured at the gateway, for pacing uploads. `None`: not configured, and uploads are sent as TCP permits.
    pub uplink: Option<AccessUplink>,
    /// Users' connections to the gateway. `None`: no TCP between them, and what the gateway relays does not wait for users.
    pub users: Option<UserConnections>,
    /// The gateway's connections to servers.
    pub servers: ServerConnections,
}

/// The uplink as configured at the gateway.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AccessUplink {
    /// Its rate, including headers.
    pub rate: Rate,
    /// Whether the gateway learns a lower rate where the uplink carries less.
    pub learns: bool,
}

/// Users' TCP connections to the gateway, over the links between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserConnections {
    /// The most connections of a user; requests beyond them wait.
    pub most: u32,
    /// How long one is kept for the next request: zero closes it after its response, [`Nanos::MAX`] never.
    pub idle: Nanos,
    /// Buffer of the gateway for each: bytes read from a server, and not acknowledged by the user.
    pub buffer_bytes: u32,
}

/// The gateway's connections to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerConnections {
    /// How long one is kept for the next request: zero closes it after its response, [`Nanos::MAX`] never.
    pub idle: Nanos,
    /// Round trips of TLS before the first request on one: 1 with TLS 1.3, 2 with TLS 1.2, 0 without TLS.
    pub tls_round_trips: u8,
}

impl Default for ServerConnections {
    /// Kept for ever, and without TLS.
    fn default() -> Self {
        Self { idle: Nanos::MAX, tls_round_trips: 0 }
    }
}

/// A host or a router.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name.
    pub name: String,
}

/// One direction of a link, with its queue.
#[derive(Debug, Clone)]
pub struct Link {
    /// Index of the sending node.
    pub from: usize,
    /// Index of the receiving node.
    pub to: usize,
    /// Transmission rate until the first change.
    pub rate: Rate,
    /// When its rate changes, in order of time. The last one has a rate.
    pub changes: Arc<[RateChange]>,
    /// Propagation delay.
    pub delay: Nanos,
    /// Orders packets; the watched link has the policy of the run instead.
    pub policy: PolicySpec,
    /// Limits of the queue; [`Limits::flows`] bounds the flows that are distinguished.
    pub limits: Limits,
    /// A packet that finds this many or more queued is marked (CE, RFC 3168), if its sender supports ECN.
    pub mark_packets: Option<u32>,
}

/// A change of a link's rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateChange {
    /// Packets whose transmission begins at this time or later are sent at the new rate.
    pub at: Nanos,
    /// The new rate; `None`: no transmission begins.
    pub rate: Option<Rate>,
}

impl Link {
    /// Bits that it can send between two times. Linear in the number of changes.
    #[must_use]
    pub fn bits_between(&self, from: Nanos, to: Nanos) -> f64 {
        let first = RateChange { at: Nanos::ZERO, rate: Some(self.rate) };
        let starts = std::iter::once(&first).chain(self.changes.iter());
        let ends = self.changes.iter().map(|change| change.at).chain([Nanos::MAX]);
        let bits = starts.zip(ends).map(|(change, end)| {
            let within = end.min(to) - change.at.max(from).min(to);
            change.rate.map_or(0.0, Rate::bps) * within.as_secs_f64()
        });
        bits.sum()
    }
}

/// Flows of one kind.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Their name.
    pub name: String,
    /// Their weight in every queue.
    pub weight: Weight,
    /// Index of the traffic whose class and weight these users share; `None`: it is a class of its own.
    pub class: Option<usize>,
    /// Senders: each flow's sender is drawn from these nodes.
    pub from: Vec<usize>,
    /// Receivers, likewise.
    pub to: Vec<usize>,
    /// When the first flow may begin.
    pub start: Nanos,
    /// When no more flows begin, and unlimited ones stop sending.
    pub stop: Nanos,
    /// What the flows do.
    pub kind: Kind,
}

/// What flows do.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Connections that carry a number of bytes and end.
    Transfers {
        /// Number of transfers.
        count: u32,
        /// Size of each, in units.
        size: Size,
        /// A unit in bytes: if this is TCP's largest segment, sizes are in packets.
        unit_bytes: u32,
        /// When they begin.
        arrivals: Arrivals,
    },
    /// This many connections that always have more to send.
    LongLived(u32),
    /// UDP at a constant rate.
    Datagrams(Datagrams),
    /// A user at a remote terminal, over one TCP connection.
    Interactive(Interactive),
    /// Users who send requests through the [`Access`]'s gateway. Each node in `to` is a user, the traffic as a whole is a
    /// class, and each request goes to one of the servers in `from`.
    Requests(Requests),
}

/// The requests of the users of a class.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// When they are sent.
    pub asks: Asks,
    /// Lengths of bodies, in bytes.
    pub size: Size,
    /// Lengths of uploads to the server, in bytes; `None`: requests have none.
    pub upload: Option<Size>,
    /// How long a user waits for the whole response; `None`: for ever.
    pub patience: Option<Nanos>,
    /// Periods without requests, from and to.
    pub silent: Vec<(Nanos, Nanos)>,
}

/// When a user sends requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asks {
    /// Each user keeps this many requests outstanding, and thinks for an exponential time with this mean after each response.
    Kept {
        /// Requests at once.
        each: u32,
        /// Mean think time; 0 sends the next request at once.
        think: Nanos,
    },
    /// At random, with this mean number per second from each user.
    PerSecond(f64),
    /// At random, at a rate at which all requests of all classes with this setting would use this part of the watched link.
    Load(f64),
}

/// When transfers begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// At random, with this mean number per second.
    PerSecond(f64),
    /// At random, at a rate at which the data packets of this run's transfers demand this part of the watched link between
    /// the first and the last beginning.
    Load(f64),
    /// All at once.
    Together,
}

/// UDP at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datagrams {
    /// The length of the IP packet, at least 28 bytes.
    pub bytes: u32,
    /// Interval between packets.
    pub gap: Nanos,
    /// Whether intervals are exponential, with that mean.
    pub random: bool,
    /// Mean times of sending and of silence, both exponential; `None` never pauses.
    pub on_off: Option<(Nanos, Nanos)>,
    /// Whether every packet is a flow of its own, as in a flood from forged addresses.
    pub flow_each: bool,
}

/// Keystrokes over a TCP connection, each of which the other end echoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interactive {
    /// The mean time from one keystroke to the next, which is exponential.
    pub gap: Nanos,
    /// Payload of a keystroke.
    pub keystroke_bytes: u32,
    /// Payload of its echo.
    pub echo_bytes: u32,
}

impl Traffic {
    /// The number of its transfers.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        if let Kind::Transfers { count, .. } = self.kind { count.into() } else { 0 }
    }
}

/// The longest run of a network with streams: each second takes a number per stream.
pub(super) const LATEST: Nanos = Nanos::from_secs(10_000_000);

impl Network {
    /// The number of transfers.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.traffic.iter().map(Traffic::transfers).sum()
    }

    /// Whether any traffic sends without limit.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.traffic.iter().any(|traffic| traffic.transfers() == 0)
    }

    /// The latest end of the run.
    pub(super) fn over_at(&self) -> Nanos {
        self.stop_at.unwrap_or(LATEST)
    }

    /// Index of the traffic that names the class of this traffic: itself, except for users who belong to another class.
    pub(super) fn class_of(&self, at: usize) -> usize {
        self.traffic.get(at).and_then(|traffic| traffic.class).unwrap_or(at)
    }

    /// The number of the gateway's own probes, as that of a traffic and of a class: after those of all others.
    #[cfg(feature = "network")]
    pub(super) fn probes(&self) -> usize {
        self.traffic.len()
    }

    /// Weight and name of a traffic, or of the gateway's probes.
    #[cfg(feature = "network")]
    pub(super) fn named(&self, traffic: usize) -> (Weight, &str) {
        self.traffic.get(traffic).map_or((Weight::ONE, "probes"), |traffic| (traffic.weight, &traffic.name))
    }

    /// The key for hashing flows. No sender here chooses colliding flows, and runs must be reproducible.
    #[cfg(feature = "network")]
    pub(super) fn hash_key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key
    }

    /// The requests of this traffic's users, if it has users.
    #[cfg(feature = "network")]
    pub(super) fn requests(&self, traffic: usize) -> Option<&Requests> {
        match &self.traffic[traffic].kind {
            Kind::Requests(requests) => Some(requests),
            _ => None,
        }
    }

    /// Users behind a gateway in the order of their numbers: index of their traffic, and their node.
    #[cfg(feature = "network")]
    pub(super) fn users(&self) -> impl Iterator<Item = (usize, usize)> {
        let asking = (0..self.traffic.len()).filter(|&at| self.requests(at).is_some());
        asking.flat_map(|at| self.traffic[at].to.iter().map(move |&node| (at, node)))
    }

    /// Whether any requests have uploads.
    #[cfg(feature = "network")]
    pub(super) fn has_uploads(&self) -> bool {
        (0..self.traffic.len()).any(|at| self.requests(at).is_some_and(|requests| requests.upload.is_some()))
    }

    /// Capacity of the watched link for responses in bytes per second, excluding headers.
    #[must_use]
    pub fn goodput_bytes_per_s(&self) -> f64 {
        self.payload_bytes_per_s(self.links[self.watched].rate)
    }

    /// Payload of full packets at this rate, in bytes per second.
    pub(super) fn payload_bytes_per_s(&self, rate: Rate) -> f64 {
        let mtu = f64::from(self.transport.mtu_bytes);
        rate.bps() / 8.0 * (mtu - f64::from(self.transport.headers_bytes())) / mtu
    }
}
