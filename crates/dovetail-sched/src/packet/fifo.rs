//! `fifo`: first in, first out over all flows.
//!
//! The baseline: one queue, service in order of arrival, whatever a packet costs and whichever flow sent it. A flow that sends
//! twice as much gets twice the service. O(1) per packet.
//!
//! # Worked example
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let mut fifo = "fifo".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! let demand = Demand::new(&[Nanos(1)])?;
//! for (handle, flow) in [7, 7, 3, 7].into_iter().enumerate() {
//!     let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: handle as u64, demand };
//!     fifo.enqueue(&packet, Nanos::ZERO);
//! }
//! let order: Vec<u32> = core::iter::from_fn(|| fifo.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
//! assert_eq!(order, [7, 7, 3, 7]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};

use crate::{
    Dispatch, Evicted, FlowId, Nanos, Packet, Policy, PolicyError, Queued, Queues,
    entry::{Entry, Knobs, NO_CAUTION},
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "fifo",
    summary: "first in, first out over all flows",
    knobs: &[],
    cost: "O(1)",
    source: "folklore",
    build: |_, setup| Ok(Box::new(Queued::new(Fifo::default(), setup.resources, setup.limits))),
    caution: NO_CAUTION,
};

/// First in, first out.
#[derive(Debug, Default)]
pub struct Fifo {
    // Each packet's flow in order of arrival. Packets are numbered in that order, and the number is their tag. An evicted
    // packet's entry stays and is skipped: its number is not that of its flow's head.
    order: VecDeque<FlowId>,
    // The first entry's number.
    first: u64,
    stale: usize,
}

impl Policy for Fifo {
    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        queues.tag_tail(flow, self.first + self.order.len() as u64);
        self.order.push_back(flow);
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        loop {
            let flow = self.order.pop_front()?;
            let number = self.first;
            self.first += 1;
            if queues.head(flow).is_some_and(|head| head.tag() == number) {
                return Some(Dispatch::plain(queues.pop(flow)));
            }
            self.stale = self.stale.saturating_sub(1);
        }
    }

    fn evicted(&mut self, queues: &mut Queues, _lost: &Packet, _end: Evicted) {
        self.stale += 1;
        // Skipped entries are removed once they are the larger part: O(log n) amortised over the evictions.
        if self.stale > 64 && self.stale > self.order.len() / 2 {
            self.rebuild(queues);
        }
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)
    }

    fn forget(&mut self, _flow: FlowId) {}
}

impl Fifo {
    /// Renumbers the queued packets without gaps.
    fn rebuild(&mut self, queues: &mut Queues) {
        let mut flows: Vec<FlowId> = self.order.drain(..).collect();
        flows.sort_unstable();
        flows.dedup();
        let mut waiting = Vec::new();
        for &flow in &flows {
            let packets = core::iter::successors(queues.head(flow), |packet| packet.next());
            waiting.extend(packets.map(|packet| (packet.tag(), flow)));
        }
        waiting.sort_unstable();
        for &flow in &flows {
            queues.retag(flow, |number| {
                let place = waiting.partition_point(|&(other, _)| other < number);
                self.first + place as u64
            });
        }
        self.order.extend(waiting.iter().map(|&(_, flow)| flow));
        self.stale = 0;
    }
}
