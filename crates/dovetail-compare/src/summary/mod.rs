//! The figures of a comparison as one table for data tools: a row for each policy in each sample, as CSV or Parquet.
//!
//! Figures are those of the JSON document, each in a column named by its path with dots between, such as `latency_us.p99`;
//! entries of lists are identified by their names. Leading columns identify the run of a row and its provenance, so that rows
//! of several files can be concatenated. If there are several samples, a policy has three additional rows: the median and the
//! 5th and 95th percentiles of each figure over the samples that have it.

mod column;
mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod table;

use std::{io, path::Path};

use dovetail_stats::median_of_runs;
use serde_json::Value;

pub use column::Column;
pub use table::Summary;
use table::{Cell, Kind, Row};

use crate::{
    error::{Error, Misuse},
    files::{Files, NewFile},
    interval::{ENDS, interval},
    provenance::{Provenance, Stated},
};

/// A sample of the traffic, and its results.
pub(crate) struct Sampled<'a> {
    pub(crate) trace: Option<&'a str>,
    pub(crate) provenance: &'a Provenance,
    /// Documents of the policies, in the order of the provenance's.
    pub(crate) policies: &'a [Value],
}

/// Destination of the table.
pub(crate) struct Place {
    file: NewFile,
    is_parquet: bool,
}

impl Place {
    /// Opens the file at `path`, if requested, which must not be one of `files`.
    ///
    /// # Errors
    /// [`Misuse`] if its name does not have a known extension, or this build does not support the format; same as for
    /// [`Files::writes`].
    pub(crate) fn open(path: Option<&Path>, files: &mut Files) -> Result<Option<Self>, Error> {
        let Some(path) = path else { return Ok(None) };
        let is_parquet = is_parquet(path)?;
        Ok(files.writes("summary", Some(path))?.map(|file| Self { file, is_parquet }))
    }
}

fn is_parquet(path: &Path) -> Result<bool, Error> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => Ok(false),
        Some("parquet") if cfg!(feature = "parquet") => Ok(true),
        Some("parquet") => {
            let why = "this build cannot write Parquet: name a file that ends in .csv, or build it with the feature 'parquet'";
            Err(Misuse::option(&["summary"], why).into())
        }
        _ => Err(Misuse::option(&["summary"], "name a file that ends in .csv or .parquet").into()),
    }
}

impl Summary {
    /// A row for each of these documents, with columns named like those of a comparison.
    #[must_use]
    pub fn of_documents(documents: &[Value]) -> Self {
        let mut summary = Self::default();
        for document in documents {
            let mut row = Row::new();
            for (path, value) in flat_but(document, &[]) {
                summary.set(&mut row, path, value);
            }
            summary.rows.push(row);
        }
        summary
    }

