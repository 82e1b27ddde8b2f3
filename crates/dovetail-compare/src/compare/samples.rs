//! Compares policies over several samples of the traffic: every capture with every seed.
//!
//! One run is one random draw, and a difference that another draw can reverse is not a difference. All policies see the same
//! samples, so they are compared sample by sample: one is better than another if it is in at least 95 % of the samples, by
//! more than whole packets explain. The figures shown are the median over the samples, and the interval from the 5th to the
//! 95th percentile by nearest rank, which with fewer than 20 samples is from the minimum to the maximum.

use std::{io::Write, path::Path};

use dovetail_sched::PolicySpec;
use dovetail_sim::{PipelineMode, measure::DEFAULT_WINDOW};
use serde::Serialize;
use serde_json::Value;

use super::{
    assumed::{said_of, under_other_pipelines},
    contenders::policies,
    figures::{Column, Shown, cell, columns, drawn, header},
    idle::{Idleness, idle},
    json::documents,
    pipeline::{DEFAULT_POLICIES, LEGEND, refuse_captures},
    verdict::{Paired, Verdict},
};
use crate::{
    error::{Error, Misuse},
    files::Files,
    input::{Input, UnnamedLink},
    interval::together,
    options::{CompareOptions, OutputOptions},
    output::deliver,
    progress::Progress,
    provenance::Provenance,
    report::{Block, Page, charts},
    run::{DEFAULT_PIPELINE, Plan},
    sampling::{self, INTERVAL},
    setting::{Traffic, closing, odd},
    summary::{Place, Sampled, Summary},
    table::Table,
};

/// One capture with one seed.
#[derive(Serialize)]
struct Sample {
    trace: Option<String>,
    seed: Option<u64>,
    workload: Traffic,
    provenance: Provenance,
    #[serde(skip)]
    setting: String,
    #[serde(skip)]
    resources: Vec<String>,
    /// The JSON document of each policy's run.
    #[serde(skip)]
    policies: Vec<Value>,
    #[serde(skip)]
    paired: Paired,
    #[serde(skip)]
    idleness: Option<Idleness>,
    #[serde(skip)]
    notes: Vec<String>,
}

impl Sample {
    fn sampled(&self) -> Sampled<'_> {
        Sampled { trace: self.trace.as_deref(), provenance: &self.provenance, policies: &self.policies }
    }
}

/// Compares over every capture with every seed; `text` is the scenario's.
pub(super) fn compare(
    text: Option<&str>,
    options: &CompareOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<Summary, Error> {
    refuse_captures(options)?;
    refuse_what_one_run_has(options)?;
    let policies = policies(options, DEFAULT_POLICIES)?;
    let OutputOptions { report, json, .. } = &options.output;
    let mut files = Files::of(&options.input, text);
    for trace in &options.further_traces {
        files.reads("trace", trace);
    }
    let report = files.writes("report", report.as_deref())?;
    let summary = Place::open(options.summary.as_deref(), &mut files)?;
    let asked = sampling::inputs(&options.input, &options.seeds, &options.further_traces);
    let resolve = |asked| Input::resolve(asked, options.shows_provenance(), text, UnnamedLink::Published, progress);
    let inputs = asked.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
    if inputs.iter().any(|input| input.resources() != inputs[0].resources()) {
        return Err(Misuse::option(&["trace"], "the captures' resources differ").into());
    }
    let window = options.window.unwrap_or(DEFAULT_WINDOW);
    let plan = |(input, asked)| {
        Ok::<_, Error>(Plan { one_bar: true, ..Plan::new(input, asked, &options.output, window, progress)? })
    };
    let plans = inputs.iter().zip(&asked).map(plan).collect::<Result<Vec<_>, _>>()?;
    let samples = plans.iter().map(|plan| sample(plan, &policies)).collect::<Result<Vec<_>, _>>()?;
    let idleness: Vec<_> = samples.iter().map(|sample| sample.idleness.as_ref()).collect();
    let idle = idle(&plans, &policies, &idleness)?;
    let others = if idle.is_none() { under_other_pipelines(&plans, &policies)? } else { Vec::new() };
    let comparison = Samples { policies: &policies, samples: &samples, idle, others };
    let figures = comparison.summary();
    let mut failures: Vec<Error> = summary.and_then(|place| figures.write(place).err()).into_iter().collect();
    let text = |report: Option<&Path>| comparison.text(report);
    failures.extend(deliver(out, report, *json, || comparison.page(), || comparison.json(), text).err());
    Error::unless_none(failures).map(|()| figures)
}

/// Options that apply to a single run only.
fn refuse_what_one_run_has(options: &CompareOptions) -> Result<(), Error> {
    sampling::refuse_what_one_run_has(&options.input, &options.seeds, &options.further_traces, &options.output)?;
    if options.programs.is_some() {
        let why = "samples do not learn from each other: compare one capture with one seed";
        return Err(Misuse::option(&["programs"], why).into());
    }
    Ok(())
}

fn sample(plan: &Plan<'_>, policies: &[PolicySpec]) -> Result<Sample, Error> {
    let (input, runs) = (plan.input, plan.run(policies)?);
    let workload = Traffic::of(runs.first());
    Ok(Sample {
        trace: input.is_capture().then(|| input.name().to_owned()),
        seed: input.sources().seed,
        setting: workload.setting(plan, Some(plan.pipeline_or(DEFAULT_PIPELINE))),
        resources: input.resources().to_vec(),
        workload,
        provenance: plan.provenance(policies),
        policies: documents(&runs, input.resources())?,
        paired: Paired::of(&runs),
        idleness: Idleness::of(&runs),
        notes: input.remark().map(str::to_owned).into_iter().chain(runs.first().map(odd).unwrap_or_default()).collect(),
    })
}

/// All samples, in all output formats.
struct Samples<'a> {
    policies: &'a [PolicySpec],
    samples: &'a [Sample],
    /// Text about an idle middlebox.
    idle: Option<String>,
    /// The verdicts under other pipelines, if none is specified.
    others: Vec<(PipelineMode, Verdict)>,
}

