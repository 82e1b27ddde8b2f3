//! A boxed scheduler is a scheduler.

use alloc::boxed::Box;

use super::{
    Admission, Backlog, Dispatch, Feedback, Interest, Packet,
    contract::{LaterStages, Learning, Scheduler},
};
use crate::{
    FlowId, Nanos, Weight,
    entry::{Knobs, PolicyError},
};

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    #[inline]
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        (**self).enqueue(packet, now)
    }
    #[inline]
    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        (**self).dequeue(now)
    }
    fn poll_at(&self) -> Option<Nanos> {
        (**self).poll_at()
    }
    #[inline]
    fn feedback(&mut self, event: &Feedback, now: Nanos) {
        (**self).feedback(event, now);
    }
    fn interest(&self) -> Interest {
        (**self).interest()
    }
    fn poll_evicted(&mut self) -> Option<Packet> {
        (**self).poll_evicted()
    }
    fn set_weight(&mut self, flow: FlowId, weight: Weight) {
        (**self).set_weight(flow, weight);
    }
    fn set_resource_weights(&mut self, flow: FlowId, weights: &[Weight]) {
        (**self).set_resource_weights(flow, weights);
    }
    fn forget(&mut self, flow: FlowId) -> bool {
        (**self).forget(flow)
    }
    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }
    fn flow_backlog(&self, flow: FlowId) -> Backlog {
        (**self).flow_backlog(flow)
    }
    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError> {
        (**self).retune(knobs, now)
    }
    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        (**self).figures(report);
    }
    fn learning(&mut self) -> Option<&mut dyn Learning> {
        (**self).learning()
    }
    fn later_stages(&mut self) -> Option<&mut dyn LaterStages> {
        (**self).later_stages()
    }
}
