//! Several samples of the traffic: every capture with every seed.

use std::path::PathBuf;

use crate::{
    error::{Error, Misuse},
    files::are_one,
    options::{InputOptions, OutputOptions},
    table::Table,
};

/// Whether several samples are requested.
pub(crate) fn are_asked_for(seeds: &[u64], further_traces: &[PathBuf]) -> bool {
    !seeds.is_empty() || !further_traces.is_empty()
}

/// The input for each sample: all seeds of the first capture, then those of the second, and so on.
pub(crate) fn inputs(input: &InputOptions, seeds: &[u64], further_traces: &[PathBuf]) -> Vec<InputOptions> {
    let traces: Vec<Option<PathBuf>> = match &input.trace {
        Some(first) => [first].into_iter().chain(further_traces).cloned().map(Some).collect(),
        None => vec![None],
    };
    let seeds: Vec<Option<u64>> = match seeds {
        [] => vec![input.seed],
        seeds => seeds.iter().copied().map(Some).collect(),
    };
    let pairs = traces.iter().flat_map(|trace| seeds.iter().map(move |&seed| (trace.clone(), seed)));
    pairs.map(|(trace, seed)| InputOptions { trace, seed, ..input.clone() }).collect()
}

/// Rejects options that do not apply to several samples.
pub(crate) fn refuse_what_one_run_has(
    input: &InputOptions,
    seeds: &[u64],
    further_traces: &[PathBuf],
    output: &OutputOptions,
) -> Result<(), Error> {
    if output.records.is_some() {
        let several = "several samples are summarised, not recorded: give one capture and one seed";
        return Err(Misuse::option(&["records"], several).into());
    }
    if !seeds.is_empty() && input.workload.is_some() {
        return Err(Misuse::option(&["seeds"], "a table has nothing random").into());
    }
    if !seeds.is_empty() && input.seed.is_some() {
        return Err(Misuse::option(&["seed"], "give one seed, or several seeds").into());
    }
    let traces: Vec<&PathBuf> = input.trace.iter().chain(further_traces).collect();
    let is_twice = |at: usize| traces[..at].iter().any(|before| are_one(before, traces[at]));
    if let Some(twice) = traces.iter().enumerate().find(|(at, _)| is_twice(*at)) {
        return Err(Misuse::option(&["trace"], format!("{} is given twice", twice.1.display())).into());
    }
    Ok(())
}

/// Describes in a sentence how many samples there are; `samples` are their captures and seeds.
pub(crate) fn said_of(samples: &[(Option<&str>, Option<u64>)]) -> String {
    let distinct = |count: usize, one: &str, many: &str| match count {
        0 | 1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let count = |of: usize| samples.len() / of.max(1);
    let first = samples.first().copied().unwrap_or_default();
    let with_this_seed = samples.iter().filter(|(_, seed)| *seed == first.1).count();
    let of_this_trace = samples.iter().filter(|(trace, _)| *trace == first.0).count();
    let seeds = distinct(count(with_this_seed), "seed", "seeds");
    let what = match first.0 {
        Some(_) => format!("{} with {seeds}", distinct(count(of_this_trace), "capture", "captures")),
        None => seeds,
    };
    format!("{} samples, {what}: medians, and below them the 5th to the 95th percentile (nearest rank)", samples.len())
}

/// The heading of a sample's provenance on a page.
pub(crate) fn provenance_of(trace: Option<&str>, seed: Option<u64>) -> String {
    let trace = trace.unwrap_or("the scenario");
    let seed = seed.map_or_else(|| "no seed".to_owned(), |seed| format!("seed {seed}"));
    format!("Provenance: {trace}, {seed}")
}

/// All notes of the samples without repetition, in order of first occurrence.
pub(crate) fn notes<'a>(each: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in each {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// Label of the row with the interval, below that of the medians.
pub(crate) const INTERVAL: &str = "  5–95 %";

/// An empty table whose first column contains names.
pub(crate) fn table(header: Vec<String>) -> Table {
    Table { header, rows: Vec::new(), words: 1 }
}
