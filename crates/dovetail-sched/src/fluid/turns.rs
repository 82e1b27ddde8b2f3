//! Turns at being favoured, among flows of the same direction.
//!
//! Flows whose head-of-line packets need the resources in the same proportion are the same to the linear program, which gives
//! the bonus to one of them. So they take turns, by the bonus that each has received per unit of weight: every flow has a
//! *tag*, the smallest tag is next (then the smallest id), and a turn adds the bonus that it brought. A flow that joins starts
//! from the tag at which the last turn began, the *floor*, plus its lead over the floor of the group that it left, so that no
//! flow gains or loses by moving between groups.
//!
//! Tags are in a pairing heap (Fredman, Sedgewick, Sleator and Tarjan, 1986) threaded through the flows: joining is O(1) and
//! nothing allocates; a turn or a departure is O(log n) amortised. Most flows join and leave a group that is not favoured in
//! between, so a joining flow is only put in the *row*, and moves into the heap when the next flow is needed. And if turns
//! bring equal bonuses, a flow that had one is behind all others: such flows form the *line*, in order, outside the heap.

use core::hint::select_unpredictable;

use crate::FlowId;

const NIL: u32 = u32::MAX;
/// As a `child`: the flow is in the row.
const IN_ROW: u32 = NIL - 1;
/// As a `child`: the flow is in the line.
const IN_LINE: u32 = NIL - 2;

/// A flow's position in its group's queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    /// What the flow has received, in grains per unit of weight.
    pub(super) tag: u64,
    child: u32,
    next: u32,
    // The parent of a first child, otherwise the previous sibling, or the previous flow in the row or line.
    previous: u32,
}

impl Default for Seat {
    fn default() -> Self {
        Self { tag: 0, child: NIL, next: NIL, previous: NIL }
    }
}

/// Flows, least tag first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    root: u32,
    // The last flow that joined, linked to those before it that are not in the heap yet.
    row: u32,
    // The ends of the line.
    first: u32,
    last: u32,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { root: NIL, row: NIL, first: NIL, last: NIL };

    /// The next flow. O(1) amortised.
    #[inline]
    pub(super) fn first(&mut self, seats: &mut [Seat]) -> Option<FlowId> {
        while self.row != NIL {
            let flow = self.row;
            let seat = &mut seats[flow as usize];
            self.row = seat.next;
            *seat = Seat { tag: seat.tag, ..Seat::default() };
            self.root = if self.root == NIL { flow } else { meld(seats, self.root, flow) };
        }
        let first = match (self.root, self.first) {
            (root, NIL) => root,
            (NIL, first) => first,
            (root, first) if key(seats, root) < key(seats, first) => root,
            (_, first) => first,
        };
        (first != NIL).then_some(FlowId(first))
    }

    /// Adds a flow that is in no queue, with the tag on its seat. O(1).
    #[inline]
    pub(super) fn insert(&mut self, seats: &mut [Seat], flow: FlowId) {
        let seat = &mut seats[flow.index()];
        (seat.child, seat.next, seat.previous) = (IN_ROW, self.row, NIL);
        if self.row != NIL {
            seats[self.row as usize].previous = flow.0;
        }
        self.row = flow.0;
    }

    /// Adds a flow that has had a turn, and may be behind all others. O(1).
    #[inline(always)]
    pub(super) fn insert_again(&mut self, seats: &mut [Seat], flow: FlowId) {
        if self.last != NIL && key(seats, flow.0) < key(seats, self.last) {
            // The next flow of this group will be needed soon, so going through the row saves nothing.
            let seat = &mut seats[flow.index()];
            *seat = Seat { tag: seat.tag, ..Seat::default() };
            self.root = if self.root == NIL { flow.0 } else { meld(seats, self.root, flow.0) };
            return;
        }
        let seat = &mut seats[flow.index()];
        (seat.child, seat.next, seat.previous) = (IN_LINE, NIL, self.last);
        *(if self.last == NIL { &mut self.first } else { &mut seats[self.last as usize].next }) = flow.0;
        self.last = flow.0;
    }

    /// Removes a flow that is in this queue. O(log n) amortised.
    #[inline(always)]
    pub(super) fn remove(&mut self, seats: &mut [Seat], flow: FlowId) {
        let Seat { child, next, previous, .. } = seats[flow.index()];
        if child == IN_LINE {
            *(if next == NIL { &mut self.last } else { &mut seats[next as usize].previous }) = previous;
            *(if previous == NIL { &mut self.first } else { &mut seats[previous as usize].next }) = next;
            return;
        }
        if child == IN_ROW {
            if next != NIL {
                seats[next as usize].previous = previous;
            }
            *(if previous == NIL { &mut self.row } else { &mut seats[previous as usize].next }) = next;
            return;
        }
        let rest = merge_pairs(seats, child);
        if self.root == flow.0 {
            self.root = rest;
            return;
        }
        let before = &mut seats[previous as usize];
        if before.child == flow.0 {
            before.child = next;
        } else {
            before.next = next;
        }
        if next != NIL {
            seats[next as usize].previous = previous;
        }
        if rest != NIL {
            self.root = meld(seats, self.root, rest);
        }
    }
}

