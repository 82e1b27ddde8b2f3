//! A request scheduler: which request is released next, and which response may continue.
//!
//! Ids index tables, so each is checked against a limit before a policy sees it: a stray number must not exhaust the machine's
//! memory. As with packets, a call keeps the interpreter's lock, and calls from several threads wait for each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dovetail_sched::{
    Nanos, Weight,
    request::{Capped, ClassId, Request, RequestId, RequestScheduler as Core, RequestSetup, RequestSpec, UserId},
};
use pyo3::{prelude::*, sync::MutexExt, types::PyDict};

use crate::{clock::Clock, far::Far, run::raised};

/// Maximum number of ids.
const MAX_IDS: u32 = 1 << 26;

/// What to do next: release a request, or read more of its response.
#[pyclass(frozen, get_all, eq, hash, module = "dovetail")]
#[derive(PartialEq, Hash)]
pub(crate) struct Turn {
    /// The request.
    request: u32,
    /// Whether this releases it; otherwise it was released before.
    releases: bool,
    /// How many further units of the response may be read; None for all of them.
    units: Option<u64>,
    /// How many units may be in flight beyond those: the receive window.
    window: u64,
}

#[pymethods]
impl Turn {
    fn __repr__(&self) -> String {
        let Self { request, window, .. } = self;
        let does = if self.releases { "releases" } else { "continues" };
        let units = self.units.map_or_else(|| "all".to_owned(), |units| units.to_string());
        format!("<Turn that {does} request {request}: {units} units, window {window}>")
    }
}

/// The state that calls need, behind one lock.
struct Inner {
    scheduler: Capped,
    policy: String,
    clock: Clock,
}

/// Requests and their responses over a narrow link: classes with weights, users in them, and a policy.
#[pyclass(frozen, module = "dovetail")]
pub(crate) struct RequestScheduler {
    inner: Mutex<Inner>,
    longest_window: u64,
    ids: u32,
}

#[pymethods]
impl RequestScheduler {
    /// A scheduler for this policy, such as "grants" or "msf-rs:window=3", and for a link of `rate` units a second. The other
    /// parameters are in units and default to values for HTTP over TCP. All ids are below `ids`.
    #[new]
    #[pyo3(signature = (policy, rate, *, quantum = None, window = None, longest_window = None, overhead = None, ids = 1_048_576))]
    fn new(
        policy: &str,
        rate: f64,
        quantum: Option<u64>,
        window: Option<u64>,
        longest_window: Option<u64>,
        overhead: Option<u64>,
        ids: u32,
    ) -> PyResult<Self> {
        if !(1..=MAX_IDS).contains(&ids) {
            return Err(raised(format!("ids: there are 1 to {MAX_IDS}, not {ids}")));
        }
        let usual = RequestSetup::for_bytes(rate_of(rate)?);
        let window = window.unwrap_or(usual.window);
        let setup = RequestSetup {
            rate,
            quantum: quantum.unwrap_or(usual.quantum),
            window,
            longest_window: longest_window.unwrap_or(usual.longest_window.max(window)),
            overhead: overhead.unwrap_or(usual.overhead),
        };
        if setup.longest_window < window {
            return Err(raised(format!("longest_window: it is at least the window, {window}")));
        }
        let spec: RequestSpec = policy.parse().map_err(raised)?;
        let scheduler = Capped::new(spec.build(&setup).map_err(raised)?, &setup);
        let longest_window = setup.longest_window;
        let inner = Inner { scheduler, policy: spec.to_string(), clock: Clock::default() };
        Ok(Self { inner: Mutex::new(inner), longest_window, ids })
    }

    /// The policy's string.
    #[getter]
    fn policy(&self, py: Python<'_>) -> String {
        self.lock(py).policy.clone()
    }

