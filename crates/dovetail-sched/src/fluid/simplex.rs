//! Who gets what is left over of any number of resources.

use alloc::vec::Vec;

use super::{Direction, Grant, GroupId};

/// The linear program and its last solution.
#[derive(Debug, Default)]
pub struct Simplex {
    grants: Vec<Grant>,
}

impl Simplex {
    /// No groups.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A group appeared. O(log groups).
    pub fn insert(&mut self, _group: GroupId, _direction: &Direction) {}

    /// A group is gone. O(log groups).
    pub fn remove(&mut self, _group: GroupId) {}

    /// What [`solve`](Self::solve) gave last.
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// Shares out what is left of each resource. O(1).
    pub fn solve(&mut self, _spare: &[f64]) -> &[Grant] {
        &self.grants
    }
}
