//! What `dovetail middlebox` is told.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  dovetail middlebox --config box.toml --check
      what a box with this configuration does, and whether this machine has what it names
  dovetail middlebox --config box.toml
      runs until SIGTERM or Ctrl-C; SIGHUP has it read the file again
  dovetail middlebox --config box.toml --records live
  dovetail compare --workload live/workload.csv --pipeline buffer=4 --policy drfq --policy atfq
      what passed, packet by packet, and what other policies would have made of it";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MiddleboxArgs {
    /// Configuration to run
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: PathBuf,

    /// Explain the configuration and check that this machine has what it names; do not run
    #[arg(long)]
    pub(crate) check: bool,

    /// Print the nftables rules to load beside this box, as a file for `nft -f`; do not run
    #[arg(long, conflicts_with_all = ["check", "records", "pcap"])]
    pub(crate) nftables: bool,

    /// Write a row for each packet into this folder: what became of it, and a workload that `compare` can run again
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    pub(crate) records: Option<PathBuf>,

    /// Write what leaves as a capture
    #[arg(long, value_name = "FILE.pcap", conflicts_with = "check")]
    pub(crate) pcap: Option<PathBuf>,
}
