//! `dovetail compare`: several policies over the same traffic.

mod access;
mod json;
mod network;

use std::{fs, io::ErrorKind, path::Path};

use dovetail_sched::{Nanos, PolicySpec, cost::ProgramTable};
use dovetail_sim::{
    measure::DEFAULT_WINDOW,
    network::Contender,
    workload::{programs_from_toml, programs_to_toml},
};
use serde::Serialize;

use self::json::PolicyJson;
use crate::{
    args::{CompareArgs, OutputArgs},
    failure::Failure,
    input::{Input, UnnamedLink, scenario_text},
    output::{deliver, replace_file},
    report::{Block, Page, charts},
    run::{DEFAULT_PIPELINE, Plan, Run},
    setting::{Traffic, closing, odd},
    table::{Table, count, figure},
};

/// What is compared when nobody says: the baseline, the fair-queueing classic, and one of each multi-resource family.
const DEFAULT_POLICIES: &[&str] = &["fifo", "drr", "drfq", "mr3", "atfq:batch=20"];

pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let text = scenario_text(&args.input)?;
    if let Some(network) = crate::network::resolve(&args.input, text.as_deref())? {
        return if network.access.is_some() {
            access::compare(&network, args)
        } else {
            network::compare(&network, args)
        };
    }
    if args.pcap.is_some() {
        return Err(Failure::usage("--pcap: only what crosses a network's link is packets; name a network"));
    }
    let policies = policies(args, DEFAULT_POLICIES)?;
    let input = Input::resolve(&args.input, text.as_deref(), UnnamedLink::Published)?;
    let remembered = args.programs.as_deref().map(|path| recall(path, &policies)).transpose()?;
    let plan = Plan {
        programs: remembered.as_ref(),
        ..Plan::new(&input, &args.input, &args.output, args.window.unwrap_or(DEFAULT_WINDOW))?
    };
    let runs = plan.run(&policies)?;
    let learnt = runs.iter().rev().find_map(|run| run.learnt.as_ref());
    if let Some((path, learnt)) = args.programs.as_deref().zip(learnt) {
        replace_file(path, &programs_to_toml(learnt))?;
    }
    let comparison = Comparison { plan: &plan, runs: &runs };
    let OutputArgs { report, records, json, .. } = &args.output;
    let (report, records) = (report.as_deref(), records.as_deref());
    deliver(report, *json, || comparison.page(), || comparison.json(), || comparison.text(report, records))
}

/// The policies of packets to compare.
fn policies(args: &CompareArgs, default: &[&str]) -> Result<Vec<PolicySpec>, Failure> {
    let packets = |contender: Contender| match contender {
        Contender::UserSide(policy) => Ok(policy),
        Contender::Requests(_) | Contender::Ingress { .. } => {
            let why =
                "it is what a gateway does to requests; give it a network with [access], such as scenarios/access.toml";
            Err(Failure::usage(format!("--policy {contender}: {why}")))
        }
    };
    contenders(args, default)?.into_iter().map(packets).collect()
}

/// What to compare: what was asked for, or `default`.
fn contenders(args: &CompareArgs, default: &[&str]) -> Result<Vec<Contender>, Failure> {
    if args.policies.is_empty() {
        let parsed: Result<Vec<_>, _> = default.iter().map(|name| name.parse()).collect();
        return parsed.map_err(Failure::new);
    }
    for (at, policy) in args.policies.iter().enumerate() {
        if args.policies[..at].contains(policy) {
            return Err(Failure::usage(format!("--policy {policy} is given twice")));
        }
    }
    Ok(args.policies.clone())
}

/// What a file says of programs; nothing if there is none yet.
fn recall(path: &Path, policies: &[PolicySpec]) -> Result<ProgramTable, Failure> {
    if !policies.iter().any(PolicySpec::estimates) {
        let why = "--programs: no policy here estimates costs: add one, such as cbcs or drfq:estimator=ses";
        return Err(Failure::usage(why));
    }
    match fs::read_to_string(path) {
        Ok(text) => programs_from_toml(&text, &path.display().to_string()).map_err(Failure::new),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(ProgramTable::EMPTY),
        Err(error) => Err(Failure::file("read", path, error)),
    }
}

