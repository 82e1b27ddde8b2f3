//! Many priority queues over one table.
//!
//! Each user has a queue of requests and each class three of users, of which nearly all are empty or short at any time. A table
//! of positions for every one of them would cost classes times users. Here the queues share one table with one entry per id,
//! each in at most one queue, and a queue is represented by the id at its root: an empty one costs four bytes.
//!
//! The queues are leftist trees (Crane, 1972; Knuth, vol. 3, section 5.2.3). A node's *rank* is the distance to the nearest
//! missing child, which is always along the right: `rank(left) >= rank(right)`, `rank = rank(right) + 1`. A tree whose root has
//! rank `r` has at least `2^r - 1` nodes, so merging along the right is O(log n). Removing a node from the middle merges its
//! children and corrects ranks upwards while they change. Each corrected rank is one more than the one below, so that takes
//! O(log n) too. Ties go to the lower id.

use alloc::vec::Vec;

const NONE: u32 = u32::MAX;

/// One of the queues, by its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Queue(u32);

impl Default for Queue {
    fn default() -> Self {
        Self(NONE)
    }
}

impl Queue {
    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.0 == NONE
    }
}

/// The table that queues share. The caller knows which queue an id is in.
#[derive(Debug)]
pub(super) struct Forest<K> {
    nodes: Vec<Node<K>>,
}

#[derive(Debug, Clone, Copy)]
struct Node<K> {
    key: K,
    above: u32,
    left: u32,
    right: u32,
    // 0 for an id that is in no queue.
    rank: u32,
}

impl<K: Copy + Ord + Default> Forest<K> {
    pub(super) const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// The least in the queue: its id and key. O(1).
    #[inline]
    pub(super) fn peek(&self, queue: Queue) -> Option<(u32, K)> {
        Some((queue.0, self.nodes.get(queue.0 as usize)?.key))
    }

    /// Whether the id is in a queue.
    #[inline]
    pub(super) fn contains(&self, id: u32) -> bool {
        self.rank(id) > 0
    }

    /// Sets the id's key; it must be in this queue or in none. O(log n).
    pub(super) fn set(&mut self, queue: &mut Queue, id: u32, key: K) {
        if self.contains(id) {
            if self.nodes[id as usize].key == key {
                return;
            }
            self.remove(queue, id);
        }
        let free = Node { key: K::default(), above: NONE, left: NONE, right: NONE, rank: 0 };
        if id as usize >= self.nodes.len() {
            self.nodes.resize(id as usize + 1, free);
        }
        self.nodes[id as usize] = Node { key, rank: 1, ..free };
        queue.0 = self.merge(queue.0, id);
        self.nodes[queue.0 as usize].above = NONE;
    }

    /// Removes the id from this queue, if it is in it. O(log n).
    pub(super) fn remove(&mut self, queue: &mut Queue, id: u32) {
        if !self.contains(id) {
            return;
        }
        let Node { above, left, right, .. } = self.nodes[id as usize];
        self.nodes[id as usize].rank = 0;
        let below = self.merge(left, right);
        if below != NONE {
            self.nodes[below as usize].above = above;
        }
        if above == NONE {
            queue.0 = below;
            return;
        }
        let parent = &mut self.nodes[above as usize];
        if parent.left == id {
            parent.left = below;
        } else {
            parent.right = below;
        }
        let mut at = above;
        while at != NONE && self.balance(at) {
            at = self.nodes[at as usize].above;
        }
    }

    fn merge(&mut self, a: u32, b: u32) -> u32 {
        if a == NONE {
            return b;
        }
        if b == NONE {
            return a;
        }
        let (top, other) = if self.order(a) < self.order(b) { (a, b) } else { (b, a) };
        let below = self.merge(self.nodes[top as usize].right, other);
        self.nodes[top as usize].right = below;
        self.nodes[below as usize].above = top;
        self.balance(top);
        top
    }

    /// Puts the child with the greater rank to the left and corrects the node's own rank; returns whether that changed.
    fn balance(&mut self, id: u32) -> bool {
        let Node { left, right, rank, .. } = self.nodes[id as usize];
        let (l, r) = (self.rank(left), self.rank(right));
        let node = &mut self.nodes[id as usize];
        if l < r {
            (node.left, node.right) = (right, left);
        }
        node.rank = l.min(r) + 1;
        node.rank != rank
    }

    #[inline]
    fn rank(&self, id: u32) -> u32 {
        self.nodes.get(id as usize).map_or(0, |node| node.rank)
    }

    #[inline]
    fn order(&self, id: u32) -> (K, u32) {
        (self.nodes[id as usize].key, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Counts a tree's nodes and checks their order, ranks and parents.
    fn check(forest: &Forest<u16>, id: u32, above: u32) -> usize {
        if id == NONE {
            return 0;
        }
        let node = forest.nodes[id as usize];
        assert_eq!(node.above, above);
        assert!(above == NONE || forest.order(above) < forest.order(id));
        assert!(forest.rank(node.left) >= forest.rank(node.right));
        assert_eq!(node.rank, forest.rank(node.right) + 1);
        1 + check(forest, node.left, id) + check(forest, node.right, id)
    }

    proptest! {
        #[test]
        fn queues_agree_with_sorted_sets(ops in prop::collection::vec((0u32..60, prop::option::of(0u16..40)), 1..400)) {
            let mut forest = Forest::new();
            let mut queues = [Queue::default(); 3];
            let mut model = [const { BTreeSet::<(u16, u32)>::new() }; 3];
            for (id, key) in ops {
                let which = id as usize % 3;
                model[which].retain(|&(_, other)| other != id);
                match key {
                    Some(key) => {
                        forest.set(&mut queues[which], id, key);
                        model[which].insert((key, id));
                    }
                    None => forest.remove(&mut queues[which], id),
                }
                for (queue, model) in queues.iter().zip(&model) {
                    prop_assert_eq!(forest.peek(*queue), model.first().map(|&(key, id)| (id, key)));
                    prop_assert_eq!(check(&forest, queue.0, NONE), model.len());
                }
            }
        }
    }
}
