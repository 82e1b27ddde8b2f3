//! The other operations of the command: JSON documents, and tables of their contents.

use std::{ffi::OsString, path::PathBuf};

use dovetail_compare::{
    Selection, Summary, compare_in_full,
    options::{AdmitOptions, ExplainOptions, InputOptions, OutputOptions, TuneOptions},
};
use dovetail_experiments::ReproduceOptions;
use dovetail_sched::units::parse_time;
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyDict};
use serde_json::Value;

use crate::{
    given::Given,
    run::{raised, run, run_apart},
    table::Table,
};

/// A document as JSON, and its rows.
#[pyclass(frozen, get_all)]
pub(crate) struct Answer {
    document: String,
    table: Py<Table>,
}

impl Answer {
    fn new(py: Python<'_>, document: Vec<u8>, summary: &Summary) -> PyResult<Self> {
        let document = String::from_utf8(document).map_err(raised)?;
        let table = Py::new(py, Table::of_summary(summary).map_err(raised)?)?;
        Ok(Self { document, table })
    }

    /// `rows` extracts the rows from the document.
    fn with_rows(py: Python<'_>, document: Vec<u8>, rows: impl FnOnce(&Value) -> Vec<Value>) -> PyResult<Self> {
        let parsed: Value = serde_json::from_slice(&document).map_err(raised)?;
        Self::new(py, document, &Summary::of_documents(&rows(&parsed)))
    }
}

/// The output options.
fn output(given: &Given<'_>) -> PyResult<OutputOptions> {
    Ok(OutputOptions {
        report: given.value("report")?,
        records: given.value("records")?,
        format: given.parsed("format", str::parse)?.unwrap_or_default(),
        jobs: given.positive("jobs")?,
        json: true,
    })
}

