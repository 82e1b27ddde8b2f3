//! Tables that Arrow's consumers read without a copy.
//!
//! A table is passed as a stream of batches in a capsule (Arrow's PyCapsule interface): polars, pandas, DuckDB and pyarrow
//! request it, and none of them is needed here.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray, UInt64Array,
    cast::AsArray,
    ffi::FFI_ArrowSchema,
    ffi_stream::FFI_ArrowArrayStream,
    types::{Float64Type, Int32Type, Int64Type, UInt64Type},
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use dovetail_compare::{Column, Summary};
use dovetail_sched::{nearest, or_meant};
use dovetail_sim::records::{Columns, Outcome};
use pyo3::{
    exceptions::PyKeyError,
    prelude::*,
    types::{PyCapsule, PyDict, PyIterator, PyList, PyTuple},
};

use crate::{pickled, run::raised};

/// The most rows that a notebook shows.
const MAX_ROWS_SHOWN: usize = 20;

/// Name, type and whether values may be missing, of each column.
type Fields = Vec<(String, String, bool)>;

/// A table, readable by anything that supports Arrow's PyCapsule interface, such as `polars.DataFrame(table)`.
#[pyclass(frozen, module = "dovetail")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// The stream that Arrow's consumers ask for.
    #[pyo3(signature = (requested_schema: "object | None" = None) -> "object")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer that wants other types casts: the interface permits a producer that cannot.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok::<_, ArrowError>);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The types of the columns.
    #[pyo3(signature = () -> "object")]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(raised)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// How many rows there are.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        let at = self.schema.index_of(column).map_err(|_| self.no_column(column))?;
        let values = PyList::empty(py);
        for batch in &self.batches {
            push(&values, batch.column(at))?;
        }
        Ok(values)
    }

    /// Whether there is a column of this name.
    fn __contains__(&self, column: &Bound<'_, PyAny>) -> bool {
        column.extract::<String>().is_ok_and(|column| self.schema.index_of(&column).is_ok())
    }

    /// The names of the columns, one after the other.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.columns())?.try_iter()
    }

    /// The names of the columns: `dict(table)` has each column as a list.
    fn keys(&self) -> Vec<String> {
        self.columns()
    }

    /// Every column as a list, by name.
    #[pyo3(signature = () -> "dict[str, list[Any]]")]
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for column in self.columns() {
            dict.set_item(&column, self.__getitem__(py, &column)?)?;
        }
        Ok(dict)
    }

    /// For pickle and copy: the function that makes this table again, and what to call it with.
    #[pyo3(signature = () -> "tuple[Any, ...]")]
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let fields = self.schema.fields().iter();
        let fields: Fields = fields
            .map(|field| (field.name().clone(), pickled::name_of(field.data_type()).to_owned(), field.is_nullable()))
            .collect();
        let pack = |batch: &RecordBatch| batch.columns().iter().map(|column| pickled::packed(py, column)).collect();
        let batches = self.batches.iter().map(pack).collect::<PyResult<Vec<Vec<_>>>>()?;
        (py.import("dovetail._native")?.getattr("table_of")?, (fields, batches)).into_pyobject(py)
    }

    /// The first rows, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let (columns, rows) = (self.columns(), self.__len__());
        let shown = rows.min(MAX_ROWS_SHOWN);
        let values = columns.iter().map(|column| self.head(py, column, shown)).collect::<PyResult<Vec<_>>>()?;
        let cells = |tag: &str, texts: &mut dyn Iterator<Item = &str>| -> String {
            texts.map(|text| format!("<{tag}>{}</{tag}>", escaped(text))).collect()
        };
        let mut html =
            format!("<table><thead><tr>{}</tr></thead><tbody>", cells("th", &mut columns.iter().map(|c| &**c)));
        for row in 0..shown {
            html += &format!("<tr>{}</tr>", cells("td", &mut values.iter().map(|column| &*column[row])));
        }
        html += "</tbody></table>";
        if shown < rows {
            html += &format!("<p>{shown} of {rows} rows</p>");
        }
        Ok(html)
    }

    fn __repr__(&self) -> String {
        format!("<dovetail.Table: {} rows, columns {}>", self.__len__(), self.columns().join(", "))
    }
}

