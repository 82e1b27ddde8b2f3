//! The scheduler traits that an environment calls.

use core::fmt;

use super::{
    admission::Admission,
    feedback::{Feedback, Interest},
    packet::{Backlog, Dispatch, Packet},
};
use crate::{
    FlowId, Nanos, Weight,
    cost::{ProgramId, ProgramTable},
    entry::{Knobs, PolicyError},
};

/// A packet scheduler: per-flow queues and the policy that orders them. The crate's front page describes when to call what.
///
/// Only the hints [`upcoming`](Self::upcoming) and [`lets_lone_pass`](Self::lets_lone_pass) have default implementations: a
/// scheduler around another forwards them too. [`forward_scheduler!`](crate::forward_scheduler) writes methods that only forward.
pub trait Scheduler: fmt::Debug + Send {
    /// Offers a packet that arrived at `now`. The cost depends on the policy: see `dovetail policies`.
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission;

    /// Takes the packet to start on the first resource at `now`, if the policy releases one.
    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch>;

    /// When to call [`dequeue`](Self::dequeue) again after it returned `None`, if neither an arrival nor feedback comes first.
    /// `None`: only they can change the result.
    fn poll_at(&self) -> Option<Nanos>;

    /// Reports an event in the pipeline at `now`. Events must be in order of time.
    fn feedback(&mut self, event: &Feedback, now: Nanos);

    /// The feedback that this scheduler needs. Constant over its life.
    fn interest(&self) -> Interest;

    /// Takes a packet that was evicted; call it until it returns `None`.
    fn poll_evicted(&mut self) -> Option<Packet>;

    /// Discards all packets of the flow that are queued before the first resource, for example when its port goes down or its
    /// connection is reset. They are evicted, oldest first: take them by [`poll_evicted`](Self::poll_evicted). The flow is not
    /// charged for them and keeps its weight, and what was dispatched is not affected. Returns whether there were any.
    ///
    /// Costs as much for each packet as an eviction does, and with `run2c` once a time in proportion to all packets queued.
    fn discard(&mut self, flow: FlowId) -> bool;

    /// Sets a flow's weight, from the next scheduling decision on. Default 1.
    fn set_weight(&mut self, flow: FlowId, weight: Weight);

    /// Sets a flow's weight on each resource. Policies that share a single resource take the weight on that one, policies that
    /// distinguish resources take all; the others use [`set_weight`](Self::set_weight) and do nothing here.
    fn set_resource_weights(&mut self, flow: FlowId, weights: &[Weight]);

    /// Forgets all state of an empty flow, so that its id can be reused. Returns false and changes nothing while the flow has
    /// packets queued ([`discard`](Self::discard) empties it).
    fn forget(&mut self, flow: FlowId) -> bool;

    /// All that is queued.
    fn backlog(&self) -> Backlog;

    /// What is queued of one flow.
    fn flow_backlog(&self, flow: FlowId) -> Backlog;

    /// The flow that is served `ahead` packets after the next and the handle of its oldest packet, if already known. A hint for
    /// callers with their own per-packet state, to load it in time; the order may still change.
    fn upcoming(&self, _ahead: usize) -> Option<(FlowId, u64)> {
        None
    }

    /// Whether [`dequeue`](Self::dequeue) immediately releases a packet that is the only one there is: no other is queued, and
    /// none is in service. Constant over its life. An environment may then process such a packet first, and tell the scheduler
    /// afterwards. False if not known.
    fn lets_lone_pass(&self) -> bool {
        false
    }

    /// Changes the policy's knobs at `now` to `knobs`, of the same policy; no packet is lost or reordered.
    ///
    /// # Errors
    /// [`PolicyError::Fixed`] for the first knob that cannot be changed while the policy runs
    /// ([`Knob::retunable`](crate::registry::Knob::retunable) says which can), [`PolicyError::OtherPolicy`] if `knobs` are
    /// another policy's, and the value's error if one is wrong. Nothing has changed then.
    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError>;

    /// Reports the policy's own figures by name, such as how close a heuristic came to its bound.
    fn figures(&self, report: &mut dyn FnMut(&'static str, f64));

    /// Programs and learnt costs, if the scheduler estimates costs. It then ignores a packet's stated cost on the first
    /// resource; on later resources the packet states the cost at its length on arrival.
    fn learning(&mut self) -> Option<&mut dyn Learning>;

    /// The queues before later resources, if the policy orders packets there too. `None`: packets cross those in the order in
    /// which they arrive there.
    fn later_stages(&mut self) -> Option<&mut dyn LaterStages>;
}

/// Costs that are learnt from programs and packets.
pub trait Learning {
    /// Sets the program that the flow's packets run from now on.
    fn set_program(&mut self, flow: FlowId, program: ProgramId);

    /// The programs, as learnt from the packets so far. O(programs).
    fn learnt(&self) -> ProgramTable;
}

/// Queues before the resources after the first.
///
/// The environment offers every packet that leaves resource `r - 1` before resource `r`, with its true demand, and takes the
/// next packet whenever `r` can start one. There are no limits here: the pipeline determines how much may be queued between
/// resources. Resources are numbered from 0, so `r` is from 1 to the last.
pub trait LaterStages {
    /// Queues a packet before `resource`. Refused only if the flow's id or the demand is out of range, or there is no such
    /// resource.
    fn enqueue_before(&mut self, resource: usize, packet: &Packet, now: Nanos) -> Admission;

    /// Takes the packet to start on `resource` at `now`, if the policy releases one.
    fn dequeue_before(&mut self, resource: usize, now: Nanos) -> Option<Packet>;

    /// When to call [`dequeue_before`](Self::dequeue_before) again after it returned `None`, if no packet is queued first.
    fn poll_at_before(&self, resource: usize) -> Option<Nanos>;

    /// What is queued before `resource`.
    fn backlog_before(&self, resource: usize) -> Backlog;
}
