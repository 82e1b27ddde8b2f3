//! A packet scheduler, packet by packet.
//!
//! Single-packet calls keep the interpreter's lock, since releasing it costs more than they do. A scheduler may move between
//! threads; simultaneous calls from several wait for each other.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use dovetail_sched::{
    Admission, Backlog, Demand, DropPolicy, DropReason, Feedback, FlowId, LaterStages, Learning, Limits, MAX_RESOURCES,
    Nanos, Packet, Peekable, PolicySpec, Scheduler as Core, Setup, Stage, Weight,
    cost::{Processing, Program, ProgramId, ProgramTable},
};
use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    sync::MutexExt,
    types::{PyDict, PyInt, PyTuple},
};

use crate::{batch, given::Given, inner::Inner, run::raised};

/// A packet, as it leaves a scheduler.
#[pyclass(frozen, name = "Packet", module = "dovetail")]
pub(crate) struct Out {
    /// Its flow.
    #[pyo3(get)]
    flow: u32,
    /// Its length.
    #[pyo3(get)]
    bytes: u32,
    /// When it was enqueued.
    #[pyo3(get)]
    arrival_ns: u64,
    /// What it carries: the object that was given with it.
    #[pyo3(get)]
    handle: Py<PyAny>,
    /// Pass this back with feedback; None before the packet is dequeued.
    #[pyo3(get)]
    ticket: Option<u64>,
    demand: Demand,
}

#[pymethods]
impl Out {
    /// Its time on each resource.
    #[getter]
    fn demand_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.demand.times().iter().map(|time| time.0))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.handle.bind(py).repr()?;
        let times: Vec<String> = self.demand.times().iter().map(|time| time.0.to_string()).collect();
        let Self { flow, bytes, .. } = self;
        Ok(format!("<Packet of flow {flow}: {bytes} bytes, demand ({}) ns, handle {handle}>", times.join(", ")))
    }
}

/// Fair queueing over several resources: queues, limits and a policy.
#[pyclass(frozen, module = "dovetail")]
pub(crate) struct Scheduler {
    inner: Mutex<Inner>,
    /// How many resources a packet crosses.
    #[pyo3(get)]
    resources: usize,
    flows: u32,
    programs: usize,
}

impl Inner {
    fn out(&mut self, py: Python<'_>, packet: &Packet, ticket: Option<u64>) -> PyResult<Out> {
        let handle = self.handles.take(py, packet.handle)?;
        Ok(out(packet, handle, ticket))
    }

    /// Records the result of offering a packet; its handle is returned if it was refused.
    fn admitted(&mut self, py: Python<'_>, admission: Admission, handle: u64) -> PyResult<(bool, Option<Py<PyAny>>)> {
        self.refused = admission.refused;
        if admission.is_queued() {
            return Ok((true, None));
        }
        self.handles.take(py, handle).map(|object| (false, Some(object)))
    }

    fn learning(&mut self) -> PyResult<&mut dyn Learning> {
        let why = "the scheduler does not learn costs: ask for an estimator, as in drfq:estimator=ses";
        self.scheduler.learning().ok_or_else(|| raised(why))
    }

    fn stages(&mut self) -> PyResult<&mut dyn LaterStages> {
        let why = "the policy does not order packets before later resources: they cross them as they come";
        self.scheduler.later_stages().ok_or_else(|| raised(why))
    }
}

fn out(packet: &Packet, handle: Py<PyAny>, ticket: Option<u64>) -> Out {
    let &Packet { flow, bytes, arrival, demand, .. } = packet;
    Out { flow: flow.0, bytes, arrival_ns: arrival.0, handle, ticket, demand }
}

#[pymethods]
impl Scheduler {
    /// A scheduler for this policy, such as "drfq" or "atfq:batch=20", over this many resources.
    #[new]
    #[pyo3(signature = (policy, resources = 1, *, limits: "Limits | None" = None, programs: "Sequence[Program] | None" = None))]
    fn new(
        policy: &str,
        resources: usize,
        limits: Option<&Bound<'_, PyDict>>,
        programs: Option<Vec<Bound<'_, PyDict>>>,
    ) -> PyResult<Self> {
        if !(1..=MAX_RESOURCES).contains(&resources) {
            return Err(raised(format!("a packet crosses 1 to {MAX_RESOURCES} resources, not {resources}")));
        }
        let limits = limits.map_or(Ok(Limits::UNLIMITED), limits_of)?;
        let programs = programs.unwrap_or_default().iter().map(program_of).collect::<PyResult<Vec<_>>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = programs.iter().find(|program| !names.insert(&program.name)) {
            return Err(raised(format!("programs: two are called '{}'", twice.name)));
        }
        let many = programs.len();
        let setup = Setup { programs: ProgramTable::new(programs), ..Setup::new(resources, limits) };
        let spec: PolicySpec = policy.parse().map_err(raised)?;
        let scheduler = Peekable::new(spec.build(&setup).map_err(raised)?);
        let policy = spec.to_string();
        let inner = Inner::new(scheduler, policy);
        Ok(Self { inner: Mutex::new(inner), resources, flows: limits.flows, programs: many })
    }

