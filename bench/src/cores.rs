//! Speed-up of one run by a second core, which generates packets while the first schedules and measures them.
//!
//! Figures are elapsed time, on any two cores: waiting for the other thread counts.

use std::{fmt::Write as _, io::Cursor, sync::Arc, thread, time::Instant};

use dovetail_bench_counts::{
    simulation::scenario,
    traffic::{Poisson, Resources},
};
use dovetail_compare::drawn_ahead;
use dovetail_sched::{Limits, PolicySpec, Setup};
use dovetail_sim::{
    Options, PipelineMode,
    measure::{DEFAULT_WINDOW, Meters, Summary},
    simulate,
    workload::{Csv, CsvOptions, Workload},
};

use crate::{border::on_any_core, row::Row, row::Unit, spread::Spread};

const FLOWS: u32 = 1_000;
const PACKETS: u64 = 1_000_000;
const POLICIES: [&str; 3] = ["drr", "wfq", "tradeoff"];

/// The source of packets.
enum Source {
    Table(Arc<str>),
    Scenario,
}

impl Source {
    fn name(&self) -> &'static str {
        match self {
            Self::Table(_) => "table",
            Self::Scenario => "scenario",
        }
    }

    fn open(&self) -> Result<Box<dyn Workload>, String> {
        match self {
            Self::Table(text) => {
                let bytes = Cursor::new(Arc::<[u8]>::from(Arc::clone(text)));
                let options = CsvOptions { time_scale: 1.0, packets: Some(PACKETS) };
                let csv = Csv::open(Box::new(bytes), "table.csv", options).map_err(|error| error.to_string())?;
                Ok(Box::new(csv))
            }
            Self::Scenario => Ok(Box::new(scenario(FLOWS, PACKETS, 1)?)),
        }
    }
}

/// Packets per second on one core and on two, and their ratio.
pub fn rows(rounds: u64, mut failed: impl FnMut(String)) -> Vec<Row> {
    let table = match table() {
        Ok(table) => table,
        Err(reason) => {
            failed(format!("two cores: {reason}"));
            return Vec::new();
        }
    };
    let mut rows = Vec::new();
    for source in [Source::Table(table), Source::Scenario] {
        for policy in POLICIES {
            match of_rounds(&source, policy, rounds) {
                Ok([one, two]) => {
                    let row = |benchmark: &str, spread: Option<Spread>, unit| {
                        let (benchmark, subject) = (format!("{benchmark}, {}", source.name()), policy.into());
                        spread.map(|spread| Row { benchmark, subject, flows: FLOWS, spread, unit, goal: None })
                    };
                    rows.extend(row("one core", Spread::of(&one), Unit::PacketsPerSecond));
                    rows.extend(row("two cores", Spread::of(&two), Unit::PacketsPerSecond));
                    rows.extend(row("two cores over one", Spread::of_ratios(&two, &one), Unit::Times));
                }
                Err(reason) => failed(format!("two cores, {}, {policy}: {reason}", source.name())),
            }
        }
    }
    rows.sort_by_key(|row| row.unit != Unit::PacketsPerSecond);
    rows
}

fn of_rounds(source: &Source, policy: &str, rounds: u64) -> Result<[Vec<f64>; 2], String> {
    let policy: PolicySpec = policy.parse().map_err(|error: dovetail_sched::PolicyError| error.to_string())?;
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        let [one, two] = [false, true].map(|ahead| timed(source, &policy, ahead));
        let [(one, plain), (two, drawn)] = [one?, two?];
        if plain.sent != PACKETS || format!("{plain:?}") != format!("{drawn:?}") {
            return Err("two cores came to something else".into());
        }
        // Round 0 warms up.
        if round > 0 {
            rates[0].push(one);
            rates[1].push(two);
        }
    }
    Ok(rates)
}

/// Packets per second, and the summary of the run.
fn timed(source: &Source, policy: &PolicySpec, ahead: bool) -> Result<(f64, Summary), String> {
    let on_a_thread = || {
        on_any_core()?;
        let begun = Instant::now();
        let summary = if ahead {
            drawn_ahead(|| source.open(), |workload| run(policy, workload))?
        } else {
            run(policy, source.open()?.as_mut())
        }?;
        Ok((PACKETS as f64 / begun.elapsed().as_secs_f64(), summary))
    };
    thread::scope(|scope| scope.spawn(on_a_thread).join().map_err(|_| "a thread panicked".to_owned())?)
}

fn run(policy: &PolicySpec, workload: &mut dyn Workload) -> Result<Summary, String> {
    let resources = workload.resources().len();
    let setup = Setup { programs: workload.programs(), ..Setup::new(resources, Limits::UNLIMITED) };
    let mut scheduler = policy.build(&setup).map_err(|error| error.to_string())?;
    let mut meters = Meters::new(resources, DEFAULT_WINDOW).of_open_loop(workload.is_open_loop()).without_series();
    simulate(workload, scheduler.as_mut(), PipelineMode::Unbounded, &mut meters, Options::default())
        .map_err(|error| error.to_string())?;
    Ok(meters.finish())
}

/// Poisson flows as a table of packets.
fn table() -> Result<Arc<str>, String> {
    let mut flows = Poisson::new(Resources::CpuAndLink, FLOWS, PACKETS, 1);
    let mut text = String::from("arrival_ns,flow,bytes,cpu_ns,link_ns\n");
    while let Some(arrival) = flows.next().map_err(|error| error.to_string())? {
        let times = arrival.demand.times();
        let (at, flow, bytes, cpu, link) = (arrival.at.0, arrival.flow.0, arrival.bytes, times[0].0, times[1].0);
        writeln!(text, "{at},{flow},{bytes},{cpu},{link}").map_err(|error| error.to_string())?;
    }
    Ok(text.into())
}