impl Table {
    /// The first values of a column, as texts; empty where there is none.
    fn head(&self, py: Python<'_>, column: &str, rows: usize) -> PyResult<Vec<String>> {
        let at = self.schema.index_of(column).map_err(|_| self.no_column(column))?;
        let values = PyList::empty(py);
        for batch in &self.batches {
            let more = (rows - values.len()).min(batch.num_rows());
            push(&values, &batch.column(at).slice(0, more))?;
        }
        values
            .iter()
            .map(|value| if value.is_none() { Ok(String::new()) } else { Ok(value.str()?.to_string()) })
            .collect()
    }

    fn no_column(&self, column: &str) -> PyErr {
        let columns = self.columns();
        let meant = or_meant(nearest(column, columns.iter().map(String::as_str)));
        PyKeyError::new_err(format!("there is no column '{}'{meant}", column.escape_debug()))
    }

    /// All figures, one row for each run.
    pub(crate) fn of_summary(summary: &Summary) -> Result<Self, ArrowError> {
        let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for (name, column) in summary.columns() {
            let array: ArrayRef = match column {
                Column::Text(values) => Arc::new(StringArray::from(values)),
                Column::Truth(values) => Arc::new(BooleanArray::from(values)),
                Column::Whole(values) => Arc::new(UInt64Array::from(values)),
                Column::Number(values) => Arc::new(Float64Array::from(values)),
            };
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays)?;
        Ok(Self { schema, batches: vec![batch] })
    }

    /// All packets of each policy's run.
    pub(crate) fn of_records(
        policies: &[String],
        resources: &[String],
        records: Vec<Columns>,
    ) -> Result<Self, ArrowError> {
        let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let mut fields = vec![
            Field::new("policy", text(), false),
            Field::new("packet", DataType::Int64, false),
            Field::new("flow", text(), false),
            Field::new("bytes", DataType::Int64, false),
            Field::new("arrival_ns", DataType::Int64, false),
        ];
        for resource in resources {
            fields.push(Field::new(format!("{resource}_start_ns"), DataType::Int64, true));
            fields.push(Field::new(format!("{resource}_end_ns"), DataType::Int64, true));
        }
        fields.push(Field::new("outcome", text(), false));
        let schema = Arc::new(Schema::new(fields));
        let policy_names: ArrayRef = Arc::new(StringArray::from_iter_values(policies));
        let outcomes: ArrayRef = Arc::new(StringArray::from_iter_values(Outcome::WORDS));
        let (flows, places) = flows_of(&records);
        let mut batches = Vec::new();
        for (at, (columns, places)) in records.into_iter().zip(places).enumerate() {
            let rows = columns.packet.len();
            let dictionary = |keys: Vec<i32>, words: &ArrayRef| -> Result<ArrayRef, ArrowError> {
                Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), words.clone())?))
            };
            let sent: BooleanBuffer = columns.outcome.iter().map(|outcome| *outcome == Outcome::Sent).collect();
            let sent = NullBuffer::new(sent);
            let flow = |flow: u32| places.get(flow as usize).copied().unwrap_or_default();
            let mut arrays: Vec<ArrayRef> = vec![
                dictionary(vec![i32::try_from(at).unwrap_or(i32::MAX); rows], &policy_names)?,
                Arc::new(Int64Array::from(signed(columns.packet))),
                dictionary(columns.flow.into_iter().map(flow).collect(), &flows)?,
                Arc::new(Int64Array::from_iter_values(columns.bytes.into_iter().map(i64::from))),
                Arc::new(Int64Array::from(signed(columns.arrival_ns))),
            ];
            for times in columns.passage_ns.into_iter().flatten() {
                arrays.push(Arc::new(Int64Array::new(signed(times).into(), Some(sent.clone()))));
            }
            let outcome = columns.outcome.iter().map(|&outcome| outcome as i32).collect();
            arrays.push(dictionary(outcome, &outcomes)?);
            batches.push(RecordBatch::try_new(schema.clone(), arrays)?);
        }
        Ok(Self { schema, batches })
    }
}

