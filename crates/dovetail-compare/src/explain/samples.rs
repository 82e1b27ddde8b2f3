//! What packets waited for, over several samples of the traffic: every capture with every seed.
//!
//! For each sample the time of the mean packet of each class is divided, as in a single run. Shown are the median of each
//! part over the samples in which the class has packets, and the interval from the 5th to the 95th percentile; medians of
//! parts need not add up to the median of the whole. For a comparison with a second policy, packets are paired within each
//! sample. Single packets differ between samples, so none is shown.

use std::{io::Write, path::Path};

use dovetail_sched::PolicySpec;
use dovetail_sim::{
    blame::{Explanation, Selection},
    measure::DEFAULT_WINDOW,
};
use dovetail_stats::median_of_runs;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    against::{Against, Change},
    noun::Noun,
    pairing::Paired,
    pipeline::{found, run_both},
    show::waited,
    who::{Group, Who},
};
use crate::{
    contender::of_packets,
    error::{Error, Misuse},
    files::Files,
    input::{Input, UnnamedLink},
    interval::interval,
    options::{ExplainOptions, OutputOptions},
    output::deliver,
    progress::Progress,
    provenance::Provenance,
    report::{Block, Page, charts},
    run::{DEFAULT_PIPELINE, Plan},
    sampling::{self, INTERVAL},
    setting::{Traffic, closing, odd},
    table::{Table, count, figure},
};

/// A column: its heading, and the path of its figure in a group's document.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    title: String,
    key: Vec<String>,
}

impl Column {
    fn new(title: impl Into<String>, key: &[&str]) -> Self {
        Self { title: title.into(), key: key.iter().map(ToString::to_string).collect() }
    }
}

/// The figures of a group in one sample.
type Row = Vec<(Column, f64)>;

/// The rows of a table for one sample, by the names of their groups.
type Rows = Vec<(String, Row)>;

#[derive(Serialize)]
struct Sample {
    trace: Option<String>,
    seed: Option<u64>,
    workload: Traffic,
    provenance: Provenance,
    #[serde(skip)]
    setting: String,
    /// Under the policy, and under the one that it is compared with.
    #[serde(skip)]
    parts: Vec<Rows>,
    #[serde(skip)]
    changes: Rows,
    #[serde(skip)]
    notes: Vec<String>,
}

pub(super) fn explain(
    text: Option<&str>,
    options: &ExplainOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), Error> {
    sampling::refuse_what_one_run_has(&options.input, &options.seeds, &options.further_traces, &options.output)?;
    if let Selection::Packet(_) = options.selection {
        let why = "a packet is another one with each seed and capture: explain one capture with one seed (--seed)";
        return Err(Misuse::option(&["packet"], why).into());
    }
    let policies = [&options.policy].into_iter().chain(&options.against).map(of_packets);
    let policies = policies.collect::<Result<Vec<_>, _>>()?;
    let OutputOptions { report, json, .. } = &options.output;
    let mut files = Files::of(&options.input, text);
    for trace in &options.further_traces {
        files.reads("trace", trace);
    }
    let report = files.writes("report", report.as_deref())?;
    let mut samples = Vec::new();
    for asked in sampling::inputs(&options.input, &options.seeds, &options.further_traces) {
        let input = Input::resolve(&asked, options.output.shows_provenance(), text, UnnamedLink::Published, progress)?;
        let plan = Plan { one_bar: true, ..Plan::new(&input, &asked, &options.output, DEFAULT_WINDOW, progress)? };
        samples.push(sample(&plan, &policies, &options.selection)?);
    }
    let samples = Samples { policies: &policies, samples: &samples };
    let text = |report: Option<&Path>| samples.text(report);
    deliver(out, report, *json, || samples.page(), || samples.json(), text)
}

fn sample(plan: &Plan<'_>, policies: &[PolicySpec], selection: &Selection) -> Result<Sample, Error> {
    let resources = plan.input.resources();
    let policy = policies.first().cloned().ok_or(Error::Missing)?;
    let (run, explanation, against) = run_both(plan, policy, policies.get(1).cloned(), selection, 0)?;
    found(selection, &run, &explanation)?;
    let explanations = [&explanation].into_iter().chain(against.as_ref().map(|against| &against.explanation));
    let workload = Traffic::of(Some(&run));
    Ok(Sample {
        trace: plan.input.is_capture().then(|| plan.input.name().to_owned()),
        seed: plan.input.sources().seed,
        setting: workload.setting(plan, Some(plan.pipeline_or(DEFAULT_PIPELINE))),
        workload,
        provenance: plan.provenance(policies),
        parts: explanations.map(|of| parts(of, selection, resources)).collect(),
        changes: against.as_ref().map(changes).unwrap_or_default(),
        notes: plan.input.remark().map(str::to_owned).into_iter().chain(odd(&run)).collect(),
    })
}

