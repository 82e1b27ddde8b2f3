//! What a policy implements.

use core::fmt;

use crate::{
    Dispatch, FlowId, Nanos, Queues, Weight,
    entry::{Knobs, PolicyError},
    scheduler::{Feedback, Interest, Packet},
};

/// From which end of its flow's queue a packet was evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evicted {
    /// The oldest packet went.
    Head,
    /// The youngest packet went.
    Tail,
}

/// The order in which flows are served. Queues, limits, drops and weights are [`Queues`]' business; a policy is told
/// of what happened to them and takes the packet that goes next.
///
/// Adding one is a file in [`packet`](crate::packet), a line in the [registry](crate::registry) and a page in the book.
pub trait Policy: fmt::Debug + Send {
    /// The feedback that the policy needs.
    fn interest(&self) -> Interest {
        Interest::NONE
    }

    /// A packet of `flow` joined the tail of its queue at `now`.
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos);

    /// Takes the next packet from its queue (by [`Queues::pop`]), with a note for its feedback. `None` holds all back.
    ///
    /// Not called while nothing waits.
    fn dequeue(&mut self, queues: &mut Queues, now: Nanos) -> Option<Dispatch>;

    /// The waiting packet `lost` was evicted; `queues` no longer has it.
    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, end: Evicted);

    /// A dispatched packet started or finished on a resource, or left the pipeline early.
    fn feedback(&mut self, _queues: &mut Queues, _event: &Feedback, _now: Nanos) {}

    /// The flow that is served `ahead` packets after the next, where that is known already and the policy has asked for its
    /// oldest packet to be loaded.
    fn upcoming(&self, _ahead: usize) -> Option<FlowId> {
        None
    }

    /// When to ask again after [`dequeue`](Self::dequeue) held packets back.
    fn poll_at(&self) -> Option<Nanos> {
        None
    }

    /// Whether [`dequeue`](Self::dequeue) lets a packet go at once that is the only one there is: no other is queued, and none
    /// is in service. Constant over its life.
    fn lets_lone_pass(&self) -> bool {
        true
    }

    /// Whether [`victim`](Self::victim) is the policy's own rule for a full buffer. Constant over its life.
    fn has_drop_rule(&self) -> bool {
        false
    }

    /// The flow that loses its youngest packet when `arriving` finds the buffer full at `now`; its own flow or `None`
    /// refuses `arriving`. Asked only of policies that have a [rule](Self::has_drop_rule).
    fn victim(&self, _queues: &Queues, _arriving: &Packet, _now: Nanos) -> Option<FlowId> {
        None
    }

    /// `flow` now has another weight than `old`; `queues` knows the new one.
    fn weight_changed(&mut self, _queues: &mut Queues, _flow: FlowId, _old: Weight) {}

    /// The resource whose time it shares out, if it is one: flows then go by their weight on that one.
    fn resource(&self) -> Option<usize> {
        None
    }

    /// `flow` has these weights on the resources, from the next packet on. Not called where [`resource`](Self::resource)
    /// is one.
    fn resource_weights(&mut self, _queues: &mut Queues, _flow: FlowId, _weights: &[Weight]) {}

    /// Takes on other knobs of the same policy at `now`; packets and their order so far stay.
    ///
    /// # Errors
    /// When the knobs are another policy's, one that is fixed has another value ([`Knobs::keeps`]), or a value is wrong.
    /// Nothing has changed then.
    fn retune(&mut self, queues: &mut Queues, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError>;

    /// `flow` is empty and its id will name another.
    fn forget(&mut self, flow: FlowId);

    /// Reports the policy's own figures by name.
    fn figures(&self, _report: &mut dyn FnMut(&'static str, f64)) {}
}
