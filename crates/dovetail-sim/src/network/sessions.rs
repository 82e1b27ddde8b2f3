//! Interactive sessions of a user at a remote terminal: keystrokes, and their echoes.
//!
//! The user's end writes a keystroke, and the host's end writes an echo once it has read all of it. The response time ends
//! when the user's end has read the whole echo. Both use one TCP connection, which preserves their order, so an echo belongs
//! to the oldest unanswered keystroke. As with ssh, neither end delays small segments (no Nagle's algorithm).

use std::collections::VecDeque;

use dovetail_sched::Nanos;

use super::{outcome::Echoes, packets::EndId, spec::Interactive};
use crate::measure::latency::Latency;

/// A user with this many unanswered keystrokes types no more until one is answered.
const MAX_UNANSWERED: usize = 10_000;

/// An open session.
pub(super) struct Session {
    /// The user's end.
    pub(super) user: EndId,
    what: Interactive,
    // Bytes read that do not yet form a whole keystroke, or a whole echo.
    read_by_host: u64,
    read_by_user: u64,
    // When they were typed.
    unanswered: VecDeque<Nanos>,
    took: Latency,
    answered: u64,
}

impl Session {
    pub(super) fn new(user: EndId, what: Interactive) -> Self {
        let (read_by_host, read_by_user, answered) = (0, 0, 0);
        Self { user, what, read_by_host, read_by_user, unanswered: VecDeque::new(), took: Latency::new(), answered }
    }

    /// A key is pressed; returns the bytes to write for it.
    pub(super) fn types(&mut self, now: Nanos) -> u64 {
        if self.unanswered.len() >= MAX_UNANSWERED {
            return 0;
        }
        self.unanswered.push_back(now);
        self.what.keystroke_bytes.into()
    }

    /// The host has read this many bytes; returns how many it writes back.
    pub(super) fn host_read(&mut self, bytes: u64) -> u64 {
        let each = u64::from(self.what.keystroke_bytes);
        self.read_by_host += bytes;
        let whole = self.read_by_host / each;
        self.read_by_host %= each;
        whole * u64::from(self.what.echo_bytes)
    }

    /// The user has read this many bytes.
    pub(super) fn user_read(&mut self, bytes: u64, now: Nanos) {
        let each = u64::from(self.what.echo_bytes);
        self.read_by_user += bytes;
        while self.read_by_user >= each {
            self.read_by_user -= each;
            if let Some(typed) = self.unanswered.pop_front() {
                self.took.record(now - typed);
                self.answered += 1;
            }
        }
    }

    /// The results of its keystrokes, in a run that ended at `run_ended`.
    pub(super) fn finish(mut self, run_ended: Nanos) -> Echoes {
        self.unanswered.iter().for_each(|&typed| self.took.record(run_ended - typed));
        Echoes {
            answered: self.answered,
            unanswered: self.unanswered.len() as u64,
            took: self.took.percentiles(),
            shortest_wait: self.unanswered.back().map(|&typed| run_ended - typed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::packets::Side;

    #[test]
    fn keystrokes_and_echoes_come_in_pieces_and_in_order() {
        let user = EndId { place: 0, made: 0, side: Side::Opener };
        let what = Interactive { gap: Nanos::from_secs(1), keystroke_bytes: 10, echo_bytes: 4 };
        let mut session = Session::new(user, what);
        assert_eq!([1, 2, 3].map(|at| session.types(Nanos::from_secs(at))), [10; 3]);
        assert_eq!([9, 1, 20, 5].map(|bytes| session.host_read(bytes)), [0, 4, 8, 0]);
        session.user_read(3, Nanos::from_secs(4));
        session.user_read(5, Nanos::from_secs(7));
        let echoes = session.finish(Nanos::from_secs(13));
        assert_eq!((echoes.answered, echoes.unanswered), (2, 1));
        // 6 s, 5 s, and 10 s so far.
        assert_eq!(echoes.shortest_wait, Some(Nanos::from_secs(10)));
        let took = echoes.took.unwrap();
        assert_eq!((took.max, took.mean_nanos), (Nanos::from_secs(10), 7e9));
        assert!(!echoes.is_at_least(took.p50) && echoes.is_at_least(took.max));
    }

    #[test]
    fn who_gets_no_answer_stops_typing() {
        let user = EndId { place: 0, made: 0, side: Side::Opener };
        let what = Interactive { gap: Nanos(1), keystroke_bytes: 1, echo_bytes: 1 };
        let mut session = Session::new(user, what);
        let typed: u64 = (0..2 * MAX_UNANSWERED as u64).map(|at| session.types(Nanos(at))).sum();
        assert_eq!(typed, MAX_UNANSWERED as u64);
        session.user_read(1, Nanos::from_secs(1));
        assert_eq!(session.types(Nanos::from_secs(1)), 1);
    }
}
