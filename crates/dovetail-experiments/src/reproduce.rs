//! Runs the requested experiments and shows their results.

use std::{io::Write, path::PathBuf, sync::atomic::Ordering};

use dovetail_compare::{
    Progress, Task,
    files::Files,
    output::{print, print_json},
    supply::Supply,
    table::Table,
};

use crate::{
    error::Error,
    experiment::{Experiment, Finding, Given, MakeFinding},
    known,
    list::EXPERIMENTS,
    show::{ExperimentJson, page, text},
    tally::Tally,
};

#[cfg(all(feature = "live", target_os = "linux"))]
use crate::live::TRIALS;
/// This build has none.
#[cfg(not(all(feature = "live", target_os = "linux")))]
const TRIALS: &[(&str, MakeFinding)] = &[];

/// The name that stands for every experiment.
const ALL: &str = "all";

/// Which experiments to run, and how to show them.
#[derive(Debug, Clone, Default)]
pub struct ReproduceOptions {
    /// Names of experiments, "all" for every one; if empty, they are listed.
    pub names: Vec<String>,
    /// Captures to replay in trace-driven experiments, superimposed; if empty, synthetic traffic is used.
    pub traces: Vec<PathBuf>,
    /// One JSON document instead of a text.
    pub json: bool,
    /// Write a page with the published figures redrawn.
    pub report: Option<PathBuf>,
    /// Use real packets through the middlebox on this machine.
    pub live: bool,
}

