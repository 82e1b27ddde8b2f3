//! The command line, as it is read before anything is done.

use std::{ffi::OsString, path::PathBuf};

use clap::{ArgAction, Args, Parser, Subcommand};
use clap_complete::Shell;
use dovetail_sched::{
    DropPolicy, Nanos,
    cost::admission::Bound,
    units::{Rate, parse_rate, parse_time},
};
use dovetail_sim::{PipelineMode, network::Contender, records::Format};

/// Compare, choose and reproduce schedulers for work that needs more than one resource.
#[derive(Debug, Parser)]
#[command(name = "dovetail", version, max_term_width = 110, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare what each policy does to the same traffic.
    Compare(CompareArgs),
    /// Explain who made packets wait, and what another policy would have done to them.
    Explain(Box<ExplainArgs>),
    /// Find the value of a policy's knob to run, and why.
    Tune(TuneArgs),
    /// Rerun published experiments, the papers' figures beside these.
    Reproduce(ReproduceArgs),
    /// Decide which flows can be guaranteed rates and delays.
    Admit(AdmitArgs),
    /// Measure what network functions cost on this machine.
    #[cfg(feature = "profile")]
    Profile(ProfileArgs),
    /// Run an HTTP gateway in front of a narrow downlink.
    #[cfg(feature = "gateway")]
    Gateway(GatewayArgs),
    /// Run a middlebox between two interfaces.
    #[cfg(feature = "middlebox")]
    Middlebox(MiddleboxArgs),
    /// See a middlebox work between network namespaces of this machine.
    #[cfg(feature = "middlebox")]
    Lab(LabArgs),
    /// Run scenarios, captures, policies and seeds in every combination, on many machines (the Python package's).
    Sweep(SweepArgs),
    /// List the scenarios that come with the command.
    Scenarios(ScenariosArgs),
    /// List the policies with their knobs, costs and sources.
    Policies(PoliciesArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Write man pages, one for each command.
    Man(ManArgs),
}

const COMPARE_EXAMPLES: &str = "\
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

    /// What lies between resources: no-wait, unbounded or buffer=K [default: the scenario's, or no-wait]
    #[arg(long, value_name = "MODE")]
    pub(crate) pipeline: Option<PipelineMode>,

    /// Packets that may wait of each flow; later ones are dropped [default: the scenario's, or no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) queue_packets: Option<u32>,

    /// Packets that may wait of all flows together [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) buffer_packets: Option<u32>,

    /// Who loses a packet where one finds no room: tail (the arriving packet), head (the oldest of its flow) or longest (the
    /// youngest of the flow with most bytes, when all flows together have no room) [default: tail]
    #[arg(long, value_name = "WHO")]
    pub(crate) drop: Option<DropPolicy>,

    /// Rate of the link, such as 400Mbps
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) link: Option<Rate>,

    /// Scale time so that the busiest resource has a load of X [default for captures: 0.95]
    #[arg(long, value_name = "X", value_parser = parse_load, allow_negative_numbers = true)]
    pub(crate) load: Option<f64>,

    /// Seed of everything random [default: the scenario's, or 1]
    #[arg(long, value_name = "N")]
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

