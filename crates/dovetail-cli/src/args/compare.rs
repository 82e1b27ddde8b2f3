//! What `dovetail compare` is told.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use dovetail_sched::Nanos;
use dovetail_sim::network::Contender;

use super::{
    common::{InputArgs, OutputArgs, SEVERAL_TRACES},
    values::{Seeds, parse_seeds, parse_window},
};

const EXAMPLES: &str = "\
Examples:
  dovetail compare
      a built-in scenario: 22 flows of four applications through a box with a CPU and a link
  dovetail compare --trace capture.pcap --load 1.2 --policy drfq --policy atfq:batch=20 --report r.html
      your own packets, with time compressed until the busiest resource has a load of 120 %
  dovetail compare my-box.toml --trace capture.pcap.gz --pipeline buffer=64 --records out --format parquet
      your own cost per packet and class, and a row for each packet for your own analysis
  dovetail compare --trace monday.pcap --trace tuesday.pcap --seeds 1..20
      the median of each figure over both captures with twenty seeds each, and the 5th to the 95th percentile
  dovetail compare --seeds 1..20 --policy fifo --policy drfq --summary figures.parquet
      every figure of every seed as a table for pandas, R or DuckDB, with medians and percentiles
  dovetail compare --workload costs.csv --policy fifo --policy mr3 --json
      measured costs, one row per packet; one JSON document on standard output
  dovetail compare drr-sff --policy fifo --policy las --policy drr-sff --pcap captures
      transfers over TCP through a network's narrow link; captures of it, for Wireshark
  dovetail compare access --load 0.9 --policy none --policy msf-rs --policy grants
      users behind a gateway in front of a narrow downlink: latencies, and rates by class";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("trace", |arg| arg.help(SEVERAL_TRACES).action(ArgAction::Append)))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Run every policy with every seed of a range or a list, such as 1..20 or 1,5,9, and show medians and intervals
    #[arg(long, value_name = "SEEDS", value_parser = parse_seeds, conflicts_with = "seed")]
    pub(crate) seeds: Option<Seeds>,

    /// Policy to run, such as drfq or atfq:batch=20; can be given several times ('dovetail policies' lists them). At a
    /// gateway: a policy of requests, 'ingress' for a shaper, or a policy of packets at its users' side
    #[arg(long = "policy", value_name = "P")]
    pub(crate) policies: Vec<Contender>,

    /// Costs of programs, to start estimates from: read if it exists, and rewritten with what the last policy that
    /// estimates has learnt
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) programs: Option<PathBuf>,

    /// Width of the windows over which Jain's index is taken [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = parse_window)]
    pub(crate) window: Option<Nanos>,

    /// Write a capture of what leaves the watched link of a network, one file for each policy
    #[arg(long, value_name = "DIR")]
    pub(crate) pcap: Option<PathBuf>,

    /// Write every figure as a table for data tools, a row for each policy and sample, with its provenance
    #[arg(long, value_name = "FILE.csv|.parquet")]
    pub(crate) summary: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