/// Runs side by side, in every form they are shown in.
struct Comparison<'a> {
    plan: &'a Plan<'a>,
    runs: &'a [Run],
}

#[derive(Serialize)]
struct ComparisonJson {
    workload: Traffic,
    policies: Vec<PolicyJson>,
}

impl Comparison<'_> {
    fn json(&self) -> ComparisonJson {
        ComparisonJson {
            workload: Traffic::of(self.runs.first()),
            policies: self.runs.iter().map(|run| PolicyJson::of(run, self.plan.input.resources())).collect(),
        }
    }

    fn table(&self) -> Table {
        let busy = self.plan.input.resources().iter().map(|name| format!("{name} %"));
        let fixed = ["makespan s", "Mbit/s", "Jain", "gap ms", "mean ms", "p50 ms", "p95 ms", "p99 ms", "dropped"];
        let header = ["policy".to_owned()].into_iter().chain(busy).chain(fixed.map(str::to_owned)).collect();
        let mut table = Table { header, rows: Vec::new(), words: 1 };
        let millis = |time: Option<f64>| time.map_or_else(|| "–".to_owned(), |nanos| figure(nanos / 1e6));
        for run in self.runs {
            let summary = &run.summary;
            let latency = summary.latency;
            let busy = summary.utilisation.iter().map(|share| format!("{:.2}", share * 100.0));
            let rest = [
                format!("{:.4}", summary.makespan.as_secs_f64()),
                figure(summary.throughput_mbps),
                summary.jain_dominant.map_or_else(|| "–".to_owned(), |jain| format!("{jain:.4}")),
                millis(summary.max_active_time_gap.map(Nanos::as_f64)),
                millis(latency.map(|latency| latency.mean_nanos)),
                millis(latency.map(|latency| latency.p50.as_f64())),
                millis(latency.map(|latency| latency.p95.as_f64())),
                millis(latency.map(|latency| latency.p99.as_f64())),
                count(run.outcome.dropped),
            ];
            table.push([run.policy.clone()].into_iter().chain(busy).chain(rest));
        }
        table
    }

    fn setting(&self) -> String {
        let pipeline = self.plan.pipeline_or(DEFAULT_PIPELINE);
        Traffic::of(self.runs.first()).setting(self.plan, Some(pipeline))
    }

    /// Who was best at what, for a reader who wants one line.
    fn verdict(&self) -> String {
        // All who share first place; nobody if that is everybody.
        let best = |figure: &dyn Fn(&Run) -> Option<f64>| {
            let least = self.runs.iter().filter_map(figure).min_by(f64::total_cmp)?;
            let first: Vec<_> = self.runs.iter().filter(|run| figure(run) == Some(least)).collect();
            let names: Vec<_> = first.iter().map(|run| run.policy.as_str()).collect();
            (first.len() < self.runs.len()).then(|| names.join(", "))
        };
        // Who drops more is done sooner: with drops, what was carried counts.
        let dropped = self.runs.iter().any(|run| run.outcome.dropped > 0);
        let carried = best(&|run| Some(-run.summary.throughput_mbps));
        let makespan = best(&|run| Some(run.summary.makespan.as_f64()));
        let efficient = if dropped { ("Most carried", carried) } else { ("Done first", makespan) };
        let gap = best(&|run| run.summary.max_active_time_gap.map(Nanos::as_f64));
        let late = best(&|run| run.summary.latency.map(|latency| latency.p99.as_f64()));
        let parts = [efficient, ("smallest gap", gap), ("lowest p99", late)];
        let said: Vec<_> = parts.into_iter().filter_map(|(what, who)| Some(format!("{what}: {}", who?))).collect();
        if said.is_empty() { "The policies do not differ".to_owned() } else { said.join("; ") }
    }

    fn notices(&self) -> Vec<String> {
        let odd = self.runs.first().map(odd).unwrap_or_default();
        odd.into_iter().chain(self.runs.iter().flat_map(of_policy)).collect()
    }

    fn text(&self, report: Option<&Path>, records: Option<&Path>) -> String {
        let legend: String = LEGEND.iter().map(|(term, meaning)| format!("{term:13} {meaning}\n")).collect();
        let mut text = format!("{}\n\n{}\n\n{legend}", self.setting(), self.table().to_terminal());
        if self.runs.len() > 1 {
            text += &format!("\n{}.\n", self.verdict());
        }
        text += &closing(&self.notices(), records, report);
        text.trim_end().to_owned()
    }

    fn page(&self) -> Page {
        let resources = self.plan.input.resources();
        let runs: Vec<_> =
            self.runs.iter().map(|run| charts::Run { policy: &run.policy, summary: &run.summary }).collect();
        let mut page = Page { title: format!("Dovetail: {}", self.plan.input.name()), blocks: Vec::new() };
        page.blocks.push(Block::Text(self.setting() + "."));
        page.blocks.push(Block::Text(self.verdict() + "."));
        page.blocks.push(Block::Table(self.table()));
        page.blocks.push(Block::Terms(LEGEND.to_vec()));
        let mut chart = |title: &str, note: &str, plot| page.blocks.push(Block::chart(title, note, plot));
        chart(
            "Utilisation",
            "How busy each resource was, from the first arrival to the last end.",
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
        chart("Latency", "Share of packets that were through within the time below.", charts::latency_cdf(&runs));
        for run in &runs {
            if let Some(plot) = charts::share_over_time(run) {
                let title = format!("Share over time: {}", run.policy);
                chart(&title, "Of the service that each got on the resource it needs most.", plot);
            }
        }
        page.blocks.push(Block::Heading("Flows".to_owned()));
        for run in self.runs {
            let title = format!("{}: the {FLOWS_SHOWN} flows with most packets", run.policy);
            page.blocks.push(Block::More { title, table: flows(run) });
        }
        for line in self.notices() {
            page.blocks.push(Block::Text(line));
        }
        page
    }
}

