//! `las`: least attained service first.
//!
//! Kleinrock's *foreground–background* (Queueing Systems, vol. 2, 1976); for packets, Rai, Biersack and Urvoy-Keller,
//! *Size-based scheduling to improve the performance of short TCP flows*, IEEE Network 19(1), 2005. `A_i` is the number of
//! bytes of flow `i` sent since it began, and `w_i` its weight:
//!
//! ```text
//! serve the backlogged flow with the least A_i / w_i;   A_i <- A_i + len(sent)
//! ```
//!
//! A new flow goes before all others until it has had as much service as they have, so short flows never wait for long ones,
//! and no sizes need be known. It is strict: while new flows fill the link, the flow that has had most gets nothing. The
//! published rule has no weights, and is the case in which all are 1.
//!
//! Flows with equal service go in the order in which they reached it, by arrival at an empty queue or by being served. A flow
//! with nothing queued whose next packet arrives later than `timeout` after its last counts as new, as in
//! [`drr-sff`](super::drr_sff).
//!
//! **A full buffer** evicts the youngest packet of the flow that would be served last, counting the arriving packet (Rai: the
//! packet of lowest priority goes); the arriving packet is refused if that is its own flow. The rule is part of the policy,
//! whatever drop policy the limits specify.
//!
//! O(log n) per packet: a heap by `A_i / w_i`, and if the buffer is bounded another in the opposite order.
//!
//! # Worked example
//!
//! 2000 bytes of flow 0 have been sent when flow 1 arrives with three packets of 1000: those go until both have had 2000, then
//! flow 0, which reached 2000 before flow 1 did.
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let mut las = "las".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! let demand = Demand::new(&[Nanos(1)])?;
//! let mut order = Vec::new();
//! for (flow, packets, sent) in [(0, 4, 2), (1, 3, 5)] {
//!     for handle in 0..packets {
//!         let packet = Packet { flow: FlowId(flow), bytes: 1000, arrival: Nanos::ZERO, handle, demand };
//!         las.enqueue(&packet, Nanos::ZERO);
//!     }
//!     order.extend((0..sent).filter_map(|_| las.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0));
//! }
//! assert_eq!(order, [0, 0, 1, 1, 0, 1, 0]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, vec::Vec};

