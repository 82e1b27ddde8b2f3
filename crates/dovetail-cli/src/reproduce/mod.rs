//! `dovetail reproduce`: published experiments run again, the paper's figures beside ours.
//!
//! Every experiment is a scenario file, the policies of the paper, and rows that say what was measured. A row holds
//! when the measurement is within its tolerance of the expected value: what an independent implementation of the same
//! experiment gave, which is closer to the truth than a number read off a printed figure. Where the paper promises a
//! bound, a row holds on the promised side of it.

mod atfq;
mod cbcs;
mod costs_wrong;
mod drrsff;
mod msfrs;
mod once;
mod spread;
mod tradeoff;

use std::{path::PathBuf, time::Duration};

use dovetail_sched::PolicyError;
use indicatif::ProgressBar;
use plotly::Plot;
use serde::Serialize;

use crate::{
    args::ReproduceArgs,
    failure::Failure,
    output::{print, print_json, write_file},
    report::{Block, Page},
    table::{Table, figure},
};

/// A published figure or table.
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) source: &'static str,
    /// Whether it replays captures.
    pub(crate) by_trace: bool,
    pub(crate) run: Run,
}

/// Makes an experiment's runs.
pub(crate) type Run = fn(&Given<'_>) -> Result<Finding, Failure>;

impl Experiment {
    /// One that replays no capture.
    const fn of(source: &'static str, name: &'static str, title: &'static str, run: Run) -> Self {
        Self { name, title, source, by_trace: false, run }
    }
}

/// What the user brought along.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// Captures for the trace-driven experiments; none for the stand-in.
    pub(crate) traces: &'a [PathBuf],
    /// Told of the packets that runs are through with.
    pub(crate) bar: &'a ProgressBar,
}

/// Every experiment there is.
const EXPERIMENTS: &[&Experiment] = &[
    &atfq::FIG1,
    &atfq::FIG5,
    &atfq::FIG6,
    &atfq::FIG7,
    &atfq::FIG8,
    &atfq::FIG9,
    &atfq::FIG10,
    &tradeoff::FIG1,
    &tradeoff::TABLE2,
    &tradeoff::FIG3,
    &tradeoff::FIG4,
    &tradeoff::FIG5,
    &tradeoff::FIG6,
    &tradeoff::FIG7,
    &tradeoff::FIG8,
    &tradeoff::FIG9,
    &cbcs::FIG2,
    &cbcs::TABLE2,
    &cbcs::TABLE4,
    &cbcs::FIG6,
    &cbcs::FIG10,
    &cbcs::GRID,
    &costs_wrong::COSTS_WRONG,
    &msfrs::FIG5,
    &msfrs::FIG8,
    &msfrs::FIG9,
    &msfrs::FIG10,
    &msfrs::FIG11,
    &msfrs::FIG12,
    &msfrs::TABLE1,
    &msfrs::TABLE2,
    &msfrs::TABLE3,
    &drrsff::FIG5,
    &drrsff::FIG6,
    &drrsff::FIG7,
    &drrsff::FIG8,
    &drrsff::FIG9,
    &drrsff::FIG10,
    &drrsff::FIG11,
    &drrsff::FLOOD,
];

/// What came out of an experiment.
#[derive(Default)]
pub(crate) struct Finding {
    pub(crate) rows: Vec<Row>,
    /// More of what was measured, each table under its title.
    pub(crate) tables: Vec<(String, Table)>,
    pub(crate) charts: Vec<Block>,
    pub(crate) remarks: Vec<String>,
}

impl Finding {
    /// Of an experiment that this machine lacks something for.
    fn left_out(why: &Failure) -> Self {
        Self { remarks: vec![format!("Left out: {why}.")], ..Self::default() }
    }
}

/// One measured value beside the published one.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// What the paper prints, where it prints a number.
    pub(crate) paper: Option<f64>,
    /// What an independent implementation gave, or else what the paper's text implies.
    pub(crate) expected: f64,
    pub(crate) measured: f64,
    /// 0 where the expected value is a bound.
    pub(crate) tolerance: f64,
    pub(crate) judged: Judged,
    pub(crate) holds: bool,
}

/// When a row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Judged {
    /// Measured is within the tolerance of expected.
    Within,
    /// Measured is not under expected.
    AtLeast,
    /// Measured is not over expected.
    AtMost,
}

