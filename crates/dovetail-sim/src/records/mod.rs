//! One row per packet, for further computations.
//!
//! Columns: `packet,flow,bytes,arrival_ns,<resource>_start_ns,<resource>_end_ns,…,outcome`. `packet` numbers the workload's
//! packets from 0; start and end are empty for packets that were not sent; `outcome` is `sent`, `dropped`, or `left` for
//! packets that still wait when a network stops. Rows are in the order in which packets' outcomes were decided.

mod columns;
mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod row;

use std::{
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    str::FromStr,
};

use dovetail_sched::{FlowId, Nanos, Packet};

pub use self::columns::{Columns, Outcome};
use self::row::{Fate, Row, Sink};
use crate::{Observer, Passage, Profile};

/// File format of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Comma-separated values.
    #[default]
    Csv,
    /// Apache Parquet, compressed with Snappy.
    Parquet,
}

impl Format {
    /// File name extension.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "csv" => Ok(Self::Csv),
            "parquet" if cfg!(feature = "parquet") => Ok(Self::Parquet),
            "parquet" => Err(NO_PARQUET.into()),
            _ => Err(format!("'{}' is not a format of records: use csv or parquet", text.escape_debug())),
        }
    }
}

/// Message of a build without Parquet.
const NO_PARQUET: &str = "this build cannot write Parquet: use csv, or build it with the feature 'parquet'";

/// The file in `folder` for the records of a policy: its string with every character outside `[A-Za-z0-9.-]` replaced by `_`.
#[must_use]
pub fn path_for(folder: &Path, policy: &str, format: Format) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
    let name: String = policy.chars().map(plain).collect();
    folder.join(format!("{name}.{}", format.extension()))
}

/// Writes records during a run.
pub struct Records {
    sink: Box<dyn Sink>,
    labels: Vec<String>,
    failed: Option<io::Error>,
}

impl Records {
    /// Writes records to a new file at `path`.
    ///
    /// # Errors
    /// When the file cannot be created or written.
    pub fn create(path: &Path, format: Format, resources: &[String]) -> io::Result<Self> {
        if format == Format::Parquet && cfg!(not(feature = "parquet")) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, NO_PARQUET));
        }
        Self::to(File::create(path)?, format, resources, &[])
    }

    /// Writes records to an open file. `about` is metadata, by key, stored in Parquet files; CSV has no place for it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn to(file: File, format: Format, resources: &[String], about: &[(&str, &str)]) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 18, file);
        let sink: Box<dyn Sink> = match format {
            Format::Csv => Box::new(csv::CsvSink::new(file, resources)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => Box::new(parquet::ParquetSink::new(file, resources, about)?),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => {
                let _ = about;
                return Err(io::Error::new(io::ErrorKind::Unsupported, NO_PARQUET));
            }
        };
        Ok(Self { sink, labels: Vec::new(), failed: None })
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// The first error met in writing, at any time.
    pub fn finish(self) -> io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => self.sink.finish(),
        }
    }

    fn write(&mut self, packet: &Packet, fate: Fate<'_>) {
        if self.failed.is_some() {
            return;
        }
        let label = self.labels.get(packet.flow.index()).map_or("", String::as_str);
        self.failed = self.sink.write(&Row { packet, label, fate }).err();
    }
}

impl Observer for Records {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        if flow.index() >= self.labels.len() {
            self.labels.resize(flow.index() + 1, String::new());
        }
        self.labels[flow.index()] = profile.label.to_owned();
    }

    fn arrived(&mut self, _: &Packet) {}

    fn dropped(&mut self, packet: &Packet, _: Nanos) {
        self.write(packet, Fate::Dropped);
    }

    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        self.write(packet, Fate::Sent(passage));
    }

    fn left(&mut self, packet: &Packet) {
        self.write(packet, Fate::Left);
    }
}
