//! What a network is made of.

use dovetail_sched::{Limits, Nanos, PolicySpec, Weight, units::Rate};

use super::transport::Transport;
use crate::workload::Size;

/// Hosts and routers, the links between them, and what crosses them.
#[derive(Debug, Clone)]
pub struct Network {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its source, such as a paper and its figure.
    pub source: String,
    /// Seeds all random numbers.
    pub seed: u64,
    /// Nothing happens at this time or later. Without it, a run ends when every transfer is done.
    pub stop_at: Option<Nanos>,
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// Links, one direction each.
    pub links: Vec<Link>,
    /// The link, as an index, whose queue is under the policy that is examined.
    pub watched: usize,
    /// How hosts send.
    pub transport: Transport,
    /// What is sent.
    pub traffic: Vec<Traffic>,
    /// The gateway between users and servers, if there is one.
    pub access: Option<Access>,
}

/// A gateway between users and a narrow downlink, at the users' end.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// The gateway's node, as an index.
    pub gateway: usize,
    /// The node at the link's other end, which sends probes back.
    pub provider: usize,
    /// The link's capacity as configured at the gateway, in bytes of responses per second; `None`: its real capacity.
    pub capacity_bytes_per_s: Option<f64>,
    /// From one probe of the far queue to the next; `None` sends none.
    pub probe: Option<Nanos>,
    /// Length of a request, and of a response's header.
    pub request_bytes: u32,
    /// Length of a response's header.
    pub header_bytes: u32,
    /// Whether the header states the body's length.
    pub tells_length: bool,
    /// Where it does not: whether the gateway sees that all that is left is there when it waits for a turn, as of a chunked
    /// response.
    pub sees_end: bool,
    /// Latencies and shares count from here on.
    pub warm_up: Nanos,
    /// What the gateway is told of the uplink's rate, headers and all: it paces uploads. `None`: it is told nothing, and
    /// sends them as TCP does.
    pub uplink: Option<Rate>,
    /// Users' connections to the gateway. `None`: there is no TCP between them, and what the gateway relays waits for no user.
    pub users: Option<UserConnections>,
    /// The gateway's connections to servers.
    pub servers: ServerConnections,
}

/// Users' TCP connections to the gateway, over the links between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserConnections {
    /// The most that a user has open; requests beyond them wait.
    pub most: u32,
    /// How long one is kept for the next request: zero closes it after its response, [`Nanos::MAX`] never.
    pub idle: Nanos,
    /// What the gateway holds for each: read from a server, and not acknowledged by the user.
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
    /// Kept, and without TLS.
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

/// One direction of a link, with the queue before it.
#[derive(Debug, Clone)]
pub struct Link {
    /// The node that sends, as an index.
    pub from: usize,
    /// The node that receives, as an index.
    pub to: usize,
    /// How fast packets leave.
    pub rate: Rate,
    /// How long a bit is in flight.
    pub delay: Nanos,
    /// Orders packets; the watched link has the policy of the run instead.
    pub policy: PolicySpec,
    /// How much may wait; [`Limits::flows`] bounds the flows that are distinguished.
    pub limits: Limits,
    /// A packet that finds so many or more queued is marked (CE, RFC 3168), where its sender can be told so.
    pub mark_packets: Option<u32>,
}

/// Flows of one kind.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// What they are called.
    pub name: String,
    /// Their weight in every queue.
    pub weight: Weight,
    /// The traffic, as an index, whose class and weight these users have; `None`: it is a class of its own.
    pub class: Option<usize>,
    /// Senders: each flow's is drawn from these nodes.
    pub from: Vec<usize>,
    /// Receivers, likewise.
    pub to: Vec<usize>,
    /// When the first may begin.
    pub start: Nanos,
    /// When nothing more begins or, of what has no end of its own, is sent.
    pub stop: Nanos,
    /// What they do.
    pub kind: Kind,
}

/// What flows do.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Connections that carry so much and end.
    Transfers {
        /// How many.
        count: u32,
        /// How many units each carries.
        size: Size,
        /// A unit, in bytes: with TCP's largest segment for a unit, sizes are in packets.
        unit_bytes: u32,
        /// When they begin.
        arrivals: Arrivals,
    },
    /// So many connections that always have more to send.
    LongLived(u32),
    /// UDP at a constant rate.
    Datagrams(Datagrams),
    /// A user at a distant terminal, over one TCP connection.
    Interactive(Interactive),
    /// Users who ask through the [`Access`]'s gateway. Each node in `to` is a user, all traffic is a class, and each request
    /// goes to one of the servers in `from`.
    Requests(Requests),
}

