//! Packets in the box.

use dovetail_sched::{FlowId, Nanos, Packet};

use crate::Passage;

/// A packet in the box.
#[derive(Debug, Clone, Copy)]
pub(super) struct InBox {
    pub(super) number: u64,
    pub(super) flow: FlowId,
    pub(super) rank: u64,
    pub(super) arrival: Nanos,
    pub(super) done: Nanos,
    /// Nanoseconds that it waited while its own flow was served. While it waits what the resource had served its flow
    /// before is subtracted, modulo 2^64.
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

/// All of them, in slots that are used again.
#[derive(Debug)]
pub(super) struct Slots {
    resources: usize,
    packets: Vec<InBox>,
    // `resources` a slot.
    stays: Vec<Stay>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, packets: Vec::new(), stays: Vec::new(), free: Vec::new() }
    }

    /// A slot for a packet that arrived, the `rank`-th of its flow.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet, rank: u64, is_selected: bool) -> u32 {
        let Packet { handle: number, flow, arrival, .. } = *packet;
        let packet = InBox { number, flow, rank, arrival, done: arrival, same_flow: 0, is_selected };
        let Some(slot) = self.free.pop() else {
            self.packets.push(packet);
            self.stays.resize(self.packets.len() * self.resources, Stay::default());
            return (self.packets.len() - 1) as u32;
        };
        self.packets[slot as usize] = packet;
        slot
    }

    pub(super) fn free(&mut self, slot: u32) {
        self.packets[slot as usize].number = u64::MAX;
        self.free.push(slot);
    }

    /// Whether the packet of this number is still in this slot.
    pub(super) fn holds(&self, slot: u32, number: u64) -> bool {
        self.packets[slot as usize].number == number
    }

    #[inline]
    pub(super) fn packet(&mut self, slot: u32) -> &mut InBox {
        &mut self.packets[slot as usize]
    }

    /// Where the packet was, and when.
    #[inline]
    pub(super) fn stays(&self, slot: u32) -> &[Stay] {
        &self.stays[slot as usize * self.resources..][..self.resources]
    }

    /// The packet will cross the resources so.
    #[inline]
    pub(super) fn passes(&mut self, slot: u32, passage: &Passage) {
        let packet = &mut self.packets[slot as usize];
        packet.done = passage.done();
        let mut came = packet.arrival;
        let stays = &mut self.stays[slot as usize * self.resources..][..self.resources];
        for ((stay, &start), &end) in stays.iter_mut().zip(passage.start()).zip(passage.end()) {
            *stay = Stay { came, start, end };
            came = end;
        }
    }
}
