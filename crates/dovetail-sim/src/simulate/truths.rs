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

    /// `packet` as the scheduler is to see it.
    #[inline]
    pub(super) fn hide(&mut self, packet: &Packet, arrival: &Arrival) -> Packet {
        match self {
            Self::Told => *packet,
            Self::Hidden(packets) => {
                Packet { handle: packets.insert(*packet) as u64, demand: arrival.told(), ..*packet }
            }
        }
    }

    /// The true packet behind one that the scheduler gave back for good.
    #[inline]
    pub(super) fn reveal(&mut self, packet: Packet) -> Packet {
        match self {
            Self::Told => packet,
            Self::Hidden(packets) => packets.remove(packet.handle as usize),
        }
    }
}
