//! Groups ordered by a number, of which only the two ends are ever needed.
//!
//! Few groups are kept in one sorted row: joining or leaving moves some lines that are in the nearest cache. Many are kept in
//! two heaps, one from each end. The two forms differ in speed only.

use alloc::{boxed::Box, vec::Vec};

use super::GroupId;
use crate::IndexedHeap;

/// Above this size, 2 KiB, moving all entries behind one is too slow.
const FEW_MAX: usize = 128;

/// Below this the row is used again: a quarter, so that the changes in between pay for the switch.
const MANY_MIN: usize = FEW_MAX / 4;

/// The place of a group that is absent.
const NOWHERE: u64 = u64::MAX;

/// Groups by their places, which are below 2^63.
#[derive(Debug, Default)]
pub(super) struct Order {
    // By group, up to the largest id ever present.
    places: Vec<u64>,
    // While there are few: by place, then by id.
    row: Vec<(u64, GroupId)>,
    // The number of vacated entries at the front of the row, so that no other has to move.
    gone: usize,
    // Whether the heaps are in use.
    are_many: bool,
    heaps: Box<Heaps>,
}

/// By place, and by distance from 2^63.
#[derive(Debug, Default)]
struct Heaps {
    from_low: IndexedHeap<GroupId, u64>,
    from_high: IndexedHeap<GroupId, u64>,
}

const FARTHEST: u64 = 1 << 63;

impl Order {
    /// Puts the group at `place`, whether or not it is present.
    pub(super) fn set(&mut self, group: GroupId, place: u64) {
        let at = group.0 as usize;
        if at >= self.places.len() {
            self.places.resize(at + 1, NOWHERE);
        }
        let before = core::mem::replace(&mut self.places[at], place);
        if self.are_many {
            self.set_in_heaps(group, place);
            return;
        }
        if before != NOWHERE {
            self.take_from_row(group, before);
        }
        let at = self.gone + self.row().partition_point(|&other| other < (place, group));
        if self.gone > 0 {
            self.row.copy_within(self.gone..at, self.gone - 1);
            self.gone -= 1;
            self.row[at - 1] = (place, group);
        } else {
            self.row.insert(at, (place, group));
            if self.row.len() > FEW_MAX {
                self.become_many();
            }
        }
    }

    /// Removes the group, if present.
    pub(super) fn remove(&mut self, group: GroupId) {
        let Some(place) = self.places.get_mut(group.0 as usize) else { return };
        let place = core::mem::replace(place, NOWHERE);
        if place == NOWHERE {
            return;
        }
        if !self.are_many {
            self.take_from_row(group, place);
            return;
        }
        self.heaps.from_low.remove(group);
        self.heaps.from_high.remove(group);
        if self.heaps.from_low.len() < MANY_MIN {
            self.become_few();
        }
    }

    /// The group at the lowest place, with the place; ties go to the lowest id.
    #[inline]
    pub(super) fn low(&self) -> Option<(GroupId, u64)> {
        if self.are_many {
            return self.heaps.from_low.peek();
        }
        self.row().first().map(|&(place, group)| (group, place))
    }

    /// The group at the highest place, with the place; ties go to the lowest id.
    #[inline]
    pub(super) fn high(&self) -> Option<(GroupId, u64)> {
        if self.are_many {
            return self.heaps.from_high.peek().map(|(group, distance)| (group, FARTHEST - distance));
        }
        let (&(place, mut group), others) = self.row().split_last()?;
        for &(_, other) in others.iter().rev().take_while(|other| other.0 == place) {
            group = other;
        }
        Some((group, place))
    }

    fn take_from_row(&mut self, group: GroupId, place: u64) {
        if self.row().first() == Some(&(place, group)) {
            self.gone += 1;
        } else if self.row.last() == Some(&(place, group)) {
            self.row.pop();
        } else if let Ok(at) = self.row().binary_search(&(place, group)) {
            self.row.remove(self.gone + at);
        }
    }

    #[inline]
    fn row(&self) -> &[(u64, GroupId)] {
        &self.row[self.gone..]
    }

    fn set_in_heaps(&mut self, group: GroupId, place: u64) {
        self.heaps.from_low.set(group, place);
        self.heaps.from_high.set(group, FARTHEST - place);
    }

    #[cold]
    #[inline(never)]
    fn become_many(&mut self) {
        self.are_many = true;
        self.row.drain(..core::mem::take(&mut self.gone));
        while let Some((place, group)) = self.row.pop() {
            self.set_in_heaps(group, place);
        }
    }

    #[cold]
    #[inline(never)]
    fn become_few(&mut self) {
        self.are_many = false;
        while let Some((group, place)) = self.heaps.from_low.pop() {
            self.heaps.from_high.remove(group);
            self.row.push((place, group));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(
            ops in prop::collection::vec((0u32..400, prop::option::weighted(0.6, 0u64..300)), 1..1500),
            all in 1u32..400,
        ) {
            let mut order = Order::default();
            let (mut places, mut sorted) = (BTreeMap::new(), BTreeSet::new());
            for (group, place) in ops {
                let group = GroupId(group % all);
                if let Some(before) = places.remove(&group.0) {
                    sorted.remove(&(before, group.0));
                }
                match place {
                    Some(place) => {
                        order.set(group, place);
                        places.insert(group.0, place);
                        sorted.insert((place, group.0));
                    }
                    None => order.remove(group),
                }
                prop_assert_eq!(order.low(), sorted.first().map(|&(place, id)| (GroupId(id), place)));
                let high = sorted.last().and_then(|&(place, _)| sorted.range((place, 0)..).next());
                prop_assert_eq!(order.high(), high.map(|&(place, id)| (GroupId(id), place)));
            }
        }
    }
}
