//! Which class goes next.
//!
//! A class's *service counter* `SC` sums up its charges per part: a charge of `c` units adds `c/(w·u)` with weight `w` and `u`
//! counted users. The candidate class with the least goes next, ties to the lowest id, unless another class has a request that
//! comes before that one's in `order` even when counted as larger by half of its class's lead, and that ends before its class
//! is ahead by more than `lead`. `V` is the largest value so far that the least `SC` has had. A candidate class is never more
//! than `lag + lead` behind it:
//!
//! ```text
//! V <- max(V, least SC)                                    a_c = SC_c - least SC, of a class c in line
//! first goes the least  rank + w·u·a_c/2                   of those with a_c + left/(w·u) <= lead, and that with a_c = 0
//! c becomes a candidate, or is refunded while it is one:   SC_c <- max(SC_c, V - lead - lag)
//! c had no request at all:                                 SC_c <- max(SC_c, V - min(lag, first))
//! ```
//!
//! What is left of a long download is more than the lead: its class goes only when it has had the least, so shares of downloads
//! hold at every moment. Short responses of a class that is ahead go before long ones of others, but not before others nearly
//! as short, so that the lead is soon paid back. When the class with the least momentarily has no candidates, as one with a
//! single response has not after each turn, `V` moves up to those that are ahead, and the amount by which the class is behind
//! is not lost. While more than 64 classes are in line none may lead: examining all of them would take too long.
//!
//! So a new user goes first with `first` units per part: a page beside hundreds of downloads does not wait for a round of them.
//! A user who comes and goes gains no more by that than one who stays, who may be `lag` behind.
//!
//! A class that was put forward to `V - lead - lag` has lost what it was further behind, for want of candidates. That is
//! reported at its next turn: with longer windows it would have had some.
//!
//! As `V` follows the least, it never passes a candidate: the second line holds for all candidates at all times.
//!
//! Counters are integers of 2^-64 units in 128 bits: exact whatever went before, up to 1.8·10^19 units per part. The heap
//! orders by the upper 96 bits, 2^-32 units.

use alloc::vec::Vec;

use super::super::accounts::slot_mut;
use crate::{HeapKey, IndexedHeap, request::ClassId};

/// The classes' counters, and which of them have candidates.
#[derive(Debug)]
pub(super) struct Classes {
    // Units per part, like counters.
    lead: u128,
    lag: u128,
    first: u128,
    // V.
    selected: u128,
    classes: Vec<Class>,
    candidates: IndexedHeap<ClassId, Counter>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Class {
    service: u128,
    counted_users: u32,
    // It was further behind than the lag.
    lost: bool,
}

/// How far a class is ahead of the least, and how much farther it may go, in 2^-64 units per part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    by: u128,
    room: u128,
}

impl Ahead {
    /// The lead over all of this many parts, in units.
    pub(super) fn units(self, parts: f64) -> u64 {
        (self.by as f64 / ONE * parts) as u64
    }

    /// Whether the class may have this many more units for this many parts.
    pub(super) fn leaves_room_for(self, units: u64, parts: f64) -> bool {
        each(units, parts) <= self.room
    }
}

#[derive(Debug, Clone, Copy)]
struct Counter(u128);

impl HeapKey for Counter {
    type Number = u128;
    #[inline]
    fn to_number(self) -> u128 {
        self.0 >> 32
    }
    #[inline]
    fn from_number(number: u128) -> Self {
        Self(number << 32)
    }
}

/// With more classes in line than this the one with the least goes, which bounds the time of a turn.
const MAX_SCANNED: usize = 64;

/// One unit per part.
const ONE: f64 = 18_446_744_073_709_551_616.0;

impl Classes {
    /// `lead`, `lag` and `first` are in units per part.
    pub(super) fn new(lead: u64, lag: u64, first: u64) -> Self {
        let (classes, candidates) = (Vec::new(), IndexedHeap::new());
        let mut none = Self { lead: 0, lag: 0, first: 0, selected: 0, classes, candidates };
        none.set_lead(lead);
        none.set_lag(lag, first);
        none
    }

    /// The class had no request and has one now.
    pub(super) fn began(&mut self, class: ClassId) {
        let class = slot_mut(&mut self.classes, class.0);
        class.service = class.service.max(self.selected.saturating_sub(self.first));
    }

    /// Sets whether requests of the class may have a turn.
    pub(super) fn set_candidate(&mut self, class: ClassId, is: bool) {
        if !is {
            self.candidates.remove(class);
        } else if !self.candidates.contains(class) {
            self.put(class);
        }
    }

