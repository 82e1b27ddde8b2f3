//! The segments of the scoreboard, and what happens to them.

use alloc::{
    boxed::Box,
    collections::{BTreeSet, VecDeque},
};

use dovetail_sched::Nanos;

use crate::{delivery::Snapshot, ranges::Ranges};

/// A segment that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// Its first place.
    pub(crate) start: u64,
    /// Its length in places: a FIN counts as one.
    pub(crate) length: u32,
    pub(crate) sacked: bool,
    pub(crate) lost: bool,
    pub(crate) in_flight_again: bool,
    /// Whether it was ever retransmitted.
    pub(crate) again: bool,
    /// When it was last sent.
    pub(crate) at: Nanos,
    /// What had been delivered at that time.
    pub(crate) snapshot: Snapshot,
}

impl Sent {
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.length as u64
    }
}

/// Segments that were sent and not yet acknowledged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board {
    sent: VecDeque<Sent>,
    // Number of the first segment; a segment keeps its number.
    first: u64,
    sacked: u32,
    lost: u32,
    in_flight_again: u32,
    // Sacked by duplicate acknowledgements, which do not say which.
    duplicates: u32,
    // Segments below this number are known to be late or not (`late`).
    pub(super) passed: u64,
    /// How often a segment was considered lost.
    pub(crate) losses: u64,
    /// One past the highest place that was sacked.
    pub(crate) furthest_sacked: u64,
    // Mostly `None`.
    pub(super) trouble: Option<Box<Trouble>>,
    #[cfg(test)]
    pub(crate) looks: core::cell::Cell<u32>,
}

/// What is needed once segments do not arrive in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Trouble {
    // Numbers of segments that are lost and not in flight again.
    waiting: BTreeSet<u64>,
    // Numbers of segments that are sacked.
    runs: Ranges,
    pub(super) late: Late,
    // Blocks of the previous acknowledgement.
    read: [(u64, u64); 4],
}

/// A retransmission: number and time.
pub(super) type Again = (u64, Nanos);

/// Segments that are late (`late`).
#[derive(Debug, Clone, Default)]
pub(super) struct Late {
    // Numbers of late segments that were sent once.
    pub(super) once: BTreeSet<u64>,
    // Retransmissions in the order they were sent: late ones, and others. Some are out of date.
    pub(super) again: VecDeque<Again>,
    pub(super) not_yet: VecDeque<Again>,
}

impl Board {
    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Number of segments.
    pub(crate) fn len(&self) -> u32 {
        self.sent.len() as u32
    }

    pub(crate) const fn sacked(&self) -> u32 {
        self.sacked + self.duplicates
    }

    pub(crate) const fn lost(&self) -> u32 {
        self.lost
    }

    pub(crate) const fn in_flight_again(&self) -> u32 {
        self.in_flight_again
    }

