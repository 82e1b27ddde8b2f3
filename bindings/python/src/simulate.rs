//! Policies over the same traffic.

use dovetail_compare::{input::scenario_text, options::InputOptions, overridden};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    given::Given,
    run::{raised, run},
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

/// Runs policies over one sample of the traffic.
#[pyfunction]
pub(crate) fn simulate(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    records: bool,
    told: Option<&Bound<'_, PyAny>>,
) -> PyResult<Simulated> {
    let given = Given::new(options)?;
    let options = given.comparison()?;
    given.end()?;
    let names: Vec<String> = options.policies.iter().map(ToString::to_string).collect();
    let (summary, kept, document, resources) = run(py, told, |progress| {
        let done = dovetail_compare::simulate(&options, records, progress)?;
        let summary = Table::of_summary(&done.summary);
        let kept = records.then(|| Table::of_records(&names, &done.resources, done.records)).transpose();
        Ok((summary, kept, serde_json::to_string(&done.document)?, done.resources))
    })?;
    Ok(Simulated {
        summary: Py::new(py, summary.map_err(raised)?)?,
        records: kept.map_err(raised)?.map(|table| Py::new(py, table)).transpose()?,
        document,
        resources,
    })
}

/// A scenario with its overrides as TOML, the same text for equal scenarios.
#[pyfunction]
pub(crate) fn scenario(options: &Bound<'_, PyDict>) -> PyResult<String> {
    let given = Given::new(options)?;
    let mut input = InputOptions::default();
    given.scenario(&mut input)?;
    given.end()?;
    let text = scenario_text(&input).map_err(raised)?.unwrap_or_default();
    let name = input.scenario.map(|path| path.display().to_string()).unwrap_or_default();
    overridden(&text, &name, &[]).map_err(raised)
}
