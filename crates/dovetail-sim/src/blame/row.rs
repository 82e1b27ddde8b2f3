//! Sums over packets.

use dovetail_sched::Nanos;

use super::parts::Parts;

/// Where the time of several packets went, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Packets that crossed the pipeline; the sums are over these.
    pub packets: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Packets that were still waiting when the run ended.
    pub left: u64,
    /// Sum of the latencies, which equals the sum of all fields below.
    pub latency_nanos: u128,
    /// Time for which each resource processed them.
    pub own_nanos: Vec<u128>,
    /// Time for which they waited while their own flow was served.
    pub same_flow_nanos: u128,
    /// Time for which they waited for each column's cause; columns added after the last packet are missing.
    pub causes_nanos: Vec<u128>,
}

impl Row {
    pub(super) fn new(resources: usize) -> Self {
        Self { own_nanos: vec![0; resources], ..Self::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, parts: &Parts<'_>) {
        self.ended(parts.latency, parts.same_flow.0, parts.own.iter().copied());
        if self.causes_nanos.len() < parts.causes.len() {
            self.causes_nanos.resize(parts.causes.len(), 0);
        }
        for (sum, cause) in self.causes_nanos.iter_mut().zip(parts.causes) {
            *sum += u128::from(cause.0);
        }
    }

    /// Adds a packet that ended, except what it waited for other than its own flow.
    #[inline]
    pub(super) fn ended(&mut self, latency: Nanos, same_flow_nanos: u64, own: impl Iterator<Item = Nanos>) {
        self.packets += 1;
        self.latency_nanos += u128::from(latency.0);
        self.same_flow_nanos += u128::from(same_flow_nanos);
        for (sum, own) in self.own_nanos.iter_mut().zip(own) {
            *sum += u128::from(own.0);
        }
    }

    /// Adds the sums of other packets over the same columns.
    pub fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.dropped += other.dropped;
        self.left += other.left;
        self.latency_nanos += other.latency_nanos;
        self.same_flow_nanos += other.same_flow_nanos;
        add_all(&mut self.own_nanos, &other.own_nanos);
        add_all(&mut self.causes_nanos, &other.causes_nanos);
    }

    /// The sum of a column, 0 if it has none.
    #[must_use]
    pub fn cause_nanos(&self, column: usize) -> u128 {
        self.causes_nanos.get(column).copied().unwrap_or(0)
    }
}

fn add_all(sums: &mut Vec<u128>, more: &[u128]) {
    sums.resize(sums.len().max(more.len()), 0);
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}
