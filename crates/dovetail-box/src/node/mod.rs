//! A policy, a CPU and a link as servers in the caller's time.
//!
//! The node decides which packet the CPU processes next, when that processing has ended, and when the packet may leave on
//! the link. It has no clock, processes nothing and sends nothing: the caller passes the time, carries out the [`Action`]s
//! that are due, and reports how long processing took. A live box and a test in virtual time drive the same code.
//!
//! # Servers with credit
//!
//! CPU and link are two servers in series, each with one packet at a time. Let the policy's `n`-th packet occupy the CPU
//! from `S(n)` to `E(n)` and free it at `D(n)`, and occupy the link from `s(n)` to `e(n)`:
//!
//! ```text
//! S(n) >= D(n-1)                    E(n) = S(n) + stretched time of its work
//! s(n) = max(E(n), e(n-1))          e(n) = s(n) + its length / rate
//! D(n) = E(n) where the buffer between them has room for it, else when the link makes room
//! ```
//!
//! These are instants of the servers, not of the wall clock: a caller that overslept settles each event at the instant at
//! which it was due, one after the other, and so loses nothing. The limit is [`CREDIT`]; beyond it (the box was suspended,
//! say) servers count as idle. The link sends a packet at `s(n)`: the wire behind it needs `length / rate` from then on.
//!
//! # Several workers
//!
//! The CPU may consist of several workers, each a server with a queue of its own ([`Node::with_workers`]). One policy
//! chooses for all of them, and a flow stays with a worker while that has packets of it. Processing then runs beside the
//! node's caller, who reports its end later: a worker starts its next packet without waiting for that.
//!
//! # The buffer between
//!
//! The capacity between CPU and link decides what a policy can achieve: if it is small, the policy's order is the order on
//! the wire; if it is large, a CPU that runs ahead keeps the link busy ([`Room`]).
//!
//! # Attribution of waiting times
//!
//! Packets belong to classes, which the policy does not know. From arrival `a` to `e(n)`, a packet's time is attributed to
//! its causes, to the nanosecond ([`Waited`]):
//!
//! ```text
//! e(n) - a = (S(n) - a) before the CPU + (E(n) - S(n)) on it + (s(n) - E(n)) before the link + (e(n) - s(n)) on it
//! ```

mod between;
mod figures;
mod link;
mod passing;
mod schedulers;
mod server;
mod waits;
mod workers;

pub use between::Room;
pub use figures::Figures;
pub use link::{Link, Pace};
pub use passing::{Action, Outcome, Passage, Work};
pub use server::{CREDIT, Node};
pub use waits::{Cause, MAX_CLASSES, Waited};
pub use workers::MAX_JOBS;
