//! Results of the processing that the policy has scheduled, on this thread or by workers: the packet is forwarded, or it is
//! dropped and its sender may be told.

use dovetail_sched::{FlowId, Nanos};

use super::{
    super::{
        LiveError,
        classes::{By, Worked},
        watch::Watch,
        workers::{Answer, Job},
    },
    Plane,
};
use crate::{
    functions::Reason,
    node::{Outcome, Work},
    wire::{self, icmp_error::Message},
};

impl Plane {
    /// Whether a frame is short enough for the link however its class's work changes it.
    pub(super) fn stays_short(&self, class: u16, bytes: &[u8]) -> bool {
        let mtu = self.ports[self.toward].mtu_bytes.saturating_sub(self.classes.grows_by(class));
        wire::fits::socket_takes(bytes, mtu)
    }

    /// Keeps a copy of a frame as received if it may become too long: the error to its sender quotes it. Frames of a stream
    /// are exempt: their hosts were told smaller segments.
    fn keep(&mut self, handle: u64) {
        if let Some(frame) = self.frames.get(handle)
            && frame.offload.segmented.is_none()
            && !self.stays_short(frame.class, &frame.bytes)
        {
            self.frames.keep(handle);
        }
    }

    /// Hands the packet that the policy has chosen to a worker.
    pub(super) fn hand_out(&mut self, work: &Work) -> Result<(), LiveError> {
        self.frames.ask_ahead(work.handle);
        self.keep(work.handle);
        let Some(workers) = &mut self.workers else { return Ok(()) };
        // Every job gets an answer in order, even one for a frame that no longer exists.
        let (class, bytes) = match self.frames.get_mut(work.handle) {
            Some(frame) => (frame.class, std::mem::take(&mut frame.bytes)),
            None => (0, Vec::new()),
        };
        workers.hand_out(work.worker, Job { flow: work.flow, handle: work.handle, class, bytes })
    }

    /// Collects the workers' results; returns whether there were any.
    pub(super) fn collect(&mut self) -> Result<bool, LiveError> {
        let mut had_any = false;
        while let Some(workers) = &mut self.workers
            && let Some(answer) = workers.next()?
        {
            had_any = true;
            let Answer { worker, job, worked, programs, .. } = answer;
            if let Some(counters) = self.by_worker.get_mut(usize::from(worker)) {
                counters.worked += 1;
                counters.cpu += worked.took;
                counters.preempted += u64::from(worked.is_preempted);
            }
            let (took, outcome) = match self.frames.get_mut(job.handle) {
                Some(frame) => {
                    frame.bytes = job.bytes;
                    self.counters[usize::from(frame.class)].programs.add(&programs);
                    self.worked(job.flow, job.handle, worked)
                }
                None => (Nanos::ZERO, Outcome::Drop),
            };
            self.node.worked_by(worker, took, outcome);
        }
        Ok(had_any)
    }

    /// Processes a packet: returns how long it takes, the outcome, and when it ended, if the clock was read.
    pub(super) fn work(&mut self, work: &Work) -> (Nanos, Outcome, Option<Nanos>) {
        let handle = work.handle;
        self.frames.ask_ahead(handle);
        self.keep(handle);
        let Some(frame) = self.frames.get_mut(handle) else { return (Nanos::ZERO, Outcome::Drop, None) };
        let counters = &mut self.counters[usize::from(frame.class)];
        let worked = match &self.early {
            Some(early) if early.number == frame.number => early.worked,
            _ => self.classes.work(frame.class, &mut frame.bytes, &mut counters.programs),
        };
        let (took, outcome) = self.worked(work.flow, handle, worked);
        (took, outcome, worked.ended)
    }

    /// Accounts for the processing of a frame, and returns its time and outcome.
    fn worked(&mut self, flow: FlowId, handle: u64, worked: Worked) -> (Nanos, Outcome) {
        let Some(frame) = self.frames.get_mut(handle) else { return (Nanos::ZERO, Outcome::Drop) };
        let counters = &mut self.counters[usize::from(frame.class)];
        let had = self.flows.had(flow);
        had.cpu += worked.took;
        counters.cpu += worked.took;
        counters.preempted += u64::from(worked.is_preempted);
        let mtu = self.ports[self.toward].mtu_bytes;
        let is_too_long = worked.ended_by.is_none()
            && frame.offload.segmented.is_none()
            && !wire::fits::socket_takes(&frame.bytes, mtu);
        if worked.ended_by.is_none() && !is_too_long {
            let bytes = frame.bytes.len() as u32;
            self.frames.let_go(handle);
            return (worked.took, Outcome::Forward { bytes });
        }
        let (count, message) = match worked.ended_by {
            None => (&mut counters.too_long, Some(Message::TooBig { mtu: mtu.saturating_sub(self.growth_bytes) })),
            Some(By::Function(ended)) => {
                let (count, message) = match ended.reason {
                    Reason::HopLimit => (&mut counters.hop_limit, Some(Message::HopLimit)),
                    Reason::NoRoute => (&mut counters.no_route, Some(Message::NoRoute)),
                    _ => (&mut counters.ended_by_function, None),
                };
                // The sender does not know a packet that was changed: an answer would go to a tunnel's end.
                (count, message.filter(|_| ended.is_as_it_came))
            }
            Some(By::Program) => (&mut counters.ended_by_program, None),
        };
        *count += 1;
        had.dropped += 1;
        self.watchers.dropped(frame.number);
        if let Some(mut frame) = self.frames.take(handle) {
            if !frame.as_it_came.is_empty() {
                std::mem::swap(&mut frame.bytes, &mut frame.as_it_came);
                self.frames.give_back(frame.as_it_came);
            }
            if let Some(message) = message {
                self.tell(&frame.bytes, message);
            }
            self.frames.give_back(frame.bytes);
        }
        (worked.took, Outcome::Drop)
    }
}
