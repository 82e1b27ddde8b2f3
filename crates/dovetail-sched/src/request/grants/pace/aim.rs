//! The target length of the far queue: `d*`.

use crate::Nanos;

/// The least target that the knob allows.
const MIN_TARGET: Nanos = Nanos::from_micros(1);
/// The number of responses that may be stalled for each turn that the far queue is to hold: a single connection kept its share
/// beside 160 at a queue of 25 packets that is to hold five turns, and not always beside 200.
const STALLED_PER_TURN: f64 = 25.0;
/// The fraction of the target that remains beside any number of stalled responses.
const MIN_TARGET_LEFT: f64 = 0.25;

/// The configured target, and its limits.
#[derive(Debug)]
pub(super) struct Aim {
    asked: Nanos,
    // Half of the far queue's room, if known.
    half_room: Nanos,
    // The fraction of either that remains beside the probes of stalled senders.
    left: f64,
    // The resulting target.
    target: Nanos,
}

impl Aim {
    pub(super) fn new(asked: Nanos) -> Self {
        Self { asked, half_room: Nanos::MAX, left: 1.0, target: asked }
    }

    /// `d*`.
    pub(super) const fn target(&self) -> Nanos {
        self.target
    }

    /// The target without stalled senders.
    pub(super) fn free(&self) -> Nanos {
        self.asked.min(self.half_room)
    }

    /// The fraction of that which remains.
    pub(super) const fn left(&self) -> f64 {
        self.left
    }

    /// Sets the configured target.
    pub(super) fn ask(&mut self, asked: Nanos) {
        self.asked = asked;
        self.settle();
    }

    /// Sets the queue's room, if known.
    pub(super) fn fit(&mut self, room: Option<Nanos>) {
        self.half_room = room.map_or(Nanos::MAX, |room| Nanos(room.0 / 2));
        self.settle();
    }

    /// Adapts to `stalled` responses with units waiting for turns of `turn` units, on a link that carries `carries` units per
    /// second. Returns whether `d*` has changed.
    pub(super) fn leave_room(&mut self, stalled: usize, carries: f64, turn: f64) -> bool {
        let few = STALLED_PER_TURN * carries * self.asked.as_secs_f64() / turn;
        let left = (few / stalled.max(1) as f64).clamp(MIN_TARGET_LEFT, 1.0);
        if left == self.left {
            return false;
        }
        self.left = left;
        self.settle();
        true
    }

    fn settle(&mut self) {
        self.target = Nanos::from_f64(self.free().as_f64() * self.left).max(MIN_TARGET);
    }
}
