//! True costs, hidden from a scheduler that estimates them.

use dovetail_sched::{Packet, Scheduler};
use slab::Slab;

use crate::workload::Arrival;

/// The true packets that correspond to those queued in the scheduler.
pub(super) enum Truths {
    /// The scheduler is told everything.
    Told,
    /// By the handle that the scheduler uses instead.
    Hidden(Slab<Packet>),
}

impl Truths {
    pub(super) fn for_scheduler(scheduler: &mut dyn Scheduler) -> Self {
        if scheduler.learning().is_some() { Self::Hidden(Slab::new()) } else { Self::Told }
    }

    /// Changes `packet` to what the scheduler may see. In place, since packets are large to move.
    #[inline]
    pub(super) fn hide(&mut self, packet: &mut Packet, arrival: &Arrival) {
        if let Self::Hidden(packets) = self {
            packet.handle = packets.insert(*packet) as u64;
            packet.demand = arrival.told();
        }
    }

    /// Replaces a packet that has left the scheduler for good by the true one.
    #[inline]
    pub(super) fn reveal(&mut self, packet: &mut Packet) {
        if let Self::Hidden(packets) = self {
            *packet = packets.remove(packet.handle as usize);
        }
    }
}
