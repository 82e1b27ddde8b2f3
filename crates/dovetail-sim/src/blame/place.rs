//! A resource over time: which states it was in, and how long packets waited during each.
//!
//! Sums over packets do not require the parts of single packets. While a resource is in the state of column `g`, every packet
//! waiting for it adds to `g`, so with `W_h` packets of row `h` waiting
//!
//! ```text
//! sums[g][h] += W_h · dt
//! ```
//!
//! All rows are updated when the state changes, as if each `W_h` had been constant since the state began; when a packet
//! arrives or leaves in between, its row is corrected at once. This takes O(1) when a packet enters and O(rows) when one
//! starts, without memory per packet. Both update 64-bit words, which are added to the sums before they can overflow. The
//! parts of single packets are needed for a few only. For those, the states since the arrival of the oldest waiting packet
//! are kept, with the sums at every 64th, so that `B(g, t)` for any time since then takes a search and a short addition.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos};

use super::columns::{HELD, STALLED, WITHOUT_FLOW};

/// The time in each state is recorded at every multiple of this many turns.
const CHECKPOINT_EVERY: u64 = 64;

/// Limit of what is added to a word before it is flushed to its sum.
const ROOM: u64 = 1 << 62;

/// A packet's time on a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) at: Nanos,
    pub(super) until: Nanos,
    pub(super) column: u32,
    /// Slot and flow of the packet; `None` if the resource stalls.
    pub(super) packet: Option<(u32, FlowId)>,
}

/// An event at a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Happened {
    /// The packet in this slot started to wait.
    Entered(u32),
    /// The packet in this slot started.
    Started(u32),
}

/// A resource.
#[derive(Debug)]
pub(super) struct Place {
    state: State,
    // Service time of each flow up to `served_until`, and the flow being served.
    served: Vec<u64>,
    // Future events, each queue in order of time.
    entering: VecDeque<(Nanos, u32)>,
    turns: VecDeque<Turn>,
    past: Past,
}

/// The state of a resource, and what it has cost each row.
#[derive(Debug)]
struct State {
    column: usize,
    flow: Option<FlowId>,
    since: Nanos,
    until: Nanos,
    // Number of waiting packets per row (bounded by memory), and in total.
    waiting: Vec<u32>,
    all_waiting: u64,
    // What rows owe by the beginning of the state, minus a correction for each packet that arrived since. `recent[column]`
    // and `sums[column]` have an entry per row; what is owed is the sum of both.
    recent: Vec<Vec<i64>>,
    sums: Vec<Vec<i128>>,
    // No word of `recent` is further from zero.
    furthest: u64,
}

/// A past state, since the end of the one before; in between the resource was free.
#[derive(Debug, Clone, Copy)]
struct Was {
    at: Nanos,
    // The column in the low bits, the duration in the others. A longer duration is split into several turns; since the clock
    // ends, there are few of these.
    column_and_nanos: u64,
}

impl Was {
    const NANOS_BITS: u32 = 48;
    const MAX: Nanos = Nanos((1 << Self::NANOS_BITS) - 1);

    /// `nanos` is at most [`MAX`](Self::MAX).
    #[inline]
    fn new(at: Nanos, nanos: Nanos, column: u32) -> Self {
        Self { at, column_and_nanos: u64::from(column) << Self::NANOS_BITS | nanos.0 }
    }

    #[inline]
    fn nanos(self) -> Nanos {
        Nanos(self.column_and_nanos & Self::MAX.0)
    }

    #[inline]
    fn column(self) -> usize {
        (self.column_and_nanos >> Self::NANOS_BITS) as usize
    }
}