/// The table of these columns, from what it was pickled as.
#[pyfunction]
#[pyo3(signature = (fields: "Sequence[tuple[str, str, bool]]", batches: "Sequence[Sequence[Any]]"))]
pub(crate) fn table_of(fields: Fields, batches: Vec<Vec<Bound<'_, PyAny>>>) -> PyResult<Table> {
    let fields =
        fields.into_iter().map(|(name, kind, may_lack)| Ok(Field::new(name, pickled::type_of(&kind)?, may_lack)));
    let schema = Arc::new(Schema::new(fields.collect::<PyResult<Vec<_>>>()?));
    let batch = |columns: Vec<Bound<'_, PyAny>>| {
        let fields = schema.fields().iter();
        let columns = fields.zip(&columns).map(|(field, column)| pickled::unpacked(field.data_type(), column));
        RecordBatch::try_new(schema.clone(), columns.collect::<PyResult<Vec<_>>>()?).map_err(raised)
    };
    let batches = batches.into_iter().map(batch).collect::<PyResult<Vec<_>>>()?;
    Ok(Table { schema, batches })
}

/// A text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The names of all flows of all runs, and for each run the indices of its flows' names.
fn flows_of(records: &[Columns]) -> (ArrayRef, Vec<Vec<i32>>) {
    let (mut known, mut names): (HashMap<&str, i32>, Vec<&str>) = (HashMap::new(), Vec::new());
    let mut places = Vec::new();
    for columns in records {
        places.push(columns.names().iter().map(|name| place_of(name, &mut known, &mut names)).collect());
    }
    (Arc::new(StringArray::from_iter_values(names)), places)
}

fn place_of<'a>(name: &'a str, known: &mut HashMap<&'a str, i32>, names: &mut Vec<&'a str>) -> i32 {
    *known.entry(name).or_insert_with(|| {
        names.push(name);
        i32::try_from(names.len() - 1).unwrap_or(i32::MAX)
    })
}

/// Arrow's consumers subtract, and unsigned numbers would wrap. A run never produces times beyond 292 years.
fn signed(numbers: Vec<u64>) -> Vec<i64> {
    numbers.into_iter().map(|number| i64::try_from(number).unwrap_or(i64::MAX)).collect()
}

/// Adds an array's values to a list.
fn push(values: &Bound<'_, PyList>, array: &ArrayRef) -> PyResult<()> {
    let is_there = |at: usize| !array.is_null(at);
    match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            (0..array.len()).try_for_each(|at| values.append(is_there(at).then(|| texts.value(at))))
        }
        DataType::Boolean => {
            let truths = array.as_boolean();
            (0..array.len()).try_for_each(|at| values.append(is_there(at).then(|| truths.value(at))))
        }
        DataType::UInt64 => {
            let numbers = array.as_primitive::<UInt64Type>();
            (0..array.len()).try_for_each(|at| values.append(is_there(at).then(|| numbers.value(at))))
        }
        DataType::Int64 => {
            let numbers = array.as_primitive::<Int64Type>();
            (0..array.len()).try_for_each(|at| values.append(is_there(at).then(|| numbers.value(at))))
        }
        DataType::Float64 => {
            let numbers = array.as_primitive::<Float64Type>();
            (0..array.len()).try_for_each(|at| values.append(is_there(at).then(|| numbers.value(at))))
        }
        _ => {
            let words = array.as_dictionary::<Int32Type>();
            let texts = words.values().as_string::<i32>();
            let keys = words.keys();
            (0..array.len()).try_for_each(|at| values.append(texts.value(keys.value(at) as usize)))
        }
    }
}
