//! Segments that are late: still missing though one that was sent after them is delivered.
//!
//! Of the segments delivered, the one that was sent last is sent no earlier from one acknowledgement to the next, so a late
//! segment stays late until it is sacked, lost or sent again. Late segments are kept in the order in which they were sent,
//! which is that in which they become lost, and only the first and the last matter.

use dovetail_sched::Nanos;

use super::state::{Again, Board, Late, Sent};

impl Board {
    /// `newest`: when the segment was sent that was sent last of those delivered, and its end. Those sent before are late.
    pub(crate) fn pass(&mut self, newest: (Nanos, u64)) {
        let is_before = |sent: &Sent| (sent.at, sent.end()) < newest;
        let mut trouble = self.trouble.take();
        while let Some(sent) = self.by_number(self.passed).filter(|sent| sent.again || is_before(sent)) {
            if !(sent.again || sent.sacked || sent.lost) {
                trouble.get_or_insert_default().late.once.insert(self.passed);
            }
            self.passed += 1;
        }
        if let Some(Late { again: late, not_yet, .. }) = trouble.as_mut().map(|trouble| &mut trouble.late) {
            while let Some(&again) = not_yet.front() {
                let sent = self.in_flight_since(again);
                if sent.is_some_and(|sent| !is_before(sent)) {
                    break;
                }
                late.extend(sent.map(|_| again));
                not_yet.pop_front();
            }
        }
        self.trouble = trouble;
    }

    /// The late segments sent once that were sent first and last: number and time.
    pub(crate) fn late(&self) -> Option<[(u64, Nanos); 2]> {
        let late = &self.trouble.as_ref()?.late.once;
        let of = |&number: &u64| self.by_number(number).map(|sent| (number, sent.at));
        Some([of(late.first()?)?, of(late.last()?)?])
    }

    /// The late retransmissions that were sent first and last.
    pub(crate) fn late_again(&mut self) -> Option<[Again; 2]> {
        self.forget_outdated();
        let late = &self.trouble.as_ref()?.late.again;
        Some([*late.front()?, *late.back()?])
    }

    /// Forgets the late retransmission that was sent first.
    pub(crate) fn forget_late_again(&mut self) {
        if let Some(trouble) = &mut self.trouble {
            trouble.late.again.pop_front();
        }
    }

    pub(super) fn sent_again(&mut self, number: u64, now: Nanos) {
        // Without blocks, nothing else removes them.
        self.forget_outdated();
        self.trouble.get_or_insert_default().late.not_yet.push_back((number, now));
    }

    /// Drops retransmissions at the ends of the queues that are out of date.
    fn forget_outdated(&mut self) {
        let Some(mut trouble) = self.trouble.take() else { return };
        let is_outdated = |again: Option<&Again>| again.is_some_and(|&again| self.in_flight_since(again).is_none());
        for queue in [&mut trouble.late.again, &mut trouble.late.not_yet] {
            while is_outdated(queue.front()) {
                queue.pop_front();
            }
            while is_outdated(queue.back()) {
                queue.pop_back();
            }
        }
        self.trouble = Some(trouble);
    }

    /// The segment of a retransmission that is in flight.
    fn in_flight_since(&self, (number, at): Again) -> Option<&Sent> {
        self.by_number(number).filter(|sent| sent.in_flight_again && sent.at == at)
    }
}
