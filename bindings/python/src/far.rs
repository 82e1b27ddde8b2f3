//! How long the queue at a link's far end is, from probes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dovetail_sched::{
    Nanos,
    request::{FarDelay, FarQueue},
};
use pyo3::{prelude::*, sync::MutexExt};

/// How long the queue at a link's far end is, from small packets sent to it and back.
#[pyclass(frozen, name = "FarQueue", module = "dovetail")]
pub(crate) struct Far(Mutex<FarQueue>);

#[pymethods]
impl Far {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Register a departing probe; returns its number.
    fn probe(&self, py: Python<'_>, now_ns: u64) -> u64 {
        self.lock(py).probe(Nanos(now_ns))
    }

    /// Register a returned probe; unknown numbers are ignored.
    fn back(&self, py: Python<'_>, probe: u64, now_ns: u64) {
        self.lock(py).back(probe, Nanos(now_ns));
    }

    /// (delay of a packet arriving there now, delay when the queue is full) in ns; None if unknown.
    fn delay(&self, py: Python<'_>, now_ns: u64) -> Option<(u64, Option<u64>)> {
        self.lock(py).delay(Nanos(now_ns)).map(|seen| (seen.delay.0, seen.room.map(|room| room.0)))
    }

    /// Call when probes change path: discards what was learnt.
    fn forget(&self, py: Python<'_>) {
        self.lock(py).forget();
    }

    fn __repr__(&self) -> &'static str {
        "<dovetail.FarQueue>"
    }
}

impl Far {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, FarQueue> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Converts a result of `delay` for schedulers.
    pub(crate) fn seen((delay_ns, room_ns): (u64, Option<u64>)) -> FarDelay {
        FarDelay { delay: Nanos(delay_ns), room: room_ns.map(Nanos) }
    }
}
