//! What a network is made of.

use std::collections::HashSet;

use dovetail_sched::{Limits, Nanos, PolicySpec, Weight, units::Rate};

use super::{NetworkError, end::HEADERS_BYTES};
use crate::workload::Size;

/// Hosts and routers, the links between them, and what crosses them.
#[derive(Debug, Clone)]
pub struct Network {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Where it is from: a paper and its figure, say.
    pub source: String,
    /// Seeds all random numbers.
    pub seed: u64,
    /// Nothing happens at this time or later. Without it, a run ends when every transfer is done.
    pub stop_at: Option<Nanos>,
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// Links, one direction each.
    pub links: Vec<Link>,
    /// The link, as an index, whose queue is under the policy that is looked at.
    pub watched: usize,
    /// How hosts send.
    pub transport: Transport,
    /// What is sent.
    pub traffic: Vec<Traffic>,
    /// The gateway that users ask through, where there is one.
    pub access: Option<Access>,
}

/// A gateway between users and a narrow downlink, at the users' end.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// The gateway's node, as an index.
    pub gateway: usize,
    /// The node at the link's other end, which sends probes back.
    pub provider: usize,
    /// What the gateway is told that the link carries, in bytes of responses a second; `None`: what it does carry.
    pub capacity_bytes_per_s: Option<f64>,
    /// From one probe of the far queue to the next; `None` sends none.
    pub probe: Option<Nanos>,
    /// Length of a request, and of what comes before a response's body.
    pub request_bytes: u32,
    /// Length of a response's header.
    pub header_bytes: u32,
    /// Whether the header tells how long the body is.
    pub tells_length: bool,
    /// Latencies and shares count from here on.
    pub warm_up: Nanos,
    /// What the gateway is told of the uplink's rate, headers and all: it paces uploads. `None`: it is told nothing, and
    /// sends them as TCP does.
    pub uplink: Option<Rate>,
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
    /// How long a bit is under way.
    pub delay: Nanos,
    /// Orders packets; the watched link has the policy of the run instead.
    pub policy: PolicySpec,
    /// How much may wait; [`Limits::flows`] bounds the flows that are told apart.
    pub limits: Limits,
}

/// How hosts send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// TCP's congestion control.
    pub congestion: Congestion,
    /// The largest IP packet, in bytes: TCP's segments carry 40 less.
    pub mtu_bytes: u32,
    /// The most bytes of a connection that are unacknowledged.
    pub window_bytes: u32,
    /// How long a receiver may hold an acknowledgement back; `None`: every segment is acknowledged at once.
    pub delayed_ack: Option<Nanos>,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            congestion: Congestion::Reno,
            mtu_bytes: 1500,
            window_bytes: 1 << 18,
            // smoltcp's own.
            delayed_ack: Some(Nanos::from_millis(10)),
        }
    }
}

impl Transport {
    /// The bytes of the IP packets that carry `bytes` bytes over TCP, acknowledgements and repetitions aside.
    #[must_use]
    pub const fn wire_bytes(&self, bytes: u64) -> u64 {
        let segment = self.mtu_bytes.saturating_sub(HEADERS_BYTES) as u64;
        if segment == 0 { 0 } else { bytes + bytes.div_ceil(segment) * HEADERS_BYTES as u64 }
    }
}

/// TCP's congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// Flows of one kind.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// What they are called.
    pub name: String,
    /// Their weight in every queue.
    pub weight: Weight,
    /// Who sends: each flow's is drawn from these nodes.
    pub from: Vec<usize>,
    /// Who receives, likewise.
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
    /// TCP connections that carry so much and end.
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
    /// So many TCP connections that always have more to send.
    LongLived(u32),
    /// UDP at a constant rate.
    Datagrams(Datagrams),
    /// Users who ask through the [`Access`]'s gateway. Each node in `to` is a user, all traffic is a class, and each request
    /// goes to one of the servers in `from`.
    Requests(Requests),
}

/// What the users of a class ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// When they ask.
    pub asks: Asks,
    /// Lengths of bodies, in bytes.
    pub size: Size,
    /// The traffic, as an index, whose class and weight these users have; `None`: they are a class of their own.
    pub class: Option<usize>,
    /// Lengths of what requests carry up to the server, in bytes; `None`: they carry nothing.
    pub upload: Option<Size>,
    /// How long a user waits for the whole response; `None`: as long as it takes.
    pub patience: Option<Nanos>,
    /// Times, from and to, in which nobody asks.
    pub silent: Vec<(Nanos, Nanos)>,
}

