//! Speed of the schedulers and the simulator, beside their peers, as one table.
//!
//! | module | what is measured |
//! |---|---|
//! | [`mod@operations`] | nanoseconds of one dequeue and one enqueue, every policy |
//! | [`testbed`] | the same for the trade-off and MR3 in the setting of its paper |
//! | [`requests`] | nanoseconds of a response and the release that follows, compared with a linear search |
//! | [`simulator`] | packets per second of the whole simulator, ours and others' |
//! | [`border`] | nanoseconds per packet that C costs over Rust |
//! | [`network`] | how fast time passes in a network of hosts with TCP |
//! | [`transport`] | nanoseconds per segment of that TCP |
//! | [`cores`] | speed-up of one run by a second core |
//! | [`parts`] | where a packet's time goes in the whole simulator |
//! | [`memory`] | bytes per flow and per packet, and a run with ten million flows |
//!
//! [`chart`] and [`bars`] draw the results.
//!
//! `bench/run.sh` prepares the peers and runs this on one core.

mod bars;
mod border;
mod chart;
mod clock;
mod cores;
mod goals;
mod memory;
mod network;
mod operations;
mod parts;
mod peers;
mod requests;
mod row;
mod simulator;
mod spread;
mod testbed;
mod transport;

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Parser, ValueEnum};
use dovetail_sched::{PolicySpec, registry::REGISTRY};
use serde::{Deserialize, Serialize};

use dovetail_bench_counts::{operation::Setting, traffic::Resources};
use peers::firq::Firq;
use row::{Goal, Row, Unit};
use simulator::{Measured, Subject};
use spread::Spread;

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: dovetail_hugepages::HugePages = dovetail_hugepages::HugePages;

/// Prints one table of how fast everything is.
#[derive(Parser)]
struct Args {
    /// Measure only this
    #[arg(long)]
    only: Option<Part>,
    /// Numbers of flows for the operations
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000,10000,100000,1000000")]
    flows: Vec<u32>,
    /// Policies for the operations; all, tradeoff:alpha=1 and atfq:batch=20, unless given
    #[arg(long = "policy")]
    policies: Vec<PolicySpec>,
    /// How often every simulator runs
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// A Python that has the peers; without it they are left out
    #[arg(long, value_name = "PROGRAM")]
    peers: Option<PathBuf>,
    /// Measure nothing: show and draw the figures that were written to these as JSON, one after the other
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "only")]
    results: Vec<PathBuf>,
    /// Where to write the figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where to write the rows with a goal as a table
    #[arg(long, value_name = "FILE")]
    goals: Option<PathBuf>,
    /// Where to draw nanoseconds over flows as SVG
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Where to draw peers side by side as SVG
    #[arg(long, value_name = "FILE")]
    peers_chart: Option<PathBuf>,
    /// Where to draw where a packet's time goes as SVG
    #[arg(long, value_name = "FILE")]
    parts_chart: Option<PathBuf>,
    /// Only say how much memory this takes, of the policy that is given: this program asks itself in a process apart
    #[arg(long, hide = true, value_name = "tables|run")]
    weigh: Option<String>,
    /// Only measure one pair from Rust and from C: this program asks itself in a process apart
    #[arg(long, hide = true, num_args = 3, value_names = ["POLICY", "FLOWS", "PAIR"])]
    pair: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Operations,
    Requests,
    C,
    Simulator,
    Network,
    Transport,
    Cores,
    Parts,
    Memory,
}

/// The format of the JSON file.
#[derive(Serialize, Deserialize)]
struct Results {
    machine: String,
    rows: Vec<Row>,
    left_out: Vec<String>,
}

impl Results {
    /// Reads several files of one machine.
    fn read(files: &[PathBuf]) -> Result<Self, String> {
        let mut all: Option<Self> = None;
        for file in files {
            let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let next: Self = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
            match &mut all {
                None => all = Some(next),
                Some(all) if all.machine == next.machine => {
                    all.rows.extend(next.rows);
                    all.left_out.extend(next.left_out);
                }
                Some(all) => return Err(format!("{} is of {}, not of {}", file.display(), next.machine, all.machine)),
            }
        }
        all.ok_or_else(|| "no results".into())
    }