/// Other commands take one.
const COMPARE_TRACE: &str = "Capture to replay: pcap or pcapng, also gzip; - for standard input; can be given several times, \
    for figures over all captures";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES, mut_arg("trace", |arg| arg.help(COMPARE_TRACE).action(ArgAction::Append)))]
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

    /// Write every figure as a table for data tools, a row for each policy and sample, with where it comes from
    #[arg(long, value_name = "FILE.csv|.parquet")]
    pub(crate) summary: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  dovetail explain --policy fifo
      the built-in scenario: what packets of each class wait for, and the five that took longest
  dovetail explain --trace capture.pcap --load 1.2 --policy drfq --class voip --slowest 20
      the slowest packets of a class, and who made them wait
  dovetail explain --trace capture.pcap --load 1.2 --policy fifo --against atfq:batch=20 --report e.html
      the same packets under two policies: who is quicker, who slower, by how much and why; with charts
  dovetail explain --seeds 1..20 --policy fifo --against drfq
      the same with twenty seeds: medians, and the 5th to the 95th percentile
  dovetail explain my-box.toml --policy drfq --packet 4711
      where one packet's time went, to the nanosecond
  dovetail explain scenarios/access.toml --load 0.9 --policy grants --against none --class bronze
      users behind a gateway: what a class's requests wait for, and what an ordinary proxy would have done to them";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES, mut_arg("trace", |arg| arg.help(COMPARE_TRACE).action(ArgAction::Append)))]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    /// Policy to explain, such as drfq or atfq:batch=20; at a gateway also grants, none or ingress ('dovetail policies'
    /// lists them)
    #[arg(long, value_name = "P")]
    pub(crate) policy: Contender,

    /// Policy to hold it against: the same packets are run under both
    #[arg(long, value_name = "Q")]
    pub(crate) against: Option<Contender>,

    /// Run with every seed of a range or a list, such as 1..20 or 1,5,9, and show medians and intervals
    #[arg(long, value_name = "SEEDS", value_parser = parse_seeds, conflicts_with = "seed")]
    pub(crate) seeds: Option<Seeds>,

    /// Explain this packet, transfer or request: they are numbered from 0 in order of arrival, packets as in the records
    #[arg(long, value_name = "N", conflicts_with_all = ["flow", "class", "slowest"])]
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

const TUNE_EXAMPLES: &str = "\
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
const TUNE_PIPELINE: &str = "What lies between resources: no-wait, unbounded or buffer=K [default: the scenario's, or what \
    each policy is designed for: unbounded for tradeoff, no-wait for atfq]";
const TUNE_LINK: &str =
    "Rate of the link, such as 400Mbps [default for captures: the rate at which it has the CPU's load]";

#[derive(Debug, Args)]
#[command(after_help = TUNE_EXAMPLES, mut_arg("trace", |arg| arg.help(COMPARE_TRACE).action(ArgAction::Append)), mut_arg("pipeline", |arg| arg.help(TUNE_PIPELINE)), mut_arg("link", |arg| arg.help(TUNE_LINK)))]
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

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  dovetail reproduce atfq-fig9
  dovetail reproduce all --report figures.html
  dovetail reproduce tradeoff-fig7 tradeoff-fig8 --trace capture.pcap
      your own packets in the experiments that the papers drove by a trace
  sudo dovetail reproduce msfrs-table2 msfrs-table3
      Squid and this program's gateway on a real link between network namespaces, minutes of real time; in a build with
      --features bed";

#[derive(Debug, Args)]
#[command(after_help = REPRODUCE_EXAMPLES)]
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

    /// With real packets through the box on this machine, where the experiment has such a trial; as root
    #[arg(long, conflicts_with = "traces")]
    pub(crate) live: bool,
}

#[cfg(feature = "gateway")]
const GATEWAY_EXAMPLES: &str = "\
Examples:
  dovetail gateway --config gateway.toml --check
      explains the configuration, with warnings
  dovetail gateway --config gateway.toml
      runs until SIGTERM or SIGINT, then finishes open requests; SIGHUP reloads the file
  dovetail gateway --config gateway.toml --take-over
      the same, replacing a running gateway without an interruption
  dovetail gateway doctor --to http://203.0.113.9/large --output gateway.toml
      measures the link and writes a first configuration";

#[cfg(feature = "gateway")]
#[derive(Debug, Args)]
#[command(after_help = GATEWAY_EXAMPLES, subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
pub(crate) struct GatewayArgs {
    /// What to do instead of running it
    #[command(subcommand)]
    pub(crate) command: Option<GatewayCommand>,

    /// Configuration to run
    #[arg(long, value_name = "FILE.toml", required = true)]
    pub(crate) config: Option<PathBuf>,

    /// Explain the configuration and check that this machine has what it names; do not run
    #[arg(long)]
    pub(crate) check: bool,

    /// Take the listening sockets over from a running gateway with the same addresses and the same user, which finishes its
    /// open requests and ends; start normally if there is none
    #[arg(long, conflicts_with = "check")]
    pub(crate) take_over: bool,
}

#[cfg(feature = "gateway")]
#[derive(Debug, Subcommand)]
pub(crate) enum GatewayCommand {
    /// Measure the link and examine this machine, and write a first configuration.
    Doctor(DoctorArgs),
}

