//! Costs of network functions on this machine, as a line `a·bytes + b` for each.
//!
//! [`measure()`] times packets, [`fit()`] fits a line to their costs, and the results form a scenario that
//! [`compare()`](crate::compare()) reads.

mod fit;
mod measure;
mod page;
mod scenario;
mod setting;
mod show;
mod summary;
mod traffic;

use std::{fmt::Write as _, io::Write, path::Path};

use dovetail_box::functions::{Entry, REGISTRY};

use crate::{
    error::{Error, Misuse},
    files::{Files, NewFile},
    options::ProfileOptions,
    output::{deliver, print},
    progress::{Progress, Task},
    table::Table,
};
pub use fit::{Fit, Line, fit};
pub use measure::{Measured, Sample, measure};
use setting::Setting;
use show::Profiles;
pub use summary::quantile;
use summary::{Profile, word};
use traffic::Traffic;

/// The most packets per function: they are all kept.
const MAX_PACKETS: usize = 2_000_000;

/// Measures network functions, and writes their costs to `out`.
///
/// # Errors
/// [`Error::Misuse`] if the function or packet size does not exist; others if measuring or writing fails.
pub fn profile(options: &ProfileOptions, progress: &dyn Progress, out: &mut dyn Write) -> Result<(), Error> {
    if options.functions.is_empty() {
        refuse_without_functions(options)?;
        return list(out);
    }
    let functions = resolve(&options.functions)?;
    let mut setting = Setting {
        core: Err("nothing was measured".to_owned()),
        clock_nanos: 0,
        seed: options.seed,
        notes: Vec::new(),
        output: None,
        samples: None,
    };
    let mut files = Files::default();
    let report = files.writes("report", options.report.as_deref())?;
    let output = files.writes("output", options.output.as_deref())?;
    let samples = files.writes("samples", options.samples.as_deref())?;
    let packets = options.packets as usize;
    let plans: Vec<(&Entry, Vec<usize>)> = functions
        .into_iter()
        .map(|entry| Ok((entry, sizes(entry, options, &mut setting.notes)?)))
        .collect::<Result<_, Error>>()?;
    if plans.iter().any(|(_, sizes)| sizes.len().saturating_mul(packets) > MAX_PACKETS) {
        return Err(Misuse::TooManyPackets.into());
    }
    let all: usize = plans.iter().map(|(_, sizes)| sizes.len() * packets).sum();
    let bar = progress.begin(Task { name: "", width: 0, counts: "packets", total: Some(all as u64) });
    let mut profiles = Vec::new();
    for (entry, sizes) in &plans {
        bar.rename(entry.name);
        let measured = measure(entry.name, sizes, packets, options.seed, options.core, bar.as_ref())?;
        setting.clock_nanos = setting.clock_nanos.max(measured.clock_nanos);
        setting.core = measured.core;
        profiles.push(Profile::of(entry, measured.samples));
    }
    drop(bar);
    let mut failures = Vec::new();
    let mut keep = |file: Option<NewFile>, text: &dyn Fn() -> String| {
        let file = file?;
        let path = file.path().to_owned();
        file.keep_text(&text()).map(|()| path).map_err(|error| failures.push(error)).ok()
    };
    setting.output = keep(output, &|| scenario::scenario(&profiles, options.link, options.seed));
    setting.samples = keep(samples, &|| csv(&profiles));
    let profiles = Profiles { setting: &setting, functions: &profiles };
    let text = |report: Option<&Path>| profiles.text(report);
    failures.extend(deliver(out, report, options.json, || page::page(&profiles), || profiles.json(), text).err());
    Error::unless_none(failures)
}

/// Rejects options of measurements, which a list would ignore.
fn refuse_without_functions(options: &ProfileOptions) -> Result<(), Error> {
    let given: [(&'static [&'static str], bool); 6] = [
        (&["sizes"], !options.sizes.is_empty()),
        (&["core"], options.core.is_some()),
        (&["json"], options.json),
        (&["output"], options.output.is_some()),
        (&["samples"], options.samples.is_some()),
        (&["report"], options.report.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((fields, _)) => Err(Misuse::option(fields, "name a function, or all").into()),
        None => Ok(()),
    }
}

/// Lists the functions that can be measured.
fn list(out: &mut dyn Write) -> Result<(), Error> {
    let mut table = Table::new(&["function", "works on", "what it does"], 3);
    for entry in REGISTRY {
        table.push([entry.name.to_owned(), word(entry.processing).to_owned(), entry.summary.to_owned()]);
    }
    print(
        out,
        &format!(
            "{}\n\nMeasure some with 'dovetail profile NAME…', or all with 'dovetail profile all'.",
            table.to_terminal()
        ),
    )
}

/// Functions by name, 'all' for every one.
fn resolve(names: &[String]) -> Result<Vec<&'static Entry>, Error> {
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

/// The sizes to measure a function with: the requested ones of which the function has packets. If it has none of them, this
/// is a usage error for a single function; among several, its own sizes are used.
fn sizes(entry: &Entry, options: &ProfileOptions, notes: &mut Vec<String>) -> Result<Vec<usize>, Error> {
    let usual = Traffic::usual_sizes(entry.name);
    let mut asked = options.sizes.clone();
    asked.sort_unstable();
    asked.dedup();
    let traffic = Traffic::new(entry.name, options.seed);
    let (fit, unfit): (Vec<usize>, Vec<usize>) = asked.iter().partition(|&&size| traffic.check(size).is_ok());
    let Some(&first) = unfit.first() else { return Ok(if fit.is_empty() { usual } else { fit }) };
    if options.functions.len() == 1 && options.functions[0] != "all" {
        traffic.check(first)?;
    }
    let listed = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let (taken, why) = if fit.is_empty() { (usual, "its own sizes are measured instead") } else { (fit, "left out") };
    notes.push(format!("{}: there are no packets of {} bytes: {why}", entry.name, listed(&unfit)));
    Ok(taken)
}

/// All samples in the order of measurement.
fn csv(profiles: &[Profile]) -> String {
    let mut text = String::from("function,bytes,ns\n");
    for profile in profiles {
        for sample in &profile.samples {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{},{},{}", profile.function, sample.bytes, sample.nanos);
        }
    }
    text
}
