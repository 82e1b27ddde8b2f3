//! Compares several policies over the same packets through a pipeline: efficiency, fairness, latency.

use std::{
    io::{ErrorKind, Write},
    mem,
    path::Path,
};

use dovetail_sched::{PolicySpec, cost::ProgramTable};
use dovetail_sim::{
    PipelineMode,
    blame::Explanation,
    measure::DEFAULT_WINDOW,
    workload::{programs_from_toml, programs_to_toml},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    assumed::{said_of, under_other_pipelines},
    contenders::policies,
    figures::{Shown, cell, columns, header},
    flows::{FLOWS_SHOWN, flows, of_policy},
    idle::{Idleness, idle},
    json::{PolicyJson, documents},
    verdict::Verdict,
};
use crate::{
    digest::of_text,
    error::{Error, Misuse},
    explain::{blocks, run_explained},
    files::Files,
    input::{Input, UnnamedLink},
    options::{CompareOptions, OutputOptions},
    output::deliver,
    progress::Progress,
    provenance::{InputFile, Provenance},
    report::{Block, Page, charts},
    run::{DEFAULT_PIPELINE, Plan, PolicyRun},
    setting::{Traffic, closing, odd},
    summary::{Place, Sampled, Summary},
    supply::read_text,
    table::Table,
};

/// Compared by default: the baseline, the fair-queueing classic, and one of each multi-resource family.
pub(super) const DEFAULT_POLICIES: &[&str] = &["fifo", "drr", "drfq", "mr3", "atfq:batch=20"];

/// Compares over the pipeline given by `options`; `text` is the scenario's.
pub(super) fn compare(
    text: Option<&str>,
    options: &CompareOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<Summary, Error> {
    refuse_captures(options)?;
    let policies = policies(options, DEFAULT_POLICIES)?;
    let recalled = options.programs.as_deref().map(|path| recall(path, &policies)).transpose()?;
    let (remembered, remembered_from) = recalled.unzip();
    let OutputOptions { report, records, json, .. } = &options.output;
    let mut files = Files::of(&options.input, text);
    let report = files.writes("report", report.as_deref())?;
    let summary = Place::open(options.summary.as_deref(), &mut files)?;
    let programs = files.writes("programs", options.programs.as_deref())?;
    files.writes_records(&options.output, &policies)?;
    let input = Input::resolve(&options.input, options.shows_provenance(), text, UnnamedLink::Published, progress)?;
    let plan = Plan {
        programs: remembered.as_ref(),
        programs_file: remembered_from.as_ref().and_then(Option::as_ref),
        ..Plan::new(&input, &options.input, &options.output, options.window.unwrap_or(DEFAULT_WINDOW), progress)?
    };
    // Waiting times between flows are shown only on a page.
    let (mut runs, explanations): (Vec<PolicyRun>, Vec<Explanation>) = match options.output.report {
        Some(_) => run_explained(&plan, &policies)?.into_iter().unzip(),
        None => (plan.run(&policies)?, Vec::new()),
    };
    let mut failures: Vec<Error> = runs.iter_mut().flat_map(|run| mem::take(&mut run.unwritten)).collect();
    let learnt = runs.iter().rev().find_map(|run| run.learnt.as_ref());
    if let Some((file, learnt)) = programs.zip(learnt) {
        failures.extend(file.keep_text(&programs_to_toml(learnt)).err());
    }
    let plans = [plan];
    let idle = idle(&plans, &policies, &[Idleness::of(&runs).as_ref()])?;
    let others = if idle.is_none() { under_other_pipelines(&plans, &policies)? } else { Vec::new() };
    let [plan] = plans;
    let provenance = plan.provenance(&policies);
    let documents = documents(&runs, input.resources())?;
    let trace = options.input.trace.as_ref().map(|_| input.name());
    let figures = Summary::of(&[Sampled { trace, provenance: &provenance, policies: &documents }]);
    failures.extend(summary.and_then(|place| figures.write(place).err()));
    let comparison = Comparison {
        plan: &plan,
        provenance,
        runs: &runs,
        documents: &documents,
        explanations: &explanations,
        idle,
        others,
    };
    let text = |report: Option<&Path>| comparison.text(report, records.as_deref());
    failures.extend(deliver(out, report, *json, || comparison.page(), || comparison.json(), text).err());
    Error::unless_none(failures).map(|()| figures)
}

/// Rejects captures, which pipelines do not write.
pub(super) fn refuse_captures(options: &CompareOptions) -> Result<(), Error> {
    if options.pcap.is_some() {
        let why = "only a network's link has packets to capture; name a network";
        return Err(Misuse::option(&["pcap"], why).into());
    }
    Ok(())
}

/// The programs in a file; empty if it does not exist yet.
fn recall(path: &Path, policies: &[PolicySpec]) -> Result<(ProgramTable, Option<InputFile>), Error> {
    if !policies.iter().any(PolicySpec::estimates) {
        let why = "no policy here estimates costs: add one, such as cbcs or drfq:estimator=ses";
        return Err(Misuse::option(&["programs"], why).into());
    }
    match read_text(path) {
        Ok(text) => {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            let file = InputFile { kind: "programs", name, sha256: Some(of_text(&text)) };
            Ok((programs_from_toml(&text, &path.display().to_string())?, Some(file)))
        }
        Err(Error::File { source, .. }) if source.kind() == ErrorKind::NotFound => Ok((ProgramTable::EMPTY, None)),
        Err(error) => Err(error),
    }
}

/// Runs side by side, in all output formats.
struct Comparison<'a> {
    plan: &'a Plan<'a>,
    provenance: Provenance,
    runs: &'a [PolicyRun],
    /// The JSON document of each.
    documents: &'a [Value],
    // One per run, for a page.
    explanations: &'a [Explanation],
    /// Text about an idle middlebox.
    idle: Option<String>,
    /// The verdicts under other pipelines, if none is specified.
    others: Vec<(PipelineMode, Verdict)>,
}

