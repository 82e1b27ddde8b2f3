//! The units permitted to one response.

use crate::{Nanos, request::ClassId};

#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) total: Option<u64>,
    /// Whether the policy knows of it.
    pub(super) is_told: bool,
    pub(super) is_released: bool,
    /// Whether the environment waits for the policy's turn.
    pub(super) is_asked: bool,
    /// Whether its connection offered a window before the policy knew of it.
    pub(super) is_offered: bool,
    /// Its round trip, if that was reported before the policy knew of it.
    pub(super) trip: Option<Nanos>,
    /// How far away its units are, until the policy is told.
    pub(super) distance: Nanos,
    /// Units that the policy permits and that were not handed to the environment yet.
    pub(super) leave: u64,
    pub(super) handed: u64,
    pub(super) received: u64,
    /// Units that may be in flight beyond those; [`u64::MAX`] if the policy sets no windows.
    pub(super) window: u64,
    /// The units that it may have brought by now, and how many of them were taken from the bucket of `class`.
    pub(super) charged: u64,
    pub(super) taken: u64,
    /// Units taken from that bucket for a turn that the policy has yet to give.
    pub(super) reserved: u64,
    /// The class that was charged last: its user may have been moved since.
    pub(super) class: Option<ClassId>,
}

impl Response {
    /// The units that it may have brought over the link.
    pub(super) fn target(&self) -> u64 {
        let window = if self.window == u64::MAX { 0 } else { self.window };
        let target = self.handed.saturating_add(window);
        self.total.map_or(target, |total| target.min(total)).max(self.received)
    }

    /// The units that a release may bring.
    pub(super) fn reserve(&self, quantum: u64, window: u64) -> u64 {
        let brings = quantum.saturating_add(window.max(self.window));
        self.total.map_or(brings, |total| brings.min(total))
    }

    /// Hands out up to `quantum` of its leave, or all of it if its window then lets the sender send to the end anyway.
    pub(super) fn hand(&mut self, quantum: u64) -> u64 {
        let window = if self.window == u64::MAX { 0 } else { self.window };
        let rest = self.total.map(|total| total.saturating_sub(self.handed));
        let is_last = rest.is_some_and(|rest| rest <= quantum.saturating_add(window));
        let units = if is_last { self.leave } else { self.leave.min(quantum) };
        if self.leave != u64::MAX || units == u64::MAX {
            self.leave -= units;
        }
        self.handed = self.handed.saturating_add(units);
        units
    }
}
