//! Shared parts of the timestamp policies: a packet's work, the knob that names the resource, the effect of a new weight on a
//! tag, and prefetching.

use crate::{
    FlowId, HeapKey, IndexedHeap, PolicyError, Queues,
    entry::{Knob, Knobs},
    flow::Waiting,
    heap::AHEAD,
};

/// The knob that chooses the resource.
pub(crate) const RESOURCE: Knob = Knob {
    key: "resource",
    default: "last",
    meaning: "the resource whose time is shared: first, last, or a number from 1",
    retunable: false,
};

/// Retuning for a policy `name` whose only own knob is `resource`: nothing can be changed.
pub(crate) fn keeps_resource(
    name: &'static str,
    resource: usize,
    queues: &Queues,
    knobs: &Knobs<'_>,
) -> Result<(), PolicyError> {
    knobs.of(name)?;
    knobs.keeps(RESOURCE.key, knobs.resource(RESOURCE.key, queues.resources())? == resource)
}

/// A queued packet's work, in nanoseconds of the resource's time.
#[inline]
pub(crate) fn work(packet: Waiting<'_>, resource: usize) -> f64 {
    packet.time(resource).as_f64()
}

/// The positions of a flow's queued packets in virtual time. Each is stamped with its finish when it arrives, and moves up when
/// a packet before it is evicted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lane {
    /// Their start: the stamp of the last packet sent.
    pub(crate) sent: f64,
    /// How far they have moved up since they were stamped.
    pub(crate) moved_up: f64,
}

impl Lane {
    /// The packet's finish.
    #[inline]
    pub(crate) fn stamp(&self, packet: Waiting<'_>) -> f64 {
        self.after_sent(f64::from_bits(packet.tag()) - self.moved_up)
    }

    /// The stamp, but not before that of the last packet sent. Only rounding can take it there, and for tags near 2^64 even
    /// below 0, which is not a valid key of a heap.
    #[inline]
    pub(crate) fn after_sent(&self, stamp: f64) -> f64 {
        stamp.max(self.sent)
    }
}

/// A tag after its flow's weight changed to `1 / ratio` of what it was: `(tag - virtual_time) * weight` is the work that the
/// flow is ahead of its share (or behind it), and a new weight does not change what is owed.
#[inline]
pub(crate) fn rescaled(tag: f64, virtual_time: f64, ratio: f64) -> f64 {
    virtual_time + (tag - virtual_time) * ratio
}

/// The larger of two numbers, neither of which may be NaN: `f64::max` would check.
#[inline]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Prefetches what the next choices will read, the policy's part through `of_policy`: first a flow's state, then its first
/// packet and its last, then the second.
#[inline]
pub(crate) fn prefetch_next<K: HeapKey>(order: &IndexedHeap<FlowId, K>, queues: &Queues, of_policy: impl Fn(FlowId)) {
    // With fewer flows all of it fits in the second-level cache, and the next flows are not known.
    let Some(soon) = order.upcoming(AHEAD) else { return };
    queues.prefetch_flow(soon);
    order.prefetch(soon);
    of_policy(soon);
    if let Some(sooner) = order.upcoming(AHEAD * 2 / 3) {
        queues.prefetch_ends(sooner);
    }
    if let Some(soonest) = order.upcoming(AHEAD / 3) {
        queues.prefetch_second(soonest);
    }
}
