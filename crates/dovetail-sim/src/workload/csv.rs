//! Tables of packets, as CSV.
//!
//! The header is `arrival_ns,flow,bytes,<resource>_ns[,<resource>_ns…]`, with resources in pipeline order. Each row is a
//! packet; rows are in order of arrival. Flows are arbitrary text. Plain or gzip.

use std::{
    collections::HashMap,
    io::{self, Read},
    sync::Arc,
};

use ::csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use dovetail_sched::{Demand, FlowId, MAX_RESOURCES, Nanos};

use super::{
    Arrival, EMPTY, MAX_FLOWS, Notice, Workload, WorkloadError, check_printable, clip,
    input::{Bytes, unpack},
};

/// Options for reading a table as a workload.
#[derive(Debug, Clone)]
pub struct CsvOptions {
    /// Arrival times are multiplied by this: 0.5 doubles the load.
    pub time_scale: f64,
    /// The number of packets, if they have been counted.
    pub packets: Option<u64>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { time_scale: 1.0, packets: None }
    }
}

/// Columns before the resources'.
const FIXED: [&str; 3] = ["arrival_ns", "flow", "bytes"];
/// The longest label of a flow, in bytes: all labels are kept.
const MAX_LABEL_BYTES: usize = 256;
/// The longest line, in bytes: lines are buffered as a whole.
const MAX_LINE_BYTES: usize = 1 << 16;

/// A table of packets as a workload.
pub struct Csv {
    // `None` once the table has ended.
    rows: Option<Reader<Lines>>,
    row: ByteRecord,
    file: String,
    options: CsvOptions,
    resources: Vec<String>,
    flow_of: HashMap<Arc<str>, FlowId>,
    labels: Vec<Arc<str>>,
    latest: u64,
    empty: u64,
}

impl Csv {
    /// Starts to read a table, up to its header. `file` is its name for messages.
    ///
    /// # Errors
    /// [`WorkloadError`] when the bytes cannot be read or the header is invalid.
    pub fn open(read: Bytes, file: &str, options: CsvOptions) -> Result<Self, WorkloadError> {
        let read = unpack(read).map_err(|source| WorkloadError::Read { file: file.into(), source })?;
        let rows = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(Lines { read, since_newline: 0 });
        let mut csv = Self {
            rows: Some(rows),
            row: ByteRecord::new(),
            file: file.into(),
            options,
            resources: Vec::new(),
            flow_of: HashMap::new(),
            labels: Vec::new(),
            latest: 0,
            empty: 0,
        };
        if !csv.read_row()? {
            let what = format!("is empty: the first line should be {},<resource>_ns", FIXED.join(","));
            return Err(WorkloadError::File { file: file.into(), what });
        }
        csv.resources = resources(&csv.row).map_err(|what| csv.wrong(what))?;
        Ok(csv)
    }

    /// Reads a row; returns whether there was one.
    fn read_row(&mut self) -> Result<bool, WorkloadError> {
        let Some(rows) = &mut self.rows else { return Ok(false) };
        let place = rows.position().line();
        match rows.read_byte_record(&mut self.row) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.rows = None;
                Ok(false)
            }
            Err(error) => {
                self.rows = None;
                let file = self.file.clone();
                Err(match error.into_kind() {
                    ErrorKind::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
                        WorkloadError::Line { file, line: place, what: source.to_string() }
                    }
                    ErrorKind::Io(source) => WorkloadError::Read { file: format!("{file}, line {place}"), source },
                    other => WorkloadError::Line { file, line: place, what: format!("{other:?}") },
                })
            }
        }
    }

    /// An error for the row read last.
    fn wrong(&mut self, what: String) -> WorkloadError {
        self.rows = None;
        let line = self.row.position().map_or(1, ::csv::Position::line);
        WorkloadError::Line { file: self.file.clone(), line, what }
    }

    fn arrival(&mut self) -> Result<Arrival, String> {
        let row = &self.row;
        let columns = FIXED.len() + self.resources.len();
        if row.len() != columns {
            return Err(format!("the header has {columns} columns, and this row {}", row.len()));
        }
        let at = number(row, 0, "arrival_ns", LATEST_NANOS)?;
        if at < self.latest {
            let before = self.latest;
            return Err(format!("arrives at {at}, before the row above it ({before}): sort the rows by arrival_ns"));
        }
        let bytes = number(row, 2, "bytes", u64::from(u32::MAX))? as u32;
        let mut times = [Nanos::ZERO; MAX_RESOURCES];
        for (place, (time, resource)) in times.iter_mut().zip(&self.resources).enumerate() {
            *time = Nanos(number(row, FIXED.len() + place, resource, LATEST_NANOS)?);
        }
        let demand = Demand::new(&times[..self.resources.len()]).map_err(|error| error.to_string())?;
        let flow = intern(&mut self.flow_of, &mut self.labels, &row[1])?;
        self.latest = at;
        self.empty += u64::from(bytes == 0);
        let scale = self.options.time_scale;
        let at = if scale == 1.0 { Nanos(at) } else { Nanos::from_f64(at as f64 * scale) };
        Ok(Arrival::new(at, flow, bytes, demand))
    }
}