/// Values that differ by less than this part are alike, and are printed alike.
const ALIKE: f64 = 1e-4;

impl Row {
    /// A row that holds when `measured` is within `tolerance` of `expected`.
    pub(crate) fn new(
        what: impl Into<String>,
        unit: &'static str,
        paper: Option<f64>,
        expected: f64,
        measured: f64,
        tolerance: f64,
    ) -> Self {
        let holds = (measured - expected).abs() <= tolerance;
        Self { what: what.into(), unit, paper, expected, measured, tolerance, judged: Judged::Within, holds }
    }

    /// A row that holds when `measured` is `least` or more.
    pub(crate) fn at_least(
        what: impl Into<String>,
        unit: &'static str,
        paper: Option<f64>,
        least: f64,
        measured: f64,
    ) -> Self {
        let row = Self::new(what, unit, paper, least, measured, 0.0);
        Self { judged: Judged::AtLeast, holds: measured >= least - ALIKE * least.abs(), ..row }
    }

    /// A row that holds when `measured` is `most` or less.
    pub(crate) fn at_most(
        what: impl Into<String>,
        unit: &'static str,
        paper: Option<f64>,
        most: f64,
        measured: f64,
    ) -> Self {
        let row = Self::new(what, unit, paper, most, measured, 0.0);
        Self { judged: Judged::AtMost, holds: measured <= most + ALIKE * most.abs(), ..row }
    }
}

#[derive(Serialize)]
struct ExperimentJson<'a> {
    experiment: &'static str,
    rows: &'a [Row],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tables: Vec<TableJson<'a>>,
    /// Why there are no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<&'a str>,
}

#[derive(Serialize)]
struct TableJson<'a> {
    title: &'a str,
    header: &'a [String],
    rows: &'a [Vec<String>],
}

impl<'a> ExperimentJson<'a> {
    fn new(experiment: &Experiment, finding: &'a Finding) -> Self {
        let table = |(title, table): &'a (String, Table)| TableJson { title, header: &table.header, rows: &table.rows };
        let tables = finding.tables.iter().map(table).collect();
        let left_out = finding.remarks.first().filter(|_| finding.rows.is_empty()).map(String::as_str);
        Self { experiment: experiment.name, rows: &finding.rows, tables, left_out }
    }
}

pub(crate) fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.names.is_empty() {
        return if args.json { Err(Failure::usage("--json: name an experiment, or all")) } else { list() };
    }
    let experiments = select(&args.names)?;
    if !args.traces.is_empty() && !experiments.iter().any(|experiment| experiment.by_trace) {
        let known: Vec<_> = EXPERIMENTS.iter().filter(|one| one.by_trace).map(|one| one.name).collect();
        return Err(Failure::usage(format!("--trace: none of these replays a capture; {} do", known.join(", "))));
    }
    let bar = crate::run::progress_bar("reproducing", 0, None);
    bar.enable_steady_tick(Duration::from_millis(100));
    let given = Given { traces: &args.traces, bar: &bar };
    let mut findings = Vec::new();
    for &experiment in &experiments {
        bar.set_prefix(experiment.name);
        findings.push((experiment, made(experiment, &given, is_all(&args.names))?));
    }
    bar.finish_and_clear();
    if let Some(path) = &args.report {
        write_file(path, &page(&findings).to_html())?;
    }
    if args.json {
        let documents: Vec<_> =
            findings.iter().map(|(experiment, finding)| ExperimentJson::new(experiment, finding)).collect();
        return if let [one] = documents.as_slice() { print_json(one) } else { print_json(&documents) };
    }
    for (experiment, finding) in &findings {
        print(&text(experiment, finding))?;
    }
    let rows = findings.iter().flat_map(|(_, finding)| &finding.rows);
    let (held, all) = rows.fold((0, 0), |(held, all), row| (held + usize::from(row.holds), all + 1));
    print(&format!("{held} of {all} rows hold"))?;
    if let Some(path) = &args.report {
        print(&format!("report: {}", path.display()))?;
    }
    Ok(())
}

/// What comes out of an experiment, one of all or one that was named.
fn made(experiment: &Experiment, given: &Given<'_>, of_all: bool) -> Result<Finding, Failure> {
    match (experiment.run)(given) {
        // Named, it is an error; among all of them it is one that can be done elsewhere.
        Err(why) if why.is_lacking() && of_all => Ok(Finding::left_out(&why)),
        made => made,
    }
}

