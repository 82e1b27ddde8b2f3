//! A resource over time: what state it has been in, and how long packets waited meanwhile.
//!
//! The sums over packets need no packet's own parts. While a resource is in the state of column `g`, every packet that waits
//! before it owes `g` its time, so with `W_h` packets of row `h` waiting
//!
//! ```text
//! sums[g][h] += W_h · dt
//! ```
//!
//! A row is brought up to date when its `W_h` changes, all of them when the state does: O(1) as a packet enters, O(rows) as
//! one starts, and nothing is kept for a packet. The parts of single packets are wanted for a few only. For those the states
//! since the oldest packet that waits are remembered, with the sums of every 64th, so that `B(g, t)` of any time since then
//! is a search and a short addition.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos};

use super::columns::{HELD, STALLED, WITHOUT_FLOW};

/// The time in each state is remembered at every turn of this many.
const CHECKPOINT_EVERY: u64 = 64;

/// A packet's time on a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) at: Nanos,
    pub(super) until: Nanos,
    pub(super) column: u32,
    /// Whose packet it is, by its slot and flow; none of a resource that stalls.
    pub(super) packet: Option<(u32, FlowId)>,
}

/// Something that happened at a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Happened {
    /// The packet in this slot began to wait.
    Entered(u32),
    /// The packet in this slot started.
    Started(u32),
}

/// A resource.
#[derive(Debug)]
pub(super) struct Place {
    state: State,
    // How long it has served each flow, by `served_until`, and the flow that it serves.
    served: Vec<u64>,
    // What is to come, each in order of time.
    entering: VecDeque<(Nanos, u32)>,
    turns: VecDeque<Turn>,
    past: Past,
}

/// The state that a resource is in, and what that has cost whom.
#[derive(Debug)]
struct State {
    column: usize,
    flow: Option<FlowId>,
    since: Nanos,
    until: Nanos,
    // How many packets of each row wait, since when that was taken into account, and what rows owe: `sums[column]` has one
    // for each row.
    waiting: Vec<u64>,
    settled: Vec<Nanos>,
    sums: Vec<Vec<u128>>,
}

/// A state that was, since the one before ended; in between the resource was free.
#[derive(Debug, Clone, Copy)]
struct Was {
    at: Nanos,
    // More than fits is told in several turns.
    nanos: u32,
    column: u32,
}

/// The states that may be asked for.
#[derive(Debug, Default)]
struct Past {
    turns: VecDeque<Was>,
    /// The number of the first of them.
    first: u64,
    // Of every 64th turn: its beginning, and the time in each state by then.
    checkpoints: VecDeque<(Nanos, Vec<u64>)>,
    // By the end of the last turn.
    spent: Vec<u64>,
    until: Nanos,
}

impl Place {
    pub(super) fn new() -> Self {
        Self {
            state: State {
                column: HELD,
                flow: None,
                since: Nanos::ZERO,
                until: Nanos::MAX,
                waiting: Vec::new(),
                settled: Vec::new(),
                sums: Vec::new(),
            },
            served: Vec::new(),
            entering: VecDeque::new(),
            turns: VecDeque::new(),
            past: Past { spent: vec![0; WITHOUT_FLOW], ..Past::default() },
        }
    }

    /// There are this many columns and rows, and this flow.
    pub(super) fn widen(&mut self, columns: usize, rows: usize, flow: FlowId) {
        let state = &mut self.state;
        state.waiting.resize(rows, 0);
        state.settled.resize(rows, Nanos::ZERO);
        state.sums.resize_with(columns, Vec::new);
        state.sums.iter_mut().for_each(|sums| sums.resize(rows, 0));
        self.past.spent.resize(columns, 0);
        self.served.resize(self.served.len().max(flow.index() + 1), 0);
    }

    /// A packet begins to wait here.
    #[inline]
    pub(super) fn enters(&mut self, at: Nanos, slot: u32) {
        insert(&mut self.entering, (at, slot), |&(at, _)| at);
    }

    /// A packet is processed.
    #[inline]
    pub(super) fn serves(&mut self, turn: Turn) {
        insert(&mut self.turns, turn, |turn| turn.at);
    }

    /// The resource is taken by a packet that waits for another one.
    pub(super) fn stalls(&mut self, at: Nanos, until: Nanos) {
        self.serves(Turn { at, until, column: STALLED as u32, packet: None });
    }

    /// When the next thing to come happens.
    #[inline]
    pub(super) fn next_at(&self) -> Nanos {
        let enters = self.entering.front().map_or(Nanos::MAX, |&(at, _)| at);
        self.turns.front().map_or(enters, |turn| turn.at.min(enters))
    }