    /// The table of all samples.
    pub(crate) fn of(samples: &[Sampled<'_>]) -> Self {
        let mut summary = Self::default();
        for sample in samples {
            for (at, figures) in sample.policies.iter().enumerate() {
                let mut row = summary.begin("run", 1, sample, at);
                for (path, value) in flat(figures) {
                    summary.set(&mut row, path, value);
                }
                summary.rows.push(row);
            }
        }
        if samples.len() > 1 {
            let policies = samples.iter().map(|sample| sample.policies.len()).min().unwrap_or(0);
            (0..policies).for_each(|at| summary.add_all(samples, at));
        }
        summary
    }

    /// Adds the rows of a policy over all samples.
    fn add_all(&mut self, samples: &[Sampled<'_>], at: usize) {
        let figures: Vec<Vec<(String, Cell)>> = samples.iter().map(|sample| flat(&sample.policies[at])).collect();
        let mut numbers: Vec<(String, Vec<f64>)> = Vec::new();
        for (path, cell) in figures.into_iter().flatten() {
            let Cell::Number(number) = cell else { continue };
            match numbers.iter_mut().find(|(known, _)| *known == path) {
                Some((_, numbers)) => numbers.push(number),
                None => numbers.push((path, vec![number])),
            }
        }
        let end = |end: usize| move |numbers: &[f64]| interval(numbers).map(|ends| ends[end]);
        type Of<'a> = &'a dyn Fn(&[f64]) -> Option<f64>;
        let median: Of<'_> = &|numbers| median_of_runs(numbers.iter().copied());
        let named = |end: f64| format!("p{:.0}", end * 100.0);
        let statistics: [(String, Of<'_>); 3] =
            [("median".to_owned(), median), (named(ENDS[0]), &end(0)), (named(ENDS[1]), &end(1))];
        for (statistic, of) in statistics {
            let mut row = self.begin(&statistic, samples.len() as u64, &samples[0], at);
            for other in &samples[1..] {
                let other = self.begin(&statistic, samples.len() as u64, other, at);
                // Drop values that differ between samples.
                row.retain(|column, cell| other.get(column) == Some(cell));
            }
            for (path, numbers) in &numbers {
                if let Some(number) = of(numbers) {
                    self.set(&mut row, path.clone(), Cell::Number(number));
                }
            }
            self.rows.push(row);
        }
    }

    /// A row without figures.
    fn begin(&mut self, statistic: &str, samples: u64, sample: &Sampled<'_>, at: usize) -> Row {
        fn stated<T: Clone>(stated: &Option<Stated<T>>, cell: fn(T) -> Cell) -> Option<Cell> {
            stated.as_ref().map(|stated| cell(stated.value.clone()))
        }
        let Provenance { version, inputs, seed, load, link_bps, pipeline, .. } = sample.provenance;
        let Provenance { queue_packets, buffer_packets, buffer_bytes, drop, window_s, policies, .. } =
            sample.provenance;
        let text = |text: &str| Some(Cell::Text(text.to_owned()));
        let join = |texts: Vec<String>| (!texts.is_empty()).then(|| Cell::Text(texts.join(" ")));
        let names = inputs.iter().map(|file| file.name.clone()).collect();
        let hashes = inputs.iter().map(|file| file.sha256.clone().unwrap_or_else(|| "unknown".to_owned())).collect();
        let policy = sample.policies[at].get("policy").and_then(Value::as_str);
        let cells = [
            ("policy", Kind::Text, policy.and_then(text)),
            ("statistic", Kind::Text, text(statistic)),
            ("samples", Kind::Whole, Some(Cell::Whole(samples))),
            ("trace", Kind::Text, sample.trace.and_then(text)),
            ("seed", Kind::Whole, seed.map(Cell::Whole)),
            ("version", Kind::Text, text(version)),
            ("inputs", Kind::Text, join(names)),
            ("inputs_sha256", Kind::Text, join(hashes)),
            (IN_FULL, Kind::Text, policies.get(at).and_then(|policy| text(policy))),
            ("load", Kind::Number, stated(load, Cell::Number)),
            ("link_bps", Kind::Number, stated(link_bps, Cell::Number)),
            ("pipeline", Kind::Text, pipeline.as_ref().and_then(|pipeline| pipeline.value.as_deref().and_then(text))),
            ("queue_packets", Kind::Whole, queue_packets.map(|packets| Cell::Whole(packets.into()))),
            ("buffer_packets", Kind::Whole, buffer_packets.map(|packets| Cell::Whole(packets.into()))),
            ("buffer_bytes", Kind::Whole, buffer_bytes.map(Cell::Whole)),
            ("drop", Kind::Text, text(drop)),
            ("window_s", Kind::Number, window_s.map(Cell::Number)),
        ];
        let mut row = Row::new();
        for (column, kind, cell) in cells {
            self.know(column, kind);
            row.extend(cell.map(|cell| (column.to_owned(), cell)));
        }
        row
    }

    fn set(&mut self, row: &mut Row, column: String, cell: Cell) {
        self.know(&column, Kind::of(&cell));
        row.insert(column, cell);
    }

    fn know(&mut self, column: &str, kind: Kind) {
        if self.columns.iter().any(|(known, _)| known == column) {
            return;
        }
        let is_last = self.columns.last().is_some_and(|(last, _)| last == IN_FULL);
        self.columns.insert(self.columns.len() - usize::from(is_last), (column.to_owned(), kind));
    }

    /// Writes the table.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written.
    pub(crate) fn write(&self, place: Place) -> Result<(), Error> {
        let file = place.file.writer()?;
        let written = match place.is_parquet {
            false => csv::write(self, file),
            #[cfg(feature = "parquet")]
            true => parquet::write(self, file),
            #[cfg(not(feature = "parquet"))]
            true => Err(io::ErrorKind::Unsupported.into()),
        };
        written.map_err(|error: io::Error| Error::file("write", place.file.path(), error))?;
        place.file.keep()
    }
}

/// The last column: there its commas do not interfere with naive splitting.
const IN_FULL: &str = "policy_in_full";

/// Keys that are not figures.
const LEFT_OUT: [&str; 2] = ["policy", "records"];

/// Keys that identify entries of a list.
const NAMES: [&str; 3] = ["class", "traffic", "name"];

/// All figures of a run's document with their paths.
fn flat(document: &Value) -> Vec<(String, Cell)> {
    flat_but(document, &LEFT_OUT)
}

/// All values of a document with their paths, except those under these top-level keys.
fn flat_but(document: &Value, left_out: &[&str]) -> Vec<(String, Cell)> {
    fn walk(path: &str, value: &Value, left_out: &[&str], cells: &mut Vec<(String, Cell)>) {
        let under = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match value {
            Value::Object(map) => {
                let entries = map.iter().filter(|(key, _)| !(path.is_empty() && left_out.contains(&key.as_str())));
                entries.for_each(|(key, value)| walk(&under(key), value, left_out, cells));
            }
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    let name = NAMES.iter().find_map(|key| value.get(key)?.as_str());
                    let key = name.map_or_else(|| at.to_string(), str::to_owned);
                    let mut value = value.clone();
                    if let Value::Object(map) = &mut value {
                        NAMES.iter().for_each(|name| drop(map.remove(*name)));
                    }
                    walk(&under(&key), &value, left_out, cells);
                }
            }
            Value::Number(number) => {
                cells.extend(number.as_f64().map(|number| (path.to_owned(), Cell::Number(number))))
            }
            Value::Bool(truth) => cells.push((path.to_owned(), Cell::Truth(*truth))),
            Value::String(text) => cells.push((path.to_owned(), Cell::Text(text.clone()))),
            Value::Null => {}
        }
    }
    let mut cells = Vec::new();
    walk("", document, left_out, &mut cells);
    cells
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::provenance::{InputFile, Origin};

    #[test]
    fn paths_name_the_columns_and_entries_go_by_their_names() {
        let document = json!({
            "policy": "drr", "latency_us": { "p99": 1.5, "p50": null },
            "access": { "classes": [{ "class": "gold", "kbps": 7 }, { "class": "tin", "kbps": 1 }] }, "odd": [true, "x"],
        });
        let cells: BTreeMap<String, Cell> = flat(&document).into_iter().collect();
        let wanted = [
            ("access.classes.gold.kbps", Cell::Number(7.0)),
            ("access.classes.tin.kbps", Cell::Number(1.0)),
            ("latency_us.p99", Cell::Number(1.5)),
            ("odd.0", Cell::Truth(true)),
            ("odd.1", Cell::Text("x".to_owned())),
        ];
        assert_eq!(cells, wanted.map(|(path, cell)| (path.to_owned(), cell)).into());
    }

    #[test]
    fn a_column_has_the_same_type_where_it_is_empty() {
        fn stated<T>(value: T) -> Option<Stated<T>> {
            Some(Stated { value, origin: Origin::Given })
        }
        let bare = Provenance {
            version: "0",
            inputs: Vec::new(),
            seed: None,
            load: None,
            link_bps: None,
            pipeline: None,
            queue_packets: None,
            buffer_packets: None,
            buffer_bytes: None,
            drop: "tail".to_owned(),
            window_s: None,
            policies: Vec::new(),
        };
        let full = Provenance {
            inputs: vec![InputFile { kind: "trace", name: "a.pcap".to_owned(), sha256: None }],
            seed: Some(1),
            load: stated(1.2),
            link_bps: stated(1e9),
            pipeline: stated(Some("no-wait".to_owned())),
            queue_packets: Some(1),
            buffer_packets: Some(1),
            buffer_bytes: Some(1),
            window_s: Some(0.1),
            policies: vec!["drr".to_owned()],
            ..bare.clone()
        };
        let document = [json!({ "policy": "drr" })];
        let types = |provenance: &Provenance, trace: Option<&str>| {
            let summary = Summary::of(&[Sampled { trace, provenance, policies: &document }]);
            let of = |column: Column| std::mem::discriminant(&column);
            summary.columns().map(|(name, column)| (name.to_owned(), of(column))).collect::<Vec<_>>()
        };
        assert_eq!(types(&bare, None), types(&full, Some("a.pcap")));
    }

    #[test]
    fn a_file_s_name_says_its_format() {
        assert!(!is_parquet(Path::new("a.csv")).unwrap());
        assert_eq!(is_parquet(Path::new("a.parquet")).is_ok(), cfg!(feature = "parquet"));
        for path in ["a", "a.txt", "csv"] {
            assert!(is_parquet(Path::new(path)).is_err(), "{path}");
        }
    }
}
