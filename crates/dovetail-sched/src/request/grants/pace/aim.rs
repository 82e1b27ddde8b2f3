//! How long the far queue shall be: `d*`.

use crate::Nanos;

/// The least that the knob can ask for.
const LEAST: Nanos = Nanos::from_micros(1);
/// So many responses may be stalled for each turn that the far queue shall hold: a single connection kept its share beside 160 at a
/// queue of 25 packets that shall hold five turns, and not always beside 200.
const STALLED_PER_TURN: f64 = 25.0;
/// What is left of the far queue's target beside any number of stalled responses.
const LEAST_LEFT: f64 = 0.25;

/// What was asked for, and what there is room for.
#[derive(Debug)]
pub(super) struct Aim {
    asked: Nanos,
    // Half of the far queue's room, as far as it is known.
    half_room: Nanos,
    // What part of either is left beside the probes of stalled senders.
    left: f64,
    // What follows from these.
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

    /// What it is beside no stalled senders.
    pub(super) fn free(&self) -> Nanos {
        self.asked.min(self.half_room)
    }

    /// The part of that which it is.
    pub(super) const fn left(&self) -> f64 {
        self.left
    }

    /// The queue shall be so long.
    pub(super) fn ask(&mut self, asked: Nanos) {
        self.asked = asked;
        self.settle();
    }

    /// The queue has so much room, if that is known.
    pub(super) fn fit(&mut self, room: Option<Nanos>) {
        self.half_room = room.map_or(Nanos::MAX, |room| Nanos(room.0 / 2));
        self.settle();
    }

    /// Of so many responses units wait for turns of so many units, and the link carries so many a second. Whether `d*` is another.
    pub(super) fn leave_room(&mut self, stalled: usize, carries: f64, turn: f64) -> bool {
        let few = STALLED_PER_TURN * carries * self.asked.as_secs_f64() / turn;
        let left = (few / stalled.max(1) as f64).clamp(LEAST_LEFT, 1.0);
        if left == self.left {
            return false;
        }
        self.left = left;
        self.settle();
        true
    }

    fn settle(&mut self) {
        self.target = Nanos::from_f64(self.free().as_f64() * self.left).max(LEAST);
    }
}
