//! Policies over the same traffic.

use std::sync::{Arc, atomic::AtomicBool};

use dovetail_compare::{input::scenario_text, options::InputOptions, overridden, run::Own};
use dovetail_sched::Setup;
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyDict};

use crate::{
    given::Given,
    own::{Object, Raised},
    run::{raised, run_until},
    table::Table,
};

/// What runs of policies came to, for the class `Result`.
#[pyclass(frozen, get_all)]
pub(crate) struct Simulated {
    summary: Py<Table>,
    records: Option<Py<Table>>,
    document: String,
    resources: Vec<String>,
}

/// Runs policies over one sample of the traffic; `own` are those that are objects, with their places in the list of all.
#[pyfunction]
#[pyo3(signature = (options: "_Options", own: "Sequence[tuple[int, Any]]", records, told: "_Told"))]
pub(crate) fn simulate(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    own: Vec<(usize, Bound<'_, PyAny>)>,
    records: bool,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Simulated> {
    let given = Given::new(options)?;
    let options = given.comparison()?;
    let unseen = given.end()?;
    let mut names: Vec<String> = options.policies.iter().map(ToString::to_string).collect();
    let objects = own.iter().map(|(at, object)| Ok((*at, Object::new(object)?))).collect::<PyResult<Vec<_>>>()?;
    let (failed, stop) = (Raised::default(), Arc::<AtomicBool>::default());
    let builds: Vec<_> =
        objects.iter().map(|(_, object)| |setup: &Setup| object.build(setup, &failed, &stop)).collect();
    let mut own = Vec::new();
    for ((at, object), build) in objects.iter().zip(&builds) {
        names.insert((*at).min(names.len()), object.name.clone());
        own.push(Own { name: object.name.clone(), at: *at, build });
    }
    let done = run_until(py, told, &stop, |progress| {
        let done = dovetail_compare::simulate(&options, &own, records, progress)?;
        let summary = Table::of_summary(&done.summary);
        let kept = records.then(|| Table::of_records(&names, &done.resources, done.records)).transpose();
        Ok::<_, dovetail_compare::Error>((summary, kept, serde_json::to_string(&done.document)?, done.resources))
    });
    if let Some(error) = failed.take() {
        return Err(error);
    }
    let (summary, kept, document, resources) = done.map_err(|error| unseen.told(py, error))?;
    Ok(Simulated {
        summary: Py::new(py, summary.map_err(raised)?)?,
        records: kept.map_err(raised)?.map(|table| Py::new(py, table)).transpose()?,
        document,
        resources,
    })
}

/// A scenario with its overrides as TOML, the same text for equal scenarios.
#[pyfunction]
#[pyo3(signature = (options: "_Options"))]
pub(crate) fn scenario(options: &Bound<'_, PyDict>) -> PyResult<String> {
    let given = Given::new(options)?;
    let mut input = InputOptions::default();
    given.scenario(&mut input)?;
    given.end()?;
    if input.scenario.is_none() {
        return Err(PyTypeError::new_err("scenario: give a path, a text or a dict"));
    }
    let text = scenario_text(&input).map_err(raised)?.unwrap_or_default();
    let name = input.scenario.map(|path| path.display().to_string()).unwrap_or_default();
    overridden(&text, &name, &[]).map_err(raised)
}
