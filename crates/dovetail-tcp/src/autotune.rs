//! A receive buffer that grows with what the application reads (Fisk and Feng, Dynamic right-sizing in TCP, 2001, as Linux
//! implements it in `tcp_rcv_space_adjust`).
//!
//! What is read in a round trip equals the sender's window. The room for the next round trip is therefore twice that, to
//! allow for retransmissions, and 16 segments. If more was read than in the previous round trip, the room grows by twice the
//! same ratio as well, since the sender's window will have grown further by then:
//!
//! ```text
//! room = (2 c + 16 s) (1 + 2 (c - b) / b)        c bytes read in this round trip, b in the one before, segments of s
//! ```
//!
//! A receiver cannot measure round trips, since it sends nothing that is acknowledged. It measures how long a whole window
//! takes to arrive, and uses the least such time. While the sender's window is smaller than the receiver's, this is several
//! round trips: at the start the room stays constant for longer than a sender in slow start would like.

use dovetail_sched::Nanos;

/// Initial room: 162/256 of the 131,072 bytes of `tcp_rmem`, where a full segment takes 2,304 bytes of memory.
pub(crate) const FIRST_ROOM: u64 = 131_072 * 162 / 256;
/// Assumed to have been read in the round trip before the first (`TCP_INIT_CWND`).
const FIRST_SEGMENTS: u64 = 10;

/// Estimates the sender's window.
#[derive(Debug, Clone)]
pub(crate) struct Autotune {
    most: u64,
    // The last window advertised; the end of the window whose arrival is timed, and when timing began.
    window: u64,
    ends: u64,
    since: Option<Nanos>,
    round_trip: Option<Nanos>,
    // What was read, until when, and how much in the previous round trip.
    read: u64,
    read_at: Nanos,
    before: u64,
}

impl Autotune {
    pub(crate) const fn new(most: u64, segment: u32) -> Self {
        let before = FIRST_SEGMENTS * segment as u64;
        Self { most, window: 0, ends: 0, since: None, round_trip: None, read: 1, read_at: Nanos::ZERO, before }
    }

    /// This window is advertised.
    pub(crate) const fn told(&mut self, window: u64) {
        self.window = window;
    }

    /// Everything before `nxt` has arrived.
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

    /// Everything before `read` has been read. Returns the minimum room from here on.
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
        // 20,000 where 10,000 were assumed: 56,000, and twice as much more.
        assert_eq!(tune.read(20_001, 1000, ms(40)), 56_000 * 3);
        assert_eq!(tune.read(60_001, 1000, ms(79)), 0, "the round trip is not over");
        assert_eq!(tune.read(40_001, 1000, ms(80)), 0, "no more than before");
        assert_eq!(tune.read(65_001, 1000, ms(120)), 66_000 * 3 / 2, "a quarter more");
        assert_eq!(tune.read(900_001, 1000, ms(160)), 1_000_000);
    }
}