#[derive(Serialize)]
struct SamplesJson<'a> {
    samples: &'a [Sample],
    seeds: Vec<u64>,
    policies: Vec<Value>,
    verdict: Vec<String>,
    notes: Vec<String>,
}

impl Samples<'_> {
    fn json(&self) -> SamplesJson<'_> {
        let mut seeds: Vec<u64> = self.samples.iter().filter_map(|sample| sample.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        SamplesJson {
            samples: self.samples,
            seeds,
            policies: (0..self.policies.len()).map(|at| together(&self.of_policy(at))).collect(),
            verdict: self.verdict(),
            notes: self.notes(),
        }
    }

    fn summary(&self) -> Summary {
        Summary::of(&self.samples.iter().map(Sample::sampled).collect::<Vec<_>>())
    }

    /// A policy's figures in each sample.
    fn of_policy(&self, at: usize) -> Vec<&Value> {
        self.samples.iter().filter_map(|sample| sample.policies.get(at)).collect()
    }

    fn table(&self) -> Table {
        let columns = columns(&self.samples[0].resources);
        let mut table = sampling::table(header(&columns));
        for (at, policy) in self.policies.iter().enumerate() {
            let figures = self.of_policy(at);
            let row = |shown| columns.iter().map(|column| cell(column, &figures, shown)).collect::<Vec<_>>();
            table.push([policy.to_string()].into_iter().chain(row(Shown::Median)));
            if self.samples.len() > 1 {
                table.push([INTERVAL.to_owned()].into_iter().chain(row(Shown::Interval)));
            }
        }
        table
    }

    /// The first sample's traffic, and the number of samples.
    fn setting(&self) -> Vec<String> {
        let mut said = vec![self.samples[0].setting.clone()];
        if self.samples.len() > 1 {
            let samples: Vec<_> = self.samples.iter().map(|sample| (sample.trace.as_deref(), sample.seed)).collect();
            said[0] += " (the first sample)";
            said.push(sampling::said_of(&samples));
        }
        said
    }

    fn verdict(&self) -> Vec<String> {
        if let Some(idle) = &self.idle {
            return vec![format!("{idle}.")];
        }
        if self.policies.len() < 2 {
            return Vec::new();
        }
        let paired: Vec<&Paired> = self.samples.iter().map(|sample| &sample.paired).collect();
        let names: Vec<&str> = self.policies.iter().map(PolicySpec::as_str).collect();
        let verdict = Verdict::over(&names, &paired);
        let rule = if self.samples.len() > 1 {
            " (the best by median, and those that it does not beat in 95 % of the samples)"
        } else {
            ""
        };
        let mut said = vec![format!("{}{rule}.", verdict.line())];
        said.extend(said_of(&verdict, &self.others).map(|line| line + "."));
        said
    }

    /// Each figure of each policy: its samples, and their median and interval.
    fn charts(&self) -> Vec<Block> {
        let figures: Vec<_> = (0..self.policies.len()).rev().map(|at| self.of_policy(at)).collect();
        let names: Vec<String> = self.policies.iter().rev().map(PolicySpec::to_string).collect();
        let chart = |column: Column| {
            let numbers: Vec<Vec<f64>> = figures.iter().map(|figures| column.numbers(figures)).collect();
            numbers.iter().any(|numbers| !numbers.is_empty()).then(|| {
                let note =
                    "A dot for each sample; the large one is the median, the line the 5th to the 95th percentile.";
                Block::chart(column.title.as_str(), note, charts::samples(&column.title, names.clone(), &numbers))
            })
        };
        drawn(&self.samples[0].resources).into_iter().filter_map(chart).collect()
    }

    fn notes(&self) -> Vec<String> {
        sampling::notes(self.samples.iter().flat_map(|sample| &sample.notes))
    }

    fn text(&self, report: Option<&Path>) -> String {
        let legend: String = LEGEND.iter().map(|(term, meaning)| format!("{term:13} {meaning}\n")).collect();
        let mut text = format!("{}\n\n{}\n\n{legend}", self.setting().join("\n"), self.table().to_terminal());
        let verdict = self.verdict();
        if !verdict.is_empty() {
            text += &format!("\n{}\n", verdict.join("\n"));
        }
        text += &closing(&self.notes(), None, report);
        text.trim_end().to_owned()
    }

    fn page(&self) -> Page {
        let name = self.samples[0].trace.clone().unwrap_or_else(|| "samples".to_owned());
        let mut page = Page { title: format!("Dovetail: {name}"), blocks: Vec::new() };
        let said = self.setting().into_iter().map(|line| line + ".").chain(self.verdict());
        page.blocks.extend(said.map(Block::Text));
        page.blocks.push(Block::Table(self.table()));
        page.blocks.push(Block::Terms(LEGEND.to_vec()));
        page.blocks.extend(self.charts());
        page.blocks.extend(self.notes().into_iter().map(Block::Text));
        for sample in self.samples {
            let title = sampling::provenance_of(sample.trace.as_deref(), sample.seed);
            page.blocks.push(Block::More { title, table: sample.provenance.table() });
        }
        page
    }
}
