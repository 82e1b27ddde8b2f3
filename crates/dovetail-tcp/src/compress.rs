//! Acknowledgements of segments out of order, of which one does for several.
//!
//! Behind a hole every segment that comes is to be acknowledged at once (RFC 5681, section 4.2), so that the sender counts
//! three. After those three it learns nothing from a fourth that a fifth would not tell it a moment later. So Linux lets them
//! wait for one another, for a twentieth of a round trip and at most a millisecond (`tcp_comp_sack_delay_ns`), unless
//! every segment is acknowledged at once anyway. An acknowledgement tells four ranges, so one that waits leaves before
//! more than two of them are others.

use dovetail_sched::Nanos;

/// The longest wait, and what a timer may be late by so that several expire together (`tcp_comp_sack_slack_ns`).
const LONGEST_NS: u32 = 1_000_000;
const SLACK: Nanos = Nanos::from_micros(100);
/// One in so many parts of a round trip.
const PART: u64 = 20;
/// So many leave at once for each hole (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u8 = 3;
/// So many wait for one another at most (`tcp_comp_sack_nr`).
const MOST: u8 = 44;

/// What waits.
#[derive(Debug, Clone)]
pub(crate) struct Compress {
    is_on: bool,
    wait_ns: u32,
    // Those that left at once while all before this place was there.
    nxt: u64,
    at_once: u8,
    waiting: u8,
    // The end of time: nothing waits.
    due: Nanos,
}

impl Compress {
    pub(crate) const fn new(is_on: bool) -> Self {
        Self { is_on, wait_ns: LONGEST_NS, nxt: 0, at_once: 0, waiting: 0, due: Nanos::MAX }
    }

    /// A round trip takes so long.
    pub(crate) fn waits_for(&mut self, round_trip: Option<Nanos>) {
        let part = round_trip.and_then(|round_trip| u32::try_from(round_trip.0 / PART).ok());
        self.wait_ns = LONGEST_NS.min(part.unwrap_or(LONGEST_NS));
    }

    /// Something came behind a hole at `nxt`: whether that is acknowledged now; else it waits.
    pub(crate) fn leaves_at_once(&mut self, nxt: u64, now: Nanos) -> bool {
        if !self.is_on || self.waiting >= MOST {
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

    /// Whether any wait.
    pub(crate) const fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// When what waits is acknowledged.
    pub(crate) fn due_at(&self) -> Option<Nanos> {
        self.waits().then_some(self.due)
    }

    /// An acknowledgement left.
    pub(crate) const fn acknowledged(&mut self) {
        (self.waiting, self.due) = (0, Nanos::MAX);
    }
}
