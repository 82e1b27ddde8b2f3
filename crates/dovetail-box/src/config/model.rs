//! The configuration, with every key's meaning.

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
    /// Frames that leave on this side are classified, worked on and scheduled; those the other way pass at once.
    pub toward: Side,
    /// The policy, with an estimator of costs.
    pub policy: PolicySpec,
    /// What happens to traffic when the box fails.
    pub on_failure: OnFailure,
    /// How frames come in and go out.
    pub io: Io,
    /// How the loop waits.
    pub wait: Wait,
    /// What becomes of frames that carry several packets' worth of a stream.
    pub segments: Segments,
    /// The CPU.
    pub cpu: Cpu,
    /// The narrow link.
    pub link: Link,
    /// How much may wait between CPU and link.
    pub room: Room,
    /// How long frames are on the link, each way, beside the time that they take at its rate.
    pub delay: Nanos,
    /// How much may be queued.
    pub queues: Queues,
    /// The classes in the order in which they are tried; the last takes whatever no other does.
    pub classes: Vec<Class>,
    /// What `ipsec` encrypts by, which classes name, and what is decrypted by.
    pub tunnels: Vec<Arc<Tunnel>>,
    /// Which sequence numbers of tunnels were used; there are none without such a file.
    pub sequence_file: Option<PathBuf>,
    /// What `forwarding` goes by.
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
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Inside => Self::Outside,
            Self::Outside => Self::Inside,
        }
    }

    /// As an index of [`Config::interfaces`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What happens to traffic when the box fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// A bridge underneath carries it on, unscheduled.
    Open,
    /// It stops.
    Closed,
}

/// How frames come in and go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Io {
    /// By packet sockets: at any interface.
    AfPacket,
    /// By AF_XDP, copied, at interfaces whose drivers run XDP programs. Needs the feature `af-xdp`.
    AfXdp,
}

/// How the loop waits for frames and for what is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It sleeps until the next event: no CPU while idle, and some 20 µs more latency.
    Sleep,
    /// It looks again and again for this long after an event, then sleeps.
    SpinThenSleep(Nanos),
    /// It never sleeps: a core for the box alone.
    Spin,
}

/// What becomes of frames that an interface hands over as one though they are many packets (GSO, GRO).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segments {
    /// They are split, so that policies see packets.
    Split,
    /// They stay whole, except in tunnels: a packet of up to 64 KiB to policy and functions.
    Whole,
}

/// The CPU as a resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpu {
    /// Which part of a CPU the functions have, 0 to 1: their times are stretched by its inverse.
    pub share: f64,
    /// How many workers do the functions' work, each with this share of a CPU: one is the loop itself.
    pub workers: u16,
    /// The core that the loop is bound to.
    pub core: Option<u16>,
    /// How long processors of the machine may take to wake, if that is not the kernel's to say.
    pub wake_latency: Option<Nanos>,
}

/// How much may be queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queues {
    /// Packets of one flow.
    pub packets_per_flow: u32,
    /// Packets of all flows.
    pub packets: u32,
    /// Flows that are known at a time.
    pub flows: u32,
    /// How long a flow is known after its last packet.
    pub timeout: Nanos,
    /// Who loses a packet when there are too many of all flows, where the policy has no rule of its own.
    pub on_full: DropPolicy,
}

/// Where WebAssembly programs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The folder.
    pub folder: PathBuf,
    /// What each may take.
    #[cfg(feature = "programs")]
    pub limits: crate::programs::ProgramLimits,
}

/// The admin port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens.
    pub listen: SocketAddr,
    /// With this token changes are permitted; without one there are none.
    pub token: Option<Token>,
}
