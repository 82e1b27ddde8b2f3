//! Ingress: classifies received frames, splits them into packets and offers these to the policy.

use std::sync::Arc;

use dovetail_sched::{Admission, Demand, FlowId, Nanos, Packet};

use super::{
    classes::Classes,
    counters::{ClassCounters, Oddities},
    flows::Flows,
    frames::{Frame, Frames},
    intake::Intake,
    lone::Lone,
    marks::marks,
    sys::{Bytes, Received},
    watch::{Arrived, Watch},
};
use crate::{
    config::{Marks, Segments},
    node::Node,
    wire::{self, Refused, offload::Offload, tag},
};

/// The ingress path.
pub(super) struct Entrance<'b> {
    pub(super) intake: &'b mut Intake,
    pub(super) node: &'b mut Node,
    pub(super) flows: &'b mut Flows,
    pub(super) classes: &'b Classes,
    pub(super) frames: &'b mut Frames,
    pub(super) counters: &'b mut [ClassCounters],
    pub(super) oddities: &'b mut Oddities,
    pub(super) names: &'b [Arc<str>],
    pub(super) watchers: &'b mut Vec<Box<dyn Watch>>,
    pub(super) offered: &'b mut u64,
    pub(super) segments: Segments,
    pub(super) clamp: Option<(u16, u16)>,
    pub(super) now: Nanos,
    /// Whether a frame that finds the box idle, with none behind it, is left in `lone`.
    pub(super) leaves_lone: bool,
    pub(super) lone: Option<Lone>,
}

impl Entrance<'_> {
    /// Takes a frame in; returns whether any of it is queued.
    pub(super) fn take(&mut self, received: Received<'_>) -> bool {
        self.take_in(received).unwrap_or_else(|_| {
            self.oddities.malformed += 1;
            false
        })
    }

    fn take_in(&mut self, received: Received<'_>) -> Result<bool, Refused> {
        let marks = marks(&received.bytes, received.tag, self.classes.look_for_names());
        let class = self.classes.of(&marks);
        let offload = Offload::parse(&received.offload)?;
        if self.leaves_lone && received.is_last && offload.segmented.is_none() && self.node.passes_at_once() {
            let frame = wire::received::Received::new(&received.bytes, offload, received.tag)?;
            let mut bytes = self.frames.buffer(received.bytes.len());
            if frame.write(0, &mut bytes) {
                self.lone = Some(Lone { marks, class, bytes });
                return Ok(true);
            }
            self.frames.give_back(bytes);
        }
        let Some(flow) = self.flow(&marks, class) else { return Ok(false) };
        if let Some(frames) = self.parts(&received, offload)? {
            let mut has_any = false;
            for index in 0..frames.count() {
                let bytes = frames.length(index).unwrap_or_default();
                has_any |= self.admit(flow, class, bytes, |into| frames.write(index, into).then_some(Offload::NONE));
            }
            return Ok(has_any);
        }
        let bytes = received.bytes.len() + tag::bytes(received.tag);
        Ok(self.admit(flow, class, bytes, |into| whole(received, into).ok()))
    }

    /// The frames to split one into; `None` if it stays whole.
    fn parts<'f>(
        &self,
        received: &'f Received<'_>,
        offload: Offload,
    ) -> Result<Option<wire::received::Received<'f>>, Refused> {
        if let Some(frames) = wire::received::Received::in_tunnel(&received.bytes, offload, received.tag) {
            return frames.map(Some);
        }
        let is_long = offload.segmented.is_some();
        if is_long && self.segments == Segments::Whole {
            return Ok(None);
        }
        match wire::received::Received::new(&received.bytes, offload, received.tag) {
            // The kernel may support more.
            Err(_) if is_long => Ok(None),
            frames => frames.map(Some),
        }
    }

    /// The flow of a packet, if the flow table has a slot for it.
    pub(super) fn flow(&mut self, marks: &Marks, class: u16) -> Option<FlowId> {
        let flow = self.flows.of(marks, class, self.now, self.node, self.classes);
        self.oddities.no_flow += u64::from(flow.is_none());
        flow
    }

    /// Offers a packet, and copies it if it is queued; returns whether it is.
    pub(super) fn admit(
        &mut self,
        flow: FlowId,
        class: u16,
        bytes: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Option<Offload>,
    ) -> bool {
        let counters = &mut self.counters[usize::from(class)];
        counters.arrived += 1;
        counters.arrived_bytes += bytes as u64;
        let bytes = bytes as u32;
        // The CPU cost is estimated by the policy.
        let link = self.node.link().time(bytes);
        let Ok(demand) = Demand::new(&[Nanos::ZERO, link]) else { return false };
        let number = *self.offered;
        *self.offered += 1;
        let name = &self.names[usize::from(class)];
        self.watchers.arrived(&Arrived { number, flow, class: name, bytes, arrival: self.now, link });
        self.intake.note(flow, self.now);
        let handle = self.frames.next_handle();
        let packet = Packet { flow, bytes, arrival: self.now, handle, demand };
        let Admission { refused, evicted } = self.node.enqueue(&packet, class, self.now);
        if refused.is_some() {
            self.counters[usize::from(class)].queue_full += 1;
            self.watchers.dropped(number);
            self.flows.had(flow).dropped += 1;
        } else {
            let mut buffer = self.frames.buffer(bytes as usize);
            let offload = write(&mut buffer).unwrap_or(Offload::NONE);
            if let Some((v4, v6)) = self.clamp {
                wire::clamp::clamp_mss_to(&mut buffer, v4, v6);
            }
            let frame = Frame { bytes: buffer, as_it_came: Vec::new(), class, offload, number };
            self.frames.hold(frame, flow);
        }
        if evicted {
            while let Some(packet) = self.node.poll_evicted() {
                self.flows.had(packet.flow).dropped += 1;
                if let Some(frame) = self.frames.take(packet.handle) {
                    self.counters[usize::from(frame.class)].queue_full += 1;
                    self.watchers.dropped(frame.number);
                    self.frames.give_back(frame.bytes);
                }
            }
        }
        refused.is_none()
    }
}

/// Prepares a frame to be forwarded whole, and returns its offload metadata. A frame that owns its buffer is not copied but
/// swapped with `into`.
pub(super) fn whole(received: Received<'_>, into: &mut Vec<u8>) -> Result<Offload, Refused> {
    let offload = Offload::parse(&received.offload)?;
    match received.bytes {
        // A short frame must not occupy a long buffer.
        Bytes::Own(bytes) if received.tag.is_none() && into.capacity() >= bytes.capacity() => {
            std::mem::swap(bytes, into)
        }
        bytes => tag::put_back(&bytes, received.tag, into)?,
    }
    let offload = match received.tag {
        Some(_) => offload.behind(tag::TAG as u16)?,
        None => offload,
    };
    wire::segments::sum_as_one(into, &offload);
    Ok(offload)
}
