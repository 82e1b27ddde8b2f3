//! Tunes a knob over several samples of the traffic: every capture with every seed.
//!
//! Each sample is tuned separately. The value to run is the median of the recommended ones, the fairer of two middle ones,
//! and the number of samples in which it is recommended is reported: a recommendation that another draw reverses is
//! worthless. The figures of each value are medians over the samples, with the interval from the 5th to the 95th percentile.

use std::{io::Write, path::Path};

use dovetail_stats::median_of_runs;
use serde::Serialize;
use serde_json::Value;

use super::{
    curve::Curve,
    draw::{draw, window_for},
    knob::sweeps,
    show::{LEGEND, Tuning},
    window::MAX_WINDOW,
};
use crate::{
    error::{Error, Misuse},
    files::Files,
    input::{Input, UnnamedLink},
    interval::{interval, together},
    options::{OutputOptions, TuneOptions},
    output::deliver,
    progress::Progress,
    provenance::Provenance,
    report::{Block, Page, charts},
    run::Plan,
    sampling::{self, INTERVAL},
    setting::{Traffic, closing, odd},
    table::{Table, count, figure, megabits},
};

#[derive(Serialize)]
struct Sample {
    trace: Option<String>,
    seed: Option<u64>,
    workload: Traffic,
    provenance: Provenance,
    /// The policies to run, one per sweep.
    recommended: Vec<String>,
    #[serde(skip)]
    setting: String,
    #[serde(skip)]
    sweeps: Vec<Sweep>,
    #[serde(skip)]
    notes: Vec<String>,
}

/// The results of a knob in one sample.
struct Sweep {
    title: String,
    knob: &'static str,
    promised: bool,
    recommended: usize,
    /// The JSON document of each value's run.
    points: Vec<Value>,
    gains: Vec<f64>,
}

pub(super) fn tune(
    options: &TuneOptions,
    text: Option<&str>,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), Error> {
    sampling::refuse_what_one_run_has(&options.input, &options.seeds, &options.further_traces, &options.output)?;
    let OutputOptions { report, json, .. } = &options.output;
    let mut files = Files::of(&options.input, text);
    for trace in &options.further_traces {
        files.reads("trace", trace);
    }
    let report = files.writes("report", report.as_deref())?;
    let (mut samples, mut window, mut resources) = (Vec::new(), options.window, Vec::new());
    for asked in sampling::inputs(&options.input, &options.seeds, &options.further_traces) {
        let sweeps = sweeps(&options.policies, options.points.map(usize::from))?;
        let input = Input::resolve(&asked, options.output.shows_provenance(), text, UnnamedLink::Balanced, progress)?;
        let mut plan = Plan::new(&input, &asked, &options.output, MAX_WINDOW, progress)?;
        plan.one_bar = true;
        plan.assumed_pipeline = None;
        // The first sample's: shares over other windows are different figures.
        plan.window = match window {
            Some(window) => window,
            None => *window.insert(window_for(&plan, &sweeps[0])?),
        };
        if samples.is_empty() {
            resources = input.resources().to_vec();
        } else if input.resources() != resources {
            return Err(Misuse::option(&["trace"], "the captures' resources differ").into());
        }
        let settings = sweeps.iter().flat_map(|sweep| sweep.points.iter().map(|(_, spec)| spec));
        let provenance = plan.provenance(settings);
        samples.push(sample(&plan, provenance, &draw(&plan, sweeps)?)?);
    }
    let samples = Samples { samples: &samples, resources: &resources };
    let text = |report: Option<&Path>| samples.text(report);
    deliver(out, report, *json, || samples.page(), || samples.json(), text)
}

fn sample(plan: &Plan<'_>, provenance: Provenance, curves: &[Curve]) -> Result<Sample, Error> {
    let tuning = Tuning { plan, provenance: provenance.clone(), curves };
    let sweep = |curve: &Curve| {
        let points = curve.points.iter().map(|point| serde_json::to_value(tuning.point(point)));
        Ok::<_, Error>(Sweep {
            title: tuning.title(curve),
            knob: curve.tunable.knob,
            promised: curve.points[0].promise.is_some(),
            recommended: curve.recommended(),
            points: points.collect::<Result<_, _>>()?,
            gains: curve.gains(),
        })
    };
    let odd = curves.iter().take(1).flat_map(|curve| odd(&curve.points[0].run));
    Ok(Sample {
        trace: plan.input.is_capture().then(|| plan.input.name().to_owned()),
        seed: plan.input.sources().seed,
        workload: tuning.traffic(),
        recommended: curves.iter().map(|curve| curve.points[curve.recommended()].run.policy.clone()).collect(),
        setting: tuning.setting(),
        sweeps: curves.iter().map(sweep).collect::<Result<_, _>>()?,
        notes: plan.input.remark().map(str::to_owned).into_iter().chain(odd).collect(),
        provenance,
    })
}

