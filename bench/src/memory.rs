//! Memory of a flow without packets, of a queued packet, and of a run with ten million flows.
//!
//! Each figure is measured in a process of its own, as counted by the system (`/proc/self/status`, resident): this program
//! starts itself for it. Tables grow by doubling, but what was never written is not resident.

use std::{env, fs, process::Command};

use dovetail_bench_counts::{
    simulation::{Simulation, Source},
    traffic::Resources,
};
use dovetail_sched::{
    Demand, Feedback, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Stage,
    flow::{FiveTuple, FlowTable},
};
use dovetail_sim::{
    PipelineMode,
    workload::{Arrival, Notice, Workload, WorkloadError},
};

use crate::{goals, row::Row, row::Unit, spread::Spread};

const POLICIES: [&str; 8] = ["fifo", "drr", "drr-sff", "wfq", "wf2q+", "drfq", "atfq", "tradeoff"];
const FLOWS: u32 = 1_000_000;
const PACKETS_A_FLOW: u32 = 10;
const MANY: u32 = 10_000_000;
const MANY_PACKETS: u64 = 20_000_000;
/// Policies for which a run with ten million flows is measured.
const WITH_MANY: [&str; 1] = ["wfq"];

/// All rows, each measured `rounds` times; runs with ten million flows once.
pub fn rows(rounds: u64, mut failed: impl FnMut(String)) -> Vec<Row> {
    let mut rows = Vec::new();
    for policy in POLICIES {
        let measured: Result<Vec<Vec<f64>>, String> = (0..rounds).map(|_| in_a_process("tables", policy)).collect();
        match measured {
            Ok(measured) => {
                for (at, benchmark) in ["memory, an idle flow", "memory, a packet that waits"].into_iter().enumerate() {
                    let bytes: Vec<f64> = measured.iter().filter_map(|both| both.get(at).copied()).collect();
                    rows.extend(row(benchmark, policy, FLOWS, &bytes, Unit::Bytes));
                }
            }
            Err(reason) => failed(format!("memory, {policy}: {reason}")),
        }
    }
    rows.sort_by(|a: &Row, b: &Row| a.benchmark.cmp(&b.benchmark));
    for policy in WITH_MANY {
        match in_a_process("run", policy) {
            Ok(megabytes) => {
                let many = row("memory, a run and its flow table", policy, MANY, &megabytes, Unit::Megabytes);
                rows.extend(many.map(|row| Row { goal: Some(goals::TEN_MILLION_FLOWS), ..row }));
            }
            Err(reason) => failed(format!("a run with {MANY} flows, {policy}: {reason}")),
        }
    }
    rows
}

fn row(benchmark: &str, policy: &str, flows: u32, figures: &[f64], unit: Unit) -> Option<Row> {
    let spread = Spread::of(figures)?;
    Some(Row { benchmark: benchmark.into(), subject: policy.into(), flows, spread, unit, goal: None })
}

/// Runs [`weigh`] in a separate process.
fn in_a_process(what: &str, policy: &str) -> Result<Vec<f64>, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program).args(["--weigh", what, "--policy", policy]).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().map(|figure| figure.parse().map_err(|_| format!("said {text}"))).collect()
}

/// The figures of `what` for the policy: bytes per flow and per packet of `tables`, or megabytes of a `run`.
pub fn weigh(what: &str, policy: &PolicySpec) -> Result<Vec<f64>, String> {
    match what {
        "tables" => tables(policy),
        "run" => run(policy),
        _ => Err(format!("'{what}' cannot be weighed: tables and run can")),
    }
}

