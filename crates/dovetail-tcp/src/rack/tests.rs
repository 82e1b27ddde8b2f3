use alloc::vec::Vec;

use super::*;
use crate::{config::Config, delivery::Snapshot};

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn sent(start: u64, at: Nanos) -> Sent {
    let [sacked, lost, in_flight_again, again] = [false; 4];
    Sent { start, length: 1, sacked, lost, in_flight_again, again, at, snapshot: Snapshot::default() }
}

fn rtt() -> Rtt {
    let mut rtt = Rtt::new(Config::linux().least_timeout, true);
    rtt.bound(MS(40), MS(1));
    rtt.sample(MS(40), 1, 1);
    rtt
}

fn all(board: &Board) -> Vec<(u64, Sent)> {
    board.numbers().filter_map(|number| Some((number, *board.by_number(number)?))).collect()
}

/// What a walk over all segments finds: the first to send again, and those in flight, once or again.
fn walk(board: &Board) -> (Option<u64>, Vec<(u64, Sent)>) {
    let all = all(board);
    let waits = all.iter().find(|(_, sent)| sent.lost && !sent.in_flight_again).map(|&(number, _)| number);
    let is_out = |sent: &Sent| if sent.again { sent.in_flight_again } else { !sent.sacked && !sent.lost };
    (waits, all.into_iter().filter(|(_, sent)| is_out(sent)).collect())
}

mod walked {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Send,
        Sack(u64, u64),
        Acknowledge(u64),
        Resend,
        Timeout,
        Undo,
        Forget,
        Mark,
    }

    fn steps() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => Just(Step::Send),
            4 => (0u64..40, 1u64..6).prop_map(|(from, long)| Step::Sack(from, long)),
            2 => (0u64..12).prop_map(Step::Acknowledge),
            6 => Just(Step::Resend),
            6 => Just(Step::Mark),
            1 => Just(Step::Timeout),
            1 => Just(Step::Undo),
            1 => Just(Step::Forget),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// Whatever happens, the same is lost as by a walk over all segments, and after the same time.
        #[test]
        fn losses_are_those_of_a_walk(steps in prop::collection::vec((steps(), 1u64..8), 1..300)) {
            let (mut board, mut rack, rtt) = (Board::default(), Rack::default(), rtt());
            let (mut now, mut una, mut nxt) = (MS(100), 0, 0);
            for (step, later) in steps {
                now += MS(later);
                match step {
                    Step::Send => {
                        board.push(sent(nxt, now));
                        nxt += 1;
                    }
                    Step::Sack(from, long) => {
                        let (from, to) = (una + from, (una + from + long).min(nxt));
                        if from < to {
                            board.sack(&[(from, to)], |sent| rack.deliver(sent, rtt.least(), now));
                        }
                        let is_sacked = |sent: &Sent| from <= sent.start && sent.end() <= to;
                        prop_assert!(all(&board).iter().filter(|(_, sent)| is_sacked(sent)).all(|(_, sent)| sent.sacked));
                    }
                    Step::Acknowledge(more) => {
                        una = (una + more).min(nxt);
                        board.acknowledge(una, |sent| rack.deliver(sent, rtt.least(), now));
                    }
                    Step::Resend => {
                        prop_assert_eq!(board.next_lost(), walk(&board).0);
                        if let Some(number) = board.next_lost() {
                            board.resend(number, now, Snapshot::default());
                        }
                    }
                    Step::Timeout => board.numbers().for_each(|number| board.lose(number)),
                    Step::Undo => board.loses_nothing(),
                    Step::Forget => board.forget_sacked(),
                    Step::Mark => {
                        let late: Vec<_> =
                            walk(&board).1.into_iter().filter(|(_, sent)| (sent.at, sent.end()) < rack.newest).collect();
                        let left = |sent: &Sent| rack.remaining(sent.at, &board, &rtt, false, now);
                        let (lost, late): (Vec<_>, Vec<_>) =
                            late.into_iter().map(|(number, sent)| (number, left(&sent))).partition(|(_, left)| *left == Nanos::ZERO);
                        prop_assert_eq!(rack.mark(&mut board, &rtt, false, now), late.iter().map(|&(_, left)| left).max());
                        for (number, _) in lost {
                            prop_assert!(board.by_number(number).is_some_and(|sent| sent.lost && !sent.in_flight_again));
                        }
                        for (number, _) in late {
                            prop_assert!(board.by_number(number).is_some_and(|sent| !sent.lost || sent.in_flight_again));
                        }
                    }
                }
                prop_assert_eq!(board.next_lost(), walk(&board).0);
                let count = |is: fn(&Sent) -> bool| all(&board).iter().filter(|(_, sent)| is(sent)).count() as u32;
                prop_assert_eq!(board.sacked(), count(|sent| sent.sacked));
                prop_assert_eq!(board.lost(), count(|sent| sent.lost));
            }
        }
    }
}

/// How many segments an acknowledgement visits, on average, while `count` are in flight.
struct Visits {
    board: Board,
    rack: Rack,
    now: Nanos,
    acknowledgements: u64,
}

impl Visits {
    fn new(count: u64) -> Self {
        let (mut board, mut rack) = (Board::default(), Rack::default());
        rack.has_reordering = true;
        (0..count).for_each(|at| board.push(sent(at, MS(100) + Nanos(at))));
        Self { board, rack, now: MS(105), acknowledgements: 0 }
    }

    fn acknowledge(&mut self, blocks: &[(u64, u64)]) {
        let Self { board, rack, now, .. } = self;
        if !blocks.is_empty() {
            board.sack(blocks, |sent| rack.deliver(sent, rtt().least(), *now));
        }
        rack.mark(board, &rtt(), false, *now);
        (self.now, self.acknowledgements) = (*now + Nanos(1), self.acknowledgements + 1);
    }

    fn mean(&self) -> u64 {
        u64::from(self.board.looks.get()) / self.acknowledgements
    }
}

/// Blocks that grow from the end, each reported again after a short one that does not contain it.
fn visits_of_growing_blocks(count: u64) -> u64 {
    let mut visits = Visits::new(count);
    for at in (1..count).rev() {
        visits.acknowledge(&[(at, count)]);
        visits.acknowledge(&[(count - 1, count)]);
    }
    assert_eq!(u64::from(visits.board.sacked()), count - 1);
    visits.mean()
}

/// Every second segment is missing and late for a while, then lost, and its retransmission likewise.
fn visits_of_holes(count: u64) -> u64 {
    let mut visits = Visits::new(count);
    (1..count).rev().step_by(2).for_each(|at| visits.acknowledge(&[(at, at + 1)]));
    assert_eq!(visits.board.losses, 0, "they are only late");
    for round in 1..=3 {
        visits.now += MS(60);
        visits.acknowledge(&[]);
        assert_eq!(visits.board.losses, round * count / 2);
        while let Some(number) = visits.board.next_lost() {
            visits.board.resend(number, visits.now, Snapshot::default());
            visits.acknowledge(&[]);
        }
        let last = visits.board.numbers().end;
        visits.board.push(sent(last, visits.now));
        visits.now += MS(1);
        (0..count).for_each(|_| visits.acknowledge(&[(last, last + 1)]));
    }
    visits.mean()
}

#[test]
fn an_acknowledgement_visits_as_many_segments_however_many_are_in_flight() {
    for visits in [visits_of_growing_blocks, visits_of_holes] {
        let (few, many) = (visits(100), visits(10_000));
        assert!(few <= 12 && many <= 12, "{few} and {many}");
    }
}