/// When a user asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asks {
    /// Each user keeps so many requests outstanding, and thinks for an exponential time of this mean after each response.
    Kept {
        /// Requests at once.
        each: u32,
        /// Mean time to think; 0 asks again at once.
        think: Nanos,
    },
    /// At random, so many a second in the mean from each user.
    PerSecond(f64),
    /// At random, so often that all requests of all classes that say so would take this part of the watched link.
    Load(f64),
}

/// When transfers begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// At random, so many a second in the mean.
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

impl Traffic {
    /// How many transfers there are of it.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        if let Kind::Transfers { count, .. } = self.kind { count.into() } else { 0 }
    }

    /// Whether its parts fit together, in a network of `nodes` nodes.
    pub(super) fn check(&self, nodes: usize) -> Result<(), String> {
        if self.from.is_empty() || self.to.is_empty() {
            return Err("it needs somebody who sends and somebody who receives".into());
        }
        if self.from.iter().chain(&self.to).any(|&node| node >= nodes) {
            return Err("it is between nodes that there are".into());
        }
        let mut sends = vec![false; nodes];
        self.from.iter().for_each(|&node| sends[node] = true);
        if self.to.iter().any(|&node| sends[node]) {
            return Err("nobody sends to himself".into());
        }
        match &self.kind {
            Kind::Transfers { count: 0, .. } | Kind::LongLived(0) => Err("count is at least 1".into()),
            Kind::LongLived(flows) if *flows > MOST_LONG_LIVED => {
                Err(format!("long_lived is at most {MOST_LONG_LIVED}, not {flows}"))
            }
            Kind::Transfers { arrivals: Arrivals::PerSecond(rate) | Arrivals::Load(rate), .. }
                if !(1e-6..=1e9).contains(rate) =>
            {
                Err("a rate or a load is from 0.000001 to 1000000000".into())
            }
            Kind::Transfers { unit_bytes: 0, .. } => Err("a unit is at least a byte".into()),
            Kind::Transfers { size, unit_bytes, .. } => size.check(LARGEST_BYTES / f64::from(*unit_bytes)),
            Kind::Datagrams(Datagrams { bytes, gap, .. }) if !(28..=65_535).contains(bytes) || gap.0 == 0 => {
                Err("datagrams are from 28 to 65535 bytes, with some time between them".into())
            }
            // Bursts and silences of no length would never let time pass.
            Kind::Datagrams(Datagrams { on_off: Some((on, _)), .. }) if on.0 == 0 => {
                Err("a burst takes some time in the mean".into())
            }
            Kind::Requests(requests) => requests.check(),
            _ => Ok(()),
        }
    }
}

impl Requests {
    fn check(&self) -> Result<(), String> {
        match self.asks {
            Asks::Kept { each, .. } if !(1..=MOST_EACH).contains(&each) => {
                return Err(format!("a user keeps from 1 to {MOST_EACH} requests, not {each}"));
            }
            Asks::PerSecond(rate) | Asks::Load(rate) if !(1e-6..=1e6).contains(&rate) => {
                return Err("a rate or a load is from 0.000001 to 1000000".into());
            }
            _ => {}
        }
        if self.patience == Some(Nanos::ZERO) {
            return Err("patience is longer than nothing".into());
        }
        if self.silent.iter().any(|(from, to)| from >= to) {
            return Err("a silence begins before it ends".into());
        }
        if let Some(upload) = &self.upload {
            upload.check(LARGEST_BYTES).map_err(|what| format!("upload: {what}"))?;
        }
        self.size.check(LARGEST_BYTES)
    }
}

/// The far queue remembers 256 probes: 2.56 seconds of them.
const SHORTEST_PROBE: Nanos = Nanos::from_millis(10);
/// The most requests that a user keeps.
const MOST_EACH: u32 = 10_000;

/// The most nodes and links, each: routes are a table over pairs of nodes.
const MOST_NODES: usize = 1024;
pub(super) const MOST_LINKS: usize = 4096;
/// The most transfers, over all traffic, and the most requests: each leaves a line.
pub(super) const MOST_TRANSFERS: u64 = 10_000_000;
/// The most connections without end of one traffic: a host opens connections from 16,384 ports.
const MOST_LONG_LIVED: u32 = 10_000;
/// The most connections that are open at once: each has buffers.
pub(super) const MOST_OPEN: usize = 1 << 16;
/// The largest transfer.
const LARGEST_BYTES: f64 = 1e12;
/// The most seconds that a network with streams runs: each leaves a number.
const LATEST: Nanos = Nanos::from_secs(10_000_000);

