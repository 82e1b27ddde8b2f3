//! Many packets in one call, as arrays.
//!
//! Arrays come through the buffer protocol, so numpy is needed only for the arrays that are returned. Input is copied first:
//! the call continues without the interpreter's lock, and other threads could write to the arrays meanwhile.

use dovetail_sched::{Demand, FlowId, MAX_RESOURCES, Nanos, Packet, Scheduler as _};
use pyo3::{
    buffer::{Element, PyBuffer, PyUntypedBuffer},
    prelude::*,
    sync::PyOnceLock,
    types::{PyByteArray, PyTuple},
};

use crate::{handles::NUMBERS, inner::Inner, run::raised};

/// One time for all, or one for each.
pub(crate) enum Times {
    One(u64),
    Each(Vec<u64>),
}

impl Times {
    pub(crate) fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        match given.extract() {
            Ok(time) => Ok(Self::One(time)),
            Err(_) => numbers(given, "now_ns", 1).map(|array| Self::Each(array.values)),
        }
    }

    fn of(&self, at: usize) -> Option<u64> {
        match self {
            Self::One(time) => Some(*time),
            Self::Each(times) => times.get(at).copied(),
        }
    }
}

/// Whole numbers that are not negative.
struct Array {
    values: Vec<u64>,
    shape: Vec<usize>,
}

/// The values of an array with this many dimensions.
fn numbers(given: &Bound<'_, PyAny>, name: &str, dimensions: usize) -> PyResult<Array> {
    let buffer = PyUntypedBuffer::get(given).map_err(|_| {
        raised(format!(
            "{name}: an array of whole numbers is needed; of a column of pandas or polars, take .to_numpy()"
        ))
    })?;
    if buffer.dimensions() != dimensions {
        let has = buffer.dimensions();
        return Err(raised(format!("{name}: a {dimensions}-dimensional array is needed, not a {has}-dimensional one")));
    }
    // Types are compared below, but not their byte order: numbers in the other one would be read as different numbers.
    let other: &[u8] = if cfg!(target_endian = "little") { b">!" } else { b"<" };
    if buffer.format().to_bytes().first().is_some_and(|order| other.contains(order)) {
        let it = "its numbers are in the other byte order: convert it, as by .astype(\"int64\")";
        return Err(raised(format!("{name}: {it}")));
    }
    let shape = buffer.shape().to_vec();
    let values = None
        .or_else(|| copied::<u64>(given, Some))
        .or_else(|| copied::<i64>(given, |value| value.try_into().ok()))
        .or_else(|| copied::<u32>(given, |value| Some(value.into())))
        .or_else(|| copied::<i32>(given, |value| value.try_into().ok()))
        .or_else(|| copied::<u16>(given, |value| Some(value.into())))
        .or_else(|| copied::<i16>(given, |value| value.try_into().ok()))
        .or_else(|| copied::<u8>(given, |value| Some(value.into())))
        .or_else(|| copied::<i8>(given, |value| value.try_into().ok()));
    match values {
        None => {
            let dtype = given.getattr("dtype").map_or_else(|_| "another type".to_owned(), |dtype| dtype.to_string());
            Err(raised(format!("{name}: whole numbers are needed, such as uint64 or int32, not {dtype}")))
        }
        Some(None) => Err(raised(format!("{name}: a number is negative"))),
        Some(Some(values)) => Ok(Array { values, shape }),
    }
}

/// The values, in order of the rows, if the array is of this type; the inner `None` if one is out of range.
fn copied<T: Element>(given: &Bound<'_, PyAny>, number: impl Fn(T) -> Option<u64>) -> Option<Option<Vec<u64>>> {
    let buffer = PyBuffer::<T>::get(given).ok()?;
    let values = buffer.to_vec(given.py()).ok()?;
    Some(values.into_iter().map(number).collect())
}

/// Packets that are offered.
pub(crate) struct Arrivals {
    flow: Vec<u64>,
    bytes: Vec<u64>,
    demand: Vec<u64>,
    resources: usize,
    now: Times,
    handle: Option<Vec<u64>>,
}

