//! The trait that a policy implements.

use core::fmt;

use crate::{
    Dispatch, FlowId, Nanos, Queues, Weight,
    entry::{Knobs, PolicyError},
    scheduler::{Feedback, Interest, Packet},
};

/// The end of its flow's queue from which a packet was evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evicted {
    /// The oldest packet.
    Head,
    /// The youngest packet.
    Tail,
}

/// The order in which flows are served. [`Queues`] handles queues, limits, drops and weights; a policy is told what happened to
/// them and takes the packet that goes next.
///
/// A new policy needs a file in [`packet`](crate::packet), an entry in the [registry](crate::registry) and a page in the book.
pub trait Policy: fmt::Debug + Send {
    /// The feedback that the policy needs.
    fn interest(&self) -> Interest {
        Interest::NONE
    }

    /// A packet of `flow` was added to its queue at `now`.
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos);

    /// Takes the next packet from its queue (by [`Queues::pop`]), with a ticket for its feedback. `None` holds all packets
    /// back.
    ///
    /// Not called while nothing is queued.
    fn dequeue(&mut self, queues: &mut Queues, now: Nanos) -> Option<Dispatch>;

    /// A packet is about to be evicted at `now`, to make room for one that arrives.
    fn making_room(&mut self, _queues: &mut Queues, _now: Nanos) {}

    /// The queued packet `lost` was evicted; `queues` no longer has it.
    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, end: Evicted);

    /// The queued packet `lost` was discarded with all others of its flow, oldest first; `queues` no longer has it.
    fn discarded(&mut self, queues: &mut Queues, lost: &Packet) {
        self.evicted(queues, lost, Evicted::Head);
    }

    /// A dispatched packet started or finished on a resource, or left the pipeline early.
    fn feedback(&mut self, _queues: &mut Queues, _event: &Feedback, _now: Nanos) {}

    /// The flow that is served `ahead` packets after the next, if it is already known and the policy has prefetched its oldest
    /// packet.
    fn upcoming(&self, _ahead: usize) -> Option<FlowId> {
        None
    }

    /// When to call [`dequeue`](Self::dequeue) again after it held packets back.
    fn poll_at(&self) -> Option<Nanos> {
        None
    }

    /// Whether [`dequeue`](Self::dequeue) immediately releases a packet that is the only one there is: no other is queued, and
    /// none is in service. Constant over its life.
    fn lets_lone_pass(&self) -> bool {
        true
    }

    /// Whether [`victim`](Self::victim) is the policy's own rule for a full buffer. Constant over its life.
    fn has_drop_rule(&self) -> bool {
        false
    }

    /// The flow that loses its youngest packet when `arriving` finds the buffer full at `now`; its own flow or `None` refuses
    /// `arriving`. Called only if the policy has a [rule](Self::has_drop_rule).
    fn victim(&self, _queues: &Queues, _arriving: &Packet, _now: Nanos) -> Option<FlowId> {
        None
    }

    /// The weight of `flow` has changed from `old`; `queues` has the new one.
    fn weight_changed(&mut self, _queues: &mut Queues, _flow: FlowId, _old: Weight) {}

    /// The resource whose time the policy shares, if it shares a single one: flows then have their weight on that one.
    fn resource(&self) -> Option<usize> {
        None
    }

    /// `flow` has these weights on the resources, from the next packet on. Not called if [`resource`](Self::resource) is set.
    fn resource_weights(&mut self, _queues: &mut Queues, _flow: FlowId, _weights: &[Weight]) {}

    /// Changes the policy's knobs at `now`; packets and their order so far stay.
    ///
    /// # Errors
    /// If the knobs are another policy's, a fixed one has another value ([`Knobs::keeps`]), or a value is wrong.
    /// Nothing has changed then.
    fn retune(&mut self, queues: &mut Queues, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError>;

    /// `flow` is empty, and its id will be reused.
    fn forget(&mut self, flow: FlowId);

    /// Reports the policy's own figures by name.
    fn figures(&self, _report: &mut dyn FnMut(&'static str, f64)) {}
}
