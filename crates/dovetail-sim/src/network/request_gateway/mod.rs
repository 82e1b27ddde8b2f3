//! Users behind a gateway: their requests, and what the gateway does with them.
//!
//! A request goes from the user to the gateway as one packet, over links but without TCP: the users' own network has room.
//! The gateway asks its [`RequestScheduler`](dovetail_sched::request::RequestScheduler); released, the request goes to its
//! server over TCP, on a connection that is kept for the next one, unless the network says otherwise. What the gateway reads
//! of the response goes on to the user in packets, likewise without TCP. A response that the gateway may not read yet stays in
//! the connection's buffer and closes its window. Who breaks a connection off ends both its ends at once: a server sends
//! nothing more in the half round trip until it would learn.
//!
//! Where the network says so, users speak TCP with the gateway instead, and what it holds for them is bounded: it reads no
//! more of a response than their connections have room for.
//!
//! | file | what |
//! |---|---|
//! | `gateway` | the model of access: what comes to the gateway and what it foresees |
//! | `relay` | requests to servers, and responses to users, as schedulers let them |
//! | `users`, `user` | users' requests, and what became of them |
//! | `live` | a request at the gateway |
//! | `upstreams` | connections to servers |
//! | `tls` | the handshake of TLS on them |
//! | `downstreams` | users' connections to the gateway, where they are TCP's |
//! | `idle` | connections of both kinds that wait for the next request |
//! | `uplink` | what uploads may use |
//! | `told` | the gateway's events, and what its packets are part of |
//! | `layout` | the network that a contender makes |

mod downstreams;
mod gateway;
mod idle;
mod layout;
mod live;
mod relay;
mod tls;
mod told;
mod uplink;
mod upstreams;
mod user;
mod users;

pub(super) use gateway::RequestGateway;
pub(super) use layout::lay_out;