/// The order of flows.
#[inline]
fn key(seats: &[Seat], flow: u32) -> (u64, u32) {
    (seats[flow as usize].tag, flow)
}

/// Merges two non-empty heaps.
#[inline(always)]
fn meld(seats: &mut [Seat], a: u32, b: u32) -> u32 {
    let (above, below) = if key(seats, a) < key(seats, b) { (a, b) } else { (b, a) };
    let child = core::mem::replace(&mut seats[above as usize].child, below);
    // Whether there is a child is unpredictable. If not, a dummy write goes to `below`, which is written again there.
    seats[select_unpredictable(child == NIL, below, child) as usize].previous = below;
    let seat = &mut seats[below as usize];
    seat.next = child;
    seat.previous = above;
    let seat = &mut seats[above as usize];
    seat.next = NIL;
    seat.previous = NIL;
    above
}

/// Merges a row of siblings into one heap: in pairs from the left, then all from the right.
fn merge_pairs(seats: &mut [Seat], mut first: u32) -> u32 {
    // Mostly there is only one.
    if first != NIL && seats[first as usize].next == NIL {
        seats[first as usize].previous = NIL;
        return first;
    }
    let mut pairs = NIL;
    while first != NIL {
        let second = seats[first as usize].next;
        let (merged, rest) = if second == NIL {
            (first, NIL)
        } else {
            let rest = seats[second as usize].next;
            (meld(seats, first, second), rest)
        };
        seats[merged as usize].next = pairs;
        pairs = merged;
        first = rest;
    }
    let mut root = NIL;
    while pairs != NIL {
        let rest = core::mem::replace(&mut seats[pairs as usize].next, NIL);
        seats[pairs as usize].previous = NIL;
        root = if root == NIL { pairs } else { meld(seats, root, pairs) };
        pairs = rest;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(ops in prop::collection::vec((0u32..30, 0u64..50, 0u8..4), 1..400)) {
            let (mut seats, mut queue, mut model) = ([Seat::default(); 30], Queue::EMPTY, BTreeSet::new());
            for (flow, tag, op) in ops {
                let held = model.iter().find(|&&(_, known)| known == flow).copied();
                match (held, op) {
                    (None, _) => {
                        seats[flow as usize].tag = tag;
                        queue.insert(&mut seats, FlowId(flow));
                        model.insert((tag, flow));
                    }
                    (Some(entry), 0) => {
                        queue.remove(&mut seats, FlowId(flow));
                        model.remove(&entry);
                    }
                    (Some(_), _) => {
                        let Some((tag, first)) = model.pop_first() else { unreachable!() };
                        queue.remove(&mut seats, FlowId(first));
                        let more = [0, 7, 30][usize::from(op) - 1];
                        seats[first as usize].tag = tag + more;
                        queue.insert_again(&mut seats, FlowId(first));
                        model.insert((tag + more, first));
                    }
                }
                prop_assert_eq!(queue.first(&mut seats), model.first().map(|&(_, flow)| FlowId(flow)));
            }
        }
    }
}
