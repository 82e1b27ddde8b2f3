//! What the timestamp policies share: a packet's work, the knob that names the resource, the effect of a new weight on
//! a tag, and a look-ahead.

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

/// What a policy `name` that shares `resource` says to other knobs: none of them can be changed.
pub(crate) fn keeps_resource(
    name: &'static str,
    resource: usize,
    queues: &Queues,
    knobs: &Knobs<'_>,
) -> Result<(), PolicyError> {
    knobs.of(name)?;
    knobs.keeps(RESOURCE.key, knobs.resource(RESOURCE.key, queues.resources())? == resource)
}

/// A waiting packet's work in nanoseconds of the resource's time.
#[inline]
pub(crate) fn work(packet: Waiting<'_>, resource: usize) -> f64 {
    packet.time(resource).as_f64()
}

/// Where a flow's waiting packets lie in virtual time. Each is stamped with its finish when it comes, and moves up when a
/// packet before it is evicted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lane {
    /// Where they begin: the stamp of the last that was sent.
    pub(crate) sent: f64,
    /// How far they have moved up since they were stamped.
    pub(crate) moved_up: f64,
}

impl Lane {
    /// When the packet finishes.
    #[inline]
    pub(crate) fn stamp(&self, packet: Waiting<'_>) -> f64 {
        self.after_sent(f64::from_bits(packet.tag()) - self.moved_up)
    }

    /// The stamp, but not before that of the last packet sent. Only rounding takes it there, and among tags near 2^64
    /// even below 0, which is no key of a heap.
    #[inline]
    pub(crate) fn after_sent(&self, stamp: f64) -> f64 {
        stamp.max(self.sent)
    }
}

/// A tag after its flow's weight changed to `1 / ratio` of what it was: `(tag - virtual_time) * weight` is work that the
/// flow is ahead of its share (or behind it), and a new weight does not change what is owed.
#[inline]
pub(crate) fn rescaled(tag: f64, virtual_time: f64, ratio: f64) -> f64 {
    virtual_time + (tag - virtual_time) * ratio
}

/// The larger of two numbers that are none of them NaN, for which `f64::max` would look.
#[inline]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Asks for what the choices to come will read, of the policy by `of_policy`: first what is known of a flow, then its first
/// packet and its last, then the one behind the first.
#[inline]
pub(crate) fn prefetch_next<K: HeapKey>(order: &IndexedHeap<FlowId, K>, queues: &Queues, of_policy: impl Fn(FlowId)) {
    // With fewer flows all of it is in the second cache, and nothing is known ahead.
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
