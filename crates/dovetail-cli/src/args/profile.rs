//! What `dovetail profile` is told.

use std::path::PathBuf;

use clap::Args;
use dovetail_sched::units::{Rate, parse_rate};

use super::values::parse_whole;

const EXAMPLES: &str = "\
Examples:
  dovetail profile
      lists the functions
  dovetail profile all --output my-box.toml --report profile.html
      all of them on this machine, written as a scenario for compare and tune, with charts
  dovetail compare my-box.toml --trace capture.pcap --policy drfq --policy atfq:batch=20
      your packets at those costs
  dovetail profile ipsec forwarding --sizes 64,512,1514 --packets 50000 --core 1 --samples ns.csv
      two of them with your own sizes on core 1, with every single measurement";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArgs {
    /// Functions, such as ipsec; 'all' for every one; none lists them
    #[arg(value_name = "FUNCTION")]
    pub(crate) functions: Vec<String>,

    /// Sizes of the packets in bytes, separated by commas; for jpeg, of the raw pictures [default: 64 to 1514; jpeg:
    /// pictures of 32, 64, 96 and 128 pixels]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = parse_whole::<usize>)]
    pub(crate) sizes: Vec<usize>,

    /// Packets of each size
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=2_000_000))]
    pub(crate) packets: u32,

    /// Core to measure on [default: the last one that this process may use]
    #[arg(long, value_name = "N", value_parser = parse_whole::<usize>)]
    pub(crate) core: Option<usize>,

    /// Rate of the link behind the CPU, for --output
    #[arg(long, value_name = "RATE", default_value = "1Gbps", value_parser = parse_rate)]
    pub(crate) link: Rate,

    /// Write a scenario with a class for each function
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) output: Option<PathBuf>,

    /// Write every measurement, in order: function,bytes,ns
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) samples: Option<PathBuf>,

    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a page of tables and charts
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Seed of the packets, their order, and the functions' tables and keys
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_whole::<u64>)]
    pub(crate) seed: u64,
}
