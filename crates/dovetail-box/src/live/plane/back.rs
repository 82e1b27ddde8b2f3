//! The unscheduled direction: frames from the other side, which are forwarded at once, and ICMP errors to the senders of
//! dropped packets.

use std::cell::Cell;

use super::{
    super::{clock, entrance::whole, frames::Frames, port::MAX_OUTGOING, sys::Received},
    Plane, ROUND, clamp,
};
use crate::wire::{
    self,
    icmp_error::{self, Message},
    offload::Offload,
};

impl Plane {
    /// Forwards what arrived on the other side at once.
    pub(super) fn pass_on(&mut self, from: usize) -> usize {
        let Self { ports, frames, oddities, growth_bytes, inbound, .. } = self;
        let clamp = clamp(ports[from].mtu_bytes, *growth_bytes);
        let [inside, outside] = ports;
        let (from, to) = if from == 0 { (inside, outside) } else { (outside, inside) };
        let room = if to.is_full() { 0 } else { MAX_OUTGOING.saturating_sub(to.outgoing()).min(ROUND) };
        // One frame may be split into several.
        let pushed = Cell::new(0);
        // Read with the first frame: an idle call should not cost the next frame a clock read.
        let mut now = None;
        let mut pass = |mut offload: Offload, mut bytes: Vec<u8>, frames: &mut Frames| {
            // Code that relies on a checksum needs it filled in, and a packet socket cannot request one of SCTP.
            if let (Some(partial), None) = (offload.partial, offload.segmented)
                && (clamp.is_some() || !inbound.is_empty() || partial.offset == wire::checksum::SCTP_OFFSET)
                && wire::checksum::complete(&mut bytes, partial).is_ok()
            {
                offload = Offload::NONE;
            }
            // Frames of several packets carry TCP or UDP.
            if !inbound.is_empty() && offload == Offload::NONE && !inbound.pass(&mut bytes) {
                return frames.give_back(bytes);
            }
            if let Some((v4, v6)) = clamp {
                wire::clamp::clamp_mss_to(&mut bytes, v4, v6);
            }
            to.push(offload, bytes, *now.get_or_insert_with(clock::now));
            pushed.set(pushed.get() + 1);
        };
        let mut take = |received: Received<'_>| {
            let in_tunnel = Offload::parse(&received.offload)
                .ok()
                .and_then(|offload| wire::received::Received::in_tunnel(&received.bytes, offload, received.tag));
            match in_tunnel {
                Some(Ok(segments)) => {
                    for index in 0..segments.count() {
                        let mut bytes = frames.buffer(segments.length(index).unwrap_or_default());
                        segments.write(index, &mut bytes);
                        pass(Offload::NONE, bytes, frames);
                    }
                    return true;
                }
                Some(Err(_)) => {
                    oddities.malformed += 1;
                    return true;
                }
                None => {}
            }
            let mut bytes = frames.buffer(received.bytes.len());
            match whole(received, &mut bytes) {
                Ok(offload) => pass(offload, bytes, frames),
                Err(_) => {
                    oddities.malformed += 1;
                    frames.give_back(bytes);
                }
            }
            true
        };
        (0..room).take_while(|_| pushed.get() < room && from.receive(&mut take)).count()
    }

    /// Tells the sender of a packet what happened to it, if that may be answered.
    pub(super) fn tell(&mut self, frame: &[u8], message: Message) {
        let port = &mut self.ports[1 - self.toward];
        // If nothing leaves, answers must not pile up.
        if port.is_full() {
            return;
        }
        let now = clock::now();
        let make = |into: &mut Vec<u8>| match message {
            Message::TooBig { mtu } => wire::too_big::answer(frame, mtu, into),
            message => icmp_error::answer(frame, message, into),
        };
        if let Some(answer) = self.answers.answer(message, now, make) {
            let mut bytes = self.frames.buffer(answer.len());
            bytes.extend_from_slice(answer);
            port.push(Offload::NONE, bytes, now);
        }
    }
}