fn resources(header: &ByteRecord) -> Result<Vec<String>, String> {
    let should = || format!("the header should be {},<resource>_ns[,<resource>_ns]", FIXED.join(","));
    let mut columns = Vec::new();
    for column in header {
        let text = std::str::from_utf8(column).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| format!("is not text: {} (a capture is given as a trace)", should()))?;
        // Some programs start a file with a byte-order mark.
        columns.push(text.trim_start_matches('\u{feff}').trim());
    }
    if columns.len() < FIXED.len() || columns[..FIXED.len()] != FIXED {
        return Err(should());
    }
    let names: Option<Vec<_>> = columns[FIXED.len()..].iter().map(|column| column.strip_suffix("_ns")).collect();
    let names = names.filter(|names| names.iter().all(|name| (1..=64).contains(&name.len()))).ok_or_else(should)?;
    if !(1..=MAX_RESOURCES).contains(&names.len()) {
        return Err(format!("the header has {} resource columns: 1 to {MAX_RESOURCES} are needed", names.len()));
    }
    for (place, name) in names.iter().enumerate() {
        check_printable(name).map_err(|what| format!("column {}: {what}", FIXED.len() + place + 1))?;
    }
    if let Some(twice) = names.iter().enumerate().find(|&(at, name)| names[..at].contains(name)) {
        return Err(format!("the header has '{}_ns' twice", clip(twice.1)));
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Limit of times in a table: 146 years, so that sums of a few stay within the range of the clock.
const LATEST_NANOS: u64 = 1 << 62;

/// Numbers of this many digits never overflow 64 bits.
const MAX_DIGITS: usize = 19;

/// A number of at most [`MAX_DIGITS`] digits, and nothing else.
#[inline]
fn plain_number(digits: &[u8]) -> Option<u64> {
    let mut value = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// An integer in a column.
#[inline]
fn number(row: &ByteRecord, column: usize, name: &str, most: u64) -> Result<u64, String> {
    let field = &row[column];
    // Nearly all fields consist of digits only, too few to overflow.
    if (1..=MAX_DIGITS).contains(&field.len())
        && let Some(value) = plain_number(field).filter(|&value| value <= most)
    {
        return Ok(value);
    }
    let field = field.trim_ascii();
    let digits = field.iter().try_fold(0u64, |value, digit| {
        if !digit.is_ascii_digit() {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    });
    digits.filter(|&value| value <= most && !field.is_empty()).ok_or_else(|| {
        let text = String::from_utf8_lossy(field);
        format!("column {} ({name}): '{}' is not a whole number from 0 to {most}", column + 1, clip(&text))
    })
}

#[inline]
fn intern(flow_of: &mut HashMap<Arc<str>, FlowId>, labels: &mut Vec<Arc<str>>, field: &[u8]) -> Result<FlowId, String> {
    let label = std::str::from_utf8(field).map_err(|_| "column 2 (flow) is not UTF-8 text".to_string())?;
    if let Some(&flow) = flow_of.get(label) {
        return Ok(flow);
    }
    if label.is_empty() {
        return Err("column 2 (flow) is empty: every packet belongs to a flow".into());
    }
    if label.len() > MAX_LABEL_BYTES {
        return Err(format!("column 2 (flow) has {} bytes: at most {MAX_LABEL_BYTES} are allowed", label.len()));
    }
    check_printable(label).map_err(|what| format!("column 2 (flow): {what}"))?;
    if labels.len() >= MAX_FLOWS as usize {
        return Err(format!("there are more than {MAX_FLOWS} flows"));
    }
    let flow = FlowId(labels.len() as u32);
    let label: Arc<str> = label.into();
    labels.push(label.clone());
    flow_of.insert(label, flow);
    Ok(flow)
}

impl Workload for Csv {
    fn resources(&self) -> &[String] {
        &self.resources
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        if !self.read_row()? {
            return Ok(None);
        }
        self.arrival().map(Some).map_err(|what| self.wrong(what))
    }

    fn is_open_loop(&self) -> bool {
        true
    }

    fn label(&self, flow: FlowId) -> String {
        self.labels.get(flow.index()).map_or_else(|| format!("flow {flow}"), ToString::to_string)
    }

    fn packets_hint(&self) -> Option<u64> {
        self.options.packets
    }

    fn notices(&self) -> Vec<Notice> {
        Notice::counted(self.empty, EMPTY.0, EMPTY.1).into_iter().collect()
    }
}

impl std::fmt::Debug for Csv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Csv").field("file", &self.file).field("flows", &self.labels.len()).finish_non_exhaustive()
    }
}

/// Rejects unlimited lines, which the parser would buffer completely.
struct Lines {
    read: Bytes,
    since_newline: usize,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Shorter than the longest line, so that a line that ends in this read was short enough before it.
        let most = buffer.len().min(MAX_LINE_BYTES / 2);
        let got = self.read.read(&mut buffer[..most])?;
        match buffer[..got].iter().rposition(|&byte| byte == b'\n') {
            Some(at) => self.since_newline = got - at - 1,
            None => self.since_newline += got,
        }
        if self.since_newline > MAX_LINE_BYTES {
            let what = format!("is longer than {MAX_LINE_BYTES} bytes: is this a table of packets?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(got)
    }
}