/// How a mean packet's time is divided, by group: the selection first, and all packets last.
fn parts(of: &Explanation, selection: &Selection, resources: &[String]) -> Rows {
    let who = Who::coarse(of);
    let selected = match selection {
        Selection::Flow(flow) => Some((format!("flow {flow}"), who.fold(&of.selected))),
        Selection::Class(class) => Some((format!("class {class}"), who.fold(&of.selected))),
        Selection::All | Selection::Packet(_) => None,
    };
    let groups = who.names.iter().cloned().zip(who.groups.iter().cloned());
    let groups = selected.into_iter().chain(groups).chain([("all".to_owned(), who.all())]);
    groups.filter(|(_, group)| group.packets > 0).map(|(name, group)| (name, row(&who, &group, resources))).collect()
}

fn row(who: &Who, group: &Group, resources: &[String]) -> Row {
    let mean = |nanos: u128| group.mean_ms(nanos);
    let fixed = [
        (Column::new("number", &["packets"]), group.packets as f64),
        (Column::new("takes", &["mean_latency_ms"]), mean(group.latency_nanos)),
    ];
    let own = resources.iter().zip(&group.own_nanos);
    let own = own.map(|(name, &nanos)| (Column::new(format!("on {name}"), &["own_ms", name]), mean(nanos)));
    let same = (Column::new("same flow", &["same_flow_ms"]), mean(group.same_flow_nanos));
    let behind = who.names.iter().zip(&group.behind_nanos);
    let behind =
        behind.map(|(name, &nanos)| (Column::new(format!("behind {name}"), &["behind_ms", name]), mean(nanos)));
    let rest = [
        (Column::new("stalled", &["stalled_ms"]), mean(group.stalled_nanos)),
        (Column::new("held", &["held_ms"]), mean(group.held_nanos)),
    ];
    fixed.into_iter().chain(own).chain([same]).chain(behind).chain(rest).collect()
}

/// Changes for the packets of each class, or flow, that ended under both policies.
fn changes(against: &Against) -> Rows {
    let classes = against.classes();
    let groups = if classes.is_empty() { against.flows() } else { classes };
    let all = Change { name: "all".to_owned(), paired: against.all() };
    let row = |change: Change| {
        let Paired { pairs, gained, lost, .. } = change.paired;
        let [before, after] = change.paired.mean_ms();
        let share = |count: u64| count as f64 / pairs.max(1) as f64 * 100.0;
        let figures = vec![
            (Column::new("packets", &["packets"]), pairs as f64),
            (Column::new("first ms", &["first_mean_ms"]), before),
            (Column::new("second ms", &["second_mean_ms"]), after),
            (Column::new("change ms", &["change_ms"]), after - before),
            (Column::new("quicker %", &["quicker_percent"]), share(gained)),
            (Column::new("slower %", &["slower_percent"]), share(lost)),
        ];
        (change.name, figures)
    };
    groups.into_iter().chain([all]).filter(|change| change.paired.pairs > 0).map(row).collect()
}

/// All samples, in all output formats.
struct Samples<'a> {
    policies: &'a [PolicySpec],
    samples: &'a [Sample],
}

/// Most groups with rows: those with the largest median waiting time.
const GROUPS_SHOWN: usize = 12;

/// Most columns for groups that packets waited behind.
const BEHIND_SHOWN: usize = 6;

/// The samples' rows combined.
struct Together {
    columns: Vec<Column>,
    /// For each group and each column, the numbers of the samples that have them.
    groups: Vec<(String, Vec<Vec<f64>>)>,
}

