//! Scheduling of requests whose answers are the load.
//!
//! # The model
//!
//! A gateway stands at the users' end of a narrow downlink. Users send it *requests*; each, once *released*, is answered
//! by somebody far away, and the *response* comes down the link. The queue that hurts is at the far end of the link, out
//! of reach. What the gateway decides is when a request leaves and, where it ends the transport protocol itself, when a
//! response is *read*: a response that is not read closes its window, and its sender stops.
//!
//! Users belong to *classes* with weights. What a response brings is counted in *units*: bytes for HTTP, tokens for an
//! inference server, whatever the narrow resource is made of.
//!
//! Nothing here performs I/O, reads a clock or draws a random number. The *environment* (a gateway, a simulator, a tower
//! layer) owns the sockets and drives a [`RequestScheduler`]:
//!
//! 1. it tells what it learns, as it happens: a request [`arrived`](RequestScheduler::arrived), the response's
//!    [`length`](RequestScheduler::length), units of it that were taken in ([`received`](RequestScheduler::received)) or
//!    that wait because it may not take them ([`ready`](RequestScheduler::ready)), the response's
//!    [`end`](RequestScheduler::ended), a client that [`gave up`](RequestScheduler::gave_up), how long the far queue is
//!    ([`far_queue`](RequestScheduler::far_queue)), changes of classes, users and the link;
//! 2. after that, and at [`poll_at`](RequestScheduler::poll_at), it asks [`poll`](RequestScheduler::poll) until there is
//!    no more to do. Each [`Turn`] releases a request or lets more of a response be taken.
//!
//! ```text
//! arrived --Turn::release--> released --Turn--> ... --> ended
//!    \______________________________\_____________________ gave_up
//! ```
//!
//! Ids are the environment's, dense from 0: tables are indexed by them. A request's id is free again after `ended` or
//! `gave_up`, a user's after `forget_user`.
//!
//! A request that has to be sent again is given up and arrives anew in the same instant: its user never stops counting.
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
//!     gateway.arrived(&Request { id: RequestId(id), user: UserId(0), length: None }, Nanos::ZERO);
//! }
//! // The window is one response at first.
//! let turn = gateway.poll(Nanos::ZERO).expect("nothing is outstanding");
//! assert!(turn.releases && turn.request == RequestId(0));
//! assert!(gateway.poll(Nanos::ZERO).is_none());
//! gateway.received(RequestId(0), 5_000, Nanos::from_millis(40));
//! gateway.ended(RequestId(0), Nanos::from_millis(40));
//! assert_eq!(gateway.poll(Nanos::from_millis(40)).map(|turn| turn.request), Some(RequestId(1)));
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
//! | [`Accounts`] | who is of which class and who is active, counted exactly |
//! | [`FarQueue`] | how long the far queue is, from probes |
//! | [`UplinkUse`] | whether much is sent up, and what acknowledgements take |

mod accounts;
pub mod delay_pools;
mod far;
pub mod grants;
mod lines;
pub mod msf_rs;
pub mod none;
mod registry;
mod uplink;

use core::fmt;

pub use accounts::{Accounts, Left};
pub use far::{FarDelay, FarQueue};
pub use registry::{REGISTRY, RequestBuild, RequestEntry, RequestSetup, RequestSpec};
pub use uplink::{UPLOADS, UplinkUse};

use crate::{DenseId, Nanos, Weight};

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl DenseId for $name {
            #[inline]
            fn from_index(index: u32) -> Self {
                Self(index)
            }
            #[inline]
            fn to_index(self) -> u32 {
                self.0
            }
        }
    };
}

dense_id! {
    /// A request and its response, while they last.
    RequestId
}
dense_id! {
    /// Somebody who sends requests: an address, or a name that was proved.
    UserId
}
dense_id! {
    /// Users with a common weight.
    ClassId
}

/// A request that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What the environment calls it.
    pub id: RequestId,
    /// Whose it is.
    pub user: UserId,
    /// How many units the response will have, where that is known before it is released.
    pub length: Option<u64>,
}

/// What the environment is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The request.
    pub request: RequestId,
    /// Whether it is released by this turn; else it was before.
    pub releases: bool,
    /// So many more units of the response may be taken in; [`u64::MAX`] for all there will be.
    pub units: u64,
    /// So many units beyond those that may be taken in may be on their way: the receive window.
    pub window: u64,
}

/// Decides which request is released next and which response may go on.
pub trait RequestScheduler: fmt::Debug + Send {
    /// A class appears, or its weight changes.
    fn set_class(&mut self, class: ClassId, weight: Weight, now: Nanos);

    /// A user appears, or moves to another class with all its requests. Classes and users come before what refers to
    /// them; a request of a user that was never placed is ignored.
    fn set_user(&mut self, user: UserId, class: ClassId, now: Nanos);

    /// The user's id is free. Ignored while a request of his is waiting or outstanding.
    fn forget_user(&mut self, user: UserId);

    /// The link can carry so many units a second.
    fn set_rate(&mut self, units_per_s: f64, now: Nanos);

    /// A request arrived.
    fn arrived(&mut self, request: &Request, now: Nanos);

    /// The response will have so many units in all, as its sender says.
    fn length(&mut self, request: RequestId, units: u64, now: Nanos);

    /// So many more units of the response were taken in.
    fn received(&mut self, request: RequestId, units: u64, now: Nanos);

    /// Units of the response are there that may not be taken in yet.
    fn ready(&mut self, request: RequestId, now: Nanos);

    /// The connection that the response comes on offers its sender a window of so many units whatever turns say, because of
    /// what was on it before. Told before or after the release.
    fn offers(&mut self, _request: RequestId, _window: u64, _now: Nanos) {}

    /// Whether so much is sent up the link, paced by nobody, that what is known of the far queue may be the uplink's.
    fn uplink(&mut self, _is_busy: bool, _now: Nanos) {}

    /// The response is over: whole, or broken off by its sender. The id is free.
    fn ended(&mut self, request: RequestId, now: Nanos);

    /// Nobody wants the response any more, waiting or outstanding. The id is free.
    fn gave_up(&mut self, request: RequestId, now: Nanos);

    /// Units came down the link that no request asked for: for this class, or for nobody that is known.
    fn stray(&mut self, class: Option<ClassId>, units: u64, now: Nanos);

    /// What is known of the link's far queue; `None` if that is nothing.
    fn far_queue(&mut self, seen: Option<FarDelay>, now: Nanos);

    /// What to do next, if anything may be done now.
    fn poll(&mut self, now: Nanos) -> Option<Turn>;

    /// When to ask again though nothing has happened by then.
    fn poll_at(&self) -> Option<Nanos>;

    /// The policy's own figures, by name.
    fn figures(&self, _tell: &mut dyn FnMut(&'static str, f64)) {}
}
