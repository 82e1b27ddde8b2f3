//! Scheduling of requests whose answers are the load.
//!
//! # The model
//!
//! A gateway stands at the users' end of a narrow downlink. Users send it *requests*; each, once *released*, is answered
//! by a server far away, and the *response* comes down the link. The queue that hurts is at the far end of the link, out
//! of reach. What the gateway decides is when a request leaves and, where it ends the transport protocol itself, when a
//! response is *read*: a response that is not read closes its window, and its sender stops.
//!
//! Users belong to *classes* with weights. What a response brings is counted in *units*: bytes for HTTP, tokens for an
//! inference server, whatever the narrow resource is made of.
//!
//! Nothing here performs I/O, reads a clock or draws a random number. The *environment* (a gateway, a simulator, a tower
//! layer) owns the sockets and drives a [`RequestScheduler`]:
//!
//! 1. it tells what it learns, as it happens: a request [`arrived`](RequestScheduler::enqueue), the response's
//!    [`length`](RequestScheduler::length), units of it that were taken in ([`received`](RequestScheduler::received)) or
//!    that wait because it may not take them ([`ready`](RequestScheduler::ready)), the response's
//!    [`end`](RequestScheduler::ended), a cancelled request ([`cancel`](RequestScheduler::cancel)), how long the far
//!    queue is ([`far_queue`](RequestScheduler::far_queue)), changes of classes, users and the link;
//! 2. after that, and at [`poll_at`](RequestScheduler::poll_at), it asks [`dequeue`](RequestScheduler::dequeue) until
//!    there is no more to do. Each [`Turn`] releases a request or lets more of a response be taken.
//!
//! ```text
//! enqueue --Turn::releases--> released --Turn--> ... --> ended
//!    \______________________________\______________________ cancel
//! ```
//!
//! Ids are the environment's, dense from 0: tables are indexed by them. A request's id is free again after `ended` or
//! `cancel`, a user's after `forget_user`.
//!
//! A request that has to be sent again is cancelled and enqueued anew in the same instant: its user never stops counting.
//!
//! ```
//! use dovetail_sched::{
//!     Nanos, Weight,
//!     request::{ClassId, Request, RequestId, RequestSetup, RequestSpec, UserId},
//! };
//!
//! let spec: RequestSpec = "msf-rs".parse()?;
//! let mut gateway = spec.build(&RequestSetup::for_bytes(239_000.0))?;
//! gateway.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
//! gateway.set_user(UserId(0), ClassId(0), Nanos::ZERO);
//! for id in 0..2 {
//!     gateway.enqueue(&Request { id: RequestId(id), user: UserId(0), length: None }, Nanos::ZERO);
//! }
//! // The window is one response at first.
//! let turn = gateway.dequeue(Nanos::ZERO).expect("nothing is outstanding");
//! assert!(turn.releases && turn.request == RequestId(0));
//! assert!(gateway.dequeue(Nanos::ZERO).is_none());
//! gateway.received(RequestId(0), 5_000, Nanos::from_millis(40));
//! gateway.ended(RequestId(0), Nanos::from_millis(40));
//! assert_eq!(gateway.dequeue(Nanos::from_millis(40)).map(|turn| turn.request), Some(RequestId(1)));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | module | what |
//! |---|---|
//! | [`msf_rs`] | minimum-service-first request scheduling, as published |
//! | [`grants`] | requests and responses scheduled together, the far queue kept short |
//! | [`none`] | the ordinary gateway |
//! | [`delay_pools`] | a fixed rate for each class |
//! | [`Capped`] | a rate that a class may not exceed, around any policy |
//! | [`Accounts`] | who is of which class and who is active, counted exactly |
//! | [`FarQueue`] | how long the far queue is, from probes |
//! | [`UplinkUse`] | whether much is sent up, and what acknowledgements take |

mod accounts;
mod capped;
pub mod delay_pools;
mod far;
pub mod grants;
mod lines;
mod model;
pub mod msf_rs;
pub mod none;
mod scheduler;
mod setup;
mod uplink;

pub use accounts::{Accounts, Left};
pub use capped::Capped;
pub use far::{FarDelay, FarQueue};
pub use model::{ClassId, Request, RequestId, Turn, UserId};
pub use scheduler::RequestScheduler;
pub use setup::RequestSetup;
pub use uplink::{UPLOADS, UplinkUse};

pub use crate::registry::{REQUESTS as REGISTRY, RequestSpec};
/// A request policy's line in the registry.
pub type RequestEntry = crate::entry::Entry<crate::entry::RequestBuild>;