impl Together {
    fn of<'a>(samples: impl Iterator<Item = &'a Rows>) -> Self {
        let mut together = Self { columns: Vec::new(), groups: Vec::new() };
        for (name, row) in samples.flatten() {
            let group = together.groups.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                together.groups.push((name.clone(), Vec::new()));
                together.groups.len() - 1
            });
            for (column, number) in row {
                let at = together.columns.iter().position(|known| known == column).unwrap_or_else(|| {
                    together.columns.push(column.clone());
                    together.columns.len() - 1
                });
                let numbers = &mut together.groups[group].1;
                numbers.resize(numbers.len().max(at + 1), Vec::new());
                numbers[at].push(*number);
            }
        }
        // "All" is last, whatever groups a later sample adds.
        if let Some(all) = together.groups.iter().position(|(name, _)| name == "all") {
            let all = together.groups.remove(all);
            together.groups.push(all);
        }
        together
    }

    fn median(&self, group: usize, column: usize) -> Option<f64> {
        median_of_runs(self.groups[group].1.get(column)?.iter().copied())
    }

    /// The columns to show: those with a median above zero, and of the groups waited behind the most significant.
    fn shown(&self) -> Vec<usize> {
        let most = |column: usize| {
            (0..self.groups.len())
                .filter_map(|at| self.median(at, column))
                .fold(0.0, |most, of: f64| of.abs().max(most))
        };
        let last = self.groups.len().saturating_sub(1);
        let is_behind = |column: &usize| self.columns[*column].key.first().is_some_and(|key| key == "behind_ms");
        let mut behind: Vec<usize> = (0..self.columns.len()).filter(is_behind).collect();
        let of_all = |column: usize| self.median(last, column).unwrap_or(0.0);
        behind.sort_by(|&a, &b| of_all(b).total_cmp(&of_all(a)));
        behind.truncate(BEHIND_SHOWN);
        let is_shown = |column: &usize| most(*column) > 0.0 && (!is_behind(column) || behind.contains(column));
        (0..self.columns.len()).filter(is_shown).collect()
    }

    fn table(&self, kind: &str, samples: usize) -> Table {
        let shown = self.shown();
        let header =
            [kind.to_owned()].into_iter().chain(shown.iter().map(|&column| self.columns[column].title.clone()));
        let mut table = sampling::table(header.collect());
        let show = |column: usize, number: f64| match self.columns[column].key.first().map(String::as_str) {
            Some("packets") => count(number.round() as u64),
            Some("change_ms") if number > 0.0 => format!("+{}", figure(number)),
            Some("quicker_percent" | "slower_percent") => format!("{number:.1}"),
            _ => figure(number),
        };
        let dash = || "–".to_owned();
        let skipped = (self.groups.len() - 1).saturating_sub(GROUPS_SHOWN);
        let rows = (0..self.groups.len()).filter(|&at| at < GROUPS_SHOWN || at + 1 == self.groups.len());
        for at in rows {
            let (name, numbers) = &self.groups[at];
            let cells =
                shown.iter().map(|&column| self.median(at, column).map_or_else(dash, |number| show(column, number)));
            table.push([name.clone()].into_iter().chain(cells));
            if samples > 1 {
                let ends = |&column: &usize| {
                    let ends = numbers.get(column).and_then(|numbers| interval(numbers));
                    ends.map_or_else(dash, |ends| ends.map(|end| show(column, end)).join("–"))
                };
                table.push([INTERVAL.to_owned()].into_iter().chain(shown.iter().map(ends)));
            }
        }
        if skipped > 0 {
            table.push([format!("({skipped} more)")].into_iter().chain(shown.iter().map(|_| String::new())));
        }
        table
    }

    /// Every figure of each group as its median and interval.
    fn json(&self) -> Value {
        let mut document = Map::new();
        for (name, numbers) in &self.groups {
            let mut group = Map::new();
            for (column, numbers) in self.columns.iter().zip(numbers) {
                let Some((median, [p5, p95])) = median_of_runs(numbers.iter().copied()).zip(interval(numbers)) else {
                    continue;
                };
                let value = json!({ "median": median, "p5": p5, "p95": p95, "samples": numbers.len() });
                match column.key.as_slice() {
                    [key] => drop(group.insert(key.clone(), value)),
                    [key, of, ..] => {
                        let entry = group.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
                        if let Value::Object(entry) = entry {
                            entry.insert(of.clone(), value);
                        }
                    }
                    [] => {}
                }
            }
            document.insert(name.clone(), Value::Object(group));
        }
        Value::Object(document)
    }
}

#[derive(Serialize)]
struct SamplesJson<'a> {
    samples: &'a [Sample],
    policies: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Value>,
    notes: Vec<String>,
}

