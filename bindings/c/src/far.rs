//! The operations of a far queue's handle.

use dovetail_sched::{
    Nanos,
    request::{FarDelay, FarQueue},
};

/// Estimates the length of the queue at a link's far end from probes.
#[derive(Debug, Default)]
pub(crate) struct Far(FarQueue);

impl Far {
    pub(crate) fn probe(&mut self, now_ns: u64) -> u64 {
        self.0.probe(Nanos(now_ns))
    }

    pub(crate) fn back(&mut self, probe: u64, now_ns: u64) {
        self.0.back(probe, Nanos(now_ns));
    }

    pub(crate) fn delay(&self, now_ns: u64) -> Option<FarDelay> {
        self.0.delay(Nanos(now_ns))
    }

    pub(crate) fn forget(&mut self) {
        self.0.forget();
    }
}
