//! Circular lists through a table of active flows: every flow is in two at once, and leaves either in constant time.

use core::hint::select_unpredictable;

use slab::Slab;

use crate::FlowId;

/// No flow.
pub(super) const NIL: u32 = u32::MAX;

/// The group's turns.
pub(super) const TURN: usize = 0;
/// Flows with the same number of packets queued.
pub(super) const LENGTH: usize = 1;

/// State that only a flow with packets queued needs. A visit of the round robin changes these 32 bytes and no others.
#[derive(Debug, Clone)]
pub(super) struct Active {
    pub(super) deficit_bytes: f64,
    pub(super) flow: FlowId,
    pub(super) is_long: bool,
    /// The mark of the round in which it was visited last.
    pub(super) round: bool,
    links: [Links; 2],
}

#[derive(Debug, Clone, Copy)]
struct Links {
    before: u32,
    after: u32,
}

impl Active {
    pub(super) const fn new(flow: FlowId, is_long: bool) -> Self {
        let alone = Links { before: NIL, after: NIL };
        Self { deficit_bytes: 0.0, flow, is_long, round: false, links: [alone; 2] }
    }

    /// The flow behind it in its list `which`.
    #[inline]
    pub(super) const fn after(&self, which: usize) -> u32 {
        self.links[which].after
    }
}

/// A circular list of active flows through their links `WHICH`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ring<const WHICH: usize> {
    first: u32,
}

impl<const WHICH: usize> Ring<WHICH> {
    pub(super) const EMPTY: Self = Self { first: NIL };

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.first == NIL
    }

    #[inline]
    pub(super) fn first(self) -> Option<u32> {
        (self.first != NIL).then_some(self.first)
    }

    /// If `ends`, moves the first flow to the end, so that `second` is first; without a branch.
    #[inline]
    pub(super) fn rotate_if(&mut self, ends: bool, second: u32) {
        self.first = select_unpredictable(ends, second, self.first);
    }

    pub(super) fn push_back(&mut self, flows: &mut Slab<Active>, at: u32) {
        if self.first == NIL {
            flows[at as usize].links[WHICH] = Links { before: at, after: at };
            self.first = at;
            return;
        }
        let after = self.first;
        let before = flows[after as usize].links[WHICH].before;
        flows[at as usize].links[WHICH] = Links { before, after };
        flows[before as usize].links[WHICH].after = at;
        flows[after as usize].links[WHICH].before = at;
    }

    pub(super) fn push_front(&mut self, flows: &mut Slab<Active>, at: u32) {
        self.push_back(flows, at);
        self.first = at;
    }

    pub(super) fn remove(&mut self, flows: &mut Slab<Active>, at: u32) {
        let Links { before, after } = flows[at as usize].links[WHICH];
        if after == at {
            self.first = NIL;
            return;
        }
        flows[before as usize].links[WHICH].after = after;
        flows[after as usize].links[WHICH].before = before;
        if self.first == at {
            self.first = after;
        }
    }
}