/// The requests of the users of a class.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// When they are sent.
    pub asks: Asks,
    /// Lengths of bodies, in bytes.
    pub size: Size,
    /// Lengths of what requests carry up to the server, in bytes; `None`: they carry nothing.
    pub upload: Option<Size>,
    /// How long a user waits for the whole response; `None`: as long as it takes.
    pub patience: Option<Nanos>,
    /// Times, from and to, without requests.
    pub silent: Vec<(Nanos, Nanos)>,
}

/// When a user sends requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asks {
    /// Each user keeps this many requests outstanding, and thinks for an exponential time of this mean after each
    /// response.
    Kept {
        /// Requests at once.
        each: u32,
        /// Mean time to think; 0 asks again at once.
        think: Nanos,
    },
    /// At random, so many a second on average from each user.
    PerSecond(f64),
    /// At random, so often that all requests of all classes that say so would take this part of the watched link.
    Load(f64),
}

/// When transfers begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// At random, so many a second on average.
    PerSecond(f64),
    /// At random, so often that the data packets of this run's transfers ask for this part of the watched link from the
    /// first to the last beginning.
    Load(f64),
    /// All at once.
    Together,
}

/// UDP at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Datagrams {
    /// The length of the IP packet, at least 28 bytes.
    pub bytes: u32,
    /// From one to the next.
    pub gap: Nanos,
    /// Whether gaps are exponential, with that mean.
    pub random: bool,
    /// Mean times of sending and of silence, both exponential; `None` never rests.
    pub on_off: Option<(Nanos, Nanos)>,
    /// Whether every packet is a flow of its own, as in a flood from forged addresses.
    pub flow_each: bool,
}

/// Keystrokes over a TCP connection, each of which the other end echoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interactive {
    /// The mean time from one keystroke to the next, which is exponential.
    pub gap: Nanos,
    /// What a keystroke carries, headers aside.
    pub keystroke_bytes: u32,
    /// What its echo carries.
    pub echo_bytes: u32,
}

impl Traffic {
    /// The number of its transfers.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        if let Kind::Transfers { count, .. } = self.kind { count.into() } else { 0 }
    }
}

/// The most seconds that a network with streams runs: each leaves a number.
pub(super) const LATEST: Nanos = Nanos::from_secs(10_000_000);

impl Network {
    /// The number of transfers.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.traffic.iter().map(Traffic::transfers).sum()
    }

    /// Whether something sends without limit.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.traffic.iter().any(|traffic| traffic.transfers() == 0)
    }

    /// When everything is over, at the latest.
    pub(super) fn over_at(&self) -> Nanos {
        self.stop_at.unwrap_or(LATEST)
    }

    /// The traffic that the class of this traffic is called by: itself, but for users who are of another's class.
    pub(super) fn class_of(&self, at: usize) -> usize {
        self.traffic[at].class.unwrap_or(at)
    }

    /// The key that flows are hashed with. No sender here chooses flows that collide, and runs have to be equal.
    #[cfg(feature = "network")]
    pub(super) fn hash_key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key
    }

    /// What the users of this traffic ask for, if it is users'.
    #[cfg(feature = "network")]
    pub(super) fn requests(&self, traffic: usize) -> Option<&Requests> {
        match &self.traffic[traffic].kind {
            Kind::Requests(requests) => Some(requests),
            _ => None,
        }
    }

    /// Users behind a gateway in the order of their numbers: the traffic that each is of, and its node.
    #[cfg(feature = "network")]
    pub(super) fn users(&self) -> impl Iterator<Item = (usize, usize)> {
        let asking = (0..self.traffic.len()).filter(|&at| self.requests(at).is_some());
        asking.flat_map(|at| self.traffic[at].to.iter().map(move |&node| (at, node)))
    }

    /// Whether requests carry anything.
    #[cfg(feature = "network")]
    pub(super) fn has_uploads(&self) -> bool {
        (0..self.traffic.len()).any(|at| self.requests(at).is_some_and(|requests| requests.upload.is_some()))
    }

    /// What responses can get of the watched link, in bytes a second: what headers leave.
    #[must_use]
    pub fn goodput_bytes_per_s(&self) -> f64 {
        self.payload_bytes_per_s(self.links[self.watched].rate)
    }

    /// What full packets at this rate carry, in bytes a second.
    pub(super) fn payload_bytes_per_s(&self, rate: Rate) -> f64 {
        let mtu = f64::from(self.transport.mtu_bytes);
        rate.bps() / 8.0 * (mtu - f64::from(self.transport.headers_bytes())) / mtu
    }
}