/// A column's heading, the path of its figure in a point's document, and its format.
type Column = (String, String, fn(f64) -> String);

/// All samples, in all output formats.
struct Samples<'a> {
    samples: &'a [Sample],
    resources: &'a [String],
}

#[derive(Serialize)]
struct SamplesJson<'a> {
    samples: &'a [Sample],
    sweeps: Vec<SweepJson>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct SweepJson {
    title: String,
    knob: &'static str,
    recommended: Value,
    /// For each point, the number of samples in which it is recommended.
    recommended_in: Vec<usize>,
    points: Vec<Value>,
    why: String,
}

impl Samples<'_> {
    fn sweeps(&self) -> std::ops::Range<usize> {
        0..self.samples[0].sweeps.len()
    }

    /// The results of a knob in each sample.
    fn each(&self, sweep: usize) -> impl Iterator<Item = &Sweep> {
        self.samples.iter().map(move |sample| &sample.sweeps[sweep])
    }

    /// The JSON document of a value in each sample.
    fn point(&self, sweep: usize, point: usize) -> Vec<&Value> {
        self.each(sweep).map(|sweep| &sweep.points[point]).collect()
    }

    /// The median of the recommended values, the fairer of two middle ones.
    fn recommended(&self, sweep: usize) -> usize {
        let mut each: Vec<usize> = self.each(sweep).map(|sweep| sweep.recommended).collect();
        each.sort_unstable();
        each[(each.len() - 1) / 2]
    }

    /// The number of samples in which each value is recommended.
    fn recommended_in(&self, sweep: usize) -> Vec<usize> {
        let points = self.samples[0].sweeps[sweep].points.len();
        (0..points).map(|at| self.each(sweep).filter(|sweep| sweep.recommended == at).count()).collect()
    }

    fn policy(&self, sweep: usize, point: usize) -> &Value {
        &self.samples[0].sweeps[sweep].points[point]["policy"]
    }

    fn why(&self, sweep: usize) -> String {
        let (at, samples) = (self.recommended(sweep), self.samples.len());
        let name = |point: usize| self.policy(sweep, point).as_str().unwrap_or_default().to_owned();
        let counts = self.recommended_in(sweep);
        let mut others: Vec<usize> = (0..counts.len()).filter(|&point| point != at && counts[point] > 0).collect();
        others.sort_by_key(|&point| std::cmp::Reverse(counts[point]));
        let others: Vec<String> = others.iter().map(|&point| format!("{} in {}", name(point), counts[point])).collect();
        let gains: Vec<f64> = self.each(sweep).map(|sweep| sweep.gains[at] * 100.0).collect();
        let mut why = format!("Run {}: it is recommended in {} of {samples} samples", name(at), counts[at]);
        if !others.is_empty() {
            why += &format!(", {}, and it is the median of them", others.join(", "));
        }
        match median_of_runs(gains.iter().copied()).zip(interval(&gains)) {
            Some((median, [low, high])) if at > 0 => {
                why += &format!(
                    ". The same work takes {median:.1} % less time ({low:.1} to {high:.1}) than with {}",
                    name(0)
                );
            }
            _ => why += &format!(". Nothing else gains enough for its price over {}", name(0)),
        }
        why + "."
    }

    fn columns(&self, sweep: usize) -> Vec<Column> {
        let four = |value: f64| format!("{value:.4}");
        let three = |value: f64| format!("{value:.3}");
        let share = |share: f64| format!("{:.2}", share * 100.0);
        let millis = |micros: f64| figure(micros / 1e3);
        let whole = |number: f64| count(number.round() as u64);
        let named = |title: &str, path: &str, shown: fn(f64) -> String| (title.to_owned(), path.to_owned(), shown);
        let path = |name: &String| format!("/utilisation/{}", name.replace('~', "~0").replace('/', "~1"));
        let busy = self.resources.iter().map(|name| named(&format!("{name} %"), &path(name), share));
        let lag = if self.samples[0].sweeps[sweep].promised {
            named("behind ms", "/shortfall_ms", figure)
        } else {
            named("gap ms", "/max_active_time_gap_us", millis)
        };
        let rest = [
            named("Mbit/s", "/throughput_mbps", megabits),
            named("work", "/work_per_s", three),
            named("Jain", "/jain_dominant", four),
            named("worst share", "/worst_share", three),
            lag,
            named("p99 ms", "/p99_latency_us", millis),
            named("dropped", "/dropped", whole),
        ];
        [named("makespan s", "/makespan_s", four)].into_iter().chain(busy).chain(rest).collect()
    }

    fn table(&self, sweep: usize) -> Table {
        let columns = self.columns(sweep);
        let (recommended, counts) = (self.recommended(sweep), self.recommended_in(sweep));
        let first = [self.samples[0].sweeps[sweep].knob.to_owned(), "recommended in".to_owned()];
        let header = first.into_iter().chain(columns.iter().map(|(title, ..)| title.clone()));
        let mut table = sampling::table(header.collect());
        for (at, recommended_in) in counts.into_iter().enumerate() {
            let documents = self.point(sweep, at);
            let numbers = |path: &str| -> Vec<f64> {
                documents.iter().filter_map(|document| document.pointer(path)?.as_f64()).collect()
            };
            let dash = || "–".to_owned();
            let mark = if at == recommended { " *" } else { "" };
            let value = documents.first().and_then(|document| document["value"].as_f64()).unwrap_or_default();
            let medians = columns.iter().map(|(_, path, shown)| median_of_runs(numbers(path)).map_or_else(dash, shown));
            table.push([format!("{value}{mark}"), count(recommended_in as u64)].into_iter().chain(medians));
            if self.samples.len() > 1 {
                let ends = columns.iter().map(|(_, path, shown)| {
                    interval(&numbers(path)).map_or_else(dash, |ends| ends.map(shown).join("–"))
                });
                table.push([INTERVAL.to_owned(), String::new()].into_iter().chain(ends));
            }
        }
        table
    }

    fn json(&self) -> SamplesJson<'_> {
        let sweep = |at: usize| {
            let Sweep { title, knob, points, .. } = &self.samples[0].sweeps[at];
            SweepJson {
                title: title.clone(),
                knob,
                recommended: self.policy(at, self.recommended(at)).clone(),
                recommended_in: self.recommended_in(at),
                points: (0..points.len()).map(|point| together(&self.point(at, point))).collect(),
                why: self.why(at),
            }
        };
        SamplesJson { samples: self.samples, sweeps: self.sweeps().map(sweep).collect(), notes: self.notes() }
    }

    fn setting(&self) -> Vec<String> {
        let samples: Vec<_> = self.samples.iter().map(|sample| (sample.trace.as_deref(), sample.seed)).collect();
        vec![format!("{} (the first sample)", self.samples[0].setting), sampling::said_of(&samples)]
    }

    fn notes(&self) -> Vec<String> {
        sampling::notes(self.samples.iter().flat_map(|sample| &sample.notes))
    }

    fn text(&self, report: Option<&Path>) -> String {
        let mut text = format!("{}\n", self.setting().join("\n"));
        for sweep in self.sweeps() {
            text += &format!("\n{}\n{}\n", self.samples[0].sweeps[sweep].title, self.table(sweep).to_terminal());
        }
        text.push('\n');
        for (term, meaning) in LEGEND {
            text += &format!("{term:13} {meaning}\n");
        }
        text.push('\n');
        for sweep in self.sweeps() {
            text += &format!("{}\n", self.why(sweep));
        }
        text += &closing(&self.notes(), None, report);
        text.trim_end().to_owned()
    }

    fn page(&self) -> Page {
        let name = self.samples[0].trace.clone().unwrap_or_else(|| "several samples".to_owned());
        let mut page = Page { title: format!("Dovetail: tuning for {name}"), blocks: Vec::new() };
        page.blocks.extend(self.setting().into_iter().map(|line| Block::Text(line + ".")));
        page.blocks.extend(self.sweeps().map(|sweep| Block::Text(self.why(sweep))));
        for sweep in self.sweeps() {
            page.blocks.push(Block::Heading(self.samples[0].sweeps[sweep].title.clone()));
            page.blocks.push(Block::Table(self.table(sweep)));
            for (title, path, note) in [
                ("work", "/work_per_s", "Seconds of dominant service a second: more is more efficient."),
                ("worst share", "/worst_share", "The worst flow's share of its fair share: 1 is fair."),
            ] {
                let points = (0..self.samples[0].sweeps[sweep].points.len()).rev();
                let numbers = |document: &&Value| document.pointer(path)?.as_f64();
                let rows = points.map(|at| {
                    let documents = self.point(sweep, at);
                    let value = documents[0]["value"].as_f64().unwrap_or_default().to_string();
                    (value, documents.iter().filter_map(numbers).collect::<Vec<f64>>())
                });
                let (names, numbers): (Vec<String>, Vec<Vec<f64>>) = rows.unzip();
                if numbers.iter().any(|numbers| !numbers.is_empty()) {
                    let title = format!("{title} by {}", self.samples[0].sweeps[sweep].knob);
                    let note = format!("{note} A dot for each sample; the large one is the median, in its interval.");
                    page.blocks.push(Block::chart(title.clone(), note, charts::samples(&title, names, &numbers)));
                }
            }
        }
        page.blocks.push(Block::Terms(LEGEND.to_vec()));
        page.blocks.extend(self.notes().into_iter().map(Block::Text));
        for sample in self.samples {
            let title = sampling::provenance_of(sample.trace.as_deref(), sample.seed);
            page.blocks.push(Block::More { title, table: sample.provenance.table() });
        }
        page
    }
}