use super::{ages::Ages, tags::prefetch_next};
use crate::{
    Dispatch, Evicted, FlowId, HeapKey, IndexedHeap, Nanos, Packet, Policy, PolicyError, Queued, Queues, Weight,
    entry::{Entry, Knob, Knobs, NO_CAUTION},
    flow::per_weight,
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "las",
    summary: "least attained service first, strictly",
    knobs: &[Knob {
        key: "timeout",
        default: "10s",
        meaning: "silence after which a flow counts as new",
        retunable: true,
    }],
    cost: "O(log n)",
    source: "Rai, Biersack & Urvoy-Keller, IEEE Network 2005",
    build: |knobs, setup| {
        let policy = Las::new(knobs.time("timeout")?, setup.limits.has_buffer());
        Ok(Box::new(Queued::new(policy, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

/// Least attained service first.
#[derive(Debug)]
pub struct Las {
    ages: Ages,
    waiting: IndexedHeap<FlowId, Attained>,
    // The opposite order; kept only if the buffer is bounded.
    last: Option<IndexedHeap<FlowId, MostFirst>>,
    next_order: u32,
}

/// Bytes over weight, and a number that orders flows by when they reached them.
#[derive(Debug, Clone, Copy)]
struct Attained {
    normalised: f64,
    order: u32,
}

impl HeapKey for Attained {
    type Number = u128;
    #[inline]
    fn to_number(self) -> u128 {
        u128::from(self.normalised.to_number()) << 32 | u128::from(self.order)
    }
    #[inline]
    fn from_number(number: u128) -> Self {
        Self { normalised: f64::from_number((number >> 32) as u64), order: number as u32 }
    }
}

#[derive(Debug, Clone, Copy)]
struct MostFirst(Attained);

const ALL: u128 = (1 << 96) - 1;

impl HeapKey for MostFirst {
    type Number = u128;
    #[inline]
    fn to_number(self) -> u128 {
        ALL - self.0.to_number()
    }
    #[inline]
    fn from_number(number: u128) -> Self {
        Self(Attained::from_number(ALL - number))
    }
}

impl Las {
    /// A flow that was silent for `timeout` is new. `bounded`: whether there is a limit on all flows together.
    #[must_use]
    pub fn new(timeout: Nanos, bounded: bool) -> Self {
        Self {
            ages: Ages::new(timeout),
            waiting: IndexedHeap::new(),
            last: bounded.then(IndexedHeap::new),
            next_order: 0,
        }
    }

    fn order(&mut self, queues: &Queues, flow: FlowId) {
        if self.next_order == u32::MAX {
            self.renumber();
        }
        let normalised = per_weight(self.ages.bytes(flow) as f64, queues.weight(flow));
        let key = Attained { normalised, order: self.next_order };
        self.next_order += 1;
        self.put(flow, key);
    }

    fn put(&mut self, flow: FlowId, key: Attained) {
        self.waiting.set(flow, key);
        if let Some(last) = &mut self.last {
            last.set(flow, MostFirst(key));
        }
    }

    fn remove(&mut self, flow: FlowId) {
        self.waiting.remove(flow);
        if let Some(last) = &mut self.last {
            last.remove(flow);
        }
    }

    /// Renumbers the queued flows from 0 in the same order. O(n log n), once in 2^32 changes.
    #[cold]
    fn renumber(&mut self) {
        let mut flows: Vec<(FlowId, Attained)> = self.waiting.iter().collect();
        flows.sort_unstable_by_key(|(_, key)| key.order);
        self.next_order = 0;
        for (flow, key) in flows {
            self.put(flow, Attained { order: self.next_order, ..key });
            self.next_order += 1;
        }
    }
}

impl Policy for Las {
    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos) {
        let alone = queues.len(flow) == 1;
        self.ages.arrived(flow, alone, now);
        if alone {
            self.order(queues, flow);
        }
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        let (flow, _) = self.waiting.peek()?;
        let packet = queues.pop(flow);
        self.ages.add(flow, packet.bytes);
        if queues.is_empty(flow) {
            self.remove(flow);
        } else {
            self.order(queues, flow);
        }
        prefetch_next(&self.waiting, queues, |flow| self.ages.prefetch(flow));
        Some(Dispatch::plain(packet))
    }

    fn has_drop_rule(&self) -> bool {
        true
    }

    fn victim(&self, queues: &Queues, arriving: &Packet, now: Nanos) -> Option<FlowId> {
        let (flow, MostFirst(most)) = self.last.as_ref()?.peek()?;
        let bytes = self.ages.before_arrival(queues, arriving.flow, now);
        // A flow that now reaches the last flow's service goes behind it.
        let is_last = queues.is_empty(arriving.flow) && bytes as f64 / queues.weight(arriving.flow) >= most.normalised;
        (!is_last).then_some(flow)
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, _end: Evicted) {
        let flow = lost.flow;
        if queues.is_empty(flow) {
            self.remove(flow);
        }
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, _old: Weight) {
        if !queues.is_empty(flow) {
            self.order(queues, flow);
        }
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        self.ages.set_timeout(knobs.time("timeout")?);
        Ok(())
    }

    fn forget(&mut self, flow: FlowId) {
        self.ages.forget(flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Demand, Limits, Scheduler};

    #[test]
    fn numbers_that_run_out_are_given_anew_in_the_same_order() {
        let mut las = Las::new(Nanos::from_secs(10), true);
        las.next_order = u32::MAX - 5;
        let mut scheduler = Queued::new(las, 1, Limits { packets: Some(20), ..Limits::UNLIMITED });
        let demand = Demand::new(&[Nanos(1)]).expect("one resource");
        let mut offer = |flow| {
            let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
            scheduler.enqueue(&packet, Nanos::ZERO)
        };
        let flows = [7, 3, 9, 1, 8, 2, 6, 4];
        assert!(flows.iter().all(|&flow| offer(flow) == crate::Admission::QUEUED));
        let order: Vec<u32> =
            core::iter::from_fn(|| scheduler.dequeue(Nanos::ZERO)).map(|out| out.packet.flow.0).collect();
        assert_eq!(order, flows);
        assert!(scheduler.policy().next_order < 10);
    }
}
