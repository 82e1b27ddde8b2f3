//! What `dovetail reproduce` is told.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  dovetail reproduce atfq-fig9
  dovetail reproduce all --report figures.html
  dovetail reproduce tradeoff-fig7 tradeoff-fig8 --trace capture.pcap
      your own packets in the experiments that the papers drove by a trace
  sudo dovetail reproduce msfrs-table2 msfrs-table3
      Squid and this program's gateway on a real link between network namespaces, minutes of real time; in a build with
      --features bed";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// Experiments, such as atfq-fig9; 'all' for every one; none lists them
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Capture to replay in trace-driven experiments; several are merged [default: synthetic traffic]
    #[arg(long = "trace", value_name = "FILE")]
    pub(crate) traces: Vec<PathBuf>,

    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a page with the published figures redrawn
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Also send real packets through a middlebox on this machine (root; only some experiments)
    #[arg(long, conflicts_with = "traces")]
    pub(crate) live: bool,
}