/// Compares policies.
#[pyfunction]
#[pyo3(signature = (options: "_Options", told: "_Told"))]
pub(crate) fn compare(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Answer> {
    let given = Given::new(options)?;
    let output = output(&given)?;
    let mut options = given.comparison()?;
    options.output = output;
    options.pcap = given.value("pcap")?;
    options.summary = given.value("summary")?;
    let unseen = given.end()?;
    let mut out = Vec::new();
    let summary = run(py, told, |progress| compare_in_full(&options, progress, &mut out))
        .map_err(|error| unseen.told(py, error))?;
    Answer::new(py, out, &summary)
}

/// Tunes knobs.
#[pyfunction]
#[pyo3(signature = (options: "_Options", told: "_Told"))]
pub(crate) fn tune(py: Python<'_>, options: &Bound<'_, PyDict>, told: Option<&Bound<'_, PyAny>>) -> PyResult<Answer> {
    let given = Given::new(options)?;
    let (input, further_traces) = given.input()?;
    let options = TuneOptions {
        input,
        further_traces,
        policies: given.names("policies")?,
        seeds: given.seeds()?,
        points: given.value("points")?,
        window: given.measured("window", "100ms", parse_time)?,
        output: output(&given)?,
    };
    let unseen = given.end()?;
    if options.points.is_some_and(|points| points < 2) {
        return Err(raised("points: at least 2"));
    }
    let mut out = Vec::new();
    run(py, told, |progress| dovetail_compare::tune(&options, progress, &mut out))
        .map_err(|error| unseen.told(py, error))?;
    Answer::with_rows(py, out, |document| each(document, "sweeps", "points", &["knob", "pipeline", "title"]))
}

/// Explains who made whose packets wait.
#[pyfunction]
#[pyo3(signature = (options: "_Options", told: "_Told"))]
pub(crate) fn explain(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Answer> {
    let given = Given::new(options)?;
    let (input, further_traces) = given.input()?;
    let wanted = (given.value("packet")?, given.value("flow")?, given.value("class_")?);
    let selection = match wanted {
        (None, None, None) => Selection::All,
        (Some(packet), None, None) => Selection::Packet(packet),
        (None, Some(flow), None) => Selection::Flow(flow),
        (None, None, Some(class)) => Selection::Class(class),
        _ => return Err(raised("name one of packet, flow and class_")),
    };
    let policy = given.parsed("policy", str::parse)?.ok_or_else(|| PyTypeError::new_err("policy: name one"))?;
    let options = ExplainOptions {
        input,
        policy,
        against: given.parsed("against", str::parse)?,
        seeds: given.seeds()?,
        further_traces,
        selection,
        slowest: given.value::<u16>("slowest")?.unwrap_or(5).into(),
        output: output(&given)?,
    };
    let unseen = given.end()?;
    let mut out = Vec::new();
    run(py, told, |progress| dovetail_compare::explain(&options, progress, &mut out))
        .map_err(|error| unseen.told(py, error))?;
    Answer::with_rows(py, out, |document| list(document.get("classes")))
}

/// Runs published experiments again.
#[pyfunction]
#[pyo3(signature = (options: "_Options", told: "_Told"))]
pub(crate) fn reproduce(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Answer> {
    let given = Given::new(options)?;
    let names = given.names("names")?;
    // Without names the command lists the experiments, which is no result.
    if names.is_empty() {
        return Err(raised("names: name an experiment, or all"));
    }
    let traces: Vec<PathBuf> = given.value("trace")?.map(|path: PathBuf| vec![path]).unwrap_or_default();
    let options = ReproduceOptions { names, traces, json: true, report: given.value("report")?, live: false };
    given.end()?;
    let out = run_apart(py, told, move |progress| {
        let mut out = Vec::new();
        dovetail_experiments::reproduce(&options, progress, &mut out).map(|_| out)
    })?;
    Answer::with_rows(py, out, |document| match document {
        Value::Array(_) => each(&serde_json::json!({ "all": document }), "all", "rows", &["experiment"]),
        one => each(&serde_json::json!({ "all": [one] }), "all", "rows", &["experiment"]),
    })
}

/// Asks for reservations.
#[pyfunction]
#[pyo3(signature = (options: "_Options"))]
pub(crate) fn admit(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Answer> {
    let given = Given::new(options)?;
    let mut input = InputOptions::default();
    given.resolve(given.take("file")?, "reservations", &mut input)?;
    let bound = given.parsed("bound", |text| text.parse().map_err(|_| "composite or separate"))?.unwrap_or_default();
    let unseen = given.end()?;
    let file = input.scenario.ok_or_else(|| PyTypeError::new_err("file: give a path, a text or a dict"))?;
    let options = AdmitOptions { file, text: input.text, bound, json: true };
    let mut out = Vec::new();
    run(py, None, |_| dovetail_compare::admit(&options, &mut out)).map_err(|error| unseen.told(py, error))?;
    Answer::with_rows(py, out, |document| list(document.get("reservations")))
}

/// Which policies there are, as JSON.
#[pyfunction]
pub(crate) fn policies() -> PyResult<String> {
    let mut out = Vec::new();
    dovetail_cli::policies(&mut out).map_err(raised)?;
    String::from_utf8(out).map_err(raised)
}

/// Which scenarios there are, as JSON.
#[pyfunction]
pub(crate) fn scenarios() -> PyResult<String> {
    let mut out = Vec::new();
    dovetail_compare::scenarios(true, &mut out).map_err(raised)?;
    String::from_utf8(out).map_err(raised)
}

/// The whole command; its exit status.
#[pyfunction]
#[pyo3(signature = (args: "Sequence[str]"))]
pub(crate) fn command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| dovetail_cli::run(args))
}

fn list(value: Option<&Value>) -> Vec<Value> {
    value.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The entries under `inner` of each entry under `outer`, with the outer entry's values of these keys.
fn each(document: &Value, outer: &str, inner: &str, about: &[&str]) -> Vec<Value> {
    let mut rows = Vec::new();
    for entry in list(document.get(outer)) {
        for mut row in list(entry.get(inner)) {
            if let Value::Object(row) = &mut row {
                let known = about.iter().filter_map(|key| Some(((*key).to_owned(), entry.get(*key)?.clone())));
                row.extend(known);
            }
            rows.push(row);
        }
    }
    rows
}