    /// The policy's string.
    #[getter]
    fn policy(&self, py: Python<'_>) -> String {
        self.lock(py).policy.clone()
    }

    /// Offer a packet. Returns whether it was queued. Other packets may have been evicted either way: see evictions.
    #[pyo3(signature = (flow, bytes, demand_ns: "int | Sequence[int]", now_ns, handle: "object" = None))]
    fn enqueue(
        &self,
        py: Python<'_>,
        flow: u32,
        bytes: u32,
        demand_ns: &Bound<'_, PyAny>,
        now_ns: u64,
        handle: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let demand = self.demand(demand_of(demand_ns)?)?;
        let mut inner = self.lock(py);
        let now = inner.clock.time(now_ns)?;
        let handle = inner.handles.keep(handle);
        let packet = Packet { flow: FlowId(flow), bytes, arrival: now, handle, demand };
        let admission = inner.scheduler.enqueue(&packet, now);
        let (queued, refused) = inner.admitted(py, admission, handle)?;
        // Dropping the last reference to an object may run code that calls this scheduler.
        drop(inner);
        drop(refused);
        Ok(queued)
    }

    /// Why the last offered packet was refused; None if it was queued.
    #[getter]
    fn refused(&self, py: Python<'_>) -> Option<&'static str> {
        self.lock(py).refused.map(|reason| match reason {
            DropReason::FlowFull => "flow-full",
            DropReason::BufferFull => "buffer-full",
            DropReason::TooManyFlows => "too-many-flows",
            DropReason::WrongDemand => "wrong-demand",
            _ => "otherwise",
        })
    }

    /// Packets evicted since the last call.
    fn evictions(&self, py: Python<'_>) -> PyResult<Vec<Out>> {
        let mut inner = self.lock(py);
        let mut lost = Vec::new();
        while let Some(packet) = inner.scheduler.poll_evicted() {
            lost.push(inner.out(py, &packet, None)?);
        }
        Ok(lost)
    }

    /// Take all packets of a flow that are queued before the first resource out of the queues, for example when its port goes
    /// down, and list them, oldest first, behind any evictions not collected yet. The flow is not charged for them.
    fn discard(&self, py: Python<'_>, flow: u32) -> PyResult<Vec<Out>> {
        let flow = self.flow(flow)?;
        self.lock(py).scheduler.discard(flow);
        self.evictions(py)
    }

    /// The next packet to send. None while packets are queued means "not now": ask again at poll_at, or after the next feedback
    /// or arrival.
    fn dequeue(&self, py: Python<'_>, now_ns: u64) -> PyResult<Option<Out>> {
        let mut inner = self.lock(py);
        let now = inner.clock.time(now_ns)?;
        match inner.scheduler.dequeue(now) {
            Some(next) => inner.out(py, &next.packet, Some(next.ticket)).map(Some),
            None => Ok(None),
        }
    }

    /// The packet that dequeue would return now, left in the queue.
    fn peek(&self, py: Python<'_>, now_ns: u64) -> PyResult<Option<Out>> {
        let mut inner = self.lock(py);
        let now = inner.clock.time(now_ns)?;
        let Some(packet) = inner.scheduler.peek(now).copied() else { return Ok(None) };
        let handle = inner.handles.see(py, packet.handle)?;
        Ok(Some(out(&packet, handle, None)))
    }

    /// When to call dequeue again, if the policy is holding packets back.
    fn poll_at(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).scheduler.poll_at().map(|at| at.0)
    }

