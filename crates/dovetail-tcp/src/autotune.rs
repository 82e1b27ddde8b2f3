//! A receive buffer that grows with what the application reads (dynamic right-sizing: Fisk and Feng, Dynamic right-sizing
//! in TCP, 2001, as Linux has it in `tcp_rcv_space_adjust`).
//!
//! What is read in a round trip is what the sender's window was. So the room for the next one is to be twice that, for repairs,
//! and 16 segments; and where more was read than in the round trip before, as much more again, twice over, since the sender
//! will have grown further by the time:
//!
//! ```text
//! room = (2 c + 16 s) (1 + 2 (c - b) / b)        c bytes read in this round trip, b in the one before, segments of s
//! ```
//!
//! A receiver sees no round trips, for it sends nothing that is acknowledged. It takes the time in which a whole window came;
//! the least of those counts. While the sender's window is smaller than the receiver's, that is several round trips: at the
//! start the room stays where it is for longer than a sender in slow start likes.

use dovetail_sched::Nanos;

/// Room at the start: 162/256 of the 131,072 bytes of `tcp_rmem`, where a full segment takes 2,304 bytes of memory.
pub(crate) const FIRST_ROOM: u64 = 131_072 * 162 / 256;
/// What is thought to have been read in the round trip before the first (`TCP_INIT_CWND`).
const FIRST_SEGMENTS: u64 = 10;

/// What is known of the sender's window.
#[derive(Debug, Clone)]
pub(crate) struct Autotune {
    most: u64,
    // The window that was told last; where one ends whose arrival is timed, and when that began.
    window: u64,
    ends: u64,
    since: Option<Nanos>,
    round_trip: Option<Nanos>,
    // What was read by when, and how much in the round trip before.
    read: u64,
    read_at: Nanos,
    before: u64,
}

impl Autotune {
    pub(crate) const fn new(most: u64, segment: u32) -> Self {
        let before = FIRST_SEGMENTS * segment as u64;
        Self { most, window: 0, ends: 0, since: None, round_trip: None, read: 1, read_at: Nanos::ZERO, before }
    }

    /// This window is told.
    pub(crate) const fn told(&mut self, window: u64) {
        self.window = window;
    }

    /// All before `nxt` came.
    pub(crate) fn came(&mut self, nxt: u64, now: Nanos) {
        if let Some(since) = self.since {
            if nxt < self.ends {
                return;
            }
            let took = now - since;
            self.round_trip = Some(self.round_trip.map_or(took, |least| least.min(took)));
        }
        (self.ends, self.since) = (nxt + self.window, Some(now));
    }

    /// All before `read` was read: how much room there is to be at least.
    pub(crate) fn read(&mut self, read: u64, segment: u32, now: Nanos) -> u64 {
        if self.round_trip.is_none_or(|round_trip| now - self.read_at < round_trip) {
            return 0;
        }
        let copied = read - self.read;
        (self.read, self.read_at) = (read, now);
        if copied <= self.before {
            return 0;
        }
        let steady = 2 * u128::from(copied) + 16 * u128::from(segment);
        let more = steady * u128::from(copied - self.before) / u128::from(self.before);
        self.before = copied;
        u64::try_from(steady + 2 * more).unwrap_or(u64::MAX).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_follows_what_is_read_in_a_round_trip() {
        let mut tune = Autotune::new(1_000_000, 1000);
        let ms = Nanos::from_millis;
        tune.told(20_000);
        tune.came(1, ms(0));
        assert_eq!(tune.read(5_001, 1000, ms(30)), 0, "no window came yet");
        tune.came(20_001, ms(40));
        // 20,000 where 10,000 were taken for granted: 56,000, and twice as much more.
        assert_eq!(tune.read(20_001, 1000, ms(40)), 56_000 * 3);
        assert_eq!(tune.read(60_001, 1000, ms(79)), 0, "the round trip is not over");
        assert_eq!(tune.read(40_001, 1000, ms(80)), 0, "no more than before");
        assert_eq!(tune.read(65_001, 1000, ms(120)), 66_000 * 3 / 2, "a quarter more");
        assert_eq!(tune.read(900_001, 1000, ms(160)), 1_000_000);
    }
}