    /// What happens next, by `now`. Who enters and starts at one instant has entered first.
    #[inline]
    pub(super) fn next(&mut self, now: Nanos) -> Option<Happened> {
        loop {
            let enters = self.entering.front().filter(|(at, _)| *at <= now);
            let turn = self.turns.front().filter(|turn| turn.at <= now).copied();
            match (enters, turn) {
                (Some(&(at, slot)), turn) if turn.is_none_or(|turn| at <= turn.at) => {
                    self.entering.pop_front();
                    return Some(Happened::Entered(slot));
                }
                (_, Some(turn)) => {
                    self.turns.pop_front();
                    self.turn(turn);
                    if let Some((slot, _)) = turn.packet {
                        return Some(Happened::Started(slot));
                    }
                }
                (_, None) => return None,
            }
        }
    }

    /// The resource takes on another state.
    fn turn(&mut self, turn: Turn) {
        // Of turns that begin at one instant all but the last take no time, in whatever order they are told.
        if turn.until <= self.past.until {
            return;
        }
        self.free_until(turn.at);
        if let Some(flow) = self.state.flow {
            self.served[flow.index()] += (turn.at - self.state.since).0;
        }
        self.state.turns_to(turn.column as usize, turn.packet.map(|(_, flow)| flow), turn.at, turn.until);
        self.past.push(&turn);
    }

    /// The resource is free since its last turn ended, if that is before `at`.
    #[inline]
    fn free_until(&mut self, at: Nanos) {
        let ended = self.state.until;
        if ended < at {
            if let Some(flow) = self.state.flow {
                self.served[flow.index()] += (ended - self.state.since).0;
            }
            self.state.turns_to(HELD, None, ended, Nanos::MAX);
        }
    }

    /// `change` more packets of these rows wait from `at` on.
    #[inline]
    pub(super) fn wait(&mut self, rows: [Option<usize>; 2], at: Nanos, change: i64) {
        self.free_until(at);
        for row in rows.into_iter().flatten() {
            self.state.settle(row, at);
            self.state.waiting[row] = self.state.waiting[row].wrapping_add_signed(change);
        }
    }

    /// How long it has served a flow by `at`.
    #[inline]
    pub(super) fn served(&self, flow: FlowId, at: Nanos) -> u64 {
        let is_served = self.state.flow == Some(flow);
        let more = if is_served { at.min(self.state.until) - self.state.since } else { Nanos::ZERO };
        self.served[flow.index()] + more.0
    }

    /// What a row owes a column.
    pub(super) fn sum(&self, column: usize, row: usize) -> u128 {
        self.state.sums[column][row]
    }

    /// Until when the past is known.
    pub(super) fn last_at(&self) -> Nanos {
        self.past.until
    }

    /// What a row owes a column less, for a packet that is not sent after all.
    pub(super) fn forgive(&mut self, rows: [Option<usize>; 2], owed: &[Nanos]) {
        for (sums, owed) in self.state.sums.iter_mut().zip(owed) {
            for row in rows.into_iter().flatten() {
                sums[row] -= u128::from(owed.0);
            }
        }
    }

    /// Adds the time in each state between two times that are remembered.
    pub(super) fn add_between(&self, from: Nanos, to: Nanos, columns: &mut [Nanos]) {
        let (before, after) = (self.past.spent_by(from), self.past.spent_by(to));
        for ((sum, before), after) in columns.iter_mut().zip(before).zip(after) {
            *sum += Nanos(after - before);
        }
    }

    /// How many turns are remembered, and how many of them began before `at`.
    pub(super) fn remembered(&self, at: Nanos) -> [usize; 2] {
        [self.past.turns.len(), self.past.turns.partition_point(|was| was.at < at)]
    }

    /// Nothing before `at` will be asked for.
    pub(super) fn forget_before(&mut self, at: Nanos) {
        self.past.forget_before(at);
    }
}

impl State {
    #[inline]
    fn turns_to(&mut self, column: usize, flow: Option<FlowId>, at: Nanos, until: Nanos) {
        let sums = &mut self.sums[self.column];
        for ((sum, &waiting), settled) in sums.iter_mut().zip(&self.waiting).zip(&mut self.settled) {
            *sum += u128::from(waiting) * u128::from((at - *settled).0);
            *settled = at;
        }
        (self.column, self.flow, self.since, self.until) = (column, flow, at, until);
    }

    #[inline]
    fn settle(&mut self, row: usize, at: Nanos) {
        self.sums[self.column][row] += u128::from(self.waiting[row]) * u128::from((at - self.settled[row]).0);
        self.settled[row] = at;
    }
}

