//! A policy's state per flow.

use alloc::vec::Vec;

use crate::FlowId;

/// A `T` for every flow, `T::default()` until it is written. Grows with the largest flow id, never per packet.
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

    /// The flow's state, to change.
    #[inline]
    pub fn at(&mut self, flow: FlowId) -> &mut T {
        // Answered here and there, so that a flow which is known is looked for once.
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

    /// The flow's state, if it was ever written.
    #[inline]
    #[must_use]
    pub fn peek(&self, flow: FlowId) -> Option<&T> {
        self.items.get(flow.index())
    }

    /// Sets the flow's state back to the default.
    pub fn reset(&mut self, flow: FlowId) {
        if let Some(item) = self.items.get_mut(flow.index()) {
            *item = T::default();
        }
    }

    /// The state of every flow up to the largest id that was written, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// The same, to change.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Asks the processor to load the flow's state.
    #[inline]
    pub fn prefetch(&self, flow: FlowId) {
        crate::prefetch::prefetch(&self.items, flow.index());
    }
}