    /// The first window of a response in units; None where the policy does not limit senders by windows.
    #[getter]
    fn first_window(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).scheduler.first_window()
    }

    /// The longest window of a response in units, as it was given or by default.
    #[getter]
    const fn longest_window(&self) -> u64 {
        self.longest_window
    }

    /// Add a class, or change its weight. Set classes and users before referring to them.
    fn set_class(&self, py: Python<'_>, class_: u32, weight: f64, now_ns: u64) -> PyResult<()> {
        let class = ClassId(self.id("class", class_)?);
        let weight =
            Weight::new(weight).ok_or_else(|| raised(format!("a weight is from 1e-6 to 1e6, not {weight:?}")))?;
        self.tell(py, now_ns, |scheduler, now| scheduler.set_class(class, weight, now))
    }

    /// Add a user, or move them to another class with all their requests.
    fn set_user(&self, py: Python<'_>, user: u32, class_: u32, now_ns: u64) -> PyResult<()> {
        let (user, class) = (UserId(self.id("user", user)?), ClassId(self.id("class", class_)?));
        self.tell(py, now_ns, |scheduler, now| scheduler.set_user(user, class, now))
    }

    /// Release a user's id. Ignored while one of their requests is waiting or outstanding.
    fn forget_user(&self, py: Python<'_>, user: u32) -> PyResult<()> {
        let user = UserId(self.id("user", user)?);
        self.lock(py).scheduler.forget_user(user);
        Ok(())
    }

    /// Set the link's rate in units a second.
    fn set_rate(&self, py: Python<'_>, rate: f64, now_ns: u64) -> PyResult<()> {
        let rate = rate_of(rate)?;
        self.tell(py, now_ns, |scheduler, now| scheduler.set_rate(rate, now))
    }

    /// Limit a class to this rate in units a second; None removes the limit. What was already permitted is unaffected.
    #[pyo3(signature = (class_, rate, now_ns))]
    fn set_cap(&self, py: Python<'_>, class_: u32, rate: Option<f64>, now_ns: u64) -> PyResult<()> {
        let class = ClassId(self.id("class", class_)?);
        let rate = rate.map(rate_of).transpose()?;
        let mut inner = self.lock(py);
        let now = inner.clock.time(now_ns)?;
        inner.scheduler.set_cap(class, rate, now);
        Ok(())
    }

    /// A request arrived, with its response's length if known. Ignored if the user is unknown or the id is in use.
    #[pyo3(signature = (request, user, now_ns, length = None))]
    fn enqueue(&self, py: Python<'_>, request: u32, user: u32, now_ns: u64, length: Option<u64>) -> PyResult<()> {
        let (id, user) = (RequestId(self.id("request", request)?), UserId(self.id("user", user)?));
        self.tell(py, now_ns, |scheduler, now| scheduler.enqueue(&Request { id, user, length }, now))
    }

    /// The response's length in units, as its sender states it.
    fn length(&self, py: Python<'_>, request: u32, units: u64, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.length(request, units, now))
    }

    /// This many more units of the response were read.
    fn received(&self, py: Python<'_>, request: u32, units: u64, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.received(request, units, now))
    }

    /// This many units of the response, in all, have arrived and were not read, whether they may be or not.
    fn unread(&self, py: Python<'_>, request: u32, units: u64, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.unread(request, units, now))
    }

    /// Data has arrived that may not be read yet.
    fn ready(&self, py: Python<'_>, request: u32, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.ready(request, now))
    }

    /// The round-trip time of the response's connection, as measured by its transport.
    fn round_trip(&self, py: Python<'_>, request: u32, takes_ns: u64, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.round_trip(request, Nanos(takes_ns), now))
    }

    /// How long after the response's next turn the first units that it lets in reach the link, as far as known.
    fn distance(&self, py: Python<'_>, request: u32, takes_ns: u64, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.distance(request, Nanos(takes_ns), now))
    }

    /// The receive window that the response's connection already offers, left over from earlier responses.
    fn offers(&self, py: Python<'_>, request: u32, window: u64, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.offers(request, window, now))
    }

    /// The response ended, completely or cut short by its sender. Its id can be reused.
    fn ended(&self, py: Python<'_>, request: u32, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.ended(request, now))
    }

    /// The request is cancelled, waiting or outstanding. Its id can be reused.
    fn cancel(&self, py: Python<'_>, request: u32, now_ns: u64) -> PyResult<()> {
        self.of(py, request, now_ns, |scheduler, request, now| scheduler.cancel(request, now))
    }

    /// Whether unpaced traffic fills the uplink, so that probes may queue there.
    fn uplink(&self, py: Python<'_>, is_busy: bool, now_ns: u64) -> PyResult<()> {
        self.tell(py, now_ns, |scheduler, now| scheduler.uplink(is_busy, now))
    }

    /// Units arrived that no request asked for, for this class or an unknown one.
    fn stray(&self, py: Python<'_>, class_: Option<u32>, units: u64, now_ns: u64) -> PyResult<()> {
        let class = class_.map(|class| self.id("class", class).map(ClassId)).transpose()?;
        self.tell(py, now_ns, |scheduler, now| scheduler.stray(class, units, now))
    }

    /// The delay of the link's far queue, as `FarQueue.delay` returns it: now, and when it is full; None if unknown.
    fn far_queue(&self, py: Python<'_>, seen: Option<(u64, Option<u64>)>, now_ns: u64) -> PyResult<()> {
        let seen = seen.map(Far::seen);
        self.tell(py, now_ns, |scheduler, now| scheduler.far_queue(seen, now))
    }

    /// The next action. Call after each event and at poll_at, until it returns None.
    fn dequeue(&self, py: Python<'_>, now_ns: u64) -> PyResult<Option<Turn>> {
        let mut inner = self.lock(py);
        let now = inner.clock.time(now_ns)?;
        let turn = inner.scheduler.dequeue(now);
        Ok(turn.map(|turn| Turn {
            request: turn.request.0,
            releases: turn.releases,
            units: Some(turn.units).filter(|&units| units != u64::MAX),
            window: turn.window,
        }))
    }

    /// When to call dequeue again if no event comes first.
    fn poll_at(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).scheduler.poll_at().map(|at| at.0)
    }

    /// Change knobs to those of a string of the same policy; no request is lost.
    fn retune(&self, py: Python<'_>, policy: &str, now_ns: u64) -> PyResult<()> {
        let spec: RequestSpec = policy.parse().map_err(raised)?;
        self.lock(py).retune(&spec, now_ns)
    }

    /// The policy's own figures.
    #[pyo3(signature = () -> "dict[str, float]")]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut figures = Vec::new();
        self.lock(py).scheduler.figures(&mut |name, value| figures.push((name, value)));
        let dict = PyDict::new(py);
        figures.into_iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<dovetail.RequestScheduler {}>", self.lock(py).policy)
    }
}

