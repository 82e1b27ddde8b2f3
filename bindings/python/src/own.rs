//! A policy that is a Python object.
//!
//! It only orders: the library handles queues, limits and weights. Every call takes the interpreter's lock, so a run is some
//! hundred times slower than one of a built-in policy. An exception of the object ends the run.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use dovetail_sched::{
    Dispatch, Evicted, Feedback, FlowId, Interest, Knobs, Limits, MAX_RESOURCES, Nanos, Packet, Policy, PolicyError,
    Queued, Queues, Scheduler, Setup, Stage, Weight,
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyTuple, PyType},
};

use crate::run::raised;

/// The first exception raised by an object, for all runs of a call.
#[derive(Debug, Default, Clone)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// The exception, if one was raised.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An object, and which of the optional calls it has.
pub(crate) struct Object {
    object: Py<PyAny>,
    pub(crate) name: String,
    interest: Interest,
    polls: bool,
    weighs: bool,
    forgets: bool,
}

impl Object {
    /// # Errors
    /// If it lacks a required call, or names an unknown interest.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(class) = object.cast::<PyType>() {
            let name = class.name()?;
            return Err(PyTypeError::new_err(format!("policy {name}: give an object, {name}(), not its class")));
        }
        let name = match object.getattr_opt("name")? {
            Some(name) => name.extract()?,
            None => object.get_type().name()?.to_string(),
        };
        for call in ["enqueued", "dequeue", "evicted"] {
            if !object.getattr_opt(call)?.is_some_and(|call| call.is_callable()) {
                return Err(PyTypeError::new_err(format!("policy {name}: a policy object needs a method '{call}'")));
            }
        }
        let mut interest = Interest::NONE;
        if object.hasattr("interest")? {
            for pair in object.call_method0("interest")?.try_iter()? {
                let (stage, resource): (String, usize) = pair?.extract()?;
                let stage = match stage.as_str() {
                    "started" => Stage::Started,
                    "finished" => Stage::Finished,
                    _ => return Err(raised(format!("policy {name}: interest is in started or finished"))),
                };
                if resource >= MAX_RESOURCES {
                    return Err(raised(format!("policy {name}: resources are below {MAX_RESOURCES}")));
                }
                interest = interest.and(Interest::of(stage, resource));
            }
        }
        let has = |call| object.hasattr(call);
        let (polls, weighs, forgets) = (has("poll_at")?, has("set_weight")?, has("forget")?);
        Ok(Self { object: object.clone().unbind(), name, interest, polls, weighs, forgets })
    }

    /// A scheduler that calls this object.
    pub(crate) fn build(&self, setup: &Setup, failed: &Raised, stop: &Arc<AtomicBool>) -> Box<dyn Scheduler> {
        let object = Python::attach(|py| self.object.clone_ref(py));
        let &Self { interest, polls, weighs, forgets, .. } = self;
        let (name, failed, stop, idle_at) = (self.name.clone(), failed.clone(), stop.clone(), None);
        let calls = Calls { object, name, failed, stop, interest, polls, weighs, forgets, idle_at };
        Box::new(Queued::new(calls, setup.resources, setup.limits))
    }
}

/// A policy's calls, forwarded to its object.
struct Calls {
    object: Py<PyAny>,
    name: String,
    failed: Raised,
    stop: Arc<AtomicBool>,
    interest: Interest,
    polls: bool,
    weighs: bool,
    forgets: bool,
    /// When dequeue last gave None, if nothing has happened since.
    idle_at: Option<Nanos>,
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}

impl Calls {
    /// The result of a call; `None` once one has raised, after which the run ends.
    fn ask<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| match call(self.object.bind(py)) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.failed.note(error);
                self.stop.store(true, Ordering::Relaxed);
                None
            }
        })
    }
}

impl Policy for Calls {
    fn interest(&self) -> Interest {
        self.interest
    }

    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos) {
        self.idle_at = None;
        let Some((bytes, demand)) = queues.tail(flow).map(|tail| (tail.bytes(), tail.demand())) else { return };
        self.ask(|object| {
            let times = PyTuple::new(object.py(), demand.times().iter().map(|time| time.0))?;
            object.call_method1("enqueued", (flow.0, bytes, times, now.0)).map(drop)
        });
    }

    fn dequeue(&mut self, queues: &mut Queues, now: Nanos) -> Option<Dispatch> {
        self.idle_at = Some(now);
        let name = &self.name;
        let flow = self.ask(|object| {
            let flow = object.call_method1("dequeue", (now.0,))?;
            let wrong = |_| {
                PyTypeError::new_err(format!(
                    "policy {name}: dequeue gave {flow}, which is neither a flow's number nor None"
                ))
            };
            flow.extract::<Option<i64>>().map_err(wrong)
        });
        let number = flow.flatten()?;
        let Some(flow) = u32::try_from(number).ok().filter(|&flow| flow < Limits::UNLIMITED.flows).map(FlowId) else {
            return self
                .ask(|_| Err(raised(format!("policy {name}: dequeue gave {number}, which is no flow's number"))));
        };
        if queues.is_empty(flow) {
            return self.ask(|_| {
                Err(raised(format!("policy {name}: dequeue gave flow {number}, which has no packet queued")))
            });
        }
        self.idle_at = None;
        let packet = queues.pop(flow);
        Some(Dispatch { ticket: packet.handle, packet })
    }

    fn evicted(&mut self, _queues: &mut Queues, lost: &Packet, end: Evicted) {
        let end = if end == Evicted::Head { "head" } else { "tail" };
        self.ask(|object| object.call_method1("evicted", (lost.flow.0, end)).map(drop));
    }

    fn feedback(&mut self, _queues: &mut Queues, event: &Feedback, now: Nanos) {
        let stage = match event.stage {
            Stage::Started => "started",
            Stage::Finished => "finished",
            Stage::Dropped => "dropped",
            Stage::Aborted => "aborted",
        };
        self.idle_at = None;
        let given = (event.flow.0, event.ticket, event.resource, stage, event.took.0, now.0);
        self.ask(|object| object.call_method1("feedback", given).map(drop));
    }

    fn lets_lone_pass(&self) -> bool {
        false
    }

    fn poll_at(&self) -> Option<Nanos> {
        if !self.polls {
            return None;
        }
        let name = &self.name;
        self.ask(|object| {
            let at = object.call_method0("poll_at")?;
            let wrong = |_| raised(format!("policy {name}: poll_at gave {at}, which is neither nanoseconds nor None"));
            let at = at.extract::<Option<u64>>().map_err(wrong)?.map(Nanos);
            match self.idle_at {
                Some(idle) if at.is_some_and(|at| at <= idle) => Err(raised(format!(
                    "policy {name}: poll_at gave a time that is not after {} ns, when dequeue gave None: it would be asked for ever",
                    idle.0
                ))),
                _ => Ok(at),
            }
        })
        .flatten()
    }

    fn weight_changed(&mut self, queues: &mut Queues, flow: FlowId, _old: Weight) {
        self.idle_at = None;
        if self.weighs {
            let weight = queues.weight(flow);
            self.ask(|object| object.call_method1("set_weight", (flow.0, weight)).map(drop));
        }
    }

    fn retune(&mut self, _queues: &mut Queues, _knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        Err(PolicyError::unfit("a Python policy has no knobs"))
    }

    fn forget(&mut self, flow: FlowId) {
        if self.forgets {
            self.ask(|object| object.call_method1("forget", (flow.0,)).map(drop));
        }
    }
}
