//! Compares several gateways in front of the same narrow downlink: how long users wait, and how much they receive.

use std::{io::Write, path::Path};

use dovetail_sim::network::Network;
use serde::Serialize;
use serde_json::Value;

use super::{
    contenders::contenders,
    json::PolicyJson,
    network::{Runs, runs},
};
use crate::{
    error::Error,
    network::{
        Asked, LINK, NetworkRun, Under, provenance,
        users::{Figures, Latency, asking, counted, setting},
    },
    options::{CompareOptions, OutputOptions},
    output::deliver,
    progress::Progress,
    provenance::Provenance,
    report::{Block, Page, charts},
    setting::{Traffic, closing},
    summary::{Sampled, Summary},
    table::{Table, bounded, count, figure},
};

/// Compared by default: the ordinary gateway, ours, and current practice of administrators.
const DEFAULT: &[&str] = &["none", "msf-rs", "grants", "drr", "delay-pools", "ingress"];

/// Compares over the given network; `scenario` is its file's text.
pub(super) fn compare(
    asked: &Asked,
    scenario: Option<&str>,
    options: &CompareOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<Summary, Error> {
    let network = &asked.network;
    let contenders = contenders(options, DEFAULT)?;
    let under: Vec<Under<'_>> = contenders.iter().map(Under::Gateway).collect();
    let Runs { runs, report, summary, mut failures } = runs(network, scenario, &under, options, progress)?;
    let figures: Vec<Figures> = runs.iter().map(|run| Figures::of(network, &run.outcome, &run.load)).collect();
    let comparison = Comparison { network, provenance: provenance(asked, &under), runs: &runs, figures: &figures };
    let table = comparison.summary()?;
    failures.extend(summary.and_then(|place| table.write(place).err()));
    let OutputOptions { records, json, .. } = &options.output;
    let text = |report: Option<&Path>| comparison.text(report, records.as_deref());
    failures.extend(deliver(out, report, *json, || comparison.page(), || comparison.json(), text).err());
    Error::unless_none(failures).map(|()| table)
}

/// The results of these runs, as a table and as the JSON document.
pub(super) fn as_data(asked: &Asked, under: &[Under<'_>], runs: &[NetworkRun]) -> Result<(Summary, Value), Error> {
    let network = &asked.network;
    let figures: Vec<Figures> = runs.iter().map(|run| Figures::of(network, &run.outcome, &run.load)).collect();
    let comparison = Comparison { network, provenance: provenance(asked, under), runs, figures: &figures };
    Ok((comparison.summary()?, serde_json::to_value(comparison.json())?))
}

/// Runs side by side, in all output formats.
struct Comparison<'a> {
    network: &'a Network,
    provenance: Provenance,
    runs: &'a [NetworkRun],
    figures: &'a [Figures],
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    provenance: Provenance,
    workload: Traffic,
    policies: Vec<AccessJson<'a>>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct AccessJson<'a> {
    #[serde(flatten)]
    link: PolicyJson,
    ended_s: f64,
    access: &'a Figures,
}

impl Comparison<'_> {
    fn both(&self) -> impl Iterator<Item = (&NetworkRun, &Figures)> + Clone {
        self.runs.iter().zip(self.figures)
    }

    fn summary(&self) -> Result<Summary, Error> {
        let documents = self.json().policies.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
        let sample = Sampled { trace: None, provenance: &self.provenance, policies: &documents };
        Ok(Summary::of(&[sample]))
    }

    fn json(&self) -> ComparisonJson<'_> {
        let policies = self.runs.iter().zip(self.figures).map(|(run, access)| AccessJson {
            link: PolicyJson::of(&run.run, &[LINK.to_owned()]),
            ended_s: run.outcome.ended.as_secs_f64(),
            access,
        });
        ComparisonJson {
            provenance: self.provenance.clone(),
            workload: Traffic::of(self.runs.first().map(|run| &run.run)),
            policies: policies.collect(),
            notes: self.notices(),
        }
    }

    fn table(&self) -> Table {
        let fixed =
            ["gateway", "link %", "dropped %", "mean s", "median s", "p99 s", "long s", "queued s", "unfinished"];
        let mut header: Vec<String> = fixed.map(str::to_owned).into();
        let classes = self.figures.first().map(|figures| figures.classes.as_slice()).unwrap_or_default();
        header.extend(classes.iter().take(CLASSES_SHOWN).map(|class| format!("{} kbit/s", class.class)));
        let mut table = Table { header, rows: Vec::new(), words: 1 };
        for (run, figures) in self.both() {
            let Latency { mean_s, median_s, p99_s, at_least, queued_s, unfinished, cancelled, .. } = figures.all;
            let mut row = vec![
                run.run.policy.clone(),
                percent(figures.utilisation),
                percent(figures.dropped),
                bounded(mean_s, at_least.mean_s),
                bounded(median_s, at_least.median_s),
                bounded(p99_s, at_least.p99_s),
                bounded(figures.long_mean_s, figures.long_mean_at_least),
                shown(queued_s),
                count(unfinished + cancelled),
            ];
            row.extend(figures.classes.iter().take(CLASSES_SHOWN).map(|class| figure(class.kbps)));
            table.push(row);
        }
        table
    }

    /// What each class received under each gateway.
    fn classes(&self) -> Table {
        let header =
            ["gateway", "class", "weight", "users", "kbit/s", "per user", "mean s", "median s", "p99 s", "queued s"];
        let mut table = Table::new(&header, 2);
        for (run, figures) in self.both() {
            let per_user = |kbps: f64, users: usize| kbps / users.max(1) as f64;
            let least = figures.classes.iter().map(|class| per_user(class.kbps, class.users));
            let least = least.filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
            for class in &figures.classes {
                let Latency { mean_s, median_s, p99_s, at_least, queued_s, .. } = class.latency;
                table.push([
                    run.run.policy.clone(),
                    class.class.clone(),
                    class.weight.to_string(),
                    count(class.users as u64),
                    figure(class.kbps),
                    if least.is_finite() {
                        figure(per_user(class.kbps, class.users) / least)
                    } else {
                        "–".to_owned()
                    },
                    bounded(mean_s, at_least.mean_s),
                    bounded(median_s, at_least.median_s),
                    bounded(p99_s, at_least.p99_s),
                    shown(queued_s),
                ]);
            }
        }
        table
    }

    fn notices(&self) -> Vec<String> {
        let counted = self.runs.first().map(|run| {
            let (from, to) = asking(self.network, &run.outcome);
            format!("latency of requests made from second {from} on; rates and link from there to second {to}")
        });
        let kept = |run: &NetworkRun| {
            let access = run.outcome.access.as_ref()?;
            let (_, figures) = access.notes.last()?;
            let figures: Vec<_> = figures.iter().map(|(name, value)| format!("{name} {}", figure(*value))).collect();
            (!figures.is_empty()).then(|| format!("{} at the end: {}", run.run.policy, figures.join(", ")))
        };
        let lost = self.runs.iter().filter_map(|run| {
            let lost = run.outcome.access.as_ref()?.lost_among_users;
            let packets = count(lost);
            let why = "they are not sent again, so their transfers never finish: give those links more buffer";
            (lost > 0)
                .then(|| format!("{}: {packets} packets between users and gateway were dropped; {why}", run.run.policy))
        });
        let opened = self.runs.iter().filter_map(|run| {
            let access = run.outcome.access.as_ref()?;
            let (to_gateway, to_servers) = (count(access.users_dialled), count(access.dialled));
            let held = count(access.most_held_bytes);
            (access.users_dialled > 0).then(|| {
                format!(
                    "{}: users opened {to_gateway} connections to the gateway, which held {held} bytes for one at most and \
                     opened {to_servers} to servers",
                    run.run.policy
                )
            })
        });
        counted.into_iter().chain(lost).chain(opened).chain(self.runs.iter().filter_map(kept)).collect()
    }

    fn text(&self, report: Option<&Path>, records: Option<&Path>) -> String {
        let legend: String = LEGEND.iter().map(|(term, meaning)| format!("{term:13} {meaning}\n")).collect();
        let mut text = format!(
            "{}\n\n{}\n\n{}\n\n{legend}",
            setting(self.network),
            self.table().to_terminal(),
            self.classes().to_terminal()
        );
        text += &closing(&self.notices(), records, report);
        text.trim_end().to_owned()
    }

    fn page(&self) -> Page {
        let mut page = Page { title: format!("Dovetail: {}", self.network.name), blocks: Vec::new() };
        page.blocks.push(Block::Text(setting(self.network) + "."));
        page.blocks.push(Block::Table(self.table()));
        page.blocks.push(Block::Table(self.classes()));
        page.blocks.push(Block::Terms(LEGEND.to_vec()));
        let mut chart = |title: &str, note: &str, plot| page.blocks.push(Block::chart(title, note, plot));
        let waits = self.runs.iter().map(|run| {
            let took = counted(self.network, &run.outcome).map(|exchange| (exchange.bytes, exchange.took()));
            (run.run.policy.as_str(), took.collect::<Vec<_>>())
        });
        let waits: Vec<_> = waits.collect();
        chart(
            "Latency",
            "Share of requests whose complete response took no longer than the time below.",
            charts::waits(&waits),
        );
        chart("Latency by size", "Mean over responses of about that size.", charts::wait_by_size(&waits));
        let classes: Vec<_> = self.both().map(|(run, figures)| (run.run.policy.as_str(), figures)).collect();
        chart("Rates by class", "Rate of all users of each class together.", charts::class_rates(&classes));
        let runs: Vec<_> = self
            .runs
            .iter()
            .map(|run| charts::ChartedRun { policy: &run.run.policy, summary: &run.run.summary })
            .collect();
        chart(
            "The far queue",
            "Share of packets that spent no longer than the time below in the link's buffer.",
            charts::latency_cdf(&runs),
        );
        for run in self.runs {
            let Some(access) = &run.outcome.access else { continue };
            for name in ["window", "pace"] {
                if let Some(plot) = charts::note_over_time(name, &access.notes) {
                    chart(
                        &format!("{}: {name} over time", run.run.policy),
                        "The scheduler's own value, every second.",
                        plot,
                    );
                }
            }
        }
        page.blocks.extend(self.notices().into_iter().map(Block::Text));
        page.blocks.push(Block::Table(self.provenance.table()));
        page
    }
}

/// Number of classes with columns.
const CLASSES_SHOWN: usize = 4;

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), figure)
}

fn percent(part: f64) -> String {
    format!("{:.1}", part * 100.0)
}

/// Meaning of the columns.
const LEGEND: [(&str, &str); 5] = [
    ("link %", "utilisation of the downlink while users sent requests"),
    (
        "mean … p99 s",
        "from the moment a user wants the response to its last byte; long s: mean of responses over 200 kB",
    ),
    ("queued s", "mean time that answered requests were queued at the gateway"),
    ("unfinished", "requests cancelled, or not answered by the end; they took at least until then: ≥"),
    ("per user", "a user's rate, over that of a user of the class with the lowest"),
];
