//! What `dovetail tune` is told.

use clap::{ArgAction, Args};
use dovetail_sched::Nanos;

use super::{
    common::{InputArgs, OutputArgs, SEVERAL_TRACES},
    values::{Seeds, parse_seeds, parse_window},
};

const EXAMPLES: &str = "\
Examples:
  dovetail tune --trace capture.pcap
      every tunable policy over your own packets: what each knob gains, what it costs, and which value to run
  dovetail tune --seeds 1..20 --policy atfq
      with twenty seeds: medians and intervals, and in how many of them which value is the one to run
  dovetail tune my-box.toml --trace capture.pcap.gz --load 1.2 --policy tradeoff --report tune.html
      one policy on your own box under overload, with charts
  dovetail tune --workload costs.csv --window 500ms --records out --json
      measured costs; a row for each packet of every run, and one JSON document on standard output
  dovetail tune drr-sff-ftp --policy drr-sff --report short.html
      how much to favour short flows: their times against the rate of long ones, over TCP
  dovetail tune access --load 0.9 --policy grants --report gateway.html
      users behind a gateway: in which order to serve them, how fast requests age, the target delay of the far queue";

/// The defaults differ from the other commands'.
const TUNE_PIPELINE: &str = "Buffering between resources: no-wait, unbounded or buffer=K [default: the scenario's, or what \
    each policy is designed for: unbounded for tradeoff, no-wait for atfq]";
const TUNE_LINK: &str =
    "Rate of the link, such as 400Mbps [default for captures: the rate at which it has the CPU's load]";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("trace", |arg| arg.help(SEVERAL_TRACES).action(ArgAction::Append)), mut_arg("pipeline", |arg| arg.help(TUNE_PIPELINE)), mut_arg("link", |arg| arg.help(TUNE_LINK)))]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Policy whose knobs to tune: tradeoff or atfq, which may be given both, drr-sff over a network, or grants over one with
    /// a gateway [default: tradeoff and atfq, over a network drr-sff, over one with a gateway grants]
    #[arg(long = "policy", value_name = "P")]
    pub(crate) policies: Vec<String>,

    /// Tune with every seed of a range or a list, such as 1..20 or 1,5,9, and show medians and intervals
    #[arg(long, value_name = "SEEDS", value_parser = parse_seeds, conflicts_with = "seed")]
    pub(crate) seeds: Option<Seeds>,

    /// Values of each knob to try [default: 12 of tradeoff's alpha, 7 of atfq's batch, 6 of drr-sff's ratio and threshold, 5
    /// of grants' ageing and 7 of its delay]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=100))]
    pub(crate) points: Option<u16>,

    /// Width of the windows over which shares are taken [default: a second, less if the run is shorter than five]
    #[arg(long, value_name = "TIME", value_parser = parse_window)]
    pub(crate) window: Option<Nanos>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