impl Past {
    fn push(&mut self, turn: &Turn) {
        // The turn before may end early: only by a turn of no length, which has no part in this.
        let mut at = turn.at;
        while at < turn.until {
            if (self.first + self.turns.len() as u64).is_multiple_of(CHECKPOINT_EVERY) {
                let mut spent = self.spent.clone();
                spent[HELD] += (at - self.until).0;
                self.checkpoints.push_back((at, spent));
            }
            let nanos = u32::try_from((turn.until - at).0).unwrap_or(u32::MAX);
            self.spent[HELD] += (at - self.until).0;
            self.spent[turn.column as usize] += u64::from(nanos);
            self.turns.push_back(Was { at, nanos, column: turn.column });
            at += Nanos(nanos.into());
            self.until = at;
        }
    }

    /// The time in each state by `at`.
    fn spent_by(&self, at: Nanos) -> Vec<u64> {
        let checkpoint = self.checkpoints.partition_point(|(from, _)| *from <= at);
        let (mut until, mut spent, from) = match checkpoint.checked_sub(1).and_then(|last| self.checkpoints.get(last)) {
            Some((from, spent)) => (*from, spent.clone(), self.turns.partition_point(|was| was.at < *from)),
            // Before the first turn of all the resource was free.
            None => (Nanos::ZERO, vec![0; self.spent.len()], 0),
        };
        spent.resize(self.spent.len(), 0);
        for was in self.turns.iter().skip(from).take_while(|was| was.at < at) {
            spent[HELD] += (was.at - until).0;
            until = (was.at + Nanos(was.nanos.into())).min(at);
            spent[was.column as usize] += (until - was.at).0;
        }
        spent[HELD] += (at - until).0;
        spent
    }

    /// Keeps the last checkpoint that is not after `at`, and what follows it.
    fn forget_before(&mut self, at: Nanos) {
        let keep = self.checkpoints.partition_point(|(from, _)| *from <= at).saturating_sub(1);
        self.checkpoints.drain(..keep);
        if let Some((from, _)) = self.checkpoints.front() {
            let forgotten = self.turns.partition_point(|was| was.at < *from);
            self.turns.drain(..forgotten);
            self.first += forgotten as u64;
        }
    }
}

/// Into a queue in order of time, behind what is at the same time; nearly always at its end.
#[inline]
fn insert<T>(queue: &mut VecDeque<T>, item: T, at: impl Fn(&T) -> Nanos) {
    if queue.back().is_none_or(|last| at(last) <= at(&item)) {
        queue.push_back(item);
        return;
    }
    let mut place = queue.len();
    while place > 0 && at(&queue[place - 1]) > at(&item) {
        place -= 1;
    }
    queue.insert(place, item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_what_it_was() {
        let mut place = Place::new();
        place.widen(6, 1, FlowId(0));
        // Two columns in turn, three nanoseconds of every ten, and one turn that is longer than its field.
        let turn = |at: u64, nanos: u64, column| Turn { at: Nanos(at), until: Nanos(at + nanos), column, packet: None };
        let mut spent = vec![[0u64; 6]];
        for at in 0..2000u64 {
            let column = if at < 1000 { 4 } else { 5 };
            if at % 10 == 0 {
                place.serves(turn(at, 3, column));
            }
            let mut next = *spent.last().expect("there is one");
            next[if at % 10 < 3 { column as usize } else { HELD }] += 1;
            spent.push(next);
        }
        let long = 1u64 << 33;
        place.serves(turn(2000, long, 4));
        while place.next(Nanos::MAX).is_some() {}
        let between = |place: &Place, from: u64, to: u64| {
            let mut columns = vec![Nanos::ZERO; 6];
            place.add_between(Nanos(from), Nanos(to), &mut columns);
            columns.iter().map(|nanos| nanos.0).collect::<Vec<_>>()
        };
        for (from, to) in [(0, 1), (0, 2000), (5, 1234), (995, 1005), (1999, 2000), (7, 7)] {
            let expected: Vec<_> = (0..6).map(|at| spent[to][at] - spent[from][at]).collect();
            assert_eq!(between(&place, from as u64, to as u64), expected, "{from} to {to}");
        }
        assert_eq!(between(&place, 2000, 2000 + long), [0, 0, 0, 0, long, 0]);
        place.forget_before(Nanos(1500));
        assert!(place.remembered(Nanos::ZERO)[0] < 130);
        let expected: Vec<_> = (0..6).map(|at| spent[2000][at] - spent[1501][at]).collect();
        assert_eq!(between(&place, 1501, 2000), expected);
    }
}
