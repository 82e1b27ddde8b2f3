//! A request that has not ended, and its state.

use dovetail_sched::Nanos;

use super::{connection::Connection, link::Link};
use crate::blame::columns::{HELD, ON_ITS_WAY, PACE, RECOVERING, SERVER};

/// A request that has not ended.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) user: usize,
    pub(super) wanted: Nanos,
    pub(super) stage: Stage,
    /// From its release until its response is read completely.
    pub(super) connection: Option<u64>,
    pub(super) own: u64,
    /// Per column, including its user's other requests. While it waits, minus what the link had spent when waiting began.
    pub(super) owed: Vec<u64>,
    /// Time behind its user's other requests. While it waits, minus the same for when waiting began.
    pub(super) same_user: u64,
    // The column of time between user and gateway.
    among_users: usize,
    state: State,
    as_of: Nanos,
}

/// Progress of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not arrived at the gateway, or its response has left the gateway.
    AmongUsers,
    /// It is queued at the gateway.
    Queued,
    /// It is released.
    Asked,
    /// Part of its response has reached the link.
    Answered,
    /// Part of its response could be read, but reading is not permitted.
    Withheld,
    /// Part of its response could be read, but there is no room for it.
    Full,
}

/// What its time is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    OnLink,
    BeforeLink,
    AtGateway,
    /// This column.
    Apart(usize),
}

impl State {
    /// `among_users` is the column of time between user and gateway.
    fn of(stage: Stage, connection: Option<&Connection>, among_users: usize) -> Self {
        if connection.is_some_and(|connection| connection.is_on_link) {
            Self::OnLink
        } else if connection.is_some_and(|connection| connection.waiting > 0) {
            Self::BeforeLink
        } else if matches!(stage, Stage::Queued | Stage::Withheld) {
            Self::AtGateway
        } else if matches!(stage, Stage::AmongUsers | Stage::Full) {
            Self::Apart(among_users)
        } else if connection.is_some_and(|connection| !connection.lost.is_empty()) {
            Self::Apart(RECOVERING)
        } else if stage == Stage::Asked {
            Self::Apart(SERVER)
        } else {
            Self::Apart(ON_ITS_WAY)
        }
    }
}

impl Open {
    /// A request of this user; `among_users` is the column of time between user and gateway.
    pub(super) fn new(user: usize, columns: usize, among_users: usize, now: Nanos) -> Self {
        Self {
            user,
            wanted: now,
            stage: Stage::AmongUsers,
            connection: None,
            own: 0,
            owed: vec![0; columns],
            same_user: 0,
            among_users,
            state: State::Apart(among_users),
            as_of: now,
        }
    }

    /// Moves to the current state; the link must be settled.
    pub(super) fn turns(&mut self, connection: Option<&Connection>, link: &Link) {
        self.turns_to(State::of(self.stage, connection, self.among_users), link);
    }

    /// Ends the current state; the link must be settled.
    pub(super) fn leaves(&mut self, link: &Link) {
        self.turns_to(State::Apart(ON_ITS_WAY), link);
    }

    fn turns_to(&mut self, state: State, link: &Link) {
        let spent = (link.as_of - self.as_of).0;
        self.as_of = link.as_of;
        match self.state {
            State::OnLink => self.own += spent,
            State::Apart(column) => self.owed[column] += spent,
            State::BeforeLink | State::AtGateway => {}
        }
        if state != self.state {
            self.owe(link, u64::wrapping_add);
            self.state = state;
            self.owe(link, u64::wrapping_sub);
        }
    }

    /// While it waits it is charged what the link spends.
    fn owe(&mut self, link: &Link, change: fn(u64, u64) -> u64) {
        let idle = match self.state {
            State::BeforeLink => HELD,
            State::AtGateway => PACE,
            State::OnLink | State::Apart(_) => return,
        };
        for (column, &spent) in link.spent.iter().enumerate() {
            let owed = &mut self.owed[if column == HELD { idle } else { column }];
            *owed = change(*owed, spent);
        }
        self.same_user = change(self.same_user, link.of_flow[self.user]);
    }
}