impl Network {
    /// How many transfers there are.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.traffic.iter().map(Traffic::transfers).sum()
    }

    /// Whether something is sent without end.
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
        self.requests(at).and_then(|requests| requests.class).unwrap_or(at)
    }

    /// The key that flows are hashed with. Nobody here chooses flows that collide, and runs have to be equal.
    pub(super) fn hash_key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key
    }

    /// Whether users ask through a gateway, and nobody does without one.
    fn check_access(&self) -> Result<(), NetworkError> {
        let wrong = |what: &str| Err(NetworkError::Network(what.into()));
        let asked = self.traffic.iter().any(|traffic| matches!(traffic.kind, Kind::Requests(_)));
        let Some(access) = &self.access else {
            return if asked { wrong("who asks needs a gateway: add [access]") } else { Ok(()) };
        };
        if !asked {
            return wrong("there is a gateway, but no traffic has requests");
        }
        if access.gateway >= self.nodes.len() || access.provider >= self.nodes.len() {
            return wrong("the gateway and the provider's end are nodes that there are");
        }
        if self.links[self.watched].to != access.gateway {
            return wrong("the watched link leads to the gateway");
        }
        if access.probe.is_some_and(|gap| gap < SHORTEST_PROBE) {
            return wrong("probes are 10 ms apart at least");
        }
        // Whoever stops in time is asked about.
        let asks = |traffic: &&Traffic| matches!(traffic.kind, Kind::Requests(_));
        let stops = self.traffic.iter().filter(asks).map(|traffic| traffic.stop).max();
        let stops = stops.unwrap_or(Nanos::MAX).min(self.over_at());
        if access.warm_up + Nanos::from_secs(1) > stops {
            return wrong("warm_up leaves a second at least before users stop");
        }
        if access.capacity_bytes_per_s.is_some_and(|capacity| !(1.0..=1e12).contains(&capacity)) {
            return wrong("a capacity is from 8 bit/s to 8 Tbit/s");
        }
        if access.uplink.is_some_and(|rate| !(8.0..=8e12).contains(&rate.bps())) {
            return wrong("an uplink is from 8 bit/s to 8 Tbit/s");
        }
        if !(1..=self.transport.mtu_bytes).contains(&access.request_bytes) || access.header_bytes > 1 << 20 {
            return wrong("a request is at least a byte and fits a packet, and a header is up to 1 MiB long");
        }
        let is_class =
            |at: usize| self.traffic.get(at).is_some_and(|traffic| asks(&traffic) && self.class_of(at) == at);
        if !(0..self.traffic.len()).all(|at| self.class_of(at) == at || is_class(self.class_of(at))) {
            return wrong("a class of users is another traffic with requests, which names no class itself");
        }
        let mut users = HashSet::new();
        for traffic in self.traffic.iter().filter(asks) {
            if traffic.from.contains(&access.gateway) || !traffic.to.iter().all(|user| users.insert(user)) {
                return wrong("every user is of one class, and no server is the gateway");
            }
        }
        Ok(())
    }

    /// Whether all parts fit together.
    pub(super) fn check(&self) -> Result<(), NetworkError> {
        let wrong = |what: String| Err(NetworkError::Network(what));
        let (nodes, links) = (self.nodes.len(), self.links.len());
        if nodes > MOST_NODES || links > MOST_LINKS {
            return wrong(format!("there are {nodes} nodes and {links} links: at most {MOST_NODES} and {MOST_LINKS}"));
        }
        if self.links.iter().any(|link| link.from >= nodes || link.to >= nodes || link.from == link.to) {
            return wrong("a link is between two different nodes".into());
        }
        if self.watched >= links {
            return wrong("no link is watched".into());
        }
        if self.traffic.is_empty() {
            return wrong("there is no traffic".into());
        }
        if self.transfers() > MOST_TRANSFERS {
            return wrong(format!("there are {} transfers: at most {MOST_TRANSFERS}", self.transfers()));
        }
        self.check_access()?;
        if self.transfers() == 0 && self.stop_at.is_none() {
            return wrong("nothing here ends by itself: say when to stop".into());
        }
        if self.stop_at.is_some_and(|stop| stop > LATEST) {
            return wrong(format!("it stops after {LATEST} at the latest"));
        }
        let Transport { mtu_bytes, window_bytes, .. } = self.transport;
        if !(576..=65_535).contains(&mtu_bytes) {
            return wrong(format!("the largest packet is from 576 to 65535 bytes, not {mtu_bytes}"));
        }
        if !(mtu_bytes..=1 << 24).contains(&window_bytes) {
            return wrong(format!("the window is from the largest packet to 16 MiB, not {window_bytes} bytes"));
        }
        self.traffic.iter().try_for_each(|traffic| {
            traffic.check(nodes).or_else(|what| wrong(format!("traffic '{}': {what}", traffic.name)))
        })
    }
}
