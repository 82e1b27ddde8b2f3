//! Bytes that a flow has been served since it began; a flow counts as new after a silence.
//!
//! A flow with nothing queued whose next packet arrives later than `timeout` after its last one counts as a new flow. That is
//! checked when the packet arrives, so nothing is ever scanned. While packets of the flow are queued it is the same flow: its
//! earlier service decides where they wait, and forgetting it could let a later packet overtake them.

use crate::{FlowId, Nanos, Queues, flow::FlowMap};

/// Bytes of every flow since it began.
#[derive(Debug)]
pub(super) struct Ages {
    timeout: Nanos,
    flows: FlowMap<Age>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Age {
    last_arrival: Nanos,
    bytes: u64,
}

impl Age {
    #[inline]
    fn is_silent(&self, timeout: Nanos, now: Nanos) -> bool {
        now > self.last_arrival + timeout
    }
}

impl Ages {
    pub(super) const fn new(timeout: Nanos) -> Self {
        Self { timeout, flows: FlowMap::new() }
    }

    /// Changes the silence after which a flow is new.
    pub(super) const fn set_timeout(&mut self, timeout: Nanos) {
        self.timeout = timeout;
    }

    /// The flow's bytes as seen by a packet that arrives at `now` and is not queued yet.
    pub(super) fn before_arrival(&self, queues: &Queues, flow: FlowId, now: Nanos) -> u64 {
        match self.flows.peek(flow) {
            Some(age) if !(queues.is_empty(flow) && age.is_silent(self.timeout, now)) => age.bytes,
            _ => 0,
        }
    }

    /// Records an arrival, `alone` if no other packet of the flow is queued. Returns the flow's bytes so far.
    #[inline]
    pub(super) fn arrived(&mut self, flow: FlowId, alone: bool, now: Nanos) -> u64 {
        let timeout = self.timeout;
        let age = self.flows.at(flow);
        if alone && age.is_silent(timeout, now) {
            age.bytes = 0;
        }
        // A clock that runs backwards must not make a flow older than it was.
        age.last_arrival = age.last_arrival.max(now);
        age.bytes
    }

    /// Records an arrival with no other packet of the flow queued. Returns the flow's bytes so far. For callers that report the
    /// last packet to leave ([`ran_empty`](Self::ran_empty)) rather than every arrival.
    #[inline]
    pub(super) fn opened(&mut self, flow: FlowId, now: Nanos) -> u64 {
        self.arrived(flow, true, now)
    }

    /// The flow's last queued packet left; it had arrived at `arrival`.
    #[inline]
    pub(super) fn ran_empty(&mut self, flow: FlowId, arrival: Nanos) {
        let age = self.flows.at(flow);
        age.last_arrival = age.last_arrival.max(arrival);
    }

    /// The flow's bytes since it began.
    #[inline]
    pub(super) fn bytes(&self, flow: FlowId) -> u64 {
        self.flows.peek(flow).map_or(0, |age| age.bytes)
    }

    /// Adds `bytes` to the flow's service. Returns its bytes before.
    #[inline]
    pub(super) fn add(&mut self, flow: FlowId, bytes: u32) -> u64 {
        let age = self.flows.at(flow);
        let before = age.bytes;
        age.bytes = before.saturating_add(bytes.into());
        before
    }

    pub(super) fn forget(&mut self, flow: FlowId) {
        self.flows.reset(flow);
    }

    /// Prefetches the flow's bytes.
    #[inline]
    pub(super) fn prefetch(&self, flow: FlowId) {
        self.flows.prefetch(flow);
    }
}