impl Samples<'_> {
    fn parts(&self, policy: usize) -> Together {
        Together::of(self.samples.iter().filter_map(|sample| sample.parts.get(policy)))
    }

    fn changes(&self) -> Option<Together> {
        (self.policies.len() > 1).then(|| Together::of(self.samples.iter().map(|sample| &sample.changes)))
    }

    /// The changes, with the policies' names in the headings.
    fn changes_table(&self) -> Option<Table> {
        let mut table = self.changes()?.table("group", self.samples.len());
        for title in &mut table.header {
            for (at, which) in ["first ms", "second ms"].into_iter().enumerate() {
                if title == which {
                    *title = format!("{} ms", self.policies[at]);
                }
            }
        }
        Some(table)
    }

    fn json(&self) -> SamplesJson<'_> {
        let policy = |at: usize| json!({ "policy": self.policies[at].to_string(), "groups": self.parts(at).json() });
        SamplesJson {
            samples: self.samples,
            policies: (0..self.policies.len()).map(policy).collect(),
            changes: self.changes().map(|changes| changes.json()),
            notes: self.notes(),
        }
    }

    fn setting(&self) -> Vec<String> {
        let samples: Vec<_> = self.samples.iter().map(|sample| (sample.trace.as_deref(), sample.seed)).collect();
        vec![format!("{} (the first sample)", self.samples[0].setting), sampling::said_of(&samples)]
    }

    /// How many packets are quicker, and whether this holds in every sample.
    fn sentence(&self) -> Option<String> {
        let changes = self.changes()?;
        let all = changes.groups.len().checked_sub(1)?;
        let column = |key: &str| changes.columns.iter().position(|column| column.key == [key]);
        let figure = |key: &str| -> Option<String> {
            let column = column(key)?;
            let [low, high] = interval(changes.groups[all].1.get(column)?)?;
            Some(format!("{:.1} % ({low:.1} to {high:.1})", changes.median(all, column)?))
        };
        let (quicker, slower) = (figure("quicker_percent")?, figure("slower_percent")?);
        let [first, second] = [0, 1].map(|at| self.policies[at].to_string());
        Some(format!("{quicker} of the packets are quicker under {second} than under {first}, {slower} are slower."))
    }

    fn notes(&self) -> Vec<String> {
        sampling::notes(self.samples.iter().flat_map(|sample| &sample.notes))
    }

    fn text(&self, report: Option<&Path>) -> String {
        let mut text = format!("{}\n", self.setting().join("\n"));
        for (at, policy) in self.policies.iter().enumerate() {
            let table = self.parts(at).table("group", self.samples.len());
            text += &format!("\n{}\n\n{}\n", waited(Noun::Packet, policy.as_str()), table.to_terminal());
        }
        if let Some(table) = self.changes_table() {
            text += &format!("\nOf the packets that end under both:\n\n{}\n", table.to_terminal());
        }
        text += &self.sentence().map(|said| format!("\n{said}\n")).unwrap_or_default();
        text += &closing(&self.notes(), None, report);
        text.trim_end().to_owned()
    }

    fn page(&self) -> Page {
        let name = self.samples[0].trace.clone().unwrap_or_else(|| "samples".to_owned());
        let mut page = Page { title: format!("Dovetail: {name}, explained"), blocks: Vec::new() };
        page.blocks.extend(self.setting().into_iter().map(|line| Block::Text(line + ".")));
        page.blocks.extend(self.sentence().map(Block::Text));
        for (at, policy) in self.policies.iter().enumerate() {
            let parts = self.parts(at);
            page.blocks.push(Block::Heading(waited(Noun::Packet, policy.as_str())));
            page.blocks.push(Block::Table(parts.table("group", self.samples.len())));
            let takes = parts.columns.iter().position(|column| column.key == ["mean_latency_ms"]);
            let shown = parts.groups.iter().take(GROUPS_SHOWN).rev();
            let (names, numbers): (Vec<String>, Vec<Vec<f64>>) = shown
                .map(|(name, of)| (name.clone(), takes.and_then(|at| of.get(at).cloned()).unwrap_or_default()))
                .unzip();
            let note = "A dot for each sample; the large one is the median, the line the 5th to the 95th percentile.";
            let chart = charts::samples("mean latency, ms", names, &numbers);
            page.blocks.push(Block::chart(format!("Mean latency under {policy}"), note, chart));
        }
        page.blocks.extend(self.changes_table().map(Block::Table));
        page.blocks.extend(self.notes().into_iter().map(Block::Text));
        for sample in self.samples {
            let title = sampling::provenance_of(sample.trace.as_deref(), sample.seed);
            page.blocks.push(Block::More { title, table: sample.provenance.table() });
        }
        page
    }
}
