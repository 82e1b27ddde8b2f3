//! Compressed acknowledgements: one acknowledgement for several out-of-order segments.
//!
//! While there is a hole, each segment that arrives should be acknowledged at once (RFC 5681, section 4.2), so that the
//! sender can count three duplicates. After those three, a fourth tells it nothing that a fifth would not a moment later.
//! Linux therefore delays and merges them, for a twentieth of a round trip and at most a millisecond
//! (`tcp_comp_sack_delay_ns`), unless every segment is acknowledged at once anyway. An acknowledgement carries four ranges,
//! so a delayed one is sent before a segment outside the two latest ranges is recorded.

use dovetail_sched::Nanos;

/// The longest delay, and the slack within which several timers expire together (`tcp_comp_sack_slack_ns`).
const MAX_DELAY_NS: u32 = 1_000_000;
const SLACK: Nanos = Nanos::from_micros(100);
/// The delay is a round trip divided by this.
const PART: u64 = 20;
/// Acknowledgements sent at once for each hole (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u8 = 3;
/// Most acknowledgements merged into one (`tcp_comp_sack_nr`).
const MAX_MERGED: u8 = 44;

/// Delayed acknowledgements.
#[derive(Debug, Clone)]
pub(crate) struct Compress {
    is_on: bool,
    wait_ns: u32,
    // Acknowledgements sent at once while the hole began at this place.
    nxt: u64,
    at_once: u8,
    waiting: u8,
    // `Nanos::MAX` if none is delayed.
    due: Nanos,
}

impl Compress {
    pub(crate) const fn new(is_on: bool) -> Self {
        Self { is_on, wait_ns: MAX_DELAY_NS, nxt: 0, at_once: 0, waiting: 0, due: Nanos::MAX }
    }

    /// Sets the delay from the round-trip time.
    pub(crate) fn waits_for(&mut self, round_trip: Option<Nanos>) {
        let part = round_trip.and_then(|round_trip| u32::try_from(round_trip.0 / PART).ok());
        self.wait_ns = MAX_DELAY_NS.min(part.unwrap_or(MAX_DELAY_NS));
    }

    /// A segment arrived while there is a hole at `nxt`. True if it is acknowledged at once; else its acknowledgement is
    /// delayed.
    pub(crate) fn leaves_at_once(&mut self, nxt: u64, now: Nanos) -> bool {
        if !self.is_on || self.waiting >= MAX_MERGED {
            return true;
        }
        if self.nxt != nxt {
            (self.nxt, self.at_once) = (nxt, 0);
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return true;
        }
        self.waiting += 1;
        self.due = self.due.min(now + Nanos(self.wait_ns.into()) + SLACK);
        false
    }

    /// Whether any acknowledgement is delayed.
    pub(crate) const fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// When the delayed acknowledgements are sent.
    pub(crate) fn due_at(&self) -> Option<Nanos> {
        self.waits().then_some(self.due)
    }

    /// An acknowledgement was sent.
    pub(crate) const fn acknowledged(&mut self) {
        (self.waiting, self.due) = (0, Nanos::MAX);
    }
}
