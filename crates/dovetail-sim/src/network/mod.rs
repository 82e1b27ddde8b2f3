//! Networks in virtual time: hosts with a real TCP, routers, links with a queue under any policy.
//!
//! What a policy does to a transfer shows only in closed loop: a packet that waits or is dropped makes its sender slow
//! down. So hosts here run [`dovetail_tcp`], which behaves as Linux's TCP does, or QUIC, driven by a clock of this module's; the
//! packets that it makes cross links one after the other, and every link has a scheduler of this project before it.
//!
//! One loop drives everything. An event is a packet sent whole, a packet that arrives at a node, a timer of a connection
//! or of traffic. At one time packets that were sent whole come first, then the rest in the order in which it was foreseen, then
//! links are asked for their next packet, as the scheduler crate wants of an environment. What traffic does is drawn from
//! generators of its own and does not depend on packets' fate, so that every policy meets the same arrivals. Equal
//! inputs give equal runs, to the byte.
//!
//! One link is *watched*: its queue is under the policy that is examined, and an [`Observer`](crate::Observer) sees its packets, as in a
//! [`Pipeline`](crate::Pipeline) of one resource.
//!
//! | file | what |
//! |---|---|
//! | `spec`, `check` | what a network is made of, and whether that fits together |
//! | `contender` | what may be compared at a gateway |
//! | `run` | a network described, made and run; `without` in its place says that this build has no TCP |
//! | `format`, `scenario` | networks described in TOML |
//! | `net` | a network at work: time, links, connections, packets on their way |
//! | `agenda`, `ask_again`, `packets`, `routes`, `addresses`, `headers` | what it needs |
//! | `queue` | a link: scheduler and transmitter |
//! | `transport` | how hosts send, and how a scenario names that |
//! | `connections`, `end`, `party` | connections, their ends, and what an end has and does |
//! | `quic` | ends that run QUIC; `quic_left_out` in its place says that this build has none |
//! | `hosts`, `sources`, `sizes`, `sessions` | traffic of hosts that send to one another |
//! | `access_model` | what a model of users' access does; a second one is another implementation of it |
//! | `request_gateway` | users behind a gateway that schedules their requests |
//! | `world` | the loop over all of them |
//! | `watch`, `blamed`, `capture`, `outcome` | what is to be seen of a run |

mod check;
mod contender;
mod error;
mod format;
mod options;
mod outcome;
mod scenario;
mod sizes;
mod spec;
mod transport;

// What runs a network, and the TCP that it needs.
#[cfg(feature = "network")]
mod access_model;
#[cfg(feature = "network")]
mod addresses;
#[cfg(feature = "network")]
mod agenda;
#[cfg(feature = "network")]
mod ask_again;
#[cfg(feature = "network")]
mod blamed;
#[cfg(feature = "network")]
mod capture;
#[cfg(feature = "network")]
mod connections;
#[cfg(feature = "network")]
mod end;
#[cfg(feature = "network")]
mod headers;
#[cfg(feature = "network")]
mod hosts;
#[cfg(feature = "network")]
mod net;
#[cfg(feature = "network")]
mod packets;
#[cfg(feature = "network")]
mod party;
#[cfg(feature = "network")]
mod queue;
#[cfg(all(feature = "network", feature = "quic"))]
mod quic;
#[cfg(all(feature = "network", not(feature = "quic")))]
#[path = "quic_left_out.rs"]
mod quic;
#[cfg(feature = "network")]
mod request_gateway;
#[cfg(feature = "network")]
mod routes;
#[cfg(feature = "network")]
mod run;
#[cfg(feature = "network")]
mod sessions;
#[cfg(feature = "network")]
mod sources;
#[cfg(feature = "network")]
mod watch;
#[cfg(not(feature = "network"))]
mod without;
#[cfg(feature = "network")]
mod world;

pub use contender::Contender;
pub use dovetail_tcp::{Config as TcpConfig, Congestion};
pub use error::NetworkError;
pub use options::{NetworkOptions, NetworkProgress};
pub use outcome::{AccessOutcome, Echoes, Exchange, NetworkOutcome, Stream, Transfer};
#[cfg(feature = "network")]
pub use run::{simulate_access, simulate_network};
pub use spec::{
    Access, Arrivals, Asks, Datagrams, Interactive, Kind, Link, Network, Node, Requests, ServerConnections, Traffic,
    UserConnections,
};
pub use transport::{MOST_JITTER, Protocol, Transport};
#[cfg(not(feature = "network"))]
pub use without::{simulate_access, simulate_network};
