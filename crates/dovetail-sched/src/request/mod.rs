//! Scheduling of requests whose responses are the load.
//!
//! # The model
//!
//! A gateway is at the users' end of a narrow downlink. Users send it *requests*; each, once *released*, is answered by a
//! server far away, and the *response* comes down the link. The queue to avoid is at the far end of the link, out of reach. The
//! gateway decides when a request leaves and, if it ends the transport protocol itself, when a response is *read*: a response
//! that is not read closes its window, and its sender stops.
//!
//! Users belong to *classes* with weights. Responses are counted in *units*: bytes for HTTP, tokens for an inference server,
//! whatever the narrow resource consists of.
//!
//! Nothing here performs I/O, reads a clock or draws a random number. The *environment* (a gateway, a simulator, a tower layer)
//! owns the sockets and drives a [`RequestScheduler`]:
//!
//! 1. it reports events as they happen: a request [`arrived`](RequestScheduler::enqueue), the response's
//!    [`length`](RequestScheduler::length), units of it that were taken in ([`received`](RequestScheduler::received)), that lie
//!    [`unread`](RequestScheduler::unread), or that wait because it may not take them in ([`ready`](RequestScheduler::ready)),
//!    the response's [`end`](RequestScheduler::ended), a cancelled request ([`cancel`](RequestScheduler::cancel)), how long the
//!    far queue is ([`far_queue`](RequestScheduler::far_queue)), changes of classes, users and the link;
//! 2. after that, and at [`poll_at`](RequestScheduler::poll_at), it calls [`dequeue`](RequestScheduler::dequeue) until it
//!    returns `None`. Each [`Turn`] releases a request or lets more of a response be taken in.
//!
//! ```text
//! enqueue --Turn::releases--> released --Turn--> ... --> ended
//!    \______________________________\______________________ cancel
//! ```
//!
//! Ids are assigned by the environment, dense from 0: they index tables. A request's id is free again after `ended` or
//! `cancel`, a user's after `forget_user`.
//!
//! A request that has to be sent again is cancelled and enqueued anew at the same instant: its user never stops counting.
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
//! # Modules and types
//!
//! | item | contents |
//! |---|---|
//! | [`msf_rs`] | minimum-service-first request scheduling, as published |
//! | [`grants`] | requests and responses scheduled together, the far queue kept short |
//! | [`none`] | the ordinary gateway |
//! | [`delay_pools`] | a fixed rate for each class |
//! | [`Capped`] | a maximum rate for classes, around any policy |
//! | [`Accounts`] | the users' classes and the number of active users, counted exactly |
//! | [`FarQueue`] | how long the far queue is, from probes |
//! | [`Offer`] | the receive window that a connection to a server offers |
//! | [`UplinkUse`] | whether the uplink is busy, and what acknowledgements take of it |
//! | [`UplinkRate`] | the uplink's capacity, learnt by pauses |

mod accounts;
mod capped;
pub mod delay_pools;
mod far;
pub mod grants;
mod lines;
mod model;
pub mod msf_rs;
pub mod none;
mod offer;
mod scheduler;
mod setup;
mod uplink;
mod uplink_rate;

pub use accounts::{Accounts, Left};
pub use capped::Capped;
pub use far::{FarDelay, FarQueue};
pub use model::{ClassId, Request, RequestId, Turn, UserId};
pub use offer::Offer;
pub use scheduler::RequestScheduler;
pub use setup::RequestSetup;
pub use uplink::{UPLOADS, UplinkUse};
pub use uplink_rate::{UplinkRate, Uploads};

pub use crate::registry::{REQUESTS as REGISTRY, RequestSpec};
/// A request policy's registry entry.
pub type RequestEntry = crate::entry::Entry<crate::entry::RequestBuild>;