/// Past states that may still be queried.
#[derive(Debug, Default)]
struct Past {
    turns: VecDeque<Was>,
    /// Number of the first of them.
    first: u64,
    // At every 64th turn: when it began, and the time in each state by then.
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
                all_waiting: 0,
                recent: Vec::new(),
                sums: Vec::new(),
                furthest: 0,
            },
            served: Vec::new(),
            entering: VecDeque::new(),
            turns: VecDeque::new(),
            past: Past { spent: vec![0; WITHOUT_FLOW], ..Past::default() },
        }
    }

    /// Makes room for this many columns and rows, and for this flow.
    pub(super) fn widen(&mut self, columns: usize, rows: usize, flow: FlowId) {
        self.served.resize(self.served.len().max(flow.index() + 1), 0);
        let state = &mut self.state;
        if (columns, rows) == (state.sums.len(), state.waiting.len()) {
            return;
        }
        state.waiting.resize(rows, 0);
        state.recent.resize_with(columns, Vec::new);
        state.recent.iter_mut().for_each(|recent| recent.resize(rows, 0));
        state.sums.resize_with(columns, Vec::new);
        state.sums.iter_mut().for_each(|sums| sums.resize(rows, 0));
        self.past.spent.resize(columns, 0);
    }

    /// A packet will start to wait here.
    #[inline]
    pub(super) fn enters(&mut self, at: Nanos, slot: u32) {
        insert(&mut self.entering, (at, slot), |&(at, _)| at);
    }

    /// A packet will be processed.
    #[inline]
    pub(super) fn serves(&mut self, turn: Turn) {
        insert(&mut self.turns, turn, |turn| turn.at);
    }

    /// The resource will be occupied by a packet that waits for another one.
    pub(super) fn stalls(&mut self, at: Nanos, until: Nanos) {
        self.serves(Turn { at, until, column: STALLED as u32, packet: None });
    }

    /// Time of the next event.
    #[inline]
    pub(super) fn next_at(&self) -> Nanos {
        let enters = self.entering.front().map_or(Nanos::MAX, |&(at, _)| at);
        self.turns.front().map_or(enters, |turn| turn.at.min(enters))
    }

    /// The next event up to `now`. A packet that enters and starts at the same instant enters first.
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

    /// Switches the resource to another state.
    fn turn(&mut self, turn: Turn) {
        // Of turns that begin at the same instant all but the last have no duration, in whatever order they are reported.
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

    /// The resource has been free since its last turn ended, if that is before `at`.
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

    /// Changes the number of waiting packets of these rows by `change`, which is 1 or -1, from `at` on.
    #[inline]
    pub(super) fn wait(&mut self, rows: [Option<usize>; 2], at: Nanos, change: i32) {
        self.free_until(at);
        for row in rows.into_iter().flatten() {
            self.state.wait(row, at, change);
        }
    }

    /// Total service of a flow by `at`.
    #[inline]
    pub(super) fn served(&self, flow: FlowId, at: Nanos) -> u64 {
        let is_served = self.state.flow == Some(flow);
        let more = if is_served { at.min(self.state.until) - self.state.since } else { Nanos::ZERO };
        self.served[flow.index()] + more.0
    }

    /// What a row without waiting packets owes a column.
    pub(super) fn sum(&self, column: usize, row: usize) -> u128 {
        (self.state.sums[column][row] + i128::from(self.state.recent[column][row])).max(0).cast_unsigned()
    }

    /// End of the recorded past.
    pub(super) fn last_at(&self) -> Nanos {
        self.past.until
    }

    /// Deducts from these rows what a packet owed that is not sent after all.
    pub(super) fn forgive(&mut self, rows: [Option<usize>; 2], owed: &[Nanos]) {
        for (sums, owed) in self.state.sums.iter_mut().zip(owed) {
            for row in rows.into_iter().flatten() {
                sums[row] -= i128::from(owed.0);
            }
        }
    }

    /// Adds the time in each state between two times within the recorded past.
    pub(super) fn add_between(&self, from: Nanos, to: Nanos, columns: &mut [Nanos]) {
        let (before, after) = (self.past.spent_by(from), self.past.spent_by(to));
        for ((sum, before), after) in columns.iter_mut().zip(before).zip(after) {
            *sum += Nanos(after - before);
        }
    }

    /// Number of recorded turns, and how many of them began before `at`.
    pub(super) fn remembered(&self, at: Nanos) -> [usize; 2] {
        [self.past.turns.len(), self.past.turns.partition_point(|was| was.at < at)]
    }

    /// Nothing before `at` will be queried.
    pub(super) fn forget_before(&mut self, at: Nanos) {
        self.past.forget_before(at);
    }
}

impl State {
    #[inline]
    fn turns_to(&mut self, column: usize, flow: Option<FlowId>, at: Nanos, until: Nanos) {
        let nanos = (at - self.since).0;
        if nanos > 0 && self.all_waiting > 0 {
            self.owe(nanos);
        }
        (self.column, self.flow, self.since, self.until) = (column, flow, at, until);
    }

    /// Charges this state's time to all waiting packets.
    #[inline]
    fn owe(&mut self, nanos: u64) {
        match u32::try_from(nanos) {
            Ok(nanos) if self.has_room(self.all_waiting.saturating_mul(nanos.into())) => {
                for (recent, &waiting) in self.recent[self.column].iter_mut().zip(&self.waiting) {
                    // It fits into 63 bits, since there is room for it.
                    *recent += (u64::from(waiting) * u64::from(nanos)).cast_signed();
                }
            }
            _ => {
                for (sum, &waiting) in self.sums[self.column].iter_mut().zip(&self.waiting) {
                    *sum += i128::from(waiting) * i128::from(nanos);
                }
            }
        }
    }

    #[inline]
    fn wait(&mut self, row: usize, at: Nanos, change: i32) {
        let nanos = (at - self.since).0;
        if nanos > 0 && self.has_room(nanos) {
            self.recent[self.column][row] -= i64::from(change) * nanos.cast_signed();
        } else {
            self.sums[self.column][row] -= i128::from(change) * i128::from(nanos);
        }
        self.waiting[row] = self.waiting[row].wrapping_add_signed(change);
        self.all_waiting = self.all_waiting.wrapping_add_signed(change.into());
    }

