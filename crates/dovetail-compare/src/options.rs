//! Options of the commands.

use std::path::PathBuf;

use dovetail_sched::{DropPolicy, Nanos, cost::admission::Bound, units::Rate};
use dovetail_sim::{PipelineMode, blame::Selection, network::Contender, records::Format};

/// What to run; common to all commands that run traffic.
#[derive(Debug, Clone, Default)]
pub struct InputOptions {
    /// Scenario or network to run; with a trace, a scenario's resources and classes are used for the capture.
    pub scenario: Option<PathBuf>,
    /// The scenario's text, if it is not read from [`scenario`](Self::scenario), which then gives its name and the location
    /// of its files.
    pub text: Option<String>,
    /// Capture to replay: pcap or pcapng, also gzip.
    pub trace: Option<PathBuf>,
    /// Packets with measured costs, as CSV; without a trace and a scenario.
    pub workload: Option<PathBuf>,
    /// Buffering between resources, instead of the scenario's value.
    pub pipeline: Option<PipelineMode>,
    /// Limit of queued packets per flow; at least one.
    pub queue_packets: Option<u32>,
    /// Limit of queued packets of all flows; at least one.
    pub buffer_packets: Option<u32>,
    /// Which flow loses a packet when the buffer is full.
    pub drop: Option<DropPolicy>,
    /// Rate of the link.
    pub link: Option<Rate>,
    /// Scale time so that the busiest resource has this load.
    pub load: Option<f64>,
    /// Seed of everything random.
    pub seed: Option<u64>,
}

/// Where results go, and how many runs execute in parallel.
#[derive(Debug, Clone, Default)]
pub struct OutputOptions {
    /// Write a page of tables and charts.
    pub report: Option<PathBuf>,
    /// Write a row per packet into this folder, one file per policy.
    pub records: Option<PathBuf>,
    /// Format of the records.
    pub format: Format,
    /// Number of parallel runs; by default the number of cores. If it is at least twice the number of policies, packets are
    /// drawn on separate threads; the figures are the same.
    pub jobs: Option<u16>,
    /// One JSON document instead of a text.
    pub json: bool,
}

impl OutputOptions {
    /// Whether any output shows where the figures come from: all but the text and CSV do.
    pub(crate) fn shows_provenance(&self) -> bool {
        self.json || self.report.is_some() || (self.records.is_some() && self.format != Format::Csv)
    }
}

/// What to compare.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// The traffic.
    pub input: InputOptions,
    /// Seeds to run every policy with; if empty, the input's. For pipelines.
    pub seeds: Vec<u64>,
    /// Captures to replay in addition to the input's.
    pub further_traces: Vec<PathBuf>,
    /// The policies; if empty, a default selection.
    pub policies: Vec<Contender>,
    /// File of program costs that estimates start from; overwritten with what was learnt.
    pub programs: Option<PathBuf>,
    /// Width of the windows over which Jain's index is taken.
    pub window: Option<Nanos>,
    /// A folder for captures of what leaves a network's watched link.
    pub pcap: Option<PathBuf>,
    /// Write every figure as a table, a row per policy and sample: a path that ends in `.csv` or `.parquet`.
    pub summary: Option<PathBuf>,
    /// Where results go.
    pub output: OutputOptions,
}

impl CompareOptions {
    /// Whether any output shows where the figures come from.
    pub(crate) fn shows_provenance(&self) -> bool {
        self.summary.is_some() || self.output.shows_provenance()
    }
}

/// What to explain.
#[derive(Debug, Clone)]
pub struct ExplainOptions {
    /// The traffic.
    pub input: InputOptions,
    /// The policy whose packets, transfers or requests are explained.
    pub policy: Contender,
    /// What it is compared with.
    pub against: Option<Contender>,
    /// Seeds to run with; if empty, the input's. For pipelines.
    pub seeds: Vec<u64>,
    /// Captures to replay in addition to the input's.
    pub further_traces: Vec<PathBuf>,
    /// Which packets to explain.
    pub selection: Selection,
    /// How many of the slowest of them are shown individually.
    pub slowest: usize,
    /// Where results go.
    pub output: OutputOptions,
}

/// What to tune.
#[derive(Debug, Clone, Default)]
pub struct TuneOptions {
    /// The traffic.
    pub input: InputOptions,
    /// The policies whose knobs to tune, with the other knobs fixed; if empty, those that suit the input.
    pub policies: Vec<String>,
    /// Seeds to run with; if empty, the input's. For pipelines.
    pub seeds: Vec<u64>,
    /// Captures to replay in addition to the input's.
    pub further_traces: Vec<PathBuf>,
    /// Number of values of each knob to try; at least two.
    pub points: Option<u16>,
    /// Width of the windows over which shares are taken.
    pub window: Option<Nanos>,
    /// Where results go.
    pub output: OutputOptions,
}

/// The requested reservations.
#[derive(Debug, Clone)]
pub struct AdmitOptions {
    /// The node and its reservations, as TOML.
    pub file: PathBuf,
    /// The text, if it is not read from the file.
    pub text: Option<String>,
    /// Formula of the delays that reservations must meet.
    pub bound: Bound,
    /// One JSON document instead of a text.
    pub json: bool,
}

/// Which network functions to measure, and how.
#[cfg(feature = "profile")]
#[derive(Debug, Clone)]
pub struct ProfileOptions {
    /// Names of functions, "all" for every one; if empty, they are listed.
    pub functions: Vec<String>,
    /// Sizes in bytes of the packets to measure with; if empty, each function's usual ones.
    pub sizes: Vec<usize>,
    /// Number of packets of each size.
    pub packets: u32,
    /// Core to measure on; by default the last that this process may use.
    pub core: Option<usize>,
    /// Rate of the link behind the CPU, for the scenario.
    pub link: Rate,
    /// Write a scenario with a class for each function.
    pub output: Option<PathBuf>,
    /// Write every measurement.
    pub samples: Option<PathBuf>,
    /// One JSON document instead of a text.
    pub json: bool,
    /// Write a page of tables and charts.
    pub report: Option<PathBuf>,
    /// Seed of the packets, their order, and the functions' tables and keys.
    pub seed: u64,
}
