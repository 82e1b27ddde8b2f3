//! What `dovetail explain` is told.

use clap::{ArgAction, Args};
use dovetail_sim::network::Contender;

use super::{
    common::{InputArgs, OutputArgs, SEVERAL_TRACES},
    values::{Seeds, parse_seeds, parse_whole},
};

const EXAMPLES: &str = "\
Examples:
  dovetail explain --policy fifo
      the built-in scenario: what packets of each class wait for, and the five that took longest
  dovetail explain --trace capture.pcap --load 1.2 --policy drfq --class ipsec --slowest 20
      the slowest packets of a class, and who made them wait
  dovetail explain --trace capture.pcap --load 1.2 --policy fifo --against atfq:batch=20 --report e.html
      the same packets under two policies: who is quicker, who slower, by how much and why; with charts
  dovetail explain --seeds 1..20 --policy fifo --against drfq
      the same with twenty seeds: medians, and the 5th to the 95th percentile
  dovetail explain middlebox --policy drfq --packet 4711
      where one packet's time went, to the nanosecond
  dovetail explain scenarios/access.toml --load 0.9 --policy grants --against none --class bronze
      users behind a gateway: what a class's requests wait for, and what an ordinary proxy would have done to them";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("trace", |arg| arg.help(SEVERAL_TRACES).action(ArgAction::Append)))]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Policy to explain, such as drfq or atfq:batch=20; at a gateway also grants, none or ingress ('dovetail policies'
    /// lists them)
    #[arg(long, value_name = "P")]
    pub(crate) policy: Contender,

    /// Policy to compare it with, on the same packets
    #[arg(long, value_name = "Q")]
    pub(crate) against: Option<Contender>,

    /// Run with every seed of a range or a list, such as 1..20 or 1,5,9, and show medians and intervals
    #[arg(long, value_name = "SEEDS", value_parser = parse_seeds, conflicts_with = "seed")]
    pub(crate) seeds: Option<Seeds>,

    /// Explain this packet, transfer or request: they are numbered from 0 in order of arrival, packets as in the records
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>, conflicts_with_all = ["flow", "class", "slowest"])]
    pub(crate) packet: Option<u64>,

    /// Explain the packets of this flow, or the requests of this user
    #[arg(long, value_name = "F", conflicts_with = "class")]
    pub(crate) flow: Option<String>,

    /// Explain the packets, transfers or requests of this class
    #[arg(long, value_name = "C")]
    pub(crate) class: Option<String>,

    /// How many of the slowest packets to show one by one
    #[arg(long, value_name = "K", default_value = "5", value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) slowest: u16,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