    /// Whether `more` can be added to each word; if so, the caller will add it.
    #[inline]
    fn has_room(&mut self, more: u64) -> bool {
        if self.furthest.saturating_add(more) > ROOM {
            self.make_room();
        }
        let fits = more <= ROOM;
        self.furthest += if fits { more } else { 0 };
        fits
    }

    #[cold]
    fn make_room(&mut self) {
        let (sums, recent) = (self.sums.iter_mut().flatten(), self.recent.iter_mut().flatten());
        for (sum, recent) in sums.zip(recent) {
            *sum += i128::from(std::mem::take(recent));
        }
        self.furthest = 0;
    }
}

impl Past {
    fn push(&mut self, turn: &Turn) {
        // The previous turn can only end early because of a turn without duration, which does not matter here.
        let mut at = turn.at;
        while at < turn.until {
            if (self.first + self.turns.len() as u64).is_multiple_of(CHECKPOINT_EVERY) {
                let mut spent = self.spent.clone();
                spent[HELD] += (at - self.until).0;
                self.checkpoints.push_back((at, spent));
            }
            let nanos = (turn.until - at).min(Was::MAX);
            self.spent[HELD] += (at - self.until).0;
            self.spent[turn.column as usize] += nanos.0;
            self.turns.push_back(Was::new(at, nanos, turn.column));
            at += nanos;
            self.until = at;
        }
    }

    /// The time in each state by `at`.
    fn spent_by(&self, at: Nanos) -> Vec<u64> {
        let checkpoint = self.checkpoints.partition_point(|(from, _)| *from <= at);
        let (mut until, mut spent, from) = match checkpoint.checked_sub(1).and_then(|last| self.checkpoints.get(last)) {
            Some((from, spent)) => (*from, spent.clone(), self.turns.partition_point(|was| was.at < *from)),
            // Before the first turn the resource was free.
            None => (Nanos::ZERO, vec![0; self.spent.len()], 0),
        };
        spent.resize(self.spent.len(), 0);
        for was in self.turns.iter().skip(from).take_while(|was| was.at < at) {
            spent[HELD] += (was.at - until).0;
            until = (was.at + was.nanos()).min(at);
            spent[was.column()] += (until - was.at).0;
        }
        spent[HELD] += (at - until).0;
        spent
    }

    /// Keeps the last checkpoint not after `at`, and what follows it.
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

/// Inserts into a queue in order of time, behind items of the same time; nearly always at the end.
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
    fn sums_are_exact_however_long_packets_wait() {
        // Durations that fit into 32 bits and longer ones; in the last, the waiting time of two packets overflows 64 bits.
        for nanos in [1000, (1 << 32) - 2, 1 << 32, 1 << 61, 3 << 60] {
            let turns = [(6, 0, nanos), (7, nanos, 2 * nanos), (6, 2 * nanos, 4 * nanos)];
            // When each packet arrives and leaves, and its rows; many at once.
            let both = [Some(1), Some(0)];
            let mut packets = vec![(nanos / 2, 3 * nanos, both), (nanos, 2 * nanos + 1, [Some(1), None])];
            packets.extend((1..100).map(|at| (at * (nanos / 100), 4 * nanos - at, both)));

            let mut place = Place::new();
            place.widen(8, 2, FlowId(0));
            let mut events: Vec<_> =
                packets.iter().flat_map(|&(came, went, rows)| [(came, 1, rows), (went, -1, rows)]).collect();
            events.sort_unstable();
            let mut next = turns.iter().peekable();
            for (at, change, rows) in events {
                while let Some(&(column, from, until)) = next.next_if(|turn| turn.1 <= at) {
                    place.state.turns_to(column, None, Nanos(from), Nanos(until));
                }
                place.wait(rows, Nanos(at), change);
            }
            for (row, column) in [(0, 6), (0, 7), (1, 6), (1, 7), (0, HELD), (1, HELD)] {
                let turns = turns.iter().filter(|turn| turn.0 == column);
                let waited = turns.flat_map(|&(_, at, until)| {
                    let of_row = packets.iter().filter(|packet| packet.2.contains(&Some(row)));
                    of_row.map(move |&(came, went, _)| u128::from(went.min(until).saturating_sub(came.max(at))))
                });
                assert_eq!(place.sum(column, row), waited.sum(), "turns of {nanos}: column {column}, row {row}");
            }
        }
    }

    #[test]
    fn the_past_is_what_it_was() {
        let mut place = Place::new();
        place.widen(6, 1, FlowId(0));
        // Two columns alternate, three of every ten nanoseconds, and one turn is longer than its field.
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
        let long = 1u64 << 50;
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
