//! Networks in virtual time: hosts with a real TCP, routers, and links with a queue under any policy.
//!
//! The effect of a policy on a transfer shows only in closed loop: a delayed or dropped packet makes its sender slow down.
//! Hosts therefore run [`dovetail_tcp`], which behaves like Linux's TCP, or QUIC, driven by this module's clock. Their
//! packets cross links one after the other, and every link has one of this project's schedulers in front of it.
//!
//! One loop drives everything. Events are the end of a packet's transmission, the arrival of a packet at a node, and timers
//! of connections or traffic. At the same time, ends of transmissions come first, then the other events in the order in which
//! they were scheduled, then links are polled for their next packet, as the scheduler crate requires. Traffic draws from
//! random generators of its own and does not depend on what happens to packets, so that every policy meets the same arrivals.
//! Equal inputs give byte-identical runs.
//!
//! One link is *watched*: its queue is under the policy being examined, and an [`Observer`](crate::Observer) sees its
//! packets, as in a [`Pipeline`](crate::Pipeline) with one resource.
//!
//! | file | what |
//! |---|---|
//! | `spec`, `check`, `paths` | the parts of a network, and whether they fit together |
//! | `contender` | what can be compared at a gateway |
//! | `run` | entry points that run a network; replaced by `without` in builds without TCP |
//! | `format`, `scenario`, `changes` | networks described in TOML |
//! | `net` | state of a running network: time, links, connections, packets in flight |
//! | `agenda`, `ask_again`, `packets`, `routes`, `addresses`, `headers` | its components |
//! | `queue`, `rates` | a link: scheduler and transmitter, and its rate over time |
//! | `transport` | how hosts send, and its notation in scenarios |
//! | `connections`, `end`, `party` | connections, their ends, and the applications at them |
//! | `quic` | ends that run QUIC; replaced by `quic_left_out` in builds without it |
//! | `hosts`, `sources`, `sizes`, `sessions` | traffic between hosts |
//! | `access_model` | interface of models of users' access |
//! | `request_gateway` | users behind a gateway that schedules their requests |
//! | `world` | the event loop |
//! | `watch`, `blamed`, `capture`, `outcome` | results of a run |

mod changes;
mod check;
mod contender;
mod error;
mod format;
mod options;
mod outcome;
mod paths;
mod routes;
mod scenario;
mod sizes;
mod spec;
mod transport;

// The simulator and the TCP that it needs.
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
mod rates;
#[cfg(feature = "network")]
mod request_gateway;
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
    Access, AccessUplink, Arrivals, Asks, Datagrams, Interactive, Kind, Link, Network, Node, RateChange, Requests,
    ServerConnections, Traffic, UserConnections,
};
pub use transport::{MAX_JITTER, Protocol, Transport};
#[cfg(not(feature = "network"))]
pub use without::{simulate_access, simulate_network};
