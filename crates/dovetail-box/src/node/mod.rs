//! A policy, a CPU and a link as servers in the caller's time.
//!
//! The node decides which packet the CPU works on next, when that work has ended, and when the packet may leave on the
//! link. It has no clock, does no work and sends nothing: the caller says what time it is, does the [`Action`]s that are
//! due, and says how long the work took. A live box and a test in virtual time drive the same code.
//!
//! # Servers with credit
//!
//! CPU and link are two servers in a row, each with one packet at a time. Let the policy's `n`-th packet take the CPU
//! from `S(n)` to `E(n)` and leave it free at `D(n)`, and the link from `s(n)` to `e(n)`:
//!
//! ```text
//! S(n) >= D(n-1)                    E(n) = S(n) + stretched time of its work
//! s(n) = max(E(n), e(n-1))          e(n) = s(n) + its length / rate
//! D(n) = E(n) where the buffer between them has room for it, else when the link makes room
//! ```
//!
//! These are instants of the servers, not of the wall clock: a caller that overslept settles what is due at the instants
//! at which it was due, one after the other, and so nothing is lost by it. That goes on for [`CREDIT`]; beyond it (the
//! box was suspended, say) servers count as having stood idle. The link sends a packet at `s(n)`: the wire behind it needs
//! `length / rate` from then on.
//!
//! # Several workers
//!
//! The CPU may be several workers, each a server of its own with a queue of its own ([`Node::with_workers`]). One policy
//! chooses for all of them, and a flow stays with a worker while that has packets of it. Work is then done beside the
//! node's caller, who answers it when it is done: what a worker does next does not wait for that.
//!
//! # The buffer between
//!
//! How much may wait between CPU and link decides what a policy can do: little, and its order is the order on the wire;
//! much, and a CPU that is ahead keeps the link busy ([`Room`]).
//!
//! # Who makes whom wait
//!
//! Packets are of classes, which the policy knows nothing of. From arrival `a` to `e(n)`, a packet's time goes to what it waits
//! for, to the nanosecond ([`Waited`]):
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
pub use waits::{Cause, MOST_CLASSES, Waited};
pub use workers::MOST_JOBS;
