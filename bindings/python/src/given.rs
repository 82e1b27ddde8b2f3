//! Options as passed from Python.

use std::{cell::RefCell, path::PathBuf};

use dovetail_compare::{
    check_seeds,
    input::scenario_text,
    options::{CompareOptions, InputOptions},
    overridden,
};
use dovetail_sched::{
    nearest, or_meant,
    units::{UnitError, parse_rate, parse_time},
};
use dovetail_sim::network::Contender;
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use toml::{Table, Value};

use crate::{run::raised, unseen::Unseen};

/// Maximum nesting of a dict; no scenario is as deep.
const DEEPEST: usize = 32;

/// Keyword arguments, taken one by one.
pub(crate) struct Given<'py> {
    options: Bound<'py, PyDict>,
    /// The options that there are.
    known: RefCell<Vec<String>>,
    unseen: RefCell<Unseen>,
}

impl<'py> Given<'py> {
    /// A copy of these options.
    pub(crate) fn new(options: &Bound<'py, PyDict>) -> PyResult<Self> {
        Ok(Self { options: options.copy()?, known: RefCell::default(), unseen: RefCell::default() })
    }

    /// The value of a name, if it is not None.
    pub(crate) fn take(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.known.borrow_mut().push(name.to_owned());
        let value = self.options.get_item(name)?;
        if value.is_some() {
            self.options.del_item(name)?;
        }
        Ok(value.filter(|value| !value.is_none()))
    }

    /// The value of a name, converted to `T`; errors name the option.
    pub(crate) fn value<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        let Some(value) = self.take(name)? else { return Ok(None) };
        let py = value.py();
        value.extract().map(Some).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(py) {
                return raised(format!("{name}: the number is negative or too large"));
            }
            let text = format!("{name}: {}", error.value(py));
            if error.is_instance_of::<PyTypeError>(py) {
                PyTypeError::new_err(text)
            } else {
                PyValueError::new_err(text)
            }
        })
    }

    /// A text parsed as a value of the library.
    pub(crate) fn parsed<T, E: ToString>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> PyResult<Option<T>> {
        let text: Option<String> = self.value(name)?;
        text.map(|text| parse(&text).map_err(|error| raised(format!("{name}: {}", error.to_string())))).transpose()
    }

    /// A quantity with a unit; errors name an example.
    pub(crate) fn measured<T>(
        &self,
        name: &str,
        example: &str,
        parse: impl FnOnce(&str) -> Result<T, UnitError>,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.take(name)? else { return Ok(None) };
        let Ok(text) = value.extract::<String>() else {
            let kind = value.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "{name}: give a str with a unit, such as \"{example}\", not {kind}"
            )));
        };
        parse(&text).map(Some).map_err(|error| match error {
            UnitError::Number => raised(format!("{name}: {error}, such as \"{example}\"")),
            error => raised(format!("{name}: {error}")),
        })
    }

    /// A number that is at least 1.
    pub(crate) fn positive<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: PartialOrd + From<u8> + for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        match self.value(name)? {
            Some(number) if number < T::from(1) => Err(raised(format!("{name}: it is at least 1"))),
            number => Ok(number),
        }
    }

    /// Refuses options that were not taken. Returns the text that errors of a run may refer to.
    pub(crate) fn end(self) -> PyResult<Unseen> {
        let Ok(name) = self.options.keys().get_item(0) else { return Ok(self.unseen.into_inner()) };
        let (name, known) = (name.to_string(), self.known.into_inner());
        let meant = or_meant(nearest(&name, known.iter().map(String::as_str)));
        Err(PyTypeError::new_err(format!("there is no option '{name}'{meant}, only {}", known.join(", "))))
    }

    /// The traffic to run, the same for everything that runs traffic. Returns the first capture in the options, and the others.
    pub(crate) fn input(&self) -> PyResult<(InputOptions, Vec<PathBuf>)> {
        let load: Option<f64> = self.value("load")?;
        if load.is_some_and(|load| !(1e-6..=1e6).contains(&load)) {
            return Err(raised("load: it is a number from 0.000001 to 1000000"));
        }
        let mut traces = self.take("trace")?.map(|given| paths(&given)).transpose()?.unwrap_or_default().into_iter();
        let mut input = InputOptions {
            trace: traces.next(),
            workload: self.value("workload")?,
            pipeline: self.parsed("pipeline", str::parse)?,
            queue_packets: self.positive("queue_packets")?,
            buffer_packets: self.positive("buffer_packets")?,
            drop: self.parsed("drop", str::parse)?,
            link: self.measured("link", "400Mbps", parse_rate)?,
            load,
            seed: self.value("seed")?,
            ..InputOptions::default()
        };
        self.scenario(&mut input)?;
        Ok((input, traces.collect()))
    }

    /// The scenario, with its overrides.
    pub(crate) fn scenario(&self, input: &mut InputOptions) -> PyResult<()> {
        let given = self.take("scenario")?;
        self.resolve(given, "scenario", input)
    }

    /// A TOML file named by this option, resolved like a scenario's.
    pub(crate) fn resolve(
        &self,
        given: Option<Bound<'py, PyAny>>,
        option: &str,
        input: &mut InputOptions,
    ) -> PyResult<()> {
        let folder: Option<PathBuf> = self.value("folder")?;
        let overrides = match self.take("overrides")? {
            Some(overrides) => overrides_of(&overrides)?,
            None => Vec::new(),
        };
        let is_dict = given.as_ref().is_some_and(|given| given.is_instance_of::<PyDict>());
        let unnamed = || folder.clone().unwrap_or_default().join(option);
        match given {
            None => {
                if !overrides.is_empty() {
                    return Err(raised("overrides: name the scenario whose values they are"));
                }
                return Ok(());
            }
            Some(given) => {
                if let Ok(dict) = given.cast::<PyDict>() {
                    let text = toml::to_string(&value_of(dict.as_any(), option, 0)?);
                    input.text = Some(text.map_err(|error| raised(format!("{option}: {error}")))?);
                    input.scenario = Some(unnamed());
                } else if let Some(text) = given.cast::<PyString>().ok().filter(|text| is_text(text)) {
                    input.text = Some(text.extract()?);
                    input.scenario = Some(unnamed());
                } else {
                    let path = given.extract::<PathBuf>();
                    input.scenario = Some(
                        path.map_err(|_| PyTypeError::new_err(format!("{option}: give a path, a text or a dict")))?,
                    );
                }
            }
        }
        if !overrides.is_empty() {
            let text = scenario_text(input).map_err(raised)?.unwrap_or_default();
            let name = input.scenario.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
            input.text = Some(overridden(&text, &name, &overrides).map_err(raised)?);
        }
        if let (Some(text), Some(name)) = (&input.text, &input.scenario)
            && (is_dict || !overrides.is_empty())
        {
            *self.unseen.borrow_mut() = Unseen::new(name.display().to_string(), text.clone());
        }
        Ok(())
    }

    /// What to compare, without its output.
    pub(crate) fn comparison(&self) -> PyResult<CompareOptions> {
        let (input, further_traces) = self.input()?;
        let mut options = CompareOptions {
            input,
            further_traces,
            policies: self.policies()?,
            seeds: self.seeds()?,
            programs: self.value("programs")?,
            window: self.measured("window", "100ms", parse_time)?,
            ..CompareOptions::default()
        };
        if options.window.is_some_and(|window| window.0 == 0) {
            return Err(raised("window: it is over 0"));
        }
        options.output.jobs = self.positive("jobs")?;
        Ok(options)
    }

    /// The seeds to run with; none for the scenario's own.
    pub(crate) fn seeds(&self) -> PyResult<Vec<u64>> {
        let Some(seeds) = self.value::<Vec<u64>>("seeds")? else { return Ok(Vec::new()) };
        check_seeds(&seeds).map_err(|wrong| raised(format!("seeds: {wrong}")))?;
        Ok(seeds)
    }

    /// One or more policies.
    pub(crate) fn policies(&self) -> PyResult<Vec<Contender>> {
        let names = self.names("policies")?;
        names.iter().map(|name| name.parse().map_err(raised)).collect()
    }

    /// One or more texts.
    pub(crate) fn names(&self, option: &str) -> PyResult<Vec<String>> {
        let Some(given) = self.take(option)? else { return Ok(Vec::new()) };
        if let Ok(name) = given.extract::<String>() {
            return Ok(vec![name]);
        }
        let wrong = || PyTypeError::new_err(format!("{option}: give a str, or a list of them"));
        let names = given.try_iter().map_err(|_| wrong())?;
        names.map(|name| name?.extract::<String>().map_err(|_| wrong())).collect()
    }
}

