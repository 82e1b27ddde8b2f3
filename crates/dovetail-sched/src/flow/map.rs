//! Per-flow state of a policy.

use alloc::vec::Vec;

use crate::FlowId;

/// A `T` for every flow, `T::default()` until written. Grows with the largest flow id, never per packet.
#[derive(Debug, Clone, Default)]
pub struct FlowMap<T> {
    items: Vec<T>,
}

impl<T: Default + Clone> FlowMap<T> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { items: Vec::new() }
    }

    /// The flow's state, mutable.
    #[inline]
    pub fn at(&mut self, flow: FlowId) -> &mut T {
        // The fast path is inlined, so that a known flow needs one bounds check.
        if flow.index() < self.items.len() {
            return &mut self.items[flow.index()];
        }
        self.grow(flow)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, flow: FlowId) -> &mut T {
        self.items.resize(flow.index() + 1, T::default());
        &mut self.items[flow.index()]
    }

    /// The flow's state, if the map has grown to its id.
    #[inline]
    #[must_use]
    pub fn peek(&self, flow: FlowId) -> Option<&T> {
        self.items.get(flow.index())
    }

    /// Same as [`peek`](Self::peek), mutable.
    #[inline]
    pub fn peek_mut(&mut self, flow: FlowId) -> Option<&mut T> {
        self.items.get_mut(flow.index())
    }

    /// Resets the flow's state to the default.
    pub fn reset(&mut self, flow: FlowId) {
        if let Some(item) = self.items.get_mut(flow.index()) {
            *item = T::default();
        }
    }

    /// The state of every flow up to the largest id written, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// Same as [`as_slice`](Self::as_slice), mutable.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Prefetches the flow's state.
    #[inline]
    pub fn prefetch(&self, flow: FlowId) {
        crate::prefetch::prefetch(&self.items, flow.index());
    }
}