#[derive(Serialize)]
struct ComparisonJson {
    provenance: Provenance,
    workload: Traffic,
    policies: Vec<PolicyJson>,
    verdict: Vec<String>,
    notes: Vec<String>,
}

impl Comparison<'_> {
    fn json(&self) -> ComparisonJson {
        ComparisonJson {
            provenance: self.provenance.clone(),
            workload: Traffic::of(self.runs.first()),
            policies: self.runs.iter().map(|run| PolicyJson::of(run, self.plan.input.resources())).collect(),
            verdict: self.verdict(),
            notes: self.notices(),
        }
    }

    fn table(&self) -> Table {
        let columns = columns(self.plan.input.resources());
        let mut table = Table { header: header(&columns), rows: Vec::new(), words: 1 };
        for (run, document) in self.runs.iter().zip(self.documents) {
            let cells = columns.iter().map(|column| cell(column, &[document], Shown::Median));
            table.push([run.policy.clone()].into_iter().chain(cells));
        }
        table
    }

    fn setting(&self) -> String {
        let pipeline = self.plan.pipeline_or(DEFAULT_PIPELINE);
        Traffic::of(self.runs.first()).setting(self.plan, Some(pipeline))
    }

    /// The verdict in sentences: the best policy in each respect, or that no scheduler is needed.
    fn verdict(&self) -> Vec<String> {
        let mut said: Vec<String> = self.idle.iter().cloned().collect();
        if self.idle.is_none() && self.runs.len() > 1 {
            let verdict = Verdict::of(self.runs);
            said.push(verdict.line());
            said.extend(said_of(&verdict, &self.others));
        }
        said.iter_mut().for_each(|line| line.push('.'));
        said
    }

    fn notices(&self) -> Vec<String> {
        let odd = self.runs.first().map(odd).unwrap_or_default();
        let remark = self.plan.input.remark().map(str::to_owned);
        remark.into_iter().chain(odd).chain(self.runs.iter().flat_map(of_policy)).collect()
    }

    fn text(&self, report: Option<&Path>, records: Option<&Path>) -> String {
        let legend: String = LEGEND.iter().map(|(term, meaning)| format!("{term:13} {meaning}\n")).collect();
        let mut text = format!("{}\n\n{}\n\n{legend}", self.setting(), self.table().to_terminal());
        let verdict = self.verdict();
        if !verdict.is_empty() {
            text += &format!("\n{}\n", verdict.join("\n"));
        }
        text += &closing(&self.notices(), records, report);
        text.trim_end().to_owned()
    }

    fn page(&self) -> Page {
        let resources = self.plan.input.resources();
        let runs: Vec<_> =
            self.runs.iter().map(|run| charts::ChartedRun { policy: &run.policy, summary: &run.summary }).collect();
        let mut page = Page { title: format!("Dovetail: {}", self.plan.input.name()), blocks: Vec::new() };
        page.blocks.push(Block::Text(self.setting() + "."));
        page.blocks.extend(self.verdict().into_iter().map(Block::Text));
        page.blocks.push(Block::Table(self.table()));
        page.blocks.push(Block::Terms(LEGEND.to_vec()));
        let mut chart = |title: &str, note: &str, plot| page.blocks.push(Block::chart(title, note, plot));
        chart(
            "Utilisation",
            "Utilisation of each resource, from the first arrival to the last end of service.",
            charts::utilisation(&runs, resources),
        );
        for (at, name) in resources.iter().enumerate() {
            let title = format!("Utilisation of {name} over time");
            chart(&title, "Mean over neighbouring moments.", charts::utilisation_over_time(&runs, at));
        }
        chart(
            "Service gap over time",
            "The largest lead in active time of a backlogged flow over another: lower is fairer.",
            charts::gap_over_time(&runs),
        );
        chart("Latency", "Share of packets that took no longer than the time below.", charts::latency_cdf(&runs));
        for run in &runs {
            if let Some(plot) = charts::share_over_time(run) {
                let title = format!("Share over time: {}", run.policy);
                chart(&title, "Of the service that each received on its dominant resource.", plot);
            }
        }
        page.blocks.push(Block::Heading("Who makes whom wait".to_owned()));
        for (run, explanation) in self.runs.iter().zip(self.explanations) {
            page.blocks.extend(blocks(&run.policy, explanation, resources));
        }
        page.blocks.push(Block::Heading("Flows".to_owned()));
        for run in self.runs {
            let title = format!("{}: the {FLOWS_SHOWN} flows with most packets", run.policy);
            page.blocks.push(Block::More { title, table: flows(run) });
        }
        for line in self.notices() {
            page.blocks.push(Block::Text(line));
        }
        page.blocks.push(Block::Table(self.provenance.table()));
        page
    }
}

/// Meaning of the columns.
pub(super) const LEGEND: [(&str, &str); 4] = [
    ("<resource> %", "utilisation of the resource until the last packet has left, which is the makespan"),
    ("Jain", "index of dominant service over flows that stay backlogged: 1 is equal, 1/n is one flow only"),
    ("gap", "the largest lead in active time of one backlogged flow over another: lower is fairer"),
    ("mean … p99", "time from arrival to the end of the last resource"),
];
