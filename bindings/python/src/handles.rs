//! The objects that packets carry, represented by the number that the core keeps with a packet.
//!
//! Small whole numbers represent themselves, so that arrays of them pass through unchanged. Any other object has a place in a
//! table, and its number is that place with the highest bit set.

use pyo3::{
    prelude::*,
    types::{PyInt, PyNone},
};
use slab::Slab;

/// Set in the number of an object.
const OBJECT: u64 = 1 << 63;

/// The number of None, which needs no place.
const NONE: u64 = u64::MAX;

/// Numbers below this represent themselves.
pub(crate) const NUMBERS: u64 = OBJECT;

/// The objects that packets carry.
#[derive(Default)]
pub(crate) struct Handles(Slab<Py<PyAny>>);

impl Handles {
    /// The number for an object, which is kept until it is [taken](Self::take).
    #[inline]
    pub(crate) fn keep(&mut self, object: Option<&Bound<'_, PyAny>>) -> u64 {
        let Some(object) = object else { return NONE };
        if object.is_exact_instance_of::<PyInt>()
            && let Ok(number) = object.extract::<u64>()
            && number < NUMBERS
        {
            return number;
        }
        self.0.insert(object.clone().unbind()) as u64 | OBJECT
    }

    /// Removes and returns the object that the number represents.
    #[inline]
    pub(crate) fn take(&mut self, py: Python<'_>, number: u64) -> PyResult<Py<PyAny>> {
        match number {
            NONE => Ok(none(py)),
            number if number < NUMBERS => Ok(number.into_pyobject(py)?.into_any().unbind()),
            number => Ok(self.0.try_remove((number & !OBJECT) as usize).unwrap_or_else(|| none(py))),
        }
    }

    /// Returns the object that the number represents.
    pub(crate) fn see(&self, py: Python<'_>, number: u64) -> PyResult<Py<PyAny>> {
        match number {
            NONE => Ok(none(py)),
            number if number < NUMBERS => Ok(number.into_pyobject(py)?.into_any().unbind()),
            number => {
                Ok(self.0.get((number & !OBJECT) as usize).map_or_else(|| none(py), |object| object.clone_ref(py)))
            }
        }
    }

    /// The number of objects kept.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, for the garbage collector.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Py<PyAny>> {
        self.0.iter().map(|(_, object)| object)
    }
}

fn none(py: Python<'_>) -> Py<PyAny> {
    PyNone::get(py).to_owned().into_any().unbind()
}
