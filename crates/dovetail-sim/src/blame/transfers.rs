//! What TCP transfers wait for.
//!
//! A transfer has many packets in flight at once, so its time is not the sum of theirs. From its beginning `a` until the
//! receiver has its last byte at `e`, it is at every instant in the first of these states that applies:
//! | state | the transfer's time goes to |
//! |---|---|
//! | one of its packets is on the watched link | own |
//! | one of its packets waits before that link | behind the traffic whose packet is on it, or *held* if none is |
//! | one of its packets was dropped there and has not been sent again | *recovering* |
//! | otherwise | *on its way*: propagation, other links, hosts that wait for one another |
//!
//! which divides `e - a` without remainder. What it waits for is counted as for packets: the link's time in each column is
//! subtracted when the transfer starts to wait and added when it stops.

use std::collections::BTreeMap;

use dovetail_sched::Nanos;

use super::{
    columns::{HELD, ON_ITS_WAY, RECOVERING},
    explanation::Explanation,
    ledger::{Done, Ledger},
    parts::Selection,
    segment::Segment,
};

/// Divides the time of a network's transfers among what they waited for. In the resulting [`Explanation`], a transfer takes
/// the role of a packet, with its number, and its traffic that of a flow.
#[derive(Debug)]
pub struct TransferBlame {
    ledger: Ledger,
    link: Link,
    open: BTreeMap<usize, Open>,
}

/// The watched link over time.
#[derive(Debug, Default)]
struct Link {
    spent: Vec<u64>,
    column: usize,
    as_of: Nanos,
}

/// A transfer that has not ended.
#[derive(Debug)]
struct Open {
    traffic: usize,
    begun: Nanos,
    as_of: Nanos,
    state: State,
    /// Number of its packets that wait for the link.
    waiting: u32,
    is_on_link: bool,
    /// Starts of segments that were dropped and not retransmitted.
    lost: Vec<u32>,
    own: u64,
    // Per column; while it waits, minus what the link had spent when waiting began.
    owed: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    OnLink,
    Waiting,
    Recovering,
    OnItsWay,
}

impl TransferBlame {
    /// Keeps the `slowest` transfers of the selection: of all, of a class (the traffic's name), or the one with this number.
    #[must_use]
    pub fn new(selection: Selection, slowest: usize) -> Self {
        Self {
            ledger: Ledger::new(0, selection, slowest),
            link: Link { column: HELD, ..Link::default() },
            open: BTreeMap::new(),
        }
    }

    /// Sets the network's traffic, by name.
    pub(crate) fn knows<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        for name in names {
            self.ledger.appears(name, name);
        }
        self.link.spent = vec![0; self.ledger.columns()];
    }

    /// A transfer begins.
    pub(crate) fn begins(&mut self, transfer: usize, traffic: usize, now: Nanos) {
        let open = Open {
            traffic,
            begun: now,
            as_of: now,
            state: State::OnItsWay,
            waiting: 0,
            is_on_link: false,
            lost: Vec::new(),
            own: 0,
            owed: vec![0; self.ledger.columns()],
        };
        self.open.insert(transfer, open);
    }

    /// One of its packets arrived at the link and waits.
    pub(crate) fn waits(&mut self, transfer: usize, segment: Option<Segment>, now: Nanos) {
        self.change(transfer, now, |open| {
            open.waiting += 1;
            if let Some(segment) = segment {
                open.lost.retain(|&from| !segment.covers(from));
            }
        });
    }

    /// One of its packets was dropped; `waited` tells whether it had been queued.
    pub(crate) fn dropped(&mut self, transfer: usize, segment: Option<Segment>, waited: bool, now: Nanos) {
        self.change(transfer, now, |open| {
            open.waiting -= u32::from(waited);
            if let Some(segment) = segment
                && !open.lost.contains(&segment.from)
            {
                open.lost.push(segment.from);
            }
        });
    }

    /// The link starts to send a packet of this traffic, and of this transfer if it belongs to one.
    pub(crate) fn takes(&mut self, traffic: usize, transfer: Option<usize>, now: Nanos) {
        self.link.turns_to(self.ledger.column(traffic), now);
        if let Some(transfer) = transfer {
            self.change(transfer, now, |open| {
                open.waiting -= 1;
                open.is_on_link = true;
            });
        }
    }

    /// The link has sent its packet.
    pub(crate) fn frees(&mut self, transfer: Option<usize>, now: Nanos) {
        self.link.turns_to(HELD, now);
        if let Some(transfer) = transfer {
            self.change(transfer, now, |open| open.is_on_link = false);
        }
    }

    /// The receiver has the whole transfer.
    pub(crate) fn ends(&mut self, transfer: usize, now: Nanos) {
        self.link.settle(now);
        let Some(mut open) = self.open.remove(&transfer) else { return };
        open.settle(&self.link, now);
        if open.state == State::Waiting {
            open.add_spent(&self.link);
        }
        self.ledger.ended(&Done {
            number: transfer,
            flow: open.traffic,
            begun: open.begun,
            ended: now,
            own_nanos: open.own,
            same_flow_nanos: 0,
            owed: &open.owed,
        });
    }

    /// Ends the observation. Transfers that have not ended are counted as left.
    #[must_use]
    pub fn finish(mut self) -> Explanation {
        for (&transfer, open) in &self.open {
            self.ledger.left(transfer, open.traffic);
        }
        self.ledger.finish()
    }

    fn change(&mut self, transfer: usize, now: Nanos, change: impl FnOnce(&mut Open)) {
        self.link.settle(now);
        // After a transfer's end only the closing handshake follows.
        let Some(open) = self.open.get_mut(&transfer) else { return };
        open.settle(&self.link, now);
        change(open);
        open.turn(&self.link);
    }
}

