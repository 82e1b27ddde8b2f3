//! The largest of a set that flows join and leave.
//!
//! Rule 2 needs two extremes over all admitted flows: the longest time that a packet of any flow occupies the resources, and
//! the smallest slack of a flow of one priority level. Slack is the delay limit less the flow's own term: the longest packet
//! that may be ahead of it. Both are kept in order, so that a new flow is judged in O(log n).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use super::{delay::Block, handle::FlowHandle};
use crate::Nanos;

/// The costliest packets of admitted flows.
#[derive(Debug, Clone)]
pub(super) struct Costliest {
    always: Block,
    each: Vec<BTreeSet<(Nanos, FlowHandle)>>,
    whole: BTreeSet<(Nanos, FlowHandle)>,
}

impl Costliest {
    /// No flows yet; `always` counts even without any.
    pub(super) fn new(resources: usize, always: Block) -> Self {
        Self { always, each: (0..resources).map(|_| BTreeSet::new()).collect(), whole: BTreeSet::new() }
    }

    pub(super) fn add(&mut self, flow: FlowHandle, block: &Block) {
        for (set, &time) in self.each.iter_mut().zip(&block.each) {
            set.insert((time, flow));
        }
        self.whole.insert((block.whole, flow));
    }

    pub(super) fn remove(&mut self, flow: FlowHandle, block: &Block) {
        for (set, &time) in self.each.iter_mut().zip(&block.each) {
            set.remove(&(time, flow));
        }
        self.whole.remove(&(block.whole, flow));
    }

    /// The maximum over all.
    pub(super) fn block(&self) -> Block {
        let last = |set: &BTreeSet<(Nanos, FlowHandle)>| set.last().map_or(Nanos::ZERO, |&(time, _)| time);
        let mut most = Block { whole: last(&self.whole), ..Block::default() };
        for (longest, set) in most.each.iter_mut().zip(&self.each) {
            *longest = last(set);
        }
        most.max(&self.always)
    }
}

/// Slacks of flows with a delay limit, by priority level.
#[derive(Debug, Clone, Default)]
pub(super) struct Slacks(BTreeMap<u8, BTreeSet<(Nanos, FlowHandle)>>);

impl Slacks {
    pub(super) fn add(&mut self, flow: FlowHandle, priority: u8, slack: Nanos) {
        self.0.entry(priority).or_default().insert((slack, flow));
    }

    pub(super) fn remove(&mut self, flow: FlowHandle, priority: u8, slack: Nanos) {
        if let Some(level) = self.0.get_mut(&priority) {
            level.remove(&(slack, flow));
            if level.is_empty() {
                self.0.remove(&priority);
            }
        }
    }

    /// The least slack at this level; ties go to the flow admitted first.
    pub(super) fn least_at(&self, priority: u8) -> Option<(Nanos, FlowHandle)> {
        self.0.get(&priority)?.first().copied()
    }

    /// The least slack at all other levels, of which there are at most 255.
    pub(super) fn least_elsewhere(&self, priority: u8) -> Option<(Nanos, FlowHandle)> {
        self.0.iter().filter(|&(&level, _)| level != priority).filter_map(|(_, slacks)| slacks.first().copied()).min()
    }
}
