//! Packets that find the box idle.
//!
//! Where there is no packet, CPU and link are free and the policy holds none back, there is nothing to choose: a packet that
//! arrives is the next one, whatever the policy. It is worked on and sent first, and offered afterwards, so that flow table and
//! policy are not what it waits for. They are asked in the same order and told of the same instants as of any other packet, and
//! what comes next finds them as it would have; only the work is not done again, and the frame is not sent again. Where others
//! have arrived behind it, they share calls to the kernel instead.
//!
//! Linux's queueing disciplines let packets bypass them likewise (`TCQ_F_CAN_BYPASS`), but are not told.

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
    /// Works on a packet that finds the box idle and sends it, and then offers it.
    pub(super) fn let_pass(&mut self, lone: Lone, now: Nanos) {
        let Lone { marks, class, mut bytes } = lone;
        let arrived_bytes = bytes.len();
        // One that may become too long is worked on as others are, which are kept as they came.
        if self.stays_short(class, &bytes) {
            let worked = self.classes.work(class, &mut bytes, &mut self.counters[usize::from(class)].programs);
            let ended = worked.ended.unwrap_or_else(clock::now);
            let port = &mut self.ports[self.toward];
            // Where functions have a part of the CPU only, its time is not over yet.
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

    /// Whether a packet that is to be sent has been sent already.
    pub(super) fn has_left(&self, number: u64) -> bool {
        self.early.as_ref().is_some_and(|early| early.number == number && early.has_left)
    }
}