#[cfg(feature = "gateway")]
const DOCTOR_EXAMPLES: &str = "\
Examples:
  dovetail gateway doctor --to http://203.0.113.9/large --output gateway.toml
      fills the link from your own server for 12 s or 64 MB: the rate, the far buffer, and the probe that sees it
  dovetail gateway doctor --to http://203.0.113.9/large --upload http://203.0.113.9/take --time 20s --bytes 200MB
      also the uplink, for longer; prints what it finds and writes nothing
  dovetail gateway doctor --to 203.0.113.9 --rate 2Mbps --output gateway.toml
      with the provider's figure for the rate: only probes are tried
  dovetail gateway doctor
      sends nothing: examines this machine";

#[cfg(feature = "gateway")]
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// A server of yours beyond the link: the URL of a large file on it, over plain HTTP, to measure the downlink; or its
    /// name or address, to try probes alone
    #[arg(long, value_name = "URL|HOST")]
    pub(crate) to: Option<String>,

    /// Where to POST to, to measure the uplink
    #[arg(long, value_name = "URL")]
    pub(crate) upload: Option<String>,

    /// Probe to try, as the configuration has it, such as 10.99.0.1 or hop:2@203.0.113.9; can be given several times
    /// [default: those that there may be on the way to the server]
    #[arg(long = "probe", value_name = "PROBE")]
    pub(crate) probes: Vec<String>,

    /// The provider's figure for the downlink, where it is not measured
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// How long to fill each direction at most, 2s to 5min
    #[arg(long, value_name = "TIME", default_value = "12s", value_parser = parse_time)]
    pub(crate) time: Nanos,

    /// How much to move in each direction at most; what is in flight at the end comes on top
    #[arg(long, value_name = "BYTES", default_value = "64MB", value_parser = dovetail_sched::units::parse_bytes)]
    pub(crate) bytes: u64,

    /// Write a first configuration to this file, which must not exist
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

#[cfg(feature = "middlebox")]
const MIDDLEBOX_EXAMPLES: &str = "\
Examples:
  dovetail middlebox --config box.toml --check
      what a box with this configuration does, and whether this machine has what it names
  dovetail middlebox --config box.toml
      runs until SIGTERM or Ctrl-C; SIGHUP has it read the file again
  dovetail middlebox --config box.toml --records live
  dovetail compare --workload live/workload.csv --pipeline buffer=4 --policy drfq --policy atfq
      what passed, packet by packet, and what other policies would have made of it";

#[cfg(feature = "middlebox")]
#[derive(Debug, Args)]
#[command(after_help = MIDDLEBOX_EXAMPLES)]
pub(crate) struct MiddleboxArgs {
    /// Configuration to run
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: PathBuf,

    /// Explain the configuration and check that this machine has what it names; do not run
    #[arg(long)]
    pub(crate) check: bool,

    /// Print what nftables should say beside this box, as a file for `nft -f`; do not run
    #[arg(long, conflicts_with_all = ["check", "records", "pcap"])]
    pub(crate) nftables: bool,

    /// Write a row for each packet into this folder: what became of it, and a workload that `compare` can run again
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    pub(crate) records: Option<PathBuf>,

    /// Write what leaves as a capture
    #[arg(long, value_name = "FILE.pcap", conflicts_with = "check")]
    pub(crate) pcap: Option<PathBuf>,
}

#[cfg(feature = "middlebox")]
const LAB_EXAMPLES: &str = "\
Examples:
  sudo dovetail lab up
      three namespaces, a box between two of them, three downloads with functions of unlike cost; a line a second
  sudo dovetail lab up --policy fifo --duration 10s
      the same traffic through another policy";

#[cfg(feature = "middlebox")]
#[derive(Debug, Args)]
#[command(after_help = LAB_EXAMPLES)]
pub(crate) struct LabArgs {
    /// What to do with it
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[cfg(feature = "middlebox")]
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Build it, run a box and traffic in it, and remove it at the end
    Up(LabUpArgs),
}

#[cfg(feature = "middlebox")]
#[derive(Debug, Args)]
#[command(after_help = LAB_EXAMPLES)]
pub(crate) struct LabUpArgs {
    /// Policy of the box
    #[arg(long, value_name = "POLICY", default_value = "drfq")]
    pub(crate) policy: String,

