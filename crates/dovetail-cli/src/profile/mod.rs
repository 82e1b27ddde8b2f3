//! `dovetail profile`: what network functions cost on this machine, as a line `a·bytes + b` for each.
//!
//! [`mod@measure`] times packets, [`summary`] sums them up, [`mod@fit`] draws the line, [`scenario`] writes what `compare`
//! reads.

mod fit;
mod measure;
mod page;
mod scenario;
mod show;
mod summary;
mod traffic;

use std::{fmt::Write, path::PathBuf};

use dovetail_box::functions::{Entry, REGISTRY};

use crate::{
    args::ProfileArgs,
    failure::Failure,
    output::{deliver, print, replace_file},
    run::progress_bar,
    table::Table,
};
pub(crate) use fit::fit;
pub(crate) use measure::{Sample, measure};
use show::Profiles;
pub(crate) use summary::quantile;
use summary::{Profile, word};
use traffic::Traffic;

/// How it was measured, and where it goes.
pub(crate) struct Setting {
    pub(crate) core: Result<usize, String>,
    pub(crate) clock_nanos: u64,
    pub(crate) seed: u64,
    pub(crate) notes: Vec<String>,
    pub(crate) output: Option<PathBuf>,
    pub(crate) samples: Option<PathBuf>,
}

/// The most packets of a function: they are all kept.
const MOST_PACKETS: usize = 2_000_000;

pub(crate) fn run(args: &ProfileArgs) -> Result<(), Failure> {
    if args.functions.is_empty() {
        return list();
    }
    let functions = resolve(&args.functions)?;
    let mut setting = Setting {
        core: Err("nothing was measured".to_owned()),
        clock_nanos: 0,
        seed: args.seed,
        notes: Vec::new(),
        output: args.output.clone(),
        samples: args.samples.clone(),
    };
    let packets = args.packets as usize;
    let plans: Vec<(&Entry, Vec<usize>)> = functions
        .into_iter()
        .map(|entry| Ok((entry, sizes(entry, args, &mut setting.notes)?)))
        .collect::<Result<_, Failure>>()?;
    if plans.iter().any(|(_, sizes)| sizes.len().saturating_mul(packets) > MOST_PACKETS) {
        let most = "ask for fewer --packets or --sizes: of each function 2,000,000 packets can be kept";
        return Err(Failure::usage(most));
    }
    let all: usize = plans.iter().map(|(_, sizes)| sizes.len() * packets).sum();
    let bar = progress_bar("", 0, Some(all as u64));
    let mut profiles = Vec::new();
    for (entry, sizes) in &plans {
        bar.set_prefix(entry.name);
        let measured = measure(entry.name, sizes, packets, args.seed, args.core, &bar)?;
        setting.clock_nanos = setting.clock_nanos.max(measured.clock_nanos);
        setting.core = measured.core;
        profiles.push(Profile::of(entry, measured.samples));
    }
    bar.finish_and_clear();
    if let Some(path) = &args.output {
        replace_file(path, &scenario::scenario(&profiles, args.link, args.seed))?;
    }
    if let Some(path) = &args.samples {
        replace_file(path, &csv(&profiles))?;
    }
    let profiles = Profiles { setting: &setting, functions: &profiles };
    let report = args.report.as_deref();
    deliver(report, args.json, || page::page(&profiles), || profiles.json(), || profiles.text(report))
}

/// What there is to measure.
fn list() -> Result<(), Failure> {
    let mut table = Table::new(&["function", "works on", "what it does"], 3);
    for entry in REGISTRY {
        table.push([entry.name.to_owned(), word(entry.processing).to_owned(), entry.summary.to_owned()]);
    }
    print(&format!(
        "{}\n\nMeasure some with 'dovetail profile NAME…', or all with 'dovetail profile all'.",
        table.to_terminal()
    ))
}

/// Functions by their names, 'all' for every one.
fn resolve(names: &[String]) -> Result<Vec<&'static Entry>, Failure> {
    let mut found: Vec<&Entry> = Vec::new();
    for name in names {
        let named: Vec<&Entry> = if name == "all" { REGISTRY.iter().collect() } else { vec![measure::find(name)?] };
        for entry in named {
            if found.iter().all(|other| other.name != entry.name) {
                found.push(entry);
            }
        }
    }
    Ok(found)
}

/// The sizes to measure a function by. What is asked for counts where the function has packets of that size; if it has
/// none of them, that is wrong use for one function, and its own sizes among several.
fn sizes(entry: &Entry, args: &ProfileArgs, notes: &mut Vec<String>) -> Result<Vec<usize>, Failure> {
    let usual = Traffic::usual_sizes(entry.name);
    let mut asked = args.sizes.clone();
    asked.sort_unstable();
    asked.dedup();
    let traffic = Traffic::new(entry.name, args.seed);
    let (fit, unfit): (Vec<usize>, Vec<usize>) = asked.iter().partition(|&&size| traffic.check(size).is_ok());
    let Some(&first) = unfit.first() else { return Ok(if fit.is_empty() { usual } else { fit }) };
    if args.functions.len() == 1 && args.functions[0] != "all" {
        traffic.check(first)?;
    }
    let listed = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let (taken, why) = if fit.is_empty() { (usual, "its own sizes are measured instead") } else { (fit, "left out") };
    notes.push(format!("{}: there are no packets of {} bytes: {why}", entry.name, listed(&unfit)));
    Ok(taken)
}

/// Every sample in the order of measurement.
fn csv(profiles: &[Profile]) -> String {
    let mut text = String::from("function,bytes,ns\n");
    for profile in profiles {
        for sample in &profile.samples {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{},{},{}", profile.function, sample.bytes, sample.nanos);
        }
    }
    text
}