fn tables(policy: &PolicySpec) -> Result<Vec<f64>, String> {
    let before = resident("VmRSS")?;
    let mut scheduler = policy.build(&Setup::new(2, Limits::UNLIMITED)).map_err(|error| error.to_string())?;
    let demand = Demand::new(&[Nanos(600), Nanos(800)]).map_err(|error| error.to_string())?;
    let mut now = Nanos::ZERO;
    for flow in (0..FLOWS).map(FlowId) {
        offer(&mut *scheduler, flow, demand, now)?;
        take(&mut *scheduler, &mut now)?;
    }
    let idle = resident("VmRSS")?;
    for _ in 0..PACKETS_A_FLOW {
        for flow in (0..FLOWS).map(FlowId) {
            offer(&mut *scheduler, flow, demand, now)?;
        }
    }
    let full = resident("VmRSS")?;
    let each = |bytes: f64, of: u32| bytes / f64::from(of);
    Ok(vec![each(idle - before, FLOWS), each(full - idle, FLOWS * PACKETS_A_FLOW)])
}

fn offer(scheduler: &mut dyn Scheduler, flow: FlowId, demand: Demand, now: Nanos) -> Result<(), String> {
    let packet = Packet { flow, bytes: 1000, arrival: now, handle: 0, demand };
    let admission = scheduler.enqueue(&packet, now);
    if admission.is_queued() { Ok(()) } else { Err(format!("a packet was not queued: {admission:?}")) }
}

/// Passes the queued packet through the pipeline.
fn take(scheduler: &mut dyn Scheduler, now: &mut Nanos) -> Result<(), String> {
    let released = loop {
        if let Some(released) = scheduler.dequeue(*now) {
            break released;
        }
        *now = scheduler.poll_at().ok_or("holds packets back and does not say until when")?.max(*now + Nanos(1));
    };
    let interest = scheduler.interest();
    for resource in 0..2 {
        for stage in [Stage::Started, Stage::Finished] {
            let took = released.packet.demand.times()[usize::from(resource)];
            if stage == Stage::Finished {
                *now += took;
            }
            if interest.has(stage, resource.into()) {
                let event = Feedback { flow: released.packet.flow, ticket: released.ticket, resource, stage, took };
                scheduler.feedback(&event, *now);
            }
        }
    }
    Ok(())
}

/// Peak memory of a run with ten million flows, including meters, with each packet's flow looked up by its five-tuple.
fn run(policy: &PolicySpec) -> Result<Vec<f64>, String> {
    let source = Source::Poisson(Resources::CpuAndLink);
    let mode = PipelineMode::Unbounded;
    let run = Simulation { policy: policy.clone(), source, mode, flows: MANY, limits: Limits::UNLIMITED };
    let table = FlowTable::new(MANY, Nanos::MAX, *b"sixteen bytes ok").map_err(|error| error.to_string())?;
    let prepared = run.prepare(MANY_PACKETS, 1)?.with_workload(|flows| Box::new(Keyed { flows, table }));
    let sent = prepared.run()?.sent;
    if sent != MANY_PACKETS {
        return Err(format!("sent {sent} of {MANY_PACKETS} packets"));
    }
    Ok(vec![resident("VmHWM")? / 1e6])
}

/// A memory figure in bytes, by the system's name for it.
fn resident(field: &str) -> Result<f64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map(|kilobytes| kilobytes * 1024.0).ok_or_else(|| format!("the system does not say {field}"))
}

/// Packets whose flows are identified by their five-tuples only.
struct Keyed {
    flows: Box<dyn Workload>,
    table: FlowTable<FiveTuple>,
}

impl Workload for Keyed {
    fn resources(&self) -> &[String] {
        self.flows.resources()
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        let Some(mut arrival) = self.flows.next()? else { return Ok(None) };
        let number = u128::from(arrival.flow.0).to_be_bytes();
        let key = FiveTuple { protocol: 17, source: number, destination: [0; 16], source_port: 1, destination_port: 2 };
        if let Some(found) = self.table.lookup(key, arrival.at, |_| false) {
            arrival.flow = found.flow;
        }
        Ok(Some(arrival))
    }

    fn label(&self, flow: FlowId) -> String {
        self.flows.label(flow)
    }

    fn notices(&self) -> Vec<Notice> {
        self.flows.notices()
    }
}
