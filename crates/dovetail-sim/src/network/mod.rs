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
//! One link is *watched*: its queue is under the policy that is examined, and an [`Observer`] sees its packets, as in a
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
//! | `spec`, `check` | what a network is made of, and whether that fits together |
//! | `format`, `scenario` | networks described in TOML |
//! | `net` | a network at work: time, links, connections, packets on their way |
//! | `agenda`, `ask_again`, `packets`, `routes`, `addresses`, `headers` | what it needs |
//! | `queue` | a link: scheduler and transmitter |
//! | `connections`, `end`, `window`, `wire` | connections, their ends, a window that closes, and the device under all |
//! | `hosts`, `sources`, `datagrams` | traffic of hosts that send to one another |
//! | `access_model` | what a model of users' access does; a second one is another implementation of it |
//! | `request_gateway` | users behind a gateway that schedules their requests |
//! | `world` | the loop over all of them |
//! | `watch`, `capture`, `outcome` | what is to be seen of a run |

mod access_model;
mod addresses;
mod agenda;
mod ask_again;
mod capture;
mod check;
mod connections;
mod datagrams;
mod end;
mod error;
mod format;
mod headers;
mod hosts;
mod net;
mod options;
mod outcome;
mod packets;
mod queue;
mod request_gateway;
mod routes;
mod scenario;
mod sources;
mod spec;
mod watch;
mod window;
mod wire;
mod world;

use dovetail_sched::PolicySpec;

pub use error::NetworkError;
pub use options::{NetworkOptions, NetworkProgress};
pub use outcome::{AccessOutcome, Exchange, NetworkOutcome, Stream, Transfer};
pub use request_gateway::Contender;
pub use spec::{
    Access, Arrivals, Asks, Congestion, Datagrams, Kind, Link, Network, Node, Requests, Traffic, Transport,
};

use crate::Observer;
use access_model::NoUsers;
use capture::Capture;
use net::Net;
use request_gateway::{RequestGateway, lay_out};
use watch::Watch;
use world::World;

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
        return Err(NetworkError::Network("users send requests through a gateway here: set its policy".into()));
    }
    let NetworkOptions { progress, capture } = options.lend();
    let watch = Watch::new(observer, capture.map(Capture::begin).transpose()?);
    let net = Net::new(network, policy, &[], watch)?;
    World::new(net, NoUsers, progress).run()
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
    let laid = lay_out(network, gateway)?;
    let NetworkOptions { progress, capture } = options.lend();
    let watch = Watch::new(observer, capture.map(Capture::begin).transpose()?);
    let mut net = Net::new(&laid.network, &laid.far_end, &laid.by_traffic, watch)?;
    let gateway = RequestGateway::begin(&laid.access, &laid.requests, &mut net)?;
    World::new(net, gateway, progress).run()
}