impl Arrivals {
    /// Packets that cross this many resources, from arrays of flows, lengths and demands.
    pub(crate) fn new(
        crossed: usize,
        (flow, bytes, demand_ns): (&Bound<'_, PyAny>, &Bound<'_, PyAny>, &Bound<'_, PyAny>),
        now_ns: &Bound<'_, PyAny>,
        handle: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let flow = numbers(flow, "flow", 1)?.values;
        let bytes = numbers(bytes, "bytes", 1)?.values;
        let Array { values: demand, shape } = numbers(demand_ns, "demand_ns", 2)?;
        let (rows, resources) = (shape[0], shape[1]);
        let now = Times::new(now_ns)?;
        let handle = handle.map(|handle| numbers(handle, "handle", 1)).transpose()?.map(|array| array.values);
        let times = if let Times::Each(times) = &now { times.len() } else { flow.len() };
        let handles = handle.as_ref().map_or(flow.len(), Vec::len);
        for (name, length) in [("bytes", bytes.len()), ("demand_ns", rows), ("now_ns", times), ("handle", handles)] {
            if length != flow.len() {
                return Err(raised(format!("{name}: it has {length} entries, and flow has {}", flow.len())));
            }
        }
        if resources != crossed {
            return Err(raised(format!("demand_ns: a column for each of the {crossed} resources, not {resources}")));
        }
        for (name, values) in [("flow", &flow), ("bytes", &bytes)] {
            if values.iter().any(|&value| value > u32::MAX.into()) {
                return Err(raised(format!("{name}: a number is over 2^32 - 1")));
            }
        }
        if handle.as_ref().is_some_and(|handle| handle.iter().any(|&number| number >= NUMBERS)) {
            return Err(raised("handle: numbers are below 2^63"));
        }
        if let Times::Each(times) = &now
            && !times.is_sorted()
        {
            return Err(raised("now_ns: time goes backwards"));
        }
        Ok(Self { flow, bytes, demand, resources, now, handle })
    }

    /// Enqueues the packets; returns which of them were queued.
    pub(crate) fn enqueue(&self, inner: &mut Inner) -> PyResult<Vec<u8>> {
        // Times are in order, so if the first is valid all are.
        if let Some(first) = self.now.of(0) {
            inner.clock.time(first)?;
        }
        let mut queued = Vec::with_capacity(self.flow.len());
        let mut times = [Nanos::ZERO; MAX_RESOURCES];
        for (at, (&flow, &bytes)) in self.flow.iter().zip(&self.bytes).enumerate() {
            let row = &self.demand[at * self.resources..][..self.resources];
            times.iter_mut().zip(row).for_each(|(time, &ns)| *time = Nanos(ns));
            let demand = Demand::new(&times[..self.resources]).map_err(raised)?;
            let now = inner.clock.time(self.now.of(at).unwrap_or_default())?;
            let handle = self.handle.as_ref().map_or(at as u64, |handle| handle[at]);
            let packet = Packet { flow: FlowId(flow as u32), bytes: bytes as u32, arrival: now, handle, demand };
            queued.push(u8::from(inner.scheduler.enqueue(&packet, now).is_queued()));
        }
        Ok(queued)
    }
}

/// Dequeued packets, in columns.
#[derive(Default)]
pub(crate) struct Taken {
    flow: Vec<u8>,
    bytes: Vec<u8>,
    arrival: Vec<u8>,
    handle: Vec<u8>,
    ticket: Vec<u8>,
}

impl Taken {
    /// Dequeues up to `most` packets, at these times.
    pub(crate) fn from(inner: &mut Inner, times: &Times, most: Option<usize>) -> PyResult<Self> {
        if inner.handles.len() > 0 {
            return Err(raised(
                "packets that carry objects are queued, which no array of numbers holds: take them with dequeue",
            ));
        }
        if let Times::Each(times) = times
            && !times.is_sorted()
        {
            return Err(raised("now_ns: time goes backwards"));
        }
        let most = most.unwrap_or(usize::MAX);
        let mut taken = Self::default();
        for at in 0..most {
            let Some(now) = times.of(at) else { break };
            let now = inner.clock.time(now)?;
            let Some(next) = inner.scheduler.dequeue(now) else { break };
            taken.flow.extend(next.packet.flow.0.to_ne_bytes());
            taken.bytes.extend(next.packet.bytes.to_ne_bytes());
            taken.arrival.extend(next.packet.arrival.0.to_ne_bytes());
            taken.handle.extend(next.packet.handle.to_ne_bytes());
            taken.ticket.extend(next.ticket.to_ne_bytes());
        }
        Ok(taken)
    }

    /// Converts the columns to numpy arrays.
    pub(crate) fn into_arrays(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let columns = [
            (&self.flow, "uint32"),
            (&self.bytes, "uint32"),
            (&self.arrival, "uint64"),
            (&self.handle, "uint64"),
            (&self.ticket, "uint64"),
        ];
        let arrays = columns.iter().map(|(bytes, dtype)| array(py, bytes, dtype)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, arrays)
    }
}

/// An array of booleans.
pub(crate) fn truths<'py>(py: Python<'py>, truths: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    array(py, truths, "bool")
}

/// Checks that arrays can be made, before anything is queued or taken.
pub(crate) fn need_numpy(py: Python<'_>) -> PyResult<()> {
    from_buffer(py).map(drop)
}

/// An array of these bytes.
fn array<'py>(py: Python<'py>, bytes: &[u8], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    from_buffer(py)?.call1((PyByteArray::new(py, bytes), dtype))
}

fn from_buffer<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static FROM_BUFFER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    FROM_BUFFER.import(py, "numpy", "frombuffer")
}
