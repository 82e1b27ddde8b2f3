//! Packets between their estimate and their last measurement.

use alloc::vec::Vec;

use super::{ProgramId, references::Slot};
use crate::{Demand, FlowId, MAX_RESOURCES, Nanos, Packet, prefetch::prefetch};

const _: () = assert!(MAX_RESOURCES == u8::BITS as usize, "a bit for each resource");

/// The state of a packet that is queued or in service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) flow: FlowId,
    pub(super) bytes: u32,
    pub(super) program: ProgramId,
    pub(super) slot: Slot,
    /// Tells apart the flows that have had its flow's id.
    pub(super) holder: u32,
    /// The inner scheduler's ticket for it.
    pub(super) ticket: u64,
    /// When it was dispatched; `None` while it is queued, when no measurement of it can exist.
    pub(super) released: Option<Nanos>,
    /// The resources on which it has ended, one bit each.
    ended: u8,
    handle: u64,
}

impl Pending {
    pub(super) fn new(packet: &Packet, program: ProgramId, slot: Slot, holder: u32) -> Self {
        Self {
            flow: packet.flow,
            bytes: packet.bytes,
            program,
            slot,
            holder,
            ticket: 0,
            released: None,
            ended: 0,
            handle: packet.handle,
        }
    }

    /// Whether it has ended on `resource`.
    pub(super) const fn has_ended(&self, resource: usize) -> bool {
        self.ended & (1 << resource) != 0
    }
}

/// Pending packets by key. Keys are reused; nothing allocates once the table has grown to the largest number pending.
#[derive(Debug)]
pub(super) struct Pendings {
    resources: usize,
    packets: Vec<Option<Pending>>,
    // Free keys; the last to be freed is reused first.
    free: Vec<usize>,
    // For each packet: the times told, estimated and charged on each resource.
    amounts: Vec<Nanos>,
}

impl Pendings {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, packets: Vec::new(), free: Vec::new(), amounts: Vec::new() }
    }

    pub(super) fn add(&mut self, packet: Pending, told: &[Nanos], estimated: &[Nanos], charged: &[Nanos]) -> u64 {
        let key = match self.free.pop() {
            Some(key) => {
                self.packets[key] = Some(packet);
                key
            }
            None => {
                self.packets.push(Some(packet));
                self.packets.len() - 1
            }
        } as u64;
        let amounts = self.range(key);
        if self.amounts.len() < amounts.end {
            self.amounts.resize(amounts.end, Nanos::ZERO);
        }
        for (to, from) in self.amounts[amounts].chunks_mut(self.resources).zip([told, estimated, charged]) {
            to.copy_from_slice(from);
        }
        key
    }

    fn range(&self, key: u64) -> core::ops::Range<usize> {
        let first = key as usize * 3 * self.resources;
        first..first + 3 * self.resources
    }

    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<&Pending> {
        self.packets.get(usize::try_from(key).ok()?)?.as_ref()
    }

    #[inline]
    pub(super) fn find_mut(&mut self, key: u64) -> Option<&mut Pending> {
        self.packets.get_mut(usize::try_from(key).ok()?)?.as_mut()
    }

    /// A packet in service, and when it was dispatched.
    #[inline]
    pub(super) fn find_released(&self, key: u64) -> Option<(Pending, Nanos)> {
        let pending = *self.find(key)?;
        Some((pending, pending.released?))
    }

    /// The times told, estimated and charged on each resource, for a packet that [`find`](Self::find) finds.
    #[inline]
    pub(super) fn amounts(&self, key: u64) -> (&[Nanos], &[Nanos], &[Nanos]) {
        let (told, rest) = self.amounts[self.range(key)].split_at(self.resources);
        let (estimated, charged) = rest.split_at(self.resources);
        (told, estimated, charged)
    }

    /// The packet as the environment knows it; the handle of `packet` is a key.
    pub(super) fn original(&self, packet: &Packet, pending: &Pending) -> Packet {
        let (told, ..) = self.amounts(packet.handle);
        Packet { handle: pending.handle, demand: Demand::copied(told), ..*packet }
    }

    /// The packet has ended on `resource`; it is released once it has ended on all of them. At one instant, ends may be told in
    /// any order.
    pub(super) fn ended(&mut self, key: u64, resource: usize) {
        let all = u8::MAX >> (MAX_RESOURCES - self.resources);
        if let Some(pending) = self.find_mut(key) {
            pending.ended |= 1 << resource;
            if pending.ended == all {
                self.release(key);
            }
        }
    }

    pub(super) fn release(&mut self, key: u64) {
        if let Ok(key) = usize::try_from(key)
            && self.packets.get_mut(key).is_some_and(|packet| packet.take().is_some())
        {
            self.free.push(key);
        }
    }

    /// Prefetches the state of a packet.
    #[inline]
    pub(super) fn prefetch(&self, key: u64) {
        let Ok(key) = usize::try_from(key) else { return };
        prefetch(&self.packets, key);
        let amounts = key.saturating_mul(3 * self.resources);
        prefetch(&self.amounts, amounts);
        prefetch(&self.amounts, amounts.saturating_add(3 * self.resources - 1));
    }
}
