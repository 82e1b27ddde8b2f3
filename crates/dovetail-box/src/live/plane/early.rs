//! Packets that find the box idle.
//!
//! With no packet queued, CPU and link idle and a policy that holds nothing back, there is nothing to choose: a packet that
//! arrives is the next one under any policy. It is processed and sent first, and offered afterwards, so that it does not
//! wait for flow table and policy. They are called in the same order and with the same times as for any other packet, and
//! end up in the same state; only the processing and the sending are not repeated. If other frames have arrived behind it,
//! they share system calls instead.
//!
//! Linux's queueing disciplines let packets bypass them likewise (`TCQ_F_CAN_BYPASS`), but are not informed.

use dovetail_sched::Nanos;

use super::{
    super::{
        clock,
        lone::{Early, Lone},
    },
    Plane,
};
use crate::wire::{self, offload::Offload};

impl Plane {
    /// Processes and sends a packet that finds the box idle, and then offers it.
    pub(super) fn let_pass(&mut self, lone: Lone, now: Nanos) {
        let Lone { marks, class, mut bytes } = lone;
        let arrived_bytes = bytes.len();
        // A packet that may become too long takes the usual path, which keeps a copy as received.
        if self.stays_short(class, &bytes) {
            let worked = self.classes.work(class, &mut bytes, &mut self.counters[usize::from(class)].programs);
            let ended = worked.ended.unwrap_or_else(clock::now);
            let port = &mut self.ports[self.toward];
            // If functions have only a share of the CPU, its time may not be over yet.
            let is_due = now + worked.took <= ended;
            let goes_on = worked.ended_by.is_none() && wire::fits::socket_takes(&bytes, port.mtu_bytes);
            let has_left = is_due && goes_on && port.send_at_once(&bytes);
            self.early = Some(Early { number: self.offered, worked, has_left });
        }
        let (_, mut entrance) = self.entrance(now);
        let flow = entrance.flow(&marks, class);
        let offer = |into: &mut Vec<u8>| {
            std::mem::swap(into, &mut bytes);
            Some(Offload::NONE)
        };
        if !flow.is_some_and(|flow| entrance.admit(flow, class, arrived_bytes, offer)) {
            self.early = None;
        }
        self.frames.give_back(bytes);
    }

    /// Whether a packet due for sending has been sent already.
    pub(super) fn has_left(&self, number: u64) -> bool {
        self.early.as_ref().is_some_and(|early| early.number == number && early.has_left)
    }
}
