//! The calls of an environment.

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

/// A packet scheduler: per-flow queues and the policy that orders them. See the crate's first page for who calls what
/// when.
///
/// No method but hints has a default, so that a scheduler around another cannot lose one unnoticed;
/// [`forward_scheduler!`](crate::forward_scheduler) writes those that only pass on.
pub trait Scheduler: fmt::Debug + Send {
    /// Offers a packet that arrived at `now`. Cost: the policy's, see `dovetail policies`.
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission;

    /// The packet to start on the first resource at `now`, if the policy lets one go.
    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch>;

    /// When to ask [`dequeue`](Self::dequeue) again after it answered `None`, should neither an arrival nor feedback
    /// come first. `None`: only they can change the answer.
    fn poll_at(&self) -> Option<Nanos>;

    /// Tells of an event in the pipeline at `now`. Events come in order of time.
    fn feedback(&mut self, event: &Feedback, now: Nanos);

    /// The feedback that this scheduler needs. Constant over its life.
    fn interest(&self) -> Interest;

    /// A packet that lost its place to a later one, until there are no more.
    fn poll_evicted(&mut self) -> Option<Packet>;

    /// Sets a flow's weight, from its next scheduling decision on. Default 1.
    fn set_weight(&mut self, flow: FlowId, weight: Weight);

    /// Sets a flow's weight on each resource. Policies that share out one resource take the weight on that one, policies
    /// that tell resources apart take all, and the others go by [`set_weight`](Self::set_weight) and do nothing here.
    fn set_resource_weights(&mut self, flow: FlowId, weights: &[Weight]);

    /// Forgets all that is known of an empty flow, so that its id can name another. False, and nothing changed, while
    /// the flow has packets queued.
    fn forget(&mut self, flow: FlowId) -> bool;

    /// All that is queued.
    fn backlog(&self) -> Backlog;

    /// What is queued of one flow.
    fn flow_backlog(&self, flow: FlowId) -> Backlog;

    /// The flow that is served `ahead` packets after the next and the handle of its oldest packet, where that is known already.
    /// A hint for what keeps something for every packet beside, to load it in time; the order may still change.
    fn upcoming(&self, _ahead: usize) -> Option<(FlowId, u64)> {
        None
    }

    /// Whether [`dequeue`](Self::dequeue) lets a packet go at once that is the only one there is: no other is queued, and none
    /// is in service. Constant over its life. An environment may then do with such a packet what it would do, and tell
    /// the scheduler afterwards. Where it is not known: false.
    fn lets_lone_pass(&self) -> bool {
        false
    }

    /// Changes the policy's knobs at `now` to `knobs`, of the same policy; no packet is lost or reordered.
    ///
    /// # Errors
    /// [`PolicyError::Fixed`] with the first knob that cannot be changed while the policy runs
    /// ([`Knob::retunable`](crate::registry::Knob::retunable) says which can), [`PolicyError::OtherPolicy`] when `knobs` are
    /// another policy's, and whatever is wrong with their values. Nothing has changed then.
    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError>;

    /// Reports the policy's own figures by name, such as how close a heuristic came to its bound.
    fn figures(&self, report: &mut dyn FnMut(&'static str, f64));

    /// Where costs are estimated: programs, and what was learnt. What a packet says of its cost on the first resource is
    /// not examined then, and on later resources it states what it would cost at its length on arrival.
    fn learning(&mut self) -> Option<&mut dyn Learning>;

    /// Where the policy orders packets before later resources too. `None`: packets cross those in the order in which they
    /// come.
    fn later_stages(&mut self) -> Option<&mut dyn LaterStages>;
}

/// Costs that are learnt from programs and packets.
pub trait Learning {
    /// The flow's packets run this program from now on.
    fn set_program(&mut self, flow: FlowId, program: ProgramId);

    /// The programs as the packets so far have shown them. O(programs).
    fn learnt(&self) -> ProgramTable;
}

/// Queues before the resources after the first.
///
/// The environment offers every packet that leaves resource `r - 1` before resource `r`, with its true demand, and asks for
/// the next packet whenever `r` could take one. There are no limits here: how much may be queued between resources is the
/// pipeline's to say. Resources are numbered from 0, so `r` is from 1 to the last.
pub trait LaterStages {
    /// Queues a packet before `resource`. Refused only if the flow's id or the demand are out of range, or there is no such
    /// resource.
    fn enqueue_before(&mut self, resource: usize, packet: &Packet, now: Nanos) -> Admission;

    /// The packet to start on `resource` at `now`, if the policy lets one go.
    fn dequeue_before(&mut self, resource: usize, now: Nanos) -> Option<Packet>;

    /// When to ask [`dequeue_before`](Self::dequeue_before) again after it answered `None`, should no packet be queued first.
    fn poll_at_before(&self, resource: usize) -> Option<Nanos>;

    /// What is queued before `resource`.
    fn backlog_before(&self, resource: usize) -> Backlog;
}