    /// Offer many packets at once; returns a boolean array of which were queued. Needs numpy. Arrays of whole numbers; demand_ns has
    /// a row for each packet. Without handles, a packet's handle is its index.
    #[pyo3(signature = (flow: "object", bytes: "object", demand_ns: "object", now_ns: "object", handle: "object | None" = None) -> "Any")]
    fn enqueue_batch<'py>(
        &self,
        py: Python<'py>,
        flow: &Bound<'py, PyAny>,
        bytes: &Bound<'py, PyAny>,
        demand_ns: &Bound<'py, PyAny>,
        now_ns: &Bound<'py, PyAny>,
        handle: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        batch::need_numpy(py)?;
        let given = batch::Arrivals::new(self.resources, (flow, bytes, demand_ns), now_ns, handle)?;
        let queued = py.detach(|| given.enqueue(&mut self.lock_detached()))?;
        batch::truths(py, &queued)
    }

    /// Take up to `most` packets at once, as arrays: flow, bytes, arrival_ns, handle, ticket. Needs numpy. now_ns is one time for
    /// all, or an array with a time for each; stops at the first time for which there is no packet. The handle of a packet that
    /// enqueue took without one is 2^64 - 1.
    #[pyo3(signature = (now_ns: "object", most = None) -> "tuple[Any, Any, Any, Any, Any]")]
    fn dequeue_batch<'py>(
        &self,
        py: Python<'py>,
        now_ns: &Bound<'py, PyAny>,
        most: Option<usize>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        batch::need_numpy(py)?;
        let times = batch::Times::new(now_ns)?;
        let taken = py.detach(|| batch::Taken::from(&mut self.lock_detached(), &times, most))?;
        taken.into_arrays(py)
    }

    /// Report what happened to a packet on a resource: "started", "finished", "dropped" or "aborted".
    #[expect(clippy::too_many_arguments, reason = "a call of Python's")]
    fn feedback(
        &self,
        py: Python<'_>,
        flow: u32,
        ticket: u64,
        resource: usize,
        stage: &str,
        took_ns: u64,
        now_ns: u64,
    ) -> PyResult<()> {
        let stage = match stage {
            "started" => Stage::Started,
            "finished" => Stage::Finished,
            "dropped" => Stage::Dropped,
            "aborted" => Stage::Aborted,
            _ => {
                return Err(raised(format!(
                    "stage: started, finished, dropped or aborted, not '{}'",
                    stage.escape_debug()
                )));
            }
        };
        let resource = self.resource(resource, 0)? as u8;
        let event = Feedback { flow: self.flow(flow)?, ticket, resource, stage, took: Nanos(took_ns) };
        let mut inner = self.lock(py);
        let now = inner.clock.time(now_ns)?;
        inner.scheduler.feedback(&event, now);
        Ok(())
    }

    /// The feedback the policy needs, as (stage, resource) pairs. If there are any, report drops too.
    #[pyo3(signature = () -> "list[tuple[_Stage, int]]")]
    fn interest(&self, py: Python<'_>) -> Vec<(&'static str, usize)> {
        let interest = self.lock(py).scheduler.interest();
        let stages = [("started", Stage::Started), ("finished", Stage::Finished)];
        let pairs = stages.into_iter().flat_map(|(name, stage)| (0..self.resources).map(move |at| (name, stage, at)));
        pairs.filter(|&(_, stage, at)| interest.has(stage, at)).map(|(name, _, at)| (name, at)).collect()
    }

    /// Give a flow a weight.
    fn set_weight(&self, py: Python<'_>, flow: u32, weight: f64) -> PyResult<()> {
        let (flow, weight) = (self.flow(flow)?, weight_of(weight)?);
        self.lock(py).scheduler.set_weight(flow, weight);
        Ok(())
    }

    /// Give a flow a weight on each resource.
    #[pyo3(signature = (flow, weights: "Sequence[float]"))]
    fn set_resource_weights(&self, py: Python<'_>, flow: u32, weights: Vec<f64>) -> PyResult<()> {
        let flow = self.flow(flow)?;
        if weights.len() != self.resources {
            let many = weights.len();
            return Err(raised(format!("there are {} resources, and as many weights, not {many}", self.resources)));
        }
        let weights = weights.into_iter().map(weight_of).collect::<PyResult<Vec<_>>>()?;
        self.lock(py).scheduler.set_resource_weights(flow, &weights);
        Ok(())
    }

    /// Change knobs while packets wait: the same policy with other values.
    fn retune(&self, py: Python<'_>, policy: &str, now_ns: u64) -> PyResult<()> {
        let spec: PolicySpec = policy.parse().map_err(raised)?;
        self.lock(py).retune(&spec, now_ns)
    }

    /// Forget an idle flow (nothing queued or in flight). Returns whether it was forgotten.
    fn forget(&self, py: Python<'_>, flow: u32) -> PyResult<bool> {
        let flow = self.flow(flow)?;
        Ok(self.lock(py).scheduler.forget(flow))
    }

    /// Packets and bytes queued, of all flows or of one.
    #[pyo3(signature = (flow = None))]
    fn backlog(&self, py: Python<'_>, flow: Option<u32>) -> PyResult<(u64, u64)> {
        let flow = flow.map(|flow| self.flow(flow)).transpose()?;
        let inner = self.lock(py);
        let Backlog { packets, bytes } =
            flow.map_or_else(|| inner.scheduler.backlog(), |flow| inner.scheduler.flow_backlog(flow));
        Ok((packets, bytes))
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

    /// Set which program a flow's packets run: an index into `programs`.
    fn set_program(&self, py: Python<'_>, flow: u32, program: u32) -> PyResult<()> {
        let flow = self.flow(flow)?;
        let mut inner = self.lock(py);
        let learning = inner.learning()?;
        if program as usize >= self.programs {
            let many = self.programs;
            return Err(raised(format!("there is no program {program}: the scheduler has {many}, numbered from 0")));
        }
        learning.set_program(flow, ProgramId(program));
        Ok(())
    }

    /// Learnt program costs by name: (ns per byte, ns per packet), or None if not learnt yet.
    #[pyo3(signature = () -> "dict[str, tuple[float, float] | None]")]
    fn learnt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let learnt = self.lock(py).learning()?.learnt();
        let dict = PyDict::new(py);
        for program in learnt.programs() {
            let cost = program.cost.map(|cost| (cost.per_byte_ns(), cost.per_packet_ns()));
            dict.set_item(&program.name, cost)?;
        }
        Ok(dict)
    }

    /// Whether the policy orders packets before later resources, too.
    #[getter]
    fn has_stages(&self, py: Python<'_>) -> bool {
        self.lock(py).scheduler.later_stages().is_some()
    }

    /// Offer a packet before a later resource.
    #[pyo3(signature = (resource, flow, bytes, demand_ns: "int | Sequence[int]", now_ns, handle: "object" = None))]
    #[expect(clippy::too_many_arguments, reason = "a call of Python's")]
    fn enqueue_before(
        &self,
        py: Python<'_>,
        resource: usize,
        flow: u32,
        bytes: u32,
        demand_ns: &Bound<'_, PyAny>,
        now_ns: u64,
        handle: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let demand = self.demand(demand_of(demand_ns)?)?;
        let resource = self.resource(resource, 1)?;
        let mut inner = self.lock(py);
        // Before the time is recorded: a call that fails changes nothing.
        inner.stages()?;
        let now = inner.clock.time(now_ns)?;
        let handle = inner.handles.keep(handle);
        let packet = Packet { flow: FlowId(flow), bytes, arrival: now, handle, demand };
        let admission = inner.stages()?.enqueue_before(resource, &packet, now);
        let (queued, refused) = inner.admitted(py, admission, handle)?;
        drop(inner);
        drop(refused);
        Ok(queued)
    }

    /// The next packet to send on a later resource.
    fn dequeue_before(&self, py: Python<'_>, resource: usize, now_ns: u64) -> PyResult<Option<Out>> {
        let resource = self.resource(resource, 1)?;
        let mut inner = self.lock(py);
        inner.stages()?;
        let now = inner.clock.time(now_ns)?;
        match inner.stages()?.dequeue_before(resource, now) {
            Some(packet) => inner.out(py, &packet, None).map(Some),
            None => Ok(None),
        }
    }

    /// When to call dequeue_before again, if the policy is holding packets back.
    fn poll_at_before(&self, py: Python<'_>, resource: usize) -> PyResult<Option<u64>> {
        let resource = self.resource(resource, 1)?;
        Ok(self.lock(py).stages()?.poll_at_before(resource).map(|at| at.0))
    }

    /// Packets and bytes queued before a later resource.
    fn backlog_before(&self, py: Python<'_>, resource: usize) -> PyResult<(u64, u64)> {
        let resource = self.resource(resource, 1)?;
        let Backlog { packets, bytes } = self.lock(py).stages()?.backlog_before(resource);
        Ok((packets, bytes))
    }

    /// How many packets are queued.
    fn __len__(&self, py: Python<'_>) -> usize {
        usize::try_from(self.lock(py).scheduler.backlog().packets).unwrap_or(usize::MAX)
    }

    /// Always true, even when empty.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let inner = self.lock(py);
        let Backlog { packets, bytes } = inner.scheduler.backlog();
        format!("<dovetail.Scheduler {}: {packets} packets, {bytes} bytes>", inner.policy)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // During a call its objects are in use.
        let Ok(inner) = self.inner.try_lock() else { return Ok(()) };
        inner.handles.objects().try_for_each(|object| visit.call(object))
    }
}

