//! Users behind a gateway: who asks for what, and what the gateway does about it.
//!
//! A request goes from the user to the gateway as one packet, over links but without TCP: the users' own network has room.
//! The gateway asks its [`RequestScheduler`]; released, the request goes to its server over TCP, on a connection that is
//! kept for the next one. What the gateway reads of the response goes on to the user in packets, likewise without TCP. A
//! response that the gateway may not read yet stays in the connection's buffer and closes its window. Who breaks a connection
//! off ends both its ends at once: a server sends nothing more in the half round trip until it would learn.

mod contender;
mod exchange;
mod gateway;
mod layout;
mod uplink;
mod upload;
mod user;

pub use contender::Contender;
pub(super) use exchange::Upstream;
pub(super) use gateway::{Gateway, Told};
pub(super) use layout::lay_out;