/// Runs experiments, and writes to `out` the results next to the published ones. It is for the caller to judge how many rows
/// must hold.
///
/// # Errors
/// If an experiment cannot be run, or writing fails. With "all", experiments whose requirements this machine or build lacks
/// are skipped instead.
pub fn reproduce(options: &ReproduceOptions, progress: &dyn Progress, out: &mut dyn Write) -> Result<Tally, Error> {
    if options.names.is_empty() {
        refuse_without_names(options)?;
        return list(out).map(|()| Tally::default());
    }
    let experiments = select(&options.names)?;
    let trials = options.live.then(|| experiments.iter().map(|one| trial_of(one)).collect::<Result<Vec<_>, _>>());
    let trials = trials.transpose()?;
    if !options.traces.is_empty() && !experiments.iter().any(|experiment| experiment.by_trace) {
        let known: Vec<_> = EXPERIMENTS.iter().filter(|one| one.by_trace).map(|one| one.name).collect();
        return Err(Error::NoReplay(known.join(", ")));
    }
    let mut files = Files::default();
    options.traces.iter().for_each(|path| files.reads("trace", path));
    let report = files.writes("report", options.report.as_deref())?;
    let bar = progress.begin(Task { name: "reproducing", width: 0, counts: "packets", total: None });
    let traces = options.traces.iter().map(|path| Supply::open(path)).collect::<Result<Vec<_>, _>>()?;
    let given = Given { traces: &traces, bar: bar.as_ref() };
    let mut findings = Vec::new();
    let mut failure = None;
    for (at, &experiment) in experiments.iter().enumerate() {
        if bar.stop().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            failure = Some(Error::broken("stopped"));
            break;
        }
        bar.rename(experiment.name);
        let found = match &trials {
            Some(trials) => (trials[at])(&given).map(|mut finding| {
                known::mark(experiment.name, false, &mut finding.rows);
                finding
            }),
            None => made(experiment, &given, is_all(&options.names)),
        };
        match found {
            Ok(finding) => findings.push((experiment, finding)),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    drop(bar);
    if let Some(error) = failure {
        // What took minutes is shown all the same; a document would not be whole.
        for (experiment, finding) in findings.iter().filter(|_| !options.json) {
            print(out, &text(experiment, finding))?;
        }
        return Err(error);
    }
    let tally = Tally::of(findings.iter().flat_map(|(_, finding)| &finding.rows));
    // Results that took minutes are shown even if the page cannot be written.
    let written = report.map(|report| report.keep_text(&page(&findings).to_html())).transpose();
    if options.json {
        let documents: Vec<_> =
            findings.iter().map(|(experiment, finding)| ExperimentJson::new(experiment, finding)).collect();
        if let [one] = documents.as_slice() { print_json(out, one) } else { print_json(out, &documents) }?;
        return Ok(written.map(|_| tally)?);
    }
    for (experiment, finding) in &findings {
        print(out, &text(experiment, finding))?;
    }
    print(out, &tally.to_string())?;
    written?;
    if let Some(path) = &options.report {
        print(out, &format!("report: {}", path.display()))?;
    }
    Ok(tally)
}

/// The results of an experiment, either one of all or one named.
fn made(experiment: &Experiment, given: &Given<'_>, of_all: bool) -> Result<Finding, Error> {
    match (experiment.run)(given) {
        // If named, this is an error; among all, it is an experiment that may run elsewhere.
        Err(why) if why.is_lacking() && of_all => Ok(Finding::left_out(&why)),
        Err(Error::Lacking(why)) => Err(Error::Lacking(format!("{}: {why}", experiment.name))),
        Err(why) => Err(why),
        Ok(mut finding) => {
            let own_traffic = experiment.by_trace && !given.traces.is_empty();
            known::mark(experiment.name, own_traffic, &mut finding.rows);
            Ok(finding)
        }
    }
}

/// Rejects options of experiments, which a list would ignore.
fn refuse_without_names(options: &ReproduceOptions) -> Result<(), Error> {
    let given = [
        ("json", options.json),
        ("report", options.report.is_some()),
        ("traces", !options.traces.is_empty()),
        ("live", options.live),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => Err(Error::NothingNamed(field)),
        None => Ok(()),
    }
}

fn list(out: &mut dyn Write) -> Result<(), Error> {
    let mut table = Table::new(&["experiment", "what", "source"], 3);
    for experiment in EXPERIMENTS {
        table.push([experiment.name, experiment.title, experiment.source].map(str::to_owned));
    }
    let text = format!(
        "{}\n\nRun one with 'dovetail reproduce NAME', all with 'dovetail reproduce all'.",
        table.to_terminal()
    );
    Ok(print(out, &text)?)
}

fn is_all(names: &[String]) -> bool {
    names.iter().any(|name| name == ALL)
}

/// The field trial of an experiment.
fn trial_of(experiment: &Experiment) -> Result<MakeFinding, Error> {
    let trial = TRIALS.iter().find(|(name, _)| *name == experiment.name);
    let known = || TRIALS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    trial.map(|(_, run)| *run).ok_or_else(|| Error::NoTrial { name: experiment.name.into(), known: known() })
}

fn select(names: &[String]) -> Result<Vec<&'static Experiment>, Error> {
    let find = |name: &String| {
        EXPERIMENTS.iter().copied().find(|experiment| experiment.name == name).ok_or_else(|| {
            let known: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
            Error::Unknown { name: name.clone(), known: known.join(", ") }
        })
    };
    // Also beside 'all', a name that does not exist is a mistake.
    let named = names.iter().filter(|name| *name != ALL).map(find).collect::<Result<Vec<_>, _>>()?;
    if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        return Err(Error::Twice(twice.clone()));
    }
    Ok(if is_all(names) { EXPERIMENTS.to_vec() } else { named })
}

#[cfg(test)]
mod tests {
    use dovetail_compare::Silent;

    use super::*;

    #[test]
    fn what_the_machine_lacks_is_left_out_of_all_and_an_error_by_name() {
        let lacks = Experiment::of("a paper", "lacks", "nothing", |_| Err(Error::lacking("no such device")));
        let fails = Experiment::of("a paper", "fails", "nothing", |_| Err(Error::broken("it broke")));
        let given = Given { traces: &[], bar: &Silent };
        assert_eq!(made(&lacks, &given, false).err().unwrap().to_string(), "lacks: no such device");
        assert!(made(&fails, &given, true).is_err());
        let finding = made(&lacks, &given, true).unwrap();
        assert_eq!(text(&lacks, &finding), "lacks: nothing (a paper)\n\nLeft out: no such device.\n");
        let document = serde_json::to_value(ExperimentJson::new(&lacks, &finding)).unwrap();
        let said = serde_json::json!({"experiment": "lacks", "rows": [], "left_out": "Left out: no such device."});
        assert_eq!(document, said);
    }
}