impl RequestScheduler {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Inner> {
        self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports an event at a time.
    fn tell(&self, py: Python<'_>, now_ns: u64, event: impl FnOnce(&mut dyn Core, Nanos)) -> PyResult<()> {
        let mut inner = self.lock(py);
        let now = inner.clock.time(now_ns)?;
        event(&mut inner.scheduler, now);
        Ok(())
    }

    /// Reports an event of a request.
    fn of(
        &self,
        py: Python<'_>,
        request: u32,
        now_ns: u64,
        event: impl FnOnce(&mut dyn Core, RequestId, Nanos),
    ) -> PyResult<()> {
        let request = RequestId(self.id("request", request)?);
        self.tell(py, now_ns, |scheduler, now| event(scheduler, request, now))
    }

    /// Checks that an id is small enough to index tables.
    fn id(&self, what: &str, id: u32) -> PyResult<u32> {
        if id < self.ids {
            return Ok(id);
        }
        Err(raised(format!("ids are below {}, and the {what}'s is {id}", self.ids)))
    }
}

impl Inner {
    /// Changes knobs.
    fn retune(&mut self, spec: &RequestSpec, now_ns: u64) -> PyResult<()> {
        self.clock.time_of(now_ns, |now| self.scheduler.retune(&spec.knobs(), now))?;
        self.policy = spec.to_string();
        Ok(())
    }
}

fn rate_of(rate: f64) -> PyResult<f64> {
    if RequestSetup::is_rate(rate) {
        return Ok(rate);
    }
    Err(raised(format!("rate: a link carries from 0.001 to 10^15 units a second, not {rate:?}")))
}
