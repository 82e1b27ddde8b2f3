//! What a network is made of.

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
            _ => Ok(()),
        }
    }
}

/// The most nodes and links, each: routes are a table over pairs of nodes.
const MOST_NODES: usize = 1024;
pub(super) const MOST_LINKS: usize = 4096;
/// The most transfers, over all traffic: each leaves a line.
const MOST_TRANSFERS: u64 = 10_000_000;
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

    /// The key that flows are hashed with. Nobody here chooses flows that collide, and runs have to be equal.
    pub(super) fn hash_key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key
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
