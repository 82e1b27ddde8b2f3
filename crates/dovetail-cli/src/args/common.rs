//! What every command is told that runs traffic.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use dovetail_sched::{
    DropPolicy,
    units::{Rate, parse_rate},
};
use dovetail_sim::{PipelineMode, records::Format};

use super::values::{parse_load, parse_whole};

/// For commands that take several; others take one.
pub(super) const SEVERAL_TRACES: &str = "Capture to replay: pcap or pcapng, also gzip; - for standard input; can be given \
    several times, for figures over all captures";

/// What to run: the same for every command that runs traffic.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// Scenario or network to run, or the name of one that comes with the command ('dovetail scenarios' lists them); with
    /// --trace, its resources and classes are used for the capture
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenario: Option<PathBuf>,

    /// Capture to replay: pcap or pcapng, also gzip; - for standard input
    #[arg(long, value_name = "FILE", action = ArgAction::Set)]
    pub(crate) trace: Vec<PathBuf>,

    /// Packets with measured costs, as CSV: arrival_ns,flow,bytes,RESOURCE_ns,…; - for standard input
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["trace", "scenario"])]
    pub(crate) workload: Option<PathBuf>,

    /// Buffering between resources: no-wait, unbounded or buffer=K [default: the scenario's, or no-wait]
    #[arg(long, value_name = "MODE")]
    pub(crate) pipeline: Option<PipelineMode>,

    /// Maximum packets queued per flow; more are dropped [default: the scenario's, or no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) queue_packets: Option<u32>,

    /// Maximum packets queued over all flows [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) buffer_packets: Option<u32>,

    /// Which packet to drop when a queue is full: tail (the arriving packet), head (the oldest of its flow) or longest (the
    /// youngest of the flow with most bytes, when all flows together have no room) [default: tail]
    #[arg(long, value_name = "WHO")]
    pub(crate) drop: Option<DropPolicy>,

    /// Rate of the link, such as 400Mbps
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) link: Option<Rate>,

    /// Scale time so that the busiest resource has a load of X [default for captures: 0.95]
    #[arg(long, value_name = "X", value_parser = parse_load)]
    pub(crate) load: Option<f64>,

    /// Seed for all random numbers [default: the scenario's, or 1]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub(crate) seed: Option<u64>,
}

/// Where results go, and how many runs are made at once.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write a page of tables and charts
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Write a row for each packet, one file for each policy
    #[arg(long, value_name = "DIR")]
    pub(crate) records: Option<PathBuf>,

    /// Format of the records: csv or parquet
    #[arg(long, value_name = "FORMAT", default_value = "csv", requires = "records")]
    pub(crate) format: Format,

    /// Policies to run at once [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,

    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}