    /// The class with the least counter, which is to go next; raises `V` to that counter.
    pub(super) fn select(&mut self) -> Option<ClassId> {
        let (class, _) = self.candidates.peek()?;
        self.selected = self.selected.max(self.classes[class.0 as usize].service);
        Some(class)
    }

    /// Other classes that may go instead of `least`: those ahead of it by no more than the lead, with the room left up to the
    /// lead. None if there are too many classes in line to examine.
    pub(super) fn others(&self, least: ClassId) -> impl Iterator<Item = (ClassId, Ahead)> + '_ {
        let least_service = self.classes[least.0 as usize].service;
        let ahead = move |class: ClassId| {
            let by = self.classes[class.0 as usize].service.saturating_sub(least_service);
            Some(Ahead { by, room: self.lead.checked_sub(by)? })
        };
        let all = (self.lead > 0 && (2..=MAX_SCANNED).contains(&self.candidates.len())).then(|| self.candidates.iter());
        let others = all.into_iter().flatten().map(|(class, _)| class).filter(move |&class| class != least);
        others.filter_map(move |class| Some((class, ahead(class)?)))
    }

    /// Charges `units` to a class with this many parts. Returns how much its counter grew.
    pub(super) fn charge(&mut self, class: ClassId, units: u64, parts: f64) -> u128 {
        let account = slot_mut(&mut self.classes, class.0);
        let more = each(units, parts);
        account.service = account.service.saturating_add(more);
        self.moved(class);
        more
    }

    /// Refunds `units` to a class with this many parts, but no more than `paid`, by which its counter grew for them.
    pub(super) fn refund(&mut self, class: ClassId, units: u64, parts: f64, paid: u128) {
        let account = slot_mut(&mut self.classes, class.0);
        account.service = account.service.saturating_sub(each(units, parts).min(paid));
        self.moved(class);
    }

    /// From now on a class may be `lead` units per part ahead of others and still go first.
    pub(super) fn set_lead(&mut self, lead: u64) {
        self.lead = u128::from(lead) << 64;
    }

    /// From now on a candidate class is at most `lag` units per part plus the lead behind, and one that had no request at most
    /// `first`.
    pub(super) fn set_lag(&mut self, lag: u64, first: u64) {
        (self.lag, self.first) = (u128::from(lag) << 64, u128::from(first.min(lag)) << 64);
    }

    /// Whether the class was further behind than the lag since the last call.
    pub(super) fn take_lost(&mut self, class: ClassId) -> bool {
        core::mem::take(&mut slot_mut(&mut self.classes, class.0).lost)
    }

    /// A user of the class counts from now on.
    pub(super) fn count(&mut self, class: ClassId) {
        slot_mut(&mut self.classes, class.0).counted_users += 1;
    }

    /// A user of the class no longer counts.
    pub(super) fn uncount(&mut self, class: ClassId) {
        slot_mut(&mut self.classes, class.0).counted_users -= 1;
    }

    /// The number of its users that count.
    pub(super) fn counted_users(&self, class: ClassId) -> u32 {
        self.classes.get(class.0 as usize).map_or(0, |class| class.counted_users)
    }

    fn moved(&mut self, class: ClassId) {
        if self.candidates.contains(class) {
            self.put(class);
        }
    }

    fn put(&mut self, class: ClassId) {
        let account = slot_mut(&mut self.classes, class.0);
        let floor = self.selected.saturating_sub(self.lag.saturating_add(self.lead));
        if account.service < floor {
            (account.service, account.lost) = (floor, true);
        }
        self.candidates.set(class, Counter(account.service));
    }
}