impl Link {
    fn settle(&mut self, now: Nanos) {
        self.spent[self.column] += (now - self.as_of).0;
        self.as_of = now;
    }

    fn turns_to(&mut self, column: usize, now: Nanos) {
        self.settle(now);
        self.column = column;
    }
}

impl Open {
    /// Accounts for the time until `now`, except waiting time, which the link accounts for.
    fn settle(&mut self, link: &Link, now: Nanos) {
        debug_assert_eq!(link.as_of, now);
        let spent = (now - self.as_of).0;
        self.as_of = now;
        match self.state {
            State::OnLink => self.own += spent,
            State::Waiting => {}
            State::Recovering => self.owed[RECOVERING] += spent,
            State::OnItsWay => self.owed[ON_ITS_WAY] += spent,
        }
    }

    /// Moves to the current state.
    fn turn(&mut self, link: &Link) {
        let state = if self.is_on_link {
            State::OnLink
        } else if self.waiting > 0 {
            State::Waiting
        } else if !self.lost.is_empty() {
            State::Recovering
        } else {
            State::OnItsWay
        };
        match (self.state == State::Waiting, state == State::Waiting) {
            (false, true) => {
                for (owed, &spent) in self.owed.iter_mut().zip(&link.spent) {
                    *owed = owed.wrapping_sub(spent);
                }
            }
            (true, false) => self.add_spent(link),
            _ => {}
        }
        self.state = state;
    }

    fn add_spent(&mut self, link: &Link) {
        for (owed, &spent) in self.owed.iter_mut().zip(&link.spent) {
            *owed = owed.wrapping_add(spent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blame::WITHOUT_FLOW;

    #[test]
    fn a_transfer_s_time_is_divided_by_its_states() {
        let mut blame = TransferBlame::new(Selection::All, 1);
        blame.knows(["web", "bulk"].into_iter());
        let segment = |from| Some(Segment { from, bytes: 10 });
        blame.begins(0, 0, Nanos(0));
        // On its way until 5, behind bulk until 9, on the link until 12.
        blame.takes(1, None, Nanos(2));
        blame.waits(0, segment(100), Nanos(5));
        blame.frees(None, Nanos(9));
        blame.takes(0, Some(0), Nanos(9));
        // Its next segment is dropped while this one is on the link, and returns at 30: 2 with the link idle: held.
        blame.waits(0, segment(110), Nanos(10));
        blame.dropped(0, segment(110), true, Nanos(10));
        blame.frees(Some(0), Nanos(12));
        blame.waits(0, segment(105), Nanos(30));
        blame.takes(0, Some(0), Nanos(32));
        blame.frees(Some(0), Nanos(34));
        blame.ends(0, Nanos(40));
        blame.begins(1, 1, Nanos(40));
        let explanation = blame.finish();
        // 5 and 6 on its way, 4 behind bulk, 3 and 2 on the link, 18 recovering (105 to 115 covers 110), 2 held.
        let causes: Vec<_> = [2, 0, 18, 11, 0, 0, 0, 0, 4].map(Nanos).into();
        let slowest = &explanation.slowest[0];
        assert_eq!((slowest.latency, slowest.own[0], &slowest.causes), (Nanos(40), Nanos(5), &causes));
        assert_eq!((explanation.rows[WITHOUT_FLOW].packets, explanation.rows[WITHOUT_FLOW + 1].left), (1, 1));
    }

    #[test]
    fn a_segment_sent_again_in_front_of_the_lost_one_does_not_recover_it() {
        let mut blame = TransferBlame::new(Selection::All, 0);
        blame.knows(["web"].into_iter());
        blame.begins(0, 0, Nanos(0));
        blame.dropped(0, Some(Segment { from: u32::MAX - 2, bytes: 10 }), false, Nanos(1));
        blame.waits(0, Some(Segment { from: 0, bytes: 10 }), Nanos(2));
        assert_eq!(blame.open[&0].lost, [u32::MAX - 2]);
        // Sequence numbers wrap.
        blame.waits(0, Some(Segment { from: u32::MAX - 5, bytes: 10 }), Nanos(3));
        assert!(blame.open[&0].lost.is_empty());
    }
}
