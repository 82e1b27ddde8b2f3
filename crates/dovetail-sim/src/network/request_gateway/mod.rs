//! Users behind a gateway: their requests, and how the gateway handles them.
//!
//! A request goes from the user to the gateway as one packet, over links but without TCP, since the users' own network has
//! capacity to spare. The gateway passes it to its [`RequestScheduler`](dovetail_sched::request::RequestScheduler); once
//! released, the request goes to its server over TCP, on a connection that is kept for the next one unless the network
//! specifies otherwise. What the gateway reads of the response is forwarded to the user in packets, likewise without TCP. A
//! response that the gateway may not read yet stays in the connection's buffer and closes its window. Aborting a connection
//! ends both of its ends at once: a server sends nothing more in the half round trip until it would learn of it.
//!
//! If the network specifies it, users speak TCP with the gateway instead, and what it holds for them is bounded: it reads no
//! more of a response than their connections have room for.
//!
//! | file | what |
//! |---|---|
//! | `gateway` | the model of access: the gateway's packets and events |
//! | `relay` | requests to servers and responses to users, as schedulers permit |
//! | `users`, `user` | users' requests and their results |
//! | `live` | a request at the gateway |
//! | `upstreams` | connections to servers |
//! | `tls` | their TLS handshake |
//! | `downstreams` | users' connections to the gateway, if they speak TCP |
//! | `idle` | idle connections of both kinds |
//! | `uplink` | pacing of uploads |
//! | `told` | the gateway's events, and what its packets belong to |
//! | `layout` | the network that a contender uses |
//! | `witness`, `tests` | what schedulers are told, in tests |

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

#[cfg(test)]
mod tests;
#[cfg(test)]
mod witness;

pub(super) use gateway::RequestGateway;
pub(super) use layout::lay_out;
