//! Networks in virtual time: hosts with a real TCP, routers, links with a queue under any policy.
//!
//! What a policy does to a transfer shows only in closed loop: a packet that waits or is dropped makes its sender slow
//! down. So hosts here run [smoltcp]'s TCP, driven by a clock of this module's; the packets that it makes cross
//! links one after the other, and every link has a scheduler of this project before it.
//!
//! One loop drives everything. An event is a packet sent whole, a packet that arrives at a node, a timer of a connection
//! or of traffic. At one time packets that were sent whole come first, then the rest in the order in which it was foreseen, then
//! links are asked for their next packet, as the scheduler crate wants of an environment. What traffic does is drawn from
//! generators of its own and does not depend on packets' fate, so that every policy meets the same arrivals. Equal
//! inputs give equal runs, to the byte.
//!
//! One link is *watched*: its queue is under the policy that is looked at, and an [`Observer`] sees its packets, as in a
//! [`Pipeline`](crate::Pipeline) of one resource.
//!
//! # What smoltcp's TCP does not do
//!
//! The initial window is 2,048 bytes, not ten segments (RFC 6928). Loss is found by three duplicate acknowledgements or a
//! timeout of at least a second (RFC 6298); selective acknowledgements are sent but not used, and an acknowledgement of
//! part of what was lost ends fast recovery (RFC 5681, not RFC 6582). After a timeout all that was sent is sent again. A
//! receiver keeps at most 32 holes, set when the crate is built. The clock has whole microseconds. A last segment that is
//! not full waits until all before it is acknowledged (Nagle's algorithm, RFC 896). What comes of this beside the Linux
//! kernel's TCP is in docs/transport.md.
//!
//! | file | what |
//! |---|---|
//! | `spec` | what a network is made of |
//! | `scenario` | networks described in TOML |
//! | `world` | the loop |
//! | `events`, `packets`, `routes`, `addresses` | what it needs |
//! | `queue` | a link: scheduler and transmitter |
//! | `end`, `window`, `wire` | a connection's end, a window that closes, and the device under both |
//! | `access` | users behind a gateway that schedules their requests |
//! | `sources`, `datagrams` | traffic |
//! | `outcome`, `capture` | what is to be seen of a run |

mod access;
mod addresses;
mod capture;
mod datagrams;
mod end;
mod events;
mod format;
mod outcome;
mod packets;
mod queue;
mod routes;
mod scenario;
mod sources;
mod spec;
mod window;
mod wire;
mod world;

use std::{
    io::{self, Write},
    net::Ipv6Addr,
};

use dovetail_sched::{Nanos, PolicyError, PolicySpec, flow::FiveTuple};
use thiserror::Error;

pub use access::Contender;
pub use outcome::{AccessOutcome, Exchange, NetworkOutcome, Stream, Transfer};
pub use spec::{
    Access, Arrivals, Asks, Congestion, Datagrams, Kind, Link, Network, Node, Requests, Traffic, Transport,
};

use crate::Observer;
use world::World;

/// How to run a network.
#[derive(Default)]
pub struct NetworkOptions<'a> {
    /// Told now and then how far the run is.
    pub progress: Option<&'a mut dyn FnMut(NetworkProgress)>,
    /// Gets a capture (pcap, raw IP, nanoseconds) of what the watched link sends, stamped when a packet's first bit leaves.
    pub capture: Option<&'a mut dyn Write>,
}

impl<'a> NetworkOptions<'a> {
    /// The same, lent for as long as one run lasts.
    fn lend<'b>(self) -> NetworkOptions<'b>
    where
        'a: 'b,
    {
        NetworkOptions {
            progress: self.progress.map(|told| told as &mut dyn FnMut(NetworkProgress)),
            capture: self.capture.map(|file| file as &mut dyn Write),
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkProgress {
    /// Transfers that are done.
    pub done: u64,
    /// Transfers that there will be.
    pub transfers: u64,
    /// The virtual time.
    pub now: Nanos,
}

/// Why a network cannot be run.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// It contradicts itself.
    #[error("{0}")]
    Network(String),
    /// A policy cannot be built.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The capture cannot be written.
    #[error("the capture cannot be written: {0}")]
    Capture(#[from] io::Error),
}

impl NetworkError {
    fn no_way(network: &Network, from: usize, to: usize) -> Self {
        let name = |node: usize| network.nodes.get(node).map_or("?", |node| node.name.as_str());
        Self::Network(format!("there is no way from '{}' to '{}': add a link", name(from), name(to)))
    }
}

/// Runs `network` with `policy` before its watched link.
///
/// # Errors
/// [`NetworkError`] when the network contradicts itself, a policy cannot be built or the capture cannot be written.
pub fn simulate_network<O: Observer>(
    network: &Network,
    policy: &PolicySpec,
    observer: &mut O,
    options: NetworkOptions<'_>,
) -> Result<NetworkOutcome, NetworkError> {
    network.check()?;
    if network.access.is_some() {
        return Err(NetworkError::Network("users ask through a gateway here: say what that does".into()));
    }
    World::new(network, policy, None, &[], observer, options.lend())?.run()
}

/// Runs a network whose users ask through a gateway that does this.
///
/// # Errors
/// As [`simulate_network`], and when there is no gateway.
pub fn simulate_access<O: Observer>(
    network: &Network,
    gateway: &Contender,
    observer: &mut O,
    options: NetworkOptions<'_>,
) -> Result<NetworkOutcome, NetworkError> {
    network.check()?;
    let laid = access::lay_out(network, gateway)?;
    let gateway = Some((&laid.access, &laid.requests));
    World::new(&laid.network, &laid.far_end, gateway, &laid.by_traffic, observer, options.lend())?.run()
}

/// How a flow is called: `10.0.0.1:49152>10.0.0.2:80`.
fn label(tuple: &FiveTuple) -> String {
    let address = |bytes: [u8; 16]| {
        let address = Ipv6Addr::from(bytes);
        address.to_ipv4_mapped().map_or_else(|| address.to_string(), |mapped| mapped.to_string())
    };
    let FiveTuple { source, destination, source_port, destination_port, .. } = *tuple;
    format!("{}:{source_port}>{}:{destination_port}", address(source), address(destination))
}
