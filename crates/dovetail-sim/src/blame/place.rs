//! A resource over time: in which state it has been for how long, and what is to come.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos};

use super::{
    columns::{HELD, STALLED, WITHOUT_FLOW},
    slots::Slots,
};

/// No packet's slot.
const NONE: u32 = u32::MAX;

/// A packet's time on a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) at: Nanos,
    pub(super) until: Nanos,
    pub(super) column: u32,
    pub(super) flow: FlowId,
    pub(super) slot: u32,
    /// Whether it waited before this resource, and so began to be accounted for there.
    pub(super) waited: bool,
}

/// A resource.
#[derive(Debug)]
pub(super) struct Place {
    // How long it has been in each column's state, and has served each flow, by `as_of`.
    spent: Vec<u64>,
    served: Vec<u64>,
    as_of: Nanos,
    now: Turn,
    // What is to come, each in order of time.
    entering: VecDeque<(Nanos, u32)>,
    turns: VecDeque<Turn>,
}

impl Place {
    pub(super) fn new() -> Self {
        let none = Turn {
            at: Nanos::ZERO,
            until: Nanos::ZERO,
            column: HELD as u32,
            flow: FlowId(0),
            slot: NONE,
            waited: false,
        };
        Self {
            spent: vec![0; WITHOUT_FLOW],
            served: Vec::new(),
            as_of: Nanos::ZERO,
            now: none,
            entering: VecDeque::new(),
            turns: VecDeque::new(),
        }
    }

    /// There are so many columns, and this flow.
    pub(super) fn widen(&mut self, columns: usize, flow: FlowId) {
        self.spent.resize(columns, 0);
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
        self.serves(Turn { at, until, column: STALLED as u32, flow: FlowId(0), slot: NONE, waited: false });
    }

    /// When the next thing to come happens.
    #[inline]
    pub(super) fn next_at(&self) -> Nanos {
        let enters = self.entering.front().map_or(Nanos::MAX, |&(at, _)| at);
        self.turns.front().map_or(enters, |turn| turn.at.min(enters))
    }

    /// Goes through what happens up to `now`; `started` is told the slots of packets that started.
    pub(super) fn advance(&mut self, now: Nanos, slots: &mut Slots, mut started: impl FnMut(u32)) {
        loop {
            let enters = self.entering.front().filter(|(at, _)| *at <= now).copied();
            let turn = self.turns.front().filter(|turn| turn.at <= now).copied();
            match (enters, turn) {
                // Who enters and starts at one instant has entered first.
                (Some((at, slot)), turn) if turn.is_none_or(|turn| at <= turn.at) => {
                    self.entering.pop_front();
                    self.settle(at);
                    slots.begins_to_wait(slot, &self.spent, &self.served);
                }
                (_, Some(turn)) => {
                    self.turns.pop_front();
                    self.settle(turn.at);
                    if turn.waited {
                        slots.starts(turn.slot, &self.spent, &self.served);
                    }
                    if turn.slot != NONE {
                        started(turn.slot);
                    }
                    // Of turns that begin at one instant all but the last take no time, in whatever order they are told.
                    if turn.until > self.now.until {
                        self.now = turn;
                    }
                }
                (_, None) => return,
            }
        }
    }

    /// Counts the time up to `at`.
    #[inline]
    fn settle(&mut self, at: Nanos) {
        let busy_until = at.min(self.now.until).max(self.as_of);
        let busy = (busy_until - self.as_of).0;
        self.spent[self.now.column as usize] += busy;
        if self.now.slot != NONE {
            self.served[self.now.flow.index()] += busy;
        }
        self.spent[HELD] += (at - busy_until).0;
        self.as_of = at;
    }
}

/// Into a queue in order of time, behind what is at the same time; nearly always at its end.
#[inline]
fn insert<T>(queue: &mut VecDeque<T>, item: T, at: impl Fn(&T) -> Nanos) {
    let mut place = queue.len();
    while place > 0 && at(&queue[place - 1]) > at(&item) {
        place -= 1;
    }
    queue.insert(place, item);
}