/// Units for each of this many parts, in 2^-64; saturates.
fn each(units: u64, parts: f64) -> u128 {
    (units as f64 / parts * ONE) as u128
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const A: ClassId = ClassId(0);
    const B: ClassId = ClassId(1);

    fn turns(classes: &mut Classes, n: usize, parts: [f64; 3]) -> Vec<u32> {
        let mut order = Vec::new();
        for _ in 0..n {
            let class = classes.select().expect("a candidate");
            classes.charge(class, 1000, parts[class.0 as usize]);
            order.push(class.0);
        }
        order
    }

    #[test]
    fn who_is_ahead_may_go_for_what_ends_within_the_lead_while_few_are_in_line() {
        let mut classes = Classes::new(1_000, 30_000, 0);
        for class in 0..64 {
            classes.set_candidate(ClassId(class), true);
        }
        classes.charge(B, 800, 2.0);
        assert_eq!(classes.select(), Some(A));
        let (_, ahead) = classes.others(A).find(|&(class, _)| class == B).expect("it may go");
        assert_eq!(ahead.units(2.0), 800);
        assert!(ahead.leaves_room_for(1_200, 2.0) && !ahead.leaves_room_for(1_201, 2.0));
        classes.charge(B, 1_400, 2.0);
        assert!(!classes.others(A).any(|(class, _)| class == B));
        classes.set_candidate(ClassId(64), true);
        assert_eq!(classes.others(A).count(), 0);
    }

    #[test]
    fn turns_are_in_proportion_to_parts() {
        let mut classes = Classes::new(0, 30_000, 0);
        classes.set_candidate(A, true);
        classes.set_candidate(B, true);
        assert_eq!(turns(&mut classes, 9, [2.0, 1.0, 1.0]), [0, 1, 0, 0, 1, 0, 0, 1, 0]);
    }

    #[test]
    fn a_class_comes_back_no_more_than_the_lag_behind() {
        let mut classes = Classes::new(0, 2_000, 0);
        classes.set_candidate(A, true);
        turns(&mut classes, 11, [1.0; 3]);
        // A was last selected at 10,000 and is at 11,000; B stayed active and starts at 8,000.
        classes.set_candidate(B, true);
        assert_eq!(turns(&mut classes, 5, [1.0; 3]), [1, 1, 1, 0, 1]);
        // A class that had no request starts where the others are.
        classes.began(ClassId(2));
        classes.set_candidate(ClassId(2), true);
        assert_eq!(turns(&mut classes, 4, [1.0; 3]), [2, 0, 1, 2]);
    }

    #[test]
    fn a_class_that_is_new_goes_first_and_one_that_comes_and_goes_gains_nothing() {
        let mut classes = Classes::new(0, 5_000, 2_000);
        classes.set_candidate(A, true);
        turns(&mut classes, 10, [1.0; 3]);
        for _ in 0..2 {
            classes.began(B);
            classes.set_candidate(B, true);
            // A is at 10,000 and was selected at 9,000.
            assert_eq!(classes.select(), Some(B));
            classes.charge(B, 1000, 1.0);
            classes.set_candidate(B, false);
        }
        classes.began(B);
        classes.set_candidate(B, true);
        assert_eq!(turns(&mut classes, 4, [1.0; 3]), [1, 0, 1, 0], "7,000 and twice 1,000 are 9,000");
    }

    #[test]
    fn what_was_lost_for_want_of_candidates_is_told_once() {
        let mut classes = Classes::new(0, 2_000, 0);
        classes.set_candidate(A, true);
        classes.set_candidate(B, true);
        turns(&mut classes, 2, [1.0; 3]);
        classes.set_candidate(B, false);
        turns(&mut classes, 2, [1.0; 3]);
        classes.set_candidate(B, true);
        assert!(!classes.take_lost(B), "2,000 behind is not more than the lag");
        classes.set_candidate(B, false);
        turns(&mut classes, 4, [1.0; 3]);
        classes.set_candidate(B, true);
        assert!(classes.take_lost(B) && !classes.take_lost(B) && !classes.take_lost(A));
    }

    #[test]
    fn counters_lose_nothing_after_ten_to_the_twelve_units_at_the_least_weight() {
        let mut classes = Classes::new(0, 0, 0);
        classes.charge(A, 1_000_000_000_000, 1e-6);
        classes.charge(B, 1_000_000_000_000, 1e-6);
        // One unit per part of 10^11 is still distinguished, and refunded exactly.
        classes.charge(A, 16, 1e11);
        let apart = classes.classes[0].service - classes.classes[1].service;
        assert_eq!(apart, (16.0 / 1e11 * ONE) as u128);
        assert!(apart > 1_000_000_000);
        classes.refund(A, 16, 1e11, u128::MAX);
        assert_eq!(classes.classes[0].service, classes.classes[1].service);
    }

    #[test]
    fn absurd_charges_saturate() {
        let mut classes = Classes::new(0, 30_000, 0);
        classes.set_candidate(A, true);
        for _ in 0..3 {
            classes.charge(A, u64::MAX, 1e-6);
        }
        assert_eq!(classes.select(), Some(A));
        classes.refund(A, u64::MAX, 1e-6, u128::MAX);
        assert_eq!(classes.select(), Some(A));
    }
}