/// What to beware of with the policy, and its own figures.
fn of_policy(run: &Run) -> Vec<String> {
    let caution = run.policy.parse::<PolicySpec>().ok().and_then(|spec| spec.caution());
    let figures = run.counters.iter().map(|(name, value)| format!("{name} {}", figure(*value))).collect::<Vec<_>>();
    let counters = (!figures.is_empty()).then(|| format!("{}: {}", run.policy, figures.join(", ")));
    caution.map(str::to_owned).into_iter().chain(counters).collect()
}

/// What the columns mean.
const LEGEND: [(&str, &str); 4] = [
    ("<resource> %", "how busy it was until the last packet was through, which is the makespan"),
    ("Jain", "index of dominant service over flows that stay backlogged: 1 is equal, 1/n is one flow only"),
    ("gap", "the largest lead in active time of one backlogged flow over another: lower is fairer"),
    ("mean … p99", "time from arrival to the end of the last resource"),
];

const FLOWS_SHOWN: usize = 30;

fn flows(run: &Run) -> Table {
    let header = ["flow", "sent", "dropped", "kB", "dominant service ms", "active time ms"];
    let mut table = Table::new(&header, 1);
    let mut flows: Vec<_> = run.summary.flows.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.sent + flow.dropped));
    for flow in flows.into_iter().take(FLOWS_SHOWN) {
        table.push([
            flow.label.clone(),
            count(flow.sent),
            count(flow.dropped),
            figure(flow.bytes as f64 / 1e3),
            figure(flow.dominant().as_f64() / 1e6),
            figure(flow.active.as_f64() / 1e6),
        ]);
    }
    table
}
