//! The configuration and the meaning of every key.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use dovetail_sched::{DropPolicy, Nanos, PolicySpec};
use dovetail_toml::Token;

use super::{class::Class, interface::Interface, tunnel::Tunnel};
use crate::{
    functions::forwarding,
    node::{Link, Room},
};

/// A box between two interfaces.
#[derive(Debug, Clone)]
pub struct Config {
    /// The interfaces, inside first.
    pub interfaces: [Interface; 2],
    /// Frames that leave on this side are classified, processed and scheduled; frames in the other direction are forwarded
    /// at once.
    pub toward: Side,
    /// The policy, with an estimator of costs.
    pub policy: PolicySpec,
    /// What happens to traffic when the box fails.
    pub on_failure: OnFailure,
    /// How frames are received and sent.
    pub io: Io,
    /// How the loop waits.
    pub wait: Wait,
    /// How frames that carry several packets of a stream are handled.
    pub segments: Segments,
    /// The CPU.
    pub cpu: Cpu,
    /// The bottleneck link.
    pub link: Link,
    /// Capacity of the queue between CPU and link.
    pub room: Room,
    /// One-way delay of the link in each direction, in addition to the transmission time at its rate.
    pub delay: Nanos,
    /// Queue limits.
    pub queues: Queues,
    /// The classes in matching order; the last takes every packet that matches no other.
    pub classes: Vec<Class>,
    /// Tunnels: those that `ipsec` encrypts for, named by classes, and those that are decrypted.
    pub tunnels: Vec<Arc<Tunnel>>,
    /// The file that records used sequence numbers of tunnels; without one, none are recorded.
    pub sequence_file: Option<PathBuf>,
    /// The routes that `forwarding` uses.
    pub routes: Option<Arc<forwarding::Table>>,
    /// WebAssembly programs.
    pub programs: Option<Programs>,
    /// The admin port, if there is one.
    pub admin: Option<Admin>,
}

/// One of the two sides of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// `inside`.
    Inside,
    /// `outside`.
    Outside,
}

impl Side {
    /// The opposite side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Inside => Self::Outside,
            Self::Outside => Self::Inside,
        }
    }

    /// The index into [`Config::interfaces`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What happens to traffic when the box fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// A bridge underneath keeps forwarding, unscheduled.
    Open,
    /// Traffic stops.
    Closed,
}

/// How frames are received and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Io {
    /// Packet sockets: works with any interface.
    AfPacket,
    /// AF_XDP in copy mode, for interfaces whose drivers run XDP programs. Needs the feature `af-xdp`.
    AfXdp,
}

/// How the loop waits for frames and timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Sleeps until the next event: no CPU while idle, and some 20 µs more latency.
    Sleep,
    /// Polls for this long after an event, then sleeps.
    SpinThenSleep(Nanos),
    /// Never sleeps: occupies a core of its own.
    Spin,
}

/// How frames that an interface delivers as one although they carry many packets (GSO, GRO) are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segments {
    /// Split, so that policies see packets.
    Split,
    /// Kept whole, except in tunnels: policy and functions see a packet of up to 64 KiB.
    Whole,
}

/// The CPU as a resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpu {
    /// Share of a CPU that the functions get, 0 to 1: processing times are divided by it.
    pub share: f64,
    /// Number of workers that run the functions, each with this share of a CPU; a single worker is the loop itself.
    pub workers: u16,
    /// The core that the loop is bound to.
    pub core: Option<u16>,
    /// Maximum wake-up latency of the machine's processors; `None` leaves it to the kernel.
    pub wake_latency: Option<Nanos>,
}

/// Queue limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queues {
    /// Packets per flow.
    pub packets_per_flow: u32,
    /// Packets of all flows together.
    pub packets: u32,
    /// Flows tracked at a time.
    pub flows: u32,
    /// How long a flow is remembered after its last packet.
    pub timeout: Nanos,
    /// Which flow loses a packet when the total limit is reached, unless the policy has its own rule.
    pub on_full: DropPolicy,
}

/// Location and limits of WebAssembly programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The folder that holds them.
    pub folder: PathBuf,
    /// Limits of each program.
    #[cfg(feature = "programs")]
    pub limits: crate::programs::ProgramLimits,
}

/// The admin port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// The address that it listens on.
    pub listen: SocketAddr,
    /// Token that authorises changes; without one, no changes are possible.
    pub token: Option<Token>,
}
