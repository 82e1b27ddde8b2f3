//! Packets in the box, and what they owe to whom so far.
//!
//! What a packet owes is kept modulo 2^64: it is subtracted as the packet begins to wait, and what is added as it starts
//! is never less.

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
    /// Nanoseconds that it waited while its own flow was served.
    pub(super) same_flow: u64,
}

/// All of them, in slots that are used again.
#[derive(Debug)]
pub(super) struct Slots {
    resources: usize,
    /// Columns for which there is room.
    width: usize,
    packets: Vec<InBox>,
    // `resources` a slot.
    own: Vec<Nanos>,
    // `width` a slot.
    owed: Vec<u64>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn new(resources: usize) -> Self {
        let (packets, own, owed, free) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { resources, width: 4, packets, own, owed, free }
    }

    /// There are so many columns.
    pub(super) fn widen(&mut self, columns: usize) {
        if columns > self.width {
            let width = columns.next_multiple_of(4);
            let mut owed = vec![0; self.packets.len() * width];
            for (new, old) in owed.chunks_exact_mut(width).zip(self.owed.chunks_exact(self.width)) {
                new[..self.width].copy_from_slice(old);
            }
            (self.width, self.owed) = (width, owed);
        }
    }

    /// A slot for a packet that arrived, the `rank`-th of its flow.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet, rank: u64) -> u32 {
        let Packet { handle: number, flow, arrival, .. } = *packet;
        let packet = InBox { number, flow, rank, arrival, done: arrival, same_flow: 0 };
        let Some(slot) = self.free.pop() else {
            self.packets.push(packet);
            self.own.resize(self.packets.len() * self.resources, Nanos::ZERO);
            self.owed.resize(self.packets.len() * self.width, 0);
            return (self.packets.len() - 1) as u32;
        };
        self.packets[slot as usize] = packet;
        self.owed_mut(slot).fill(0);
        slot
    }

    pub(super) fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }

    pub(super) fn number(&self, slot: u32) -> u64 {
        self.packets[slot as usize].number
    }

    /// The packet will cross the resources so.
    #[inline]
    pub(super) fn passes(&mut self, slot: u32, passage: &Passage) {
        let at = slot as usize;
        self.packets[at].done = passage.done();
        let own = &mut self.own[at * self.resources..][..self.resources];
        for ((own, &start), &end) in own.iter_mut().zip(passage.start()).zip(passage.end()) {
            *own = end - start;
        }
    }

    /// The packet waits for a resource that has spent and served so much by now.
    #[inline]
    pub(super) fn begins_to_wait(&mut self, slot: u32, spent: &[u64], served: &[u64]) {
        let packet = &mut self.packets[slot as usize];
        packet.same_flow = packet.same_flow.wrapping_sub(served[packet.flow.index()]);
        for (owed, &spent) in self.owed_mut(slot).iter_mut().zip(spent) {
            *owed = owed.wrapping_sub(spent);
        }
    }

    /// The packet starts on a resource that has spent and served so much by now.
    #[inline]
    pub(super) fn starts(&mut self, slot: u32, spent: &[u64], served: &[u64]) {
        let packet = &mut self.packets[slot as usize];
        packet.same_flow = packet.same_flow.wrapping_add(served[packet.flow.index()]);
        for (owed, &spent) in self.owed_mut(slot).iter_mut().zip(spent) {
            *owed = owed.wrapping_add(spent);
        }
    }

    /// The packet, its time on each resource, and what it owes to each column.
    pub(super) fn packet(&self, slot: u32) -> (InBox, &[Nanos], &[u64]) {
        let at = slot as usize;
        let own = &self.own[at * self.resources..][..self.resources];
        (self.packets[at], own, &self.owed[at * self.width..][..self.width])
    }

    fn owed_mut(&mut self, slot: u32) -> &mut [u64] {
        &mut self.owed[slot as usize * self.width..][..self.width]
    }
}
