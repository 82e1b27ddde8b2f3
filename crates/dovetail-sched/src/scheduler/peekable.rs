//! Peeking at the next packet.
//!
//! Choosing a packet changes a policy's state (tags move on, a turn is spent), so no policy can name the next packet without
//! deciding. [`Peekable`] takes the decision and keeps it: the packet that was peeked at is the one that the next
//! [`dequeue`](Scheduler::dequeue) returns, whatever arrives in between. Linux does the same in `qdisc_peek_dequeued`.

use super::{Backlog, Dispatch, Packet, contract::Scheduler};
use crate::{FlowId, Nanos, forward_scheduler};

/// A scheduler that can show its next packet: for hosts that must know its size before they can send, such as a shaper or a
/// ring of descriptors. Without peeking it adds nothing to the inner scheduler.
///
/// A packet that was peeked at is charged at that moment. It still counts as [backlog](Scheduler::backlog), but its place in
/// the buffer is free, and it can be neither evicted nor discarded: the next `dequeue` returns it.
///
/// ```
/// use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, Peekable, PolicySpec, Scheduler, Setup};
///
/// let mut link = Peekable::new("drr".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?);
/// for (handle, bytes) in [(0, 1500), (1, 400)] {
///     let demand = Demand::new(&[Nanos(8 * u64::from(bytes))])?;
///     let packet = Packet { flow: FlowId(0), bytes, arrival: Nanos::ZERO, handle, demand };
///     assert!(link.enqueue(&packet, Nanos::ZERO).is_queued());
/// }
/// // The socket takes 2000 bytes more.
/// let mut room_bytes = 2000;
/// while let Some(next) = link.peek(Nanos::ZERO)
///     && next.bytes <= room_bytes
/// {
///     room_bytes -= link.dequeue(Nanos::ZERO).expect("it was examined").packet.bytes;
/// }
/// assert_eq!((room_bytes, link.backlog().packets), (100, 0));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
// Adjacent, because every call reads both: the inner scheduler, and whether there is a next packet.
#[derive(Debug)]
#[repr(C)]
pub struct Peekable<S> {
    inner: S,
    next: Option<Dispatch>,
}

impl<S: Scheduler> Peekable<S> {
    /// Wraps `inner`.
    #[must_use]
    pub const fn new(inner: S) -> Self {
        Self { inner, next: None }
    }

    /// The packet that [`dequeue`](Scheduler::dequeue) returns next, if the policy releases one at `now`. The first call costs
    /// as much as `dequeue`; further calls are free until the packet is taken.
    #[inline]
    pub fn peek(&mut self, now: Nanos) -> Option<&Packet> {
        if self.next.is_none() {
            self.next = self.inner.dequeue(now);
        }
        self.next.as_ref().map(|next| &next.packet)
    }

    fn ahead(&self, flow: Option<FlowId>) -> Backlog {
        let packet = self.next.as_ref().map(|next| next.packet);
        let packet = packet.filter(|packet| flow.is_none_or(|flow| packet.flow == flow));
        packet.map_or(Backlog::default(), |packet| Backlog { packets: 1, bytes: packet.bytes.into() })
    }
}

impl<S: Scheduler> Scheduler for Peekable<S> {
    #[inline]
    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        // Without peeking, the usual case, the inner scheduler writes its result in place, and nothing is moved.
        if self.next.is_none() { self.inner.dequeue(now) } else { self.next.take() }
    }

    fn forget(&mut self, flow: FlowId) -> bool {
        self.ahead(Some(flow)).packets == 0 && self.inner.forget(flow)
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog() + self.ahead(None)
    }

    fn flow_backlog(&self, flow: FlowId) -> Backlog {
        self.inner.flow_backlog(flow) + self.ahead(Some(flow))
    }

    forward_scheduler!(
        inner: enqueue, poll_at, feedback, interest, poll_evicted, discard, set_weight, set_resource_weights, upcoming,
        lets_lone_pass, retune, figures, learning, later_stages
    );
}
