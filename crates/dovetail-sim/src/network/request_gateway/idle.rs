//! Idle connections, and how long they are kept.
//!
//! The connection used last is reused first, so those that are not needed grow old and are closed. There is one timer per
//! party that connections lead to, not one per idle period.

use std::collections::BTreeMap;

use dovetail_sched::Nanos;

use crate::network::packets::EndId;

/// Idle connections, by party.
#[derive(Debug)]
pub(super) struct Idle {
    kept: Nanos,
    by: BTreeMap<usize, Resting>,
}

/// Idle connections to one party, the longest idle first.
#[derive(Debug, Default)]
struct Resting {
    since: Vec<(EndId, Nanos)>,
    is_timed: bool,
}

impl Idle {
    /// Keeps each for this time; zero keeps none, and the maximum keeps all.
    pub(super) fn new(kept: Nanos) -> Self {
        Self { kept, by: BTreeMap::new() }
    }

    /// Whether connections are reused.
    pub(super) fn keeps(&self) -> bool {
        self.kept > Nanos::ZERO
    }

    /// Takes a connection for the next request.
    pub(super) fn take(&mut self, whose: usize) -> Option<EndId> {
        self.by.get_mut(&whose)?.since.pop().map(|(id, _)| id)
    }

    /// A connection becomes idle. Returns when to check for [`overdue`](Self::overdue) ones, if that must be scheduled.
    pub(super) fn rests(&mut self, whose: usize, id: EndId, now: Nanos) -> Option<Nanos> {
        let resting = self.by.entry(whose).or_default();
        resting.since.push((id, now));
        resting.timed(self.kept)
    }

    /// The timer of a party has expired: returns the connections to close, and when to check again.
    pub(super) fn overdue(&mut self, whose: usize, now: Nanos) -> (Vec<EndId>, Option<Nanos>) {
        let Some(resting) = self.by.get_mut(&whose) else { return (Vec::new(), None) };
        resting.is_timed = false;
        let old = resting.since.partition_point(|&(_, since)| since + self.kept <= now);
        let closed = resting.since.drain(..old).map(|(id, _)| id).collect();
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
        let mut idle = Idle::new(Nanos(100));
        assert!(idle.keeps());
        assert_eq!(idle.rests(7, id(0), Nanos(10)), Some(Nanos(110)));
        assert_eq!(idle.rests(7, id(1), Nanos(30)), None, "one timer for all of a party's");
        assert_eq!(idle.rests(8, id(2), Nanos(40)), Some(Nanos(140)));
        assert_eq!(idle.take(7), Some(id(1)));
        assert_eq!(idle.rests(7, id(1), Nanos(50)), None);
        assert_eq!(idle.overdue(7, Nanos(110)), (vec![id(0)], Some(Nanos(150))));
        assert_eq!(idle.take(7), Some(id(1)));
        assert_eq!(idle.overdue(7, Nanos(150)), (Vec::new(), None), "nothing is idle");
        assert_eq!(idle.take(7), None);
        assert_eq!(idle.rests(7, id(1), Nanos(160)), Some(Nanos(260)), "timed anew");
    }

    #[test]
    fn what_is_kept_always_has_no_timer() {
        let mut idle = Idle::new(Nanos::MAX);
        assert_eq!(idle.rests(0, id(0), Nanos(5)), None);
        assert_eq!(idle.take(0), Some(id(0)));
        assert!(!Idle::new(Nanos::ZERO).keeps());
    }
}