    /// Number of segments in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        (self.len() + self.in_flight_again).saturating_sub(self.sacked() + self.lost)
    }

    pub(crate) fn front(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// Adds a segment that was sent for the first time.
    pub(crate) fn push(&mut self, sent: Sent) {
        self.sent.push_back(sent);
    }

    /// Whether any segment was retransmitted.
    pub(crate) fn has_again(&self) -> bool {
        self.in_flight_again > 0 || self.sent.front().is_some_and(|front| front.again)
    }

    /// Numbers of the segments.
    pub(crate) fn numbers(&self) -> core::ops::Range<u64> {
        self.first..self.first + self.sent.len() as u64
    }

    pub(crate) fn by_number(&self, number: u64) -> Option<&Sent> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        self.sent.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn by_number_mut(&mut self, number: u64) -> Option<&mut Sent> {
        self.sent.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// How many segments an acknowledgement up to `una` removes.
    pub(crate) fn until(&self, una: u64) -> u32 {
        self.sent.partition_point(|sent| sent.end() <= una) as u32
    }

    /// Removes what is acknowledged up to `una`; a segment acknowledged in part keeps the rest.
    pub(crate) fn acknowledge(&mut self, una: u64, mut each: impl FnMut(&Sent)) {
        while let Some(&front) = self.sent.front().filter(|front| front.end() <= una) {
            self.sent.pop_front();
            self.first += 1;
            self.sacked -= u32::from(front.sacked);
            self.lost -= u32::from(front.lost);
            self.in_flight_again -= u32::from(front.in_flight_again);
            each(&front);
        }
        if let Some(front) = self.sent.front_mut().filter(|front| front.start < una) {
            front.length -= (una - front.start) as u32;
            front.start = una;
        }
        if self.sent.is_empty() {
            // An idle connection keeps no memory for what it once had in flight.
            (self.sent, self.trouble) = (VecDeque::new(), None);
        }
        self.passed = self.passed.max(self.first);
        if let Some(trouble) = &mut self.trouble {
            trouble.forget_before(self.first);
        }
    }

    /// Marks segments that the peer reports in blocks; `each` sees every segment that is newly sacked.
    pub(crate) fn sack(&mut self, blocks: &[(u64, u64)], mut each: impl FnMut(&Sent)) {
        let trouble = self.trouble.get_or_insert_default();
        for &(start, end) in blocks {
            let new = without(&trouble.read, (start, end));
            // Start at the segment that contains the first new place.
            let from = self.sent.partition_point(|sent| sent.end() <= new.0);
            let mut at = from;
            while let Some(sent) = self.sent.get_mut(at).filter(|sent| sent.start < new.1) {
                #[cfg(test)]
                self.looks.set(self.looks.get() + 1);
                let number = self.first + at as u64;
                at += 1;
                if sent.sacked {
                    at = trouble.runs.around(number).map_or(at, |(_, end)| (end - self.first) as usize);
                    continue;
                }
                if sent.start < start || sent.end() > end {
                    continue;
                }
                each(sent);
                sent.sacked = true;
                self.sacked += 1;
                self.lost -= u32::from(sent.lost);
                self.in_flight_again -= u32::from(sent.in_flight_again);
                (sent.lost, sent.in_flight_again) = (false, false);
                self.furthest_sacked = self.furthest_sacked.max(sent.end());
                trouble.runs.insert(number, number + 1);
                trouble.resolves(number);
            }
        }
        trouble.read = [(0, 0); 4];
        trouble.read.iter_mut().zip(blocks).for_each(|(read, block)| *read = *block);
    }

    /// A duplicate acknowledgement without blocks: one more segment has arrived.
    pub(crate) fn duplicate(&mut self) {
        let most = self.len().saturating_sub(self.lost.max(1));
        self.duplicates = (self.duplicates + 1).min(most);
    }

    /// `segments` that duplicates had counted as sacked were acknowledged, the first one due to its retransmission.
    pub(crate) fn duplicates_acknowledged(&mut self, segments: u32) {
        self.duplicates = self.duplicates.saturating_sub(segments.saturating_sub(1));
    }

    pub(crate) fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Marks a segment lost, unless it is sacked.
    pub(crate) fn lose(&mut self, number: u64) {
        let Some(sent) = self.by_number_mut(number).filter(|sent| !sent.sacked) else { return };
        let (was_lost, was_again) = (sent.lost, sent.in_flight_again);
        (sent.lost, sent.in_flight_again) = (true, false);
        self.lost += u32::from(!was_lost);
        self.in_flight_again -= u32::from(was_again);
        self.losses += u64::from(!was_lost || was_again);
        let trouble = self.trouble.get_or_insert_default();
        trouble.late.resolves(number);
        trouble.waiting.insert(number);
    }

    /// Clears all loss marks.
    pub(crate) fn loses_nothing(&mut self) {
        for sent in &mut self.sent {
            sent.lost = false;
        }
        self.lost = 0;
        if let Some(trouble) = &mut self.trouble {
            trouble.waiting.clear();
        }
        self.passed = self.first;
    }

    /// The peer discarded data that it had reported (reneging).
    pub(crate) fn forget_sacked(&mut self) {
        for sent in &mut self.sent {
            sent.sacked = false;
        }
        (self.sacked, self.duplicates, self.furthest_sacked) = (0, 0, 0);
        if let Some(trouble) = &mut self.trouble {
            (trouble.read, trouble.runs) = ([(0, 0); 4], Ranges::default());
        }
        self.passed = self.first;
    }

    /// Number of the first segment that is lost and not in flight again.
    pub(crate) fn next_lost(&self) -> Option<u64> {
        self.trouble.as_ref()?.waiting.first().copied()
    }

    /// Records a retransmission.
    pub(crate) fn resend(&mut self, number: u64, now: Nanos, snapshot: Snapshot) {
        let Some(sent) = self.by_number_mut(number) else { return };
        let was_again = sent.in_flight_again;
        (sent.in_flight_again, sent.again, sent.at, sent.snapshot) = (true, true, now, snapshot);
        self.in_flight_again += u32::from(!was_again);
        self.trouble.get_or_insert_default().resolves(number);
        self.sent_again(number, now);
    }
}

impl Trouble {
    /// A segment is neither late nor waiting any more.
    fn resolves(&mut self, number: u64) {
        self.waiting.remove(&number);
        self.late.resolves(number);
    }

    /// Everything before this number is acknowledged.
    fn forget_before(&mut self, first: u64) {
        while self.waiting.first().is_some_and(|&number| number < first) {
            self.waiting.pop_first();
        }
        self.late.forget_before(first);
        self.runs.forget_before(first);
    }
}

impl Late {
    /// A segment is late no more.
    fn resolves(&mut self, number: u64) {
        self.once.remove(&number);
    }

    fn forget_before(&mut self, first: u64) {
        while self.once.first().is_some_and(|&number| number < first) {
            self.once.pop_first();
        }
    }
}

/// The part of a block that is not covered, at its start or its end, by blocks that were processed before.
fn without(read: &[(u64, u64)], (mut start, mut end): (u64, u64)) -> (u64, u64) {
    for &(from, to) in read {
        if from <= start && start < to {
            start = to.min(end);
        }
        if from < end && end <= to {
            end = from.max(start);
        }
    }
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_in_flight_takes_no_memory_afterwards() {
        let mut board = Board::default();
        let (now, snapshot) = (Nanos(1), Snapshot::default());
        for at in 0..100 {
            let [sacked, lost, in_flight_again, again] = [false; 4];
            board.push(Sent { start: at, length: 1, sacked, lost, in_flight_again, again, at: now, snapshot });
        }
        board.sack(&[(1, 100)], |_| {});
        board.lose(0);
        board.resend(0, now, snapshot);
        assert!(board.sent.capacity() >= 100 && board.trouble.is_some());
        board.acknowledge(100, |_| {});
        assert!(board.sent.capacity() == 0 && board.trouble.is_none());
    }
}
