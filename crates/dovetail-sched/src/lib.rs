//! Schedulers for work that needs more than one resource.
//!
//! # The model
//!
//! A *packet* belongs to a *flow* and crosses the resources `1..=m` in a fixed order, such as CPU, then link. It occupies each
//! for a known time, its [`Demand`]. A *scheduler* holds the packets that wait for the first resource, in one
//! first-in-first-out queue per flow, and decides which flow's head-of-line packet goes next. Packets of a flow are never
//! reordered.
//!
//! Nothing here performs I/O, reads a clock or draws a random number: time is an argument. The program that owns the resources
//! (a simulator, a middlebox, a router) is the *environment*, and drives a scheduler with four calls:
//!
//! 1. [`Scheduler::enqueue`] when a packet arrives;
//! 2. [`Scheduler::dequeue`] whenever the first resource can take a packet. If it returns `None` while packets are queued, the
//!    policy holds them back on purpose: call it again at [`Scheduler::poll_at`], or after the next feedback or arrival,
//!    whichever comes first;
//! 3. [`Scheduler::feedback`] when a packet starts or finishes on a resource, for the events that [`Scheduler::interest`]
//!    names, and when one leaves the pipeline early ([`Stage::Dropped`], [`Stage::Aborted`]);
//! 4. [`Scheduler::poll_evicted`] after an `enqueue` that reports that others were [evicted](Admission::evicted), also if the
//!    packet itself was refused.
//!
//! Among events of one instant, report feedback first, then arrivals, and call `dequeue` last.
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let spec: PolicySpec = "drr".parse()?;
//! let mut scheduler = spec.build(&Setup::new(2, Limits::UNLIMITED))?;
//! let demand = Demand::new(&[Nanos::from_micros(12), Nanos::from_micros(20)])?;
//! for handle in 0..2 {
//!     let packet = Packet { flow: FlowId(0), bytes: 1000, arrival: Nanos::ZERO, handle, demand };
//!     let admission = scheduler.enqueue(&packet, Nanos::ZERO);
//!     assert!(admission.is_queued() && !admission.evicted);
//! }
//! let first = scheduler.dequeue(Nanos::ZERO).expect("two packets wait");
//! assert_eq!((first.packet.flow, first.packet.handle), (FlowId(0), 0));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Modules and types
//!
//! | item | purpose |
//! |---|---|
//! | [`packet`] | the policies, one file each |
//! | [`cost`] | costs of packets that have to be learnt, and admission control |
//! | [`fluid`] | the ideals that policies approximate, served in arbitrarily small pieces |
//! | [`request`] | requests whose responses are the load: a model of its own, with its policies |
//! | [`flow`] | flow table, per-flow queues, limits: shared by all policies |
//! | [`registry`] | names, knobs and parsing of policy strings such as `atfq:batch=20` |
//! | [`Scheduler`] | the calls of an environment; [`Learning`] and [`LaterStages`] where available; [`Peekable`] adds a peek |
//! | [`Policy`] | implemented by a policy: it only orders flows |
//! | [`Queued`] | combines queues and a policy into a [`Scheduler`] |
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod cost;
pub mod flow;
pub mod fluid;
pub mod packet;
pub mod registry;
pub mod request;
pub mod units;

mod demand;
mod entry;
mod heap;
mod nearest;
mod policy;
mod prefetch;
mod queued;
mod scheduler;

pub use demand::{Demand, DemandError, MAX_RESOURCES};
pub use entry::{Knobs, PolicyError, Setup};
pub use flow::{DropPolicy, FlowId, Limits, Queues, Weight};
pub use heap::{DenseId, FlowHeap, HeapKey, IndexedHeap, Number};
pub use nearest::{nearest, or_meant};
pub use policy::{Evicted, Policy};
pub use prefetch::prefetch;
pub use queued::Queued;
pub use registry::PolicySpec;
pub use scheduler::{
    Admission, Backlog, Dispatch, DropReason, Feedback, Interest, LaterStages, Learning, Packet, Peekable, Scheduler,
    Stage,
};
pub use units::Nanos;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
