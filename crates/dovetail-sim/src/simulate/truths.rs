//! What a scheduler that estimates is not told.

use dovetail_sched::{Packet, Scheduler};
use slab::Slab;

use crate::workload::Arrival;

/// The true packets behind those that the scheduler holds.
pub(super) enum Truths {
    /// It is told everything.
    Told,
    /// By the handle that it was given instead.
    Hidden(Slab<Packet>),
}

impl Truths {
    pub(super) fn for_scheduler(scheduler: &mut dyn Scheduler) -> Self {
        if scheduler.learning().is_some() { Self::Hidden(Slab::new()) } else { Self::Told }
    }

    /// Makes of `packet` what the scheduler is to see. In place, as packets are large to move.
    #[inline]
    pub(super) fn hide(&mut self, packet: &mut Packet, arrival: &Arrival) {
        if let Self::Hidden(packets) = self {
            packet.handle = packets.insert(*packet) as u64;
            packet.demand = arrival.told();
        }
    }

    /// Makes of a packet that the scheduler gave back for good the true one behind it.
    #[inline]
    pub(super) fn reveal(&mut self, packet: &mut Packet) {
        if let Self::Hidden(packets) = self {
            *packet = packets.remove(packet.handle as usize);
        }
    }
}
