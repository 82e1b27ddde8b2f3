//! Packets in the pipeline.

use dovetail_sched::{FlowId, Nanos, Packet};

use super::parts::Ended;
use crate::Passage;

/// A packet in the pipeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct InBox {
    pub(super) ended: Ended,
    /// Nanoseconds it waited while its own flow was served. While it waits, minus the flow's earlier service on the resource,
    /// modulo 2^64.
    pub(super) same_flow: u64,
    pub(super) is_selected: bool,
}

/// A packet's stay at a resource.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stay {
    pub(super) came: Nanos,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
}

/// A packet that waits for the first resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) rank: u64,
    pub(super) arrival: Nanos,
    /// The flow's earlier service on the first resource when it arrived.
    pub(super) served_before: u64,
}

/// All packets in the pipeline, in slots that are reused.
#[derive(Debug)]
pub(super) struct Slots {
    resources: usize,
    packets: Vec<InBox>,
    // `resources` per slot.
    stays: Vec<Stay>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, packets: Vec::new(), stays: Vec::new(), free: Vec::new() }
    }

    /// Allocates a slot for a packet with this passage.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet, waited: &Waiting, is_selected: bool, passage: &Passage) -> u32 {
        let Waiting { number, rank, arrival, served_before } = *waited;
        let ended = Ended { packet: number, flow: packet.flow, rank, arrival, latency: passage.done() - arrival };
        let packet = InBox { ended, same_flow: 0u64.wrapping_sub(served_before), is_selected };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize] = packet;
                slot
            }
            None => {
                self.packets.push(packet);
                self.stays.resize(self.packets.len() * self.resources, Stay::default());
                (self.packets.len() - 1) as u32
            }
        };
        let mut came = arrival;
        let stays = &mut self.stays[slot as usize * self.resources..][..self.resources];
        for ((stay, &start), &end) in stays.iter_mut().zip(passage.start()).zip(passage.end()) {
            *stay = Stay { came, start, end };
            came = end;
        }
        slot
    }

    pub(super) fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[inline]
    pub(super) fn packet(&mut self, slot: u32) -> &mut InBox {
        &mut self.packets[slot as usize]
    }

    /// The packet's stays.
    #[inline]
    pub(super) fn stays(&self, slot: u32) -> &[Stay] {
        &self.stays[slot as usize * self.resources..][..self.resources]
    }

    /// When the oldest of them arrived; `None` if there is none.
    pub(super) fn oldest(&self) -> Option<Nanos> {
        let mut is_free = vec![false; self.packets.len()];
        self.free.iter().for_each(|&slot| is_free[slot as usize] = true);
        let taken = self.packets.iter().zip(is_free).filter(|(_, is_free)| !is_free);
        taken.map(|(packet, _)| packet.ended.arrival).min()
    }
}

impl InBox {
    /// Its flow.
    #[inline]
    pub(super) fn flow(&self) -> FlowId {
        self.ended.flow
    }
}
