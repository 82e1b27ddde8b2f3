//! The difference between what flows took and what they were charged, per resource.

use alloc::vec::Vec;

use crate::{FlowId, Nanos, flow::FlowMap, prefetch::prefetch};

/// One account per flow and resource, in nanoseconds: positive is owed, negative is credit.
#[derive(Debug)]
pub(super) struct Accounts {
    resources: usize,
    owed: Vec<i64>,
    // How often each flow id with an account was forgotten; tells apart flows that had the same id.
    forgotten: FlowMap<u32>,
}

/// Converts to an account entry, clamped to 146 years so that two of them can be added.
fn amount(nanos: Nanos) -> i64 {
    nanos.0.min(i64::MAX as u64 / 2) as i64
}

impl Accounts {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, owed: Vec::new(), forgotten: FlowMap::new() }
    }

    #[inline]
    fn at(&mut self, flow: FlowId, resource: usize) -> &mut i64 {
        let at = flow.index() * self.resources + resource;
        if at >= self.owed.len() {
            self.owed.resize((flow.index() + 1) * self.resources, 0);
            self.forgotten.at(flow);
        }
        &mut self.owed[at]
    }

    /// Returns the charge for a packet estimated at `estimate`.
    #[inline]
    pub(super) fn charge(&mut self, flow: FlowId, resource: usize, estimate: Nanos) -> Nanos {
        let owed = self.at(flow, resource);
        let all = amount(estimate).saturating_add(*owed);
        *owed = all.min(0);
        Nanos(all.max(0) as u64)
    }

    /// Undoes [`charge`](Self::charge) for a packet that was not served.
    #[inline]
    pub(super) fn give_back(&mut self, flow: FlowId, resource: usize, estimate: Nanos, charged: Nanos) {
        let owed = self.at(flow, resource);
        *owed = owed.saturating_add(amount(charged)).saturating_sub(amount(estimate));
    }

    /// Settles a packet that was estimated at `estimate` and took `took`.
    #[inline]
    pub(super) fn settle(&mut self, flow: FlowId, resource: usize, estimate: Nanos, took: Nanos) {
        let owed = self.at(flow, resource);
        *owed = owed.saturating_add(amount(took) - amount(estimate)).max(-amount(estimate));
    }

    /// Tells apart the flows that have had this id, one after another.
    #[inline]
    pub(super) fn holder(&self, flow: FlowId) -> u32 {
        self.forgotten.peek(flow).copied().unwrap_or(0)
    }

    /// Prefetches the flow's accounts.
    #[inline]
    pub(super) fn prefetch(&self, flow: FlowId) {
        prefetch(&self.owed, flow.index() * self.resources);
        self.forgotten.prefetch(flow);
    }

    pub(super) fn forget(&mut self, flow: FlowId) {
        // A flow without an account has nothing to tell apart.
        let Some(forgotten) = self.forgotten.peek_mut(flow) else { return };
        *forgotten = forgotten.wrapping_add(1);
        let first = flow.index() * self.resources;
        if let Some(owed) = self.owed.get_mut(first..first + self.resources) {
            owed.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowId = FlowId(2);

    fn charges(accounts: &mut Accounts, estimates: &[u64]) -> Vec<u64> {
        estimates.iter().map(|&estimate| accounts.charge(FLOW, 1, Nanos(estimate)).0).collect()
    }

    #[test]
    fn what_is_owed_is_charged_with_the_next_packet() {
        let mut accounts = Accounts::new(2);
        accounts.settle(FLOW, 1, Nanos(10), Nanos(100));
        assert_eq!(charges(&mut accounts, &[10, 10]), [100, 10]);
        assert_eq!(accounts.charge(FLOW, 0, Nanos(10)), Nanos(10), "another resource's account");
        assert_eq!(accounts.charge(FlowId(0), 1, Nanos(10)), Nanos(10), "another flow's");
    }

    #[test]
    fn credit_is_used_up_packet_by_packet_and_kept_up_to_one() {
        let mut accounts = Accounts::new(2);
        accounts.settle(FLOW, 1, Nanos(100), Nanos(10));
        assert_eq!(charges(&mut accounts, &[50, 50, 50]), [0, 10, 50]);
        for _ in 0..5 {
            accounts.settle(FLOW, 1, Nanos(100), Nanos(0));
        }
        assert_eq!(charges(&mut accounts, &[100, 100]), [0, 100]);
    }

    #[test]
    fn a_packet_that_was_not_served_leaves_the_account_as_it_was() {
        let mut accounts = Accounts::new(2);
        for (estimate, took) in [(10, 100), (100, 10)] {
            accounts.settle(FLOW, 1, Nanos(estimate), Nanos(took));
            let charged = accounts.charge(FLOW, 1, Nanos(50));
            accounts.give_back(FLOW, 1, Nanos(50), charged);
            assert_eq!(accounts.charge(FLOW, 1, Nanos(50)), charged);
            accounts.forget(FLOW);
            assert_eq!(accounts.charge(FLOW, 1, Nanos(50)), Nanos(50));
        }
    }

    #[test]
    fn the_longest_times_do_not_overflow() {
        let mut accounts = Accounts::new(2);
        for (estimate, took) in [(0, u64::MAX), (0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX)] {
            accounts.settle(FLOW, 1, Nanos(estimate), Nanos(took));
            let charged = accounts.charge(FLOW, 1, Nanos(u64::MAX));
            accounts.give_back(FLOW, 1, Nanos(u64::MAX), charged);
        }
    }
}
