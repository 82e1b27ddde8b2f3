//! The receive window that a connection to a server offers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dovetail_sched::{Nanos, request::Offer as Core};
use pyo3::{prelude::*, sync::MutexExt};

use crate::run::raised;

/// The receive window that a connection to a server offers.
#[pyclass(frozen, module = "dovetail")]
pub(crate) struct Offer(Mutex<Core>);

#[pymethods]
impl Offer {
    /// The offer of a connection that begins with a window of `begins` bytes, a turn's, under a policy whose windows are `first`
    /// to `longest` bytes long: a RequestScheduler's `first_window` and `longest_window`. Where `first` is None the window is
    /// left to the system.
    #[new]
    #[pyo3(signature = (first, longest, begins))]
    fn new(first: Option<u64>, longest: u64, begins: u64) -> PyResult<Self> {
        if let Some(first) = first.filter(|&first| first > longest) {
            return Err(raised(format!("longest: it is at least the first window, {first}")));
        }
        Ok(Self(Mutex::new(first.map_or(Core::UNLIMITED, |first| Core::new(first, longest, begins)))))
    }

    /// The window in bytes; None if it is left to the system.
    #[getter]
    fn bytes(&self, py: Python<'_>) -> Option<u64> {
        let offer = self.lock(py);
        offer.first().map(|_| offer.bytes())
    }

    /// The connection is established, by a handshake of this round trip if known. Returns the window to offer from now on, to be
    /// reported with offers; None if it is the one that is offered already.
    #[pyo3(signature = (round_trip_ns = None))]
    fn establish(&self, py: Python<'_>, round_trip_ns: Option<u64>) -> Option<u64> {
        self.lock(py).establish(round_trip_ns.map(Nanos))
    }

    /// The round trip to a server that is so far away that its windows have to grow fast, for RequestScheduler.round_trip; None
    /// for nearer ones, and where the window is left to the system.
    #[getter]
    fn farthest_ns(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).farthest().map(|trip| trip.0)
    }

    /// The connection's minimum round trip so far: a server nearby passes for a far one if its handshake waited in a queue.
    fn draws_near(&self, py: Python<'_>, least_ns: u64) {
        self.lock(py).draws_near(Nanos(least_ns));
    }

    /// The window to offer if a turn asks for this one; None if it is offered already, since a window is never withdrawn.
    fn wider(&self, py: Python<'_>, window: u64) -> Option<u64> {
        self.lock(py).wider(window)
    }

    /// The connection offers this window from now on.
    fn offers(&self, py: Python<'_>, window: u64) {
        self.lock(py).offers(window);
    }

    /// Whether the window has grown so wide that the connection should not be used for another response.
    #[getter]
    fn is_grown(&self, py: Python<'_>) -> bool {
        self.lock(py).is_grown()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let bytes = self.bytes(py).map_or_else(|| "the system's window".to_owned(), |bytes| format!("{bytes} bytes"));
        format!("<dovetail.Offer of {bytes}>")
    }
}

impl Offer {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Core> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}