    /// Runs the requested measurements.
    fn measured(args: &Args) -> Self {
        let (mut rows, mut left_out) = (Vec::new(), Vec::new());
        let asked = |part| args.only.is_none_or(|only| only == part);
        if asked(Part::Operations) {
            rows.extend(operations(args, &mut left_out));
            rows.extend(testbed::rows(|what| left_out.push(what)));
        }
        if asked(Part::Requests) {
            rows.extend(requests::rows(|what| left_out.push(what)));
        }
        if asked(Part::C) {
            rows.extend(border::rows(|what| left_out.push(what)));
            rows.extend(border::two_threads(|what| left_out.push(what)));
        }
        if asked(Part::Simulator) {
            rows.extend(simulators(args, &mut left_out));
        }
        if asked(Part::Network) {
            eprintln!("network, {} rounds", args.rounds);
            rows.extend(network::rows(args.rounds, |what| left_out.push(what)));
        }
        if asked(Part::Transport) {
            eprintln!("transport, {} rounds", args.rounds);
            rows.extend(transport::rows(args.rounds));
        }
        if asked(Part::Cores) {
            eprintln!("one and two cores, {} rounds", args.rounds);
            rows.extend(cores::rows(args.rounds, |what| left_out.push(what)));
        }
        if asked(Part::Parts) {
            eprintln!("where a packet's time goes, {} rounds", args.rounds);
            rows.extend(parts::rows(args.rounds, |what| left_out.push(what)));
        }
        if asked(Part::Memory) {
            eprintln!("memory");
            rows.extend(memory::rows(3, |what| left_out.push(what)));
        }
        Self { machine: machine(), rows, left_out }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let (Some(what), [policy]) = (&args.weigh, &args.policies[..]) {
        return said(memory::weigh(what, policy));
    }
    if let [policy, flows, pair] = &args.pair[..] {
        let numbers = flows.parse().ok().zip(pair.parse().ok()).ok_or("numbers, not these".to_owned());
        return said(numbers.and_then(|(flows, pair)| border::pair(policy, flows, pair)));
    }
    let read = if args.results.is_empty() { Ok(Results::measured(&args)) } else { Results::read(&args.results) };
    let results = match read {
        Ok(results) => results,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let Results { machine, rows, left_out } = &results;
    println!(
        "{machine}; processor time of one core; median, least and largest of the repetitions\n\n{}",
        row::table(rows)
    );
    for what in left_out {
        println!("left out: {what}");
    }
    let json = serde_json::to_string_pretty(&results).ok();
    let chart = chart::draw(rows, &format!("One dequeue and one enqueue, 2 or 3 packets a flow; {machine}"));
    let goals = row::table(rows.iter().filter(|row| row.goal.is_some()));
    let goals = Some(format!("{machine}; the rows that have a goal\n\n{goals}\n"));
    let (peers, parts) = (bars::peers(rows, machine), bars::parts(rows, machine));
    for (file, content) in [
        (&args.json, json),
        (&args.goals, goals),
        (&args.chart, chart),
        (&args.peers_chart, peers),
        (&args.parts_chart, parts),
    ] {
        if let (Some(file), Some(content)) = (file, content)
            && let Err(error) = fs::write(file, content)
        {
            eprintln!("error: {}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Prints the figures of a child process for the process that started it.
fn said(figures: Result<impl IntoIterator<Item = f64>, String>) -> ExitCode {
    match figures {
        Ok(figures) => {
            figures.into_iter().for_each(|figure| println!("{figure}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

const OPERATION: &str = "operation";
const FULL_BUFFER: &str = "full buffer";
/// The policy with which its variants are compared.
const BESIDE: &str = "drr";

fn operations(args: &Args, left_out: &mut Vec<String>) -> Vec<Row> {
    let mut policies = args.policies.clone();
    if policies.is_empty() {
        let names = REGISTRY.iter().map(|entry| entry.name).chain(["tradeoff:alpha=1", "atfq:batch=20"]);
        for name in names {
            match name.parse() {
                Ok(policy) => policies.push(policy),
                Err(error) => left_out.push(format!("{name}: {error}")),
            }
        }
    }
    let mut flows = args.flows.clone();
    flows.sort_unstable();
    let mut rows: Vec<Row> = Vec::new();
    let mut beside_drr: Vec<Row> = Vec::new();
    for &flows in &flows {
        eprintln!("operations, {flows} flows");
        let all = operations::run(&policies, Setting::Mixed, flows, |what| left_out.push(what));
        let of = |name| all.iter().find(|measured| measured.subject == name);
        if let (Some(ours), Some(plain)) = (of("drr-sff"), of(BESIDE)) {
            let times = Spread::of_ratios(&ours.nanos, &plain.nanos);
            let name = ours.subject.clone();
            beside_drr.extend(row("operation / that of drr", name, flows, times, Unit::Times, Some(goals::BESIDE_DRR)));
        }
        for measured in all {
            let goal = goals::operation(&measured.subject, flows);
            rows.extend(row(OPERATION, measured.subject, flows, Spread::of(&measured.nanos), Unit::Nanos, goal));
        }
    }
    for &flows in &flows {
        rows.extend(full_buffer(&policies, flows, left_out));
    }
    let order = |row: &Row| policies.iter().position(|policy| policy.as_str() == row.subject);
    // The peer is listed after all of ours.
    rows.sort_by_key(|row| (row.benchmark != OPERATION, row.subject == Firq::NAME, order(row), row.flows));
    let mut flat = Vec::new();
    let of_constant_cost = policies.iter().filter(|policy| policy.entry().cost.starts_with("O(1)"));
    for (benchmark, policy) in of_constant_cost.flat_map(|policy| [(OPERATION, policy), (FULL_BUFFER, policy)]) {
        // Finding the longest queue of all takes O(log n).
        if benchmark == FULL_BUFFER && policy.as_str() == BESIDE {
            continue;
        }
        let of = |flows| {
            rows.iter()
                .find(|row| row.benchmark == benchmark && row.subject == policy.as_str() && Some(&row.flows) == flows)
        };
        if let (Some(few), Some(many)) = (of(flows.first()), of(flows.last()))
            && few.flows < many.flows
        {
            let (few, many) = (few.spread, many.spread);
            let spread = Spread {
                median: many.median / few.median,
                min: many.min / few.max,
                max: many.max / few.min,
                repetitions: few.repetitions,
            };
            let name = format!("{benchmark} / that of {} flows", args.flows.iter().min().unwrap_or(&0));
            let most = args.flows.iter().copied().max().unwrap_or(0);
            flat.extend(row(&name, policy.to_string(), most, Some(spread), Unit::Times, Some(goals::FLAT)));
        }
    }
    rows.extend(flat);
    rows.extend(flat_heaps(&policies, &rows));
    rows.extend(beside_drr);
    rows
}

/// Cost with a million flows relative to ten thousand, for policies whose cost grows with them.
fn flat_heaps(policies: &[PolicySpec], rows: &[Row]) -> Vec<Row> {
    const FEW: u32 = 10_000;
    const MANY: u32 = 1_000_000;
    let of = |policy: &PolicySpec, flows| {
        rows.iter().find(|row| row.benchmark == OPERATION && row.subject == policy.as_str() && row.flows == flows)
    };
    let ratio = |policy: &PolicySpec| {
        let (few, many) = (of(policy, FEW)?.spread, of(policy, MANY)?.spread);
        let median = many.median / few.median;
        let (min, max) = (many.min / few.max, many.max / few.min);
        let spread = Some(Spread { median, min, max, repetitions: few.repetitions });
        row("operation / that of 10,000 flows", policy.to_string(), MANY, spread, Unit::Times, Some(goals::FLAT_HEAP))
    };
    policies.iter().filter(|policy| !policy.entry().cost.starts_with("O(1)")).filter_map(ratio).collect()
}

/// The policies with their own rule for a full buffer, next to deficit round robin, which drops from the longest queue.
fn full_buffer(policies: &[PolicySpec], flows: u32, left_out: &mut Vec<String>) -> Vec<Row> {
    let with_a_rule = ["drr-sff", "las", "run2c", BESIDE];
    let policies: Vec<PolicySpec> =
        policies.iter().filter(|policy| with_a_rule.contains(&policy.as_str())).cloned().collect();
    eprintln!("full buffer, {flows} flows");
    let measured = operations::run(&policies, Setting::FullBuffer, flows, |what| left_out.push(what));
    let rows = measured.into_iter().filter_map(|measured| {
        row(FULL_BUFFER, measured.subject, flows, Spread::of(&measured.nanos), Unit::Nanos, None)
    });
    rows.collect()
}

fn simulators(args: &Args, left_out: &mut Vec<String>) -> Vec<Row> {
    eprintln!("simulators, {} rounds", args.rounds);
    if args.peers.is_none() {
        left_out.push("ns.py and daytone: no Python that has them was given".into());
    }
    let all = simulator::run(args.peers.as_deref(), args.rounds, |what| left_out.push(what));
    let mut rows = Vec::new();
    let mut ratios = Vec::new();
    for Measured { subject, packets_per_second } in &all {
        let spread = Spread::of(packets_per_second);
        match subject {
            Subject::Ours(case) => {
                let goal = goals::simulator(case.policy.as_str()).filter(|_| case.resources == Resources::CpuAndLink);
                let name = format!("simulator, {}", case.pipeline());
                rows.extend(row(&name, case.policy.to_string(), case.flows, spread, Unit::PacketsPerSecond, goal));
            }
            Subject::Peer(peer) => {
                rows.extend(row("simulator, link", peer.label(), peer.flows, spread, Unit::PacketsPerSecond, None));
                let ours = all.iter().find(|other| matches!(&other.subject, Subject::Ours(case) if case.is_like(peer)));
                let spread = ours.and_then(|ours| Spread::of_ratios(&ours.packets_per_second, packets_per_second));
                let name = format!("{} / {}", peer.ours, peer.label());
                let goal = Some(Goal::AtLeast(peer.goal));
                ratios.extend(row("as fast as peer", name, peer.flows, spread, Unit::Times, goal));
            }
        }
    }
    // By pipeline, the comparison last, then in the order of the runs.
    rows.sort_by(|a: &Row, b: &Row| b.benchmark.cmp(&a.benchmark).then(b.flows.cmp(&a.flows)));
    rows.extend(ratios);
    rows
}

fn row(
    benchmark: &str,
    subject: String,
    flows: u32,
    spread: Option<Spread>,
    unit: Unit,
    goal: Option<Goal>,
) -> Option<Row> {
    Some(Row { benchmark: benchmark.into(), subject, flows, spread: spread?, unit, goal })
}

/// The processor's name, from the operating system.
fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| "unknown processor".into());
    match (field("cpu family"), field("model")) {
        (Some(family), Some(number)) => format!("{model} (family {family}, model {number})"),
        _ => model,
    }
}
