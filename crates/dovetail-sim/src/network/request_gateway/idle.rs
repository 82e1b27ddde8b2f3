//! Idle connections, and how long they are kept.
//!
//! The connection used last is reused first, so those that are not needed grow old and are closed, at once if there are too
//! many. There is one timer per party that connections lead to, not one per idle period.

use std::collections::BTreeMap;

use dovetail_sched::Nanos;

use crate::network::packets::EndId;

/// Idle connections, by party.
#[derive(Debug)]
pub(super) struct Idle {
    kept: Nanos,
    most: Most,
    by: BTreeMap<usize, Resting>,
    // Over all parties.
    count: usize,
}

/// Most idle connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) to_each: usize,
    pub(super) to_all: usize,
}

impl Most {
    pub(super) const UNLIMITED: Self = Self { to_each: usize::MAX, to_all: usize::MAX };
}

/// What follows from a connection's becoming idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Rested {
    /// When to check for [`overdue`](Idle::overdue) ones, if that must be scheduled.
    pub(super) timed: Option<Nanos>,
    /// A connection to close, since there are enough.
    pub(super) closed: Option<EndId>,
}

/// Idle connections to one party, the longest idle first.
#[derive(Debug, Default)]
struct Resting {
    since: Vec<(EndId, Nanos)>,
    is_timed: bool,
}

impl Idle {
    /// Keeps each for this time, unless there are more: zero keeps none, and the maximum is for ever.
    pub(super) fn new(kept: Nanos, most: Most) -> Self {
        Self { kept, most, by: BTreeMap::new(), count: 0 }
    }

    /// Whether connections are reused.
    pub(super) fn keeps(&self) -> bool {
        self.kept > Nanos::ZERO
    }

    /// Takes a connection for the next request.
    pub(super) fn take(&mut self, whose: usize) -> Option<EndId> {
        let (id, _) = self.by.get_mut(&whose)?.since.pop()?;
        self.count -= 1;
        Some(id)
    }

    /// A connection becomes idle. If that is one too many, the party's longest idle one is closed: this one if it has no other.
    pub(super) fn rests(&mut self, whose: usize, id: EndId, now: Nanos) -> Rested {
        let is_full = self.count >= self.most.to_all;
        let resting = self.by.entry(whose).or_default();
        resting.since.push((id, now));
        let is_over = is_full || resting.since.len() > self.most.to_each;
        let closed = is_over.then(|| resting.since.remove(0).0);
        self.count += usize::from(!is_over);
        Rested { timed: resting.timed(self.kept), closed }
    }

    /// The timer of a party has expired: returns the connections to close, and when to check again.
    pub(super) fn overdue(&mut self, whose: usize, now: Nanos) -> (Vec<EndId>, Option<Nanos>) {
        let Some(resting) = self.by.get_mut(&whose) else { return (Vec::new(), None) };
        resting.is_timed = false;
        let old = resting.since.partition_point(|&(_, since)| since + self.kept <= now);
        let closed: Vec<_> = resting.since.drain(..old).map(|(id, _)| id).collect();
        self.count -= closed.len();
        (closed, resting.timed(self.kept))
    }
}

impl Resting {
    fn timed(&mut self, kept: Nanos) -> Option<Nanos> {
        let due = self.since.first()?.1 + kept;
        if self.is_timed || due == Nanos::MAX {
            return None;
        }
        self.is_timed = true;
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::packets::Side;

    fn id(place: usize) -> EndId {
        EndId { place, made: place as u64, side: Side::Opener }
    }

    #[test]
    fn the_one_used_last_goes_first_and_old_ones_are_closed() {
        let mut idle = Idle::new(Nanos(100), Most::UNLIMITED);
        let timed = |at| Rested { timed: Some(Nanos(at)), closed: None };
        assert!(idle.keeps());
        assert_eq!(idle.rests(7, id(0), Nanos(10)), timed(110));
        assert_eq!(idle.rests(7, id(1), Nanos(30)), Rested::default(), "one timer for all of a party's");
        assert_eq!(idle.rests(8, id(2), Nanos(40)), timed(140));
        assert_eq!(idle.take(7), Some(id(1)));
        assert_eq!(idle.rests(7, id(1), Nanos(50)), Rested::default());
        assert_eq!(idle.overdue(7, Nanos(110)), (vec![id(0)], Some(Nanos(150))));
        assert_eq!(idle.take(7), Some(id(1)));
        assert_eq!(idle.overdue(7, Nanos(150)), (Vec::new(), None), "nothing is idle");
        assert_eq!(idle.take(7), None);
        assert_eq!(idle.rests(7, id(1), Nanos(160)), timed(260), "timed anew");
    }

    #[test]
    fn of_too_many_the_longest_idle_one_to_the_same_party_is_closed() {
        let mut idle = Idle::new(Nanos(100), Most { to_each: 2, to_all: 3 });
        let mut closed = |whose, place| idle.rests(whose, id(place), Nanos(place as u64)).closed;
        assert_eq!([closed(7, 0), closed(7, 1)], [None; 2]);
        assert_eq!(closed(7, 2), Some(id(0)), "a party has two");
        assert_eq!(closed(8, 3), None);
        assert_eq!(closed(8, 4), Some(id(3)), "all have three");
        assert_eq!(closed(9, 5), Some(id(5)), "it would be the fourth, and the party has no other");
        assert_eq!((idle.take(7), idle.take(8), idle.take(9)), (Some(id(2)), Some(id(4)), None));
        assert_eq!(idle.overdue(7, Nanos(101)).0, [id(1)]);
        let kept: Vec<_> = (6..10).map(|place| idle.rests(place, id(place), Nanos(200)).closed).collect();
        assert_eq!(kept, [None, None, None, Some(id(9))], "what was taken or closed leaves room");
    }

    #[test]
    fn what_is_kept_always_has_no_timer() {
        let mut idle = Idle::new(Nanos::MAX, Most::UNLIMITED);
        assert_eq!(idle.rests(0, id(0), Nanos(5)), Rested::default());
        assert_eq!(idle.take(0), Some(id(0)));
        assert!(!Idle::new(Nanos::ZERO, Most::UNLIMITED).keeps());
    }
}
