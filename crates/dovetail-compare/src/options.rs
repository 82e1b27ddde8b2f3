//! What can be asked for.

use std::path::PathBuf;

use dovetail_sched::{DropPolicy, Nanos, cost::admission::Bound, units::Rate};
use dovetail_sim::{PipelineMode, blame::Selection, network::Contender, records::Format};

/// What to run: the same for everything that runs traffic.
#[derive(Debug, Clone, Default)]
pub struct InputOptions {
    /// Scenario or network to run; with a trace, a scenario's resources and classes are used for the capture.
    pub scenario: Option<PathBuf>,
    /// The scenario's text, where it is not read from [`scenario`](Self::scenario), which then is what it is called and
    /// beside which its files are.
    pub text: Option<String>,
    /// Capture to replay: pcap or pcapng, also gzip.
    pub trace: Option<PathBuf>,
    /// Packets with measured costs, as CSV; without a trace and a scenario.
    pub workload: Option<PathBuf>,
    /// What lies between resources, instead of the scenario's value.
    pub pipeline: Option<PipelineMode>,
    /// Packets that may wait of each flow; at least one.
    pub queue_packets: Option<u32>,
    /// Packets of all flows that may wait; at least one.
    pub buffer_packets: Option<u32>,
    /// Who loses a packet where one finds no room.
    pub drop: Option<DropPolicy>,
    /// Rate of the link.
    pub link: Option<Rate>,
    /// Scale time so that the busiest resource has this load.
    pub load: Option<f64>,
    /// Seed of everything random.
    pub seed: Option<u64>,
}

/// Where results go, and how many runs are made at once.
#[derive(Debug, Clone, Default)]
pub struct OutputOptions {
    /// Write a page of tables and charts.
    pub report: Option<PathBuf>,
    /// Write a row a packet into this folder, one file a policy.
    pub records: Option<PathBuf>,
    /// Format of the records.
    pub format: Format,
    /// Policies to run at once; by default the number of cores. With twice as many as there are policies, packets are drawn on
    /// threads of their own; the figures are the same.
    pub jobs: Option<u16>,
    /// One JSON document instead of a text.
    pub json: bool,
}

impl OutputOptions {
    /// Whether something will say where the figures come from: all but the text and CSV do.
    pub(crate) fn shows_provenance(&self) -> bool {
        self.json || self.report.is_some() || (self.records.is_some() && self.format != Format::Csv)
    }
}

/// What to compare.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// The traffic.
    pub input: InputOptions,
    /// Seeds to run every policy with; none for the input's one. For pipelines.
    pub seeds: Vec<u64>,
    /// Captures to replay besides the input's.
    pub further_traces: Vec<PathBuf>,
    /// The policies; none for those that are worth a look.
    pub policies: Vec<Contender>,
    /// What programs cost, to start estimates from; written again with what was learnt.
    pub programs: Option<PathBuf>,
    /// Width of the windows over which Jain's index is taken.
    pub window: Option<Nanos>,
    /// A folder for captures of what leaves a network's watched link.
    pub pcap: Option<PathBuf>,
    /// Write every figure as a table, a row a policy and sample: a path that ends in `.csv` or `.parquet`.
    pub summary: Option<PathBuf>,
    /// Its path.
    pub output: OutputOptions,
}

impl CompareOptions {
    /// Whether something will say where the figures come from.
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
    /// What it is held against.
    pub against: Option<Contender>,
    /// Seeds to run with; none for the input's one. For pipelines.
    pub seeds: Vec<u64>,
    /// Captures to replay besides the input's.
    pub further_traces: Vec<PathBuf>,
    /// Of which packets.
    pub selection: Selection,
    /// How many of the slowest of them are shown one by one.
    pub slowest: usize,
    /// Its path.
    pub output: OutputOptions,
}

/// What to tune.
#[derive(Debug, Clone, Default)]
pub struct TuneOptions {
    /// The traffic.
    pub input: InputOptions,
    /// The policies whose knobs to tune, with the knobs that stay; none for those of the input's kind.
    pub policies: Vec<String>,
    /// Seeds to run with; none for the input's one. For pipelines.
    pub seeds: Vec<u64>,
    /// Captures to replay besides the input's.
    pub further_traces: Vec<PathBuf>,
    /// Values of each knob to try; at least two.
    pub points: Option<u16>,
    /// Width of the windows over which shares are taken.
    pub window: Option<Nanos>,
    /// Its path.
    pub output: OutputOptions,
}

/// The requested reservations.
#[derive(Debug, Clone)]
pub struct AdmitOptions {
    /// The node and its reservations, as TOML.
    pub file: PathBuf,
    /// The text, where it is not read from the file.
    pub text: Option<String>,
    /// Formula of the delays that reservations are held to.
    pub bound: Bound,
    /// One JSON document instead of a text.
    pub json: bool,
}

/// What to measure of network functions.
#[cfg(feature = "profile")]
#[derive(Debug, Clone)]
pub struct ProfileOptions {
    /// Functions by their names, "all" for every one; none for a list.
    pub functions: Vec<String>,
    /// Bytes of the packets to measure by; none for each function's usual ones.
    pub sizes: Vec<usize>,
    /// Packets of each size.
    pub packets: u32,
    /// Core to measure on; without, the last that this process may use.
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