/// Whether the text is TOML rather than a path: it has several lines.
fn is_text(text: &Bound<'_, PyString>) -> bool {
    text.to_str().is_ok_and(|text| text.contains('\n'))
}

/// One or more paths.
fn paths(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    if let Ok(path) = given.extract::<PathBuf>() {
        return Ok(vec![path]);
    }
    given.try_iter()?.map(|path| path?.extract()).collect()
}

fn overrides_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Option<Value>)>> {
    let dict = given.cast::<PyDict>().map_err(|_| PyTypeError::new_err("overrides: give a dict of dotted keys"))?;
    let pair = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract().map_err(|_| PyTypeError::new_err("overrides: keys are str"))?;
        let value = if value.is_none() { None } else { Some(value_of(&value, &key, 0)?) };
        Ok((key, value))
    };
    dict.iter().map(pair).collect()
}

/// Converts a Python value to TOML.
fn value_of(given: &Bound<'_, PyAny>, at: &str, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(raised(format!("{at}: it is more than {DEEPEST} levels deep")));
    }
    if let Ok(dict) = given.cast::<PyDict>() {
        let mut table = Table::new();
        for (key, value) in dict.iter() {
            let key: String = key.extract().map_err(|_| PyTypeError::new_err(format!("{at}: keys are str")))?;
            if !value.is_none() {
                let value = value_of(&value, &key, depth + 1)?;
                table.insert(key, value);
            }
        }
        return Ok(Value::Table(table));
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let values = given.try_iter()?.map(|value| value_of(&value?, at, depth + 1));
        return values.collect::<PyResult<_>>().map(Value::Array);
    }
    if let Ok(truth) = given.cast::<PyBool>() {
        return Ok(Value::Boolean(truth.is_true()));
    }
    if let Ok(text) = given.extract::<String>() {
        return Ok(Value::String(text));
    }
    // numpy's numbers are not `int`, but can be converted to one.
    if given.is_instance_of::<PyInt>() || given.hasattr("__index__")? {
        let number = given.extract::<i64>().map(Value::Integer);
        return number.map_err(|error| match error.is_instance_of::<PyOverflowError>(given.py()) {
            true => raised(format!("{at}: a whole number is below 2^63")),
            false => PyTypeError::new_err(format!("{at}: {}", error.value(given.py()))),
        });
    }
    if given.is_instance_of::<PyFloat>() || given.hasattr("__float__")? {
        let number: f64 = given.extract()?;
        if number.is_nan() {
            return Err(raised(format!("{at}: NaN is not a value")));
        }
        return Ok(Value::Float(number));
    }
    let kind = given.get_type().name()?;
    Err(PyTypeError::new_err(format!("{at}: a {kind} is nothing that a scenario has")))
}
