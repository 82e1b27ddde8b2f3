//! Tables as plain Python values, for pickle and copy.
//!
//! Numbers are the bytes of their columns rather than objects, since the records of a run may have millions of rows. Pickles
//! are read on machines with the same byte order.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, PrimitiveArray, StringArray,
    cast::AsArray,
    types::{Float64Type, Int32Type, Int64Type, UInt64Type},
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyBytes, PyList},
};

use crate::run::raised;

/// The types of columns, by the names that pickles have for them.
const TYPES: [(&str, DataType); 5] = [
    ("text", DataType::Utf8),
    ("truth", DataType::Boolean),
    ("whole", DataType::UInt64),
    ("signed", DataType::Int64),
    ("number", DataType::Float64),
];

/// What the only other type is called: few words, repeated.
const WORDS: &str = "words";

/// Bytes of values, and of whether each is there.
type Numbers<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

pub(crate) fn name_of(kind: &DataType) -> &'static str {
    TYPES.iter().find(|(_, known)| known == kind).map_or(WORDS, |(name, _)| name)
}

pub(crate) fn type_of(name: &str) -> PyResult<DataType> {
    let known = TYPES.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind.clone());
    let words = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    known.or_else(|| (name == WORDS).then(words)).ok_or_else(broken)
}

/// The values of a column.
pub(crate) fn packed<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    match array.data_type() {
        DataType::Utf8 => Ok(PyList::new(py, array.as_string::<i32>())?.into_any()),
        DataType::Boolean => Ok(PyList::new(py, array.as_boolean())?.into_any()),
        DataType::UInt64 => packed_numbers::<UInt64Type>(py, array),
        DataType::Int64 => packed_numbers::<Int64Type>(py, array),
        DataType::Float64 => packed_numbers::<Float64Type>(py, array),
        _ => {
            let words = array.as_dictionary::<Int32Type>();
            let keys = PyBytes::new(py, words.keys().values().inner());
            (keys, PyList::new(py, words.values().as_string::<i32>())?).into_bound_py_any(py)
        }
    }
}

/// The column of these values.
pub(crate) fn unpacked(kind: &DataType, given: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    match kind {
        DataType::Utf8 => Ok(Arc::new(StringArray::from(given.extract::<Vec<Option<String>>>()?))),
        DataType::Boolean => Ok(Arc::new(BooleanArray::from(given.extract::<Vec<Option<bool>>>()?))),
        DataType::UInt64 => unpacked_numbers::<UInt64Type>(given.extract()?).map(|numbers| Arc::new(numbers) as _),
        DataType::Int64 => unpacked_numbers::<Int64Type>(given.extract()?).map(|numbers| Arc::new(numbers) as _),
        DataType::Float64 => unpacked_numbers::<Float64Type>(given.extract()?).map(|numbers| Arc::new(numbers) as _),
        _ => {
            let (keys, words): (Bound<'_, PyBytes>, Vec<String>) = given.extract()?;
            let keys = unpacked_numbers::<Int32Type>((keys, None))?;
            let words = Arc::new(StringArray::from(words));
            Ok(Arc::new(DictionaryArray::try_new(keys, words).map_err(raised)?))
        }
    }
}

fn packed_numbers<'py, T: ArrowPrimitiveType>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let numbers = array.as_primitive::<T>();
    let is_there = numbers.nulls().map(|nulls| nulls.iter().map(u8::from).collect::<Vec<_>>());
    let values = PyBytes::new(py, numbers.values().inner());
    (values, is_there.map(|is_there| PyBytes::new(py, &is_there))).into_bound_py_any(py)
}

fn unpacked_numbers<T: ArrowPrimitiveType>((values, is_there): Numbers<'_>) -> PyResult<PrimitiveArray<T>> {
    let values = values.as_bytes();
    if !values.len().is_multiple_of(size_of::<T::Native>()) {
        return Err(broken());
    }
    let nulls = is_there.map(|is_there| NullBuffer::new(is_there.as_bytes().iter().map(|&byte| byte != 0).collect()));
    // Copied to where numbers may be, since bytes may be anywhere.
    let values = ScalarBuffer::from(Buffer::from(values));
    PrimitiveArray::try_new(values, nulls).map_err(raised)
}

fn broken() -> PyErr {
    raised("these are not the values of a table")
}