impl Scheduler {
    #[inline]
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Inner> {
        self.inner.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for a thread without the interpreter's lock.
    fn lock_detached(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a flow's id is small enough to index tables.
    fn flow(&self, flow: u32) -> PyResult<FlowId> {
        if flow < self.flows {
            return Ok(FlowId(flow));
        }
        Err(raised(format!("flows are below {}, and {flow} is not", self.flows)))
    }

    /// Checks that a demand has a time on each resource.
    #[inline]
    fn demand(&self, demand: Demand) -> PyResult<Demand> {
        match demand.times().len() {
            many if many == self.resources => Ok(demand),
            many => Err(raised(format!("demand_ns: a time on each of the {} resources, not {many}", self.resources))),
        }
    }

    /// Checks that a resource is at least `least`.
    fn resource(&self, resource: usize, least: usize) -> PyResult<usize> {
        if (least..self.resources).contains(&resource) {
            return Ok(resource);
        }
        let last = self.resources - 1;
        Err(raised(format!("resources here are from {least} to {last}, not {resource}")))
    }
}

/// A time on each resource: a tuple or list, or a single number for a single resource.
#[inline]
fn demand_of(given: &Bound<'_, PyAny>) -> PyResult<Demand> {
    let wrong = |_| PyTypeError::new_err("demand_ns: a whole number of nanoseconds for each resource");
    let mut times = [Nanos::ZERO; MAX_RESOURCES];
    let mut many = 0;
    if let Ok(tuple) = given.cast_exact::<PyTuple>() {
        many = tuple.len();
        for (time, given) in times.iter_mut().zip(tuple.iter_borrowed()) {
            *time = Nanos(whole(&given)?);
        }
    } else if given.is_exact_instance_of::<PyInt>() {
        return Ok(Demand::of_one(Nanos(whole(given)?)));
    } else {
        for given in given.try_iter().map_err(wrong)? {
            if let Some(time) = times.get_mut(many) {
                *time = Nanos(whole(&given?)?);
            }
            many += 1;
            if many > MAX_RESOURCES {
                break;
            }
        }
    }
    Demand::new(times.get(..many).unwrap_or_default())
        .map_err(|_| raised(format!("demand_ns: a packet crosses 1 to {MAX_RESOURCES} resources, not {many}")))
}

#[inline]
fn whole(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    given
        .extract()
        .map_err(|_: PyErr| PyValueError::new_err("demand_ns: whole numbers of nanoseconds from 0 to 2^64 - 1"))
}

fn weight_of(weight: f64) -> PyResult<Weight> {
    Weight::new(weight).ok_or_else(|| raised(format!("a weight is from 1e-6 to 1e6, not {weight:?}")))
}

fn limits_of(given: &Bound<'_, PyDict>) -> PyResult<Limits> {
    let given = Given::new(given)?;
    let most = Limits::UNLIMITED.flows;
    let flows: Option<u32> = given.value("flows")?;
    if flows.is_some_and(|flows| flows == 0 || flows > most) {
        return Err(raised(format!("flows: a scheduler takes 1 to {most}")));
    }
    let limits = Limits {
        flow_packets: given.positive("flow_packets")?,
        flow_bytes: given.positive("flow_bytes")?,
        packets: given.positive("packets")?,
        bytes: given.positive("bytes")?,
        flows: flows.unwrap_or(most),
        on_full: given.parsed("drop", str::parse::<DropPolicy>)?.unwrap_or_default(),
    };
    given.end()?;
    Ok(limits)
}

/// Creates a program from its name, cost, processing and expansion.
fn program_of(given: &Bound<'_, PyDict>) -> PyResult<Program> {
    let given = Given::new(given)?;
    let name: Option<String> = given.value("name")?;
    let cost = given.parsed("cost", str::parse)?;
    let expansion: f64 = given.value("expansion")?.unwrap_or(1.0);
    if !Program::is_expansion(expansion) {
        return Err(raised(format!("expansion: a number above 0, not {expansion}")));
    }
    let processing = match given.value::<String>("processing")?.as_deref() {
        None | Some("payload") => Processing::Payload,
        Some("header") => Processing::Header,
        Some(_) => return Err(raised("processing: header or payload")),
    };
    // A misspelt name is told as that, not as a name that is missing.
    given.end()?;
    let name = name.ok_or_else(|| raised("programs: each needs a name, as in {'name': 'a'}"))?;
    Ok(Program { processing, cost, expansion, ..Program::new(&name) })
}