fn list() -> Result<(), Failure> {
    let mut table = Table::new(&["experiment", "what", "source"], 3);
    for experiment in EXPERIMENTS {
        table.push([experiment.name, experiment.title, experiment.source].map(str::to_owned));
    }
    print(&format!(
        "{}\n\nRun one with 'dovetail reproduce NAME', all with 'dovetail reproduce all'.",
        table.to_terminal()
    ))
}

fn is_all(names: &[String]) -> bool {
    names.iter().any(|name| name == "all")
}

fn select(names: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    if is_all(names) {
        return Ok(EXPERIMENTS.to_vec());
    }
    let find = |name: &String| {
        EXPERIMENTS.iter().copied().find(|experiment| experiment.name == name).ok_or_else(|| {
            let known: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
            Failure::usage(format!("there is no experiment '{name}': there are {}, or all", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&["what", "unit", "paper", "expected", "measured", "tolerance", "holds"], 2);
    for row in rows {
        table.push([
            row.what.clone(),
            row.unit.to_owned(),
            row.paper.map_or_else(|| "–".to_owned(), |paper| fine(paper, row.unit)),
            fine(row.expected, row.unit),
            fine(row.measured, row.unit),
            match row.judged {
                Judged::Within => format!("± {}", fine(row.tolerance, row.unit)),
                Judged::AtLeast => "at least".to_owned(),
                Judged::AtMost => "at most".to_owned(),
            },
            if row.holds { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    table
}

/// With two decimals where they say something, three for ratios.
fn fine(value: f64, unit: &str) -> String {
    match value.abs() {
        size if value.fract() == 0.0 || size >= 1000.0 => figure(value),
        size if size < 10.0 && unit.is_empty() => format!("{value:.3}"),
        _ => format!("{value:.2}"),
    }
}

fn text(experiment: &Experiment, finding: &Finding) -> String {
    let mut text = format!("{}: {} ({})\n\n", experiment.name, experiment.title, experiment.source);
    if !finding.rows.is_empty() {
        text += &table(&finding.rows).to_terminal();
        text.push('\n');
    }
    for (title, table) in &finding.tables {
        text += &format!("\n{title}\n{}\n", table.to_terminal());
    }
    if !finding.tables.is_empty() {
        text.push('\n');
    }
    for remark in &finding.remarks {
        text += &format!("{remark}\n");
    }
    text
}

fn page(findings: &[(&Experiment, Finding)]) -> Page {
    let mut page = Page { title: "Dovetail: published experiments, run again".to_owned(), blocks: Vec::new() };
    for (experiment, finding) in findings {
        page.blocks.push(Block::Heading(format!("{}: {}", experiment.name, experiment.title)));
        page.blocks.push(Block::Text(experiment.source.to_owned()));
        if !finding.rows.is_empty() {
            page.blocks.push(Block::Table(table(&finding.rows)));
        }
        for (title, table) in &finding.tables {
            page.blocks.push(Block::Text(title.clone()));
            page.blocks.push(Block::Table(table.clone()));
        }
        page.blocks.extend(finding.remarks.iter().cloned().map(Block::Text));
        page.blocks.extend(finding.charts.iter().cloned());
    }
    page
}

fn chart(title: &str, note: &str, plot: Plot) -> Block {
    Block::chart(title, note, plot)
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        Self::new(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_is_left_out_of_all_and_an_error_by_name() {
        let lacks = Experiment::of("a paper", "lacks", "nothing", |_| Err(Failure::lacking("no such device")));
        let fails = Experiment::of("a paper", "fails", "nothing", |_| Err(Failure::new("it broke")));
        let given = Given { traces: &[], bar: &ProgressBar::hidden() };
        assert!(made(&lacks, &given, false).is_err());
        assert!(made(&fails, &given, true).is_err());
        let finding = made(&lacks, &given, true).unwrap();
        assert_eq!(text(&lacks, &finding), "lacks: nothing (a paper)\n\nLeft out: no such device.\n");
        let document = serde_json::to_value(ExperimentJson::new(&lacks, &finding)).unwrap();
        let said = serde_json::json!({"experiment": "lacks", "rows": [], "left_out": "Left out: no such device."});
        assert_eq!(document, said);
    }
}