    /// Rate of the link behind the box
    #[arg(long, value_name = "RATE", default_value = "50Mbps")]
    pub(crate) link: String,

    /// How long to run; until Ctrl-C if it is not given
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,

    /// Leave out the traffic: the lab is yours until Ctrl-C
    #[arg(long)]
    pub(crate) idle: bool,
}

const ADMIT_EXAMPLES: &str = "\
Examples:
  dovetail admit reservations.toml
      which reservations are admitted, in the file's order, which are refused by which rule, and what is left
  dovetail admit reservations.toml --bound separate --json
      delay bounds for a scheduler per resource; one JSON document on standard output";

#[derive(Debug, Args)]
#[command(after_help = ADMIT_EXAMPLES)]
pub(crate) struct AdmitArgs {
    /// The node and the reservations requested of it
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,

    /// Delay bound that reservations are held to: composite (eq. 14) or separate (eq. 13)
    #[arg(long, value_name = "FORMULA", default_value = "composite")]
    pub(crate) bound: Bound,

    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(feature = "profile")]
const PROFILE_EXAMPLES: &str = "\
Examples:
  dovetail profile
      lists the functions
  dovetail profile all --output my-box.toml --report profile.html
      all of them on this machine, written as a scenario for compare and tune, with charts
  dovetail compare my-box.toml --trace capture.pcap --policy drfq --policy atfq:batch=20
      your packets at those costs
  dovetail profile ipsec forwarding --sizes 64,512,1514 --packets 50000 --core 1 --samples ns.csv
      two of them with your own sizes on core 1, with every single measurement";

#[cfg(feature = "profile")]
#[derive(Debug, Args)]
#[command(after_help = PROFILE_EXAMPLES)]
pub(crate) struct ProfileArgs {
    /// Functions, such as ipsec; 'all' for every one; none lists them
    #[arg(value_name = "FUNCTION")]
    pub(crate) functions: Vec<String>,

    /// Sizes of the packets in bytes, separated by commas; for jpeg, of the raw pictures [default: 64 to 1514; jpeg:
    /// pictures of 32, 64, 96 and 128 pixels]
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',')]
    pub(crate) sizes: Vec<usize>,

    /// Packets of each size
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=2_000_000))]
    pub(crate) packets: u32,

    /// Core to measure on [default: the last one that this process may use]
    #[arg(long, value_name = "N")]
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
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ScenariosArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PoliciesArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

/// They are read by the Python package, whose `dovetail sweep --help` describes them.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct SweepArgs {
    /// GRID.toml --out DIR, and options
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<OsString>,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  dovetail completions bash > ~/.local/share/bash-completion/completions/dovetail
  dovetail completions zsh > ~/.zfunc/_dovetail";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write them to; created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// Times would be stretched beyond the end of the clock.
const LEAST_LOAD: f64 = 1e-6;

fn parse_load(text: &str) -> Result<f64, String> {
    let load = text.parse().ok().filter(|load: &f64| load.is_finite() && (LEAST_LOAD..=1000.0).contains(load));
    load.ok_or_else(|| "a load is a number from 0.000001 to 1000, such as 0.95".to_owned())
}

/// Seeds to run with, each once.
#[derive(Debug, Clone)]
pub(crate) struct Seeds(pub(crate) Vec<u64>);

/// The most seeds.
const MOST_SEEDS: u64 = 1000;

/// A range with both ends, or a list.
fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let wrong = || format!("seeds are a range such as 1..20, or a list such as 1,5,9, of at most {MOST_SEEDS}");
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let seeds: Vec<u64> = match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last - first >= MOST_SEEDS {
                return Err(wrong());
            }
            (first..=last).collect()
        }
        None => text.split(',').map(number).collect::<Result<_, _>>()?,
    };
    match seeds.iter().enumerate().find(|(at, seed)| seeds[..*at].contains(seed)) {
        Some((_, twice)) => Err(format!("seed {twice} is given twice")),
        None if seeds.len() as u64 > MOST_SEEDS => Err(wrong()),
        None => Ok(Seeds(seeds)),
    }
}

fn parse_window(text: &str) -> Result<Nanos, String> {
    let window = parse_time(text).map_err(|error| error.to_string())?;
    if window == Nanos::ZERO { Err("a window is longer than nothing".to_owned()) } else { Ok(window) }
}
