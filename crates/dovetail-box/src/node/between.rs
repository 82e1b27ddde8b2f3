//! The buffer between CPU and link.

use std::collections::VecDeque;

use dovetail_sched::Nanos;

use super::passing::Passing;

/// Capacity of the buffer between CPU and link, not counting the packet on the link. A packet that finds no room stays on
/// the CPU, which is blocked until the link takes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// This many packets: `buffer=K` of the simulator.
    Packets(u32),
    /// One more packet while those waiting need less than this on the link; one may always wait.
    LinkTime(Nanos),
}

impl Room {
    /// Half a millisecond, and at least a packet: at 3 Mbit/s it preserves the order that the policy chose, and at 200
    /// Mbit/s it holds the dozen packets that let the CPU run ahead.
    pub const DEFAULT: Self = Self::LinkTime(Nanos::from_micros(500));
}

/// Packets that have been processed and wait for the link.
#[derive(Debug, Default)]
pub(super) struct Between {
    waiting: VecDeque<Passing>,
    link_time: Nanos,
}

impl Between {
    pub(super) fn has(&self, room: Room) -> bool {
        match room {
            Room::Packets(most) => self.waiting.len() < most as usize,
            Room::LinkTime(most) => self.waiting.is_empty() || self.link_time < most,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn packets_mut(&mut self) -> impl Iterator<Item = &mut Passing> {
        self.waiting.iter_mut()
    }

    pub(super) fn push(&mut self, packet: Passing) {
        self.link_time += packet.link_time;
        self.waiting.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<Passing> {
        let packet = self.waiting.pop_front()?;
        self.link_time = self.link_time - packet.link_time;
        Some(packet)
    }
}
