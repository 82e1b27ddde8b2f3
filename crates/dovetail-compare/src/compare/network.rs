//! Compares several policies in front of the same link of a network: what transfers and streams receive.

use std::{collections::BTreeMap, io::Write, mem, path::Path};

use dovetail_sched::Nanos;
use dovetail_sim::{
    measure::Percentiles,
    network::{Echoes, Kind, Network, Protocol},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    contenders::policies,
    flows::{flows, of_policy},
    json::{LatencyJson, PolicyJson},
};
use crate::{
    error::{Error, Misuse},
    files::{Files, NewFile, capture_path},
    network::{
        Asked, Keep, LINK, NetworkRun, Under, bar, provenance, run,
        times::{Rates, SLOW_START_S, SizeClass, Times, WINDOW_S},
    },
    options::{CompareOptions, OutputOptions},
    output::deliver,
    progress::Progress,
    provenance::Provenance,
    report::{Block, Page, charts},
    setting::{Traffic, closing},
    side_by_side::{cores, side_by_side_on},
    summary::{Place, Sampled, Summary},
    table::{Table, bounded, count, counted, megabits},
};

/// Compared by default: the baseline, fair queueing, and policies that favour short flows.
const DEFAULT_POLICIES: &[&str] = &["fifo", "drr", "las", "run2c", "drr-sff"];

/// Compares over the given network; `scenario` is its file's text.
pub(super) fn compare(
    asked: &Asked,
    scenario: Option<&str>,
    options: &CompareOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<Summary, Error> {
    let network = &asked.network;
    let policies = policies(options, DEFAULT_POLICIES)?;
    let under: Vec<Under<'_>> = policies.iter().map(Under::Policy).collect();
    let Runs { runs, report, summary, mut failures } = runs(network, scenario, &under, options, progress)?;
    let comparison = Comparison { network, provenance: provenance(asked, &under), runs: &runs };
    let figures = comparison.summary()?;
    failures.extend(summary.and_then(|place| figures.write(place).err()));
    let OutputOptions { records, json, .. } = &options.output;
    let text = |report: Option<&Path>| comparison.text(report, records.as_deref());
    failures.extend(deliver(out, report, *json, || comparison.page(), || comparison.json(), text).err());
    Error::unless_none(failures).map(|()| figures)
}

/// Completed runs, and output still to be written.
pub(super) struct Runs {
    pub(super) runs: Vec<NetworkRun>,
    /// The page, if any.
    pub(super) report: Option<NewFile>,
    /// The table of all figures, if any.
    pub(super) summary: Option<Place>,
    /// Why files of the runs could not be written.
    pub(super) failures: Vec<Error>,
}

/// Options that apply to pipelines only.
pub(super) fn refuse_what_pipelines_have(options: &CompareOptions) -> Result<(), Error> {
    if options.programs.is_some() {
        return Err(Misuse::option(&["programs"], "packets of a network run no programs").into());
    }
    if options.window.is_some() {
        return Err(Misuse::option(&["window"], "the figures of a network have no such windows").into());
    }
    Ok(())
}

/// Runs each of `examined` over the network, in order.
pub(super) fn runs(
    network: &Network,
    scenario: Option<&str>,
    examined: &[Under<'_>],
    options: &CompareOptions,
    progress: &dyn Progress,
) -> Result<Runs, Error> {
    refuse_what_pipelines_have(options)?;
    let OutputOptions { report, records, format, jobs, .. } = &options.output;
    let mut files = Files::of(&options.input, scenario);
    let report = files.writes("report", report.as_deref())?;
    let summary = Place::open(options.summary.as_deref(), &mut files)?;
    files.writes_records(&options.output, examined)?;
    files.writes_each("capture", options.pcap.as_deref(), examined, capture_path)?;
    let keep = Keep { records: records.as_deref().map(|folder| (folder, *format)), pcap: options.pcap.as_deref() };
    let bar = bar(network, examined.len(), progress);
    let jobs = jobs.map_or_else(cores, usize::from);
    let mut runs = side_by_side_on(jobs, examined, |&under| run(network, under, keep, bar.as_ref()))?;
    let failures = runs.iter_mut().flat_map(|run| mem::take(&mut run.run.unwritten)).collect();
    Ok(Runs { runs, report, summary, failures })
}

/// The results of these runs, as a table and as the JSON document.
pub(super) fn as_data(asked: &Asked, under: &[Under<'_>], runs: &[NetworkRun]) -> Result<(Summary, Value), Error> {
    let network = &asked.network;
    let comparison = Comparison { network, provenance: provenance(asked, under), runs };
    Ok((comparison.summary()?, serde_json::to_value(comparison.json())?))
}

/// Runs side by side, in all output formats.
struct Comparison<'a> {
    network: &'a Network,
    provenance: Provenance,
    runs: &'a [NetworkRun],
}

#[derive(Serialize)]
struct ComparisonJson {
    provenance: Provenance,
    workload: Traffic,
    policies: Vec<NetworkJson>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct NetworkJson {
    #[serde(flatten)]
    link: PolicyJson,
    ended_s: f64,
    evicted_flows: u64,
    unknown_dropped: u64,
    /// If the watched link marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    marked: Option<u64>,
    transfers: BTreeMap<&'static str, Times>,
    streams: Vec<StreamJson>,
}

#[derive(Serialize)]
struct StreamJson {
    traffic: String,
    packets: u64,
    dropped: u64,
    /// From the arrival at the watched link to the end of transmission.
    latency_us: Option<LatencyJson>,
    #[serde(flatten)]
    rates: Rates,
    #[serde(skip_serializing_if = "Option::is_none")]
    echoes: Option<EchoesJson>,
}

#[derive(Serialize)]
struct EchoesJson {
    answered: u64,
    unanswered: u64,
    latency_us: Option<LatencyJson>,
    at_least: EchoesAtLeast,
}

/// Which percentiles are lower bounds.
#[derive(Serialize)]
struct EchoesAtLeast {
    p50: bool,
    p95: bool,
    p99: bool,
    max: bool,
}

impl From<Echoes> for EchoesJson {
    fn from(echoes: Echoes) -> Self {
        let bound = |at: fn(&Percentiles) -> Nanos| echoes.took.is_some_and(|took| echoes.is_at_least(at(&took)));
        Self {
            answered: echoes.answered,
            unanswered: echoes.unanswered,
            latency_us: echoes.took.map(LatencyJson::from),
            at_least: EchoesAtLeast {
                p50: bound(|took| took.p50),
                p95: bound(|took| took.p95),
                p99: bound(|took| took.p99),
                max: bound(|took| took.max),
            },
        }
    }
}

impl Comparison<'_> {
    /// Each stream's traffic and rates, by run; streams are the same in all.
    fn rates(&self, run: &NetworkRun) -> Vec<(&str, Rates)> {
        let begins = |at: usize| self.network.traffic[at].start.as_secs_f64().ceil() as usize + SLOW_START_S;
        let streams = run.outcome.streams.iter().map(|stream| {
            let ended = run.outcome.ended.min(self.network.traffic[stream.traffic].stop);
            let rates = Rates::of(stream, begins(stream.traffic), ended);
            (self.network.traffic[stream.traffic].name.as_str(), rates)
        });
        streams.collect()
    }

    fn summary(&self) -> Result<Summary, Error> {
        let documents = self.json().policies.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
        let sample = Sampled { trace: None, provenance: &self.provenance, policies: &documents };
        Ok(Summary::of(&[sample]))
    }

    fn json(&self) -> ComparisonJson {
        let policy = |run: &NetworkRun| {
            let streams =
                run.outcome.streams.iter().zip(self.rates(run)).map(|(stream, (traffic, rates))| StreamJson {
                    traffic: traffic.to_owned(),
                    packets: stream.packets,
                    dropped: stream.dropped,
                    latency_us: stream.at_link.map(LatencyJson::from),
                    rates,
                    echoes: stream.echoes.map(EchoesJson::from),
                });
            let times = |class: SizeClass| (class.name(), Times::of(class.transfers(&run.outcome), run.outcome.ended));
            NetworkJson {
                link: PolicyJson::of(&run.run, &[LINK.to_owned()]),
                ended_s: run.outcome.ended.as_secs_f64(),
                evicted_flows: run.outcome.evicted_flows,
                unknown_dropped: run.outcome.unknown,
                marked: run.outcome.marked,
                transfers: SizeClass::ALL.into_iter().map(times).collect(),
                streams: streams.collect(),
            }
        };
        ComparisonJson {
            provenance: self.provenance.clone(),
            workload: Traffic::of(self.runs.first().map(|run| &run.run)),
            policies: self.runs.iter().map(policy).collect(),
            notes: self.notices(),
        }
    }

    /// Numbers of the first streams with a meaningful rate: a keystroke's echo is judged by its time.
    fn with_rate(&self) -> Vec<usize> {
        let streams = self.runs.first().map_or(&[][..], |run| &run.outcome.streams);
        let with_rate = (0..streams.len()).filter(|&at| streams[at].echoes.is_none());
        with_rate.take(STREAMS_SHOWN).collect()
    }

    fn table(&self) -> Table {
        let mut header: Vec<String> = ["policy", "link %", "dropped %"].map(str::to_owned).into();
        let transfers = self.network.transfers() > 0;
        if transfers {
            header.extend(["short ms", "p95 ms", "middle s", "long s", "unfinished"].map(str::to_owned));
        }
        let streams = self.runs.first().map(|run| self.rates(run)).unwrap_or_default();
        let with_rate = self.with_rate();
        for (name, _) in with_rate.iter().map(|&at| streams[at]) {
            header.extend([format!("{name} Mbit/s"), format!("least {WINDOW_S} s")]);
        }
        let mut table = Table { header, rows: Vec::new(), words: 1 };
        let rate = |mbps: Option<f64>| mbps.map_or_else(|| "–".to_owned(), megabits);
        let mean = |times: Times, factor: f64| bounded(times.mean_s.map(|mean| mean * factor), times.at_least.mean_s);
        for run in self.runs {
            let link = run.outcome.link;
            let dropped = link.dropped as f64 / link.arrived.max(1) as f64;
            let busy = run.run.summary.utilisation.first().copied().unwrap_or(0.0);
            let mut row =
                vec![run.run.policy.clone(), format!("{:.1}", busy * 100.0), format!("{:.1}", dropped * 100.0)];
            if transfers {
                let [short, middle, long] =
                    SizeClass::ALL.map(|class| Times::of(class.transfers(&run.outcome), run.outcome.ended));
                row.extend([mean(short, 1e3), bounded(short.p95_s.map(|p95| p95 * 1e3), short.at_least.p95_s)]);
                row.extend([mean(middle, 1.0), mean(long, 1.0)]);
                row.push(count(short.unfinished + middle.unfinished + long.unfinished));
            }
            let streams = self.rates(run);
            for (_, rates) in with_rate.iter().map(|&at| streams[at]) {
                row.extend([rates.mean_mbps, rates.least_window_mbps].map(rate));
            }
            table.push(row);
        }
        table
    }

    /// What the watched link did to each stream's packets, and echo times; `None` without streams.
    fn streams(&self) -> Option<Table> {
        let streams = self.runs.first().map_or(&[][..], |run| &run.outcome.streams);
        let mut header = vec!["stream", "policy", "packets", "dropped %", "p50 ms", "p99 ms", "max ms"];
        let has_echoes = streams.iter().any(|stream| stream.echoes.is_some());
        if has_echoes {
            header.extend(["echo p50 ms", "echo p99 ms", "echo max ms", "unanswered"]);
        }
        let mut table = Table::new(&header, 2);
        let at: [fn(&Percentiles) -> Nanos; 3] = [|took| took.p50, |took| took.p99, |took| took.max];
        for number in 0..streams.len().min(STREAMS_LISTED) {
            for run in self.runs {
                let stream = &run.outcome.streams[number];
                let dropped = stream.dropped as f64 / stream.packets.max(1) as f64;
                let mut row = vec![
                    self.network.traffic[stream.traffic].name.clone(),
                    run.run.policy.clone(),
                    count(stream.packets),
                    format!("{:.1}", dropped * 100.0),
                ];
                let millis = |nanos: Nanos| nanos.as_f64() / 1e6;
                row.extend(at.map(|at| bounded(stream.at_link.as_ref().map(at).map(millis), false)));
                if has_echoes {
                    let took = stream.echoes.and_then(|echoes| Some((echoes, echoes.took?)));
                    row.extend(at.map(|at| {
                        let shown = took.map(|(echoes, took)| (millis(at(&took)), echoes.is_at_least(at(&took))));
                        bounded(shown.map(|(value, _)| value), shown.is_some_and(|(_, is_at_least)| is_at_least))
                    }));
                    row.push(stream.echoes.map_or_else(String::new, |echoes| count(echoes.unanswered)));
                }
                table.push(row);
            }
        }
        (!streams.is_empty()).then_some(table)
    }

    fn setting(&self) -> String {
        let Network { nodes, links, watched, transport, .. } = self.network;
        let link = &links[*watched];
        let name = |node: usize| nodes[node].name.as_str();
        let traffic = self.network.traffic.iter().map(|traffic| match traffic.kind {
            Kind::Transfers { count: transfers, .. } => {
                format!("{} ({})", traffic.name, counted(transfers.into(), "transfer"))
            }
            Kind::LongLived(1) => format!("{} (an unlimited connection)", traffic.name),
            Kind::LongLived(flows) => format!("{} ({flows} unlimited connections)", traffic.name),
            Kind::Datagrams(_) => format!("{} (UDP)", traffic.name),
            Kind::Interactive(_) => format!("{} (interactive)", traffic.name),
            Kind::Requests(_) => format!("{} (requests)", traffic.name),
        });
        format!(
            "{}: {} from {} to {} at {} Mbit/s; {} {}",
            self.network.name,
            traffic.collect::<Vec<_>>().join(", "),
            name(link.from),
            name(link.to),
            megabits(link.rate.bps() / 1e6),
            match transport.protocol {
                Protocol::Tcp => "TCP",
                Protocol::Quic => "QUIC",
            },
            format!("{:?}", transport.tcp.congestion).to_lowercase(),
        )
    }

    fn notices(&self) -> Vec<String> {
        let first = self.runs.first().map(|run| &run.outcome);
        let classes = first.map(|outcome| {
            let [short, middle, long] = SizeClass::ALL.map(|class| class.transfers(outcome).count() as u64);
            let (short, middle) = (counted(short, "short transfer"), counted(middle, "middle one"));
            format!("{short} (under 20 kB), {middle}, {} (over 1 MB)", counted(long, "long one"))
        });
        let evicted = self.runs.iter().filter(|run| run.outcome.evicted_flows > 0).map(|run| {
            format!(
                "{}: the state of {} flows was evicted for want of memory",
                run.run.policy,
                count(run.outcome.evicted_flows)
            )
        });
        let unknown = self.runs.iter().filter(|run| run.outcome.unknown > 0).map(|run| {
            let packets = count(run.outcome.unknown);
            format!(
                "{}: {packets} packets were dropped for want of memory for their flow; they have no record",
                run.run.policy
            )
        });
        let marked = self.runs.iter().filter_map(|run| {
            let packets = count(run.outcome.marked?);
            Some(format!("{}: {packets} packets were marked", run.run.policy))
        });
        let policies = self.runs.iter().flat_map(|run| of_policy(&run.run));
        let classes = classes.filter(|_| self.network.transfers() > 0);
        let is_idle = self.runs.iter().all(|run| run.run.outcome.arrived == 0);
        let idle = "no packet reached the watched link in the direction that is compared: is that the traffic's way, and does \
                    traffic begin before the network stops?";
        let idle = is_idle.then(|| idle.to_owned());
        idle.into_iter().chain(classes).chain(evicted).chain(unknown).chain(marked).chain(policies).collect()
    }

    fn legend(&self) -> Vec<(&'static str, &'static str)> {
        let transfers = LEGEND.iter().filter(|_| self.network.transfers() > 0);
        let streams = STREAM_LEGEND.iter().filter(|_| self.runs.iter().any(|run| !run.outcome.streams.is_empty()));
        let has_echoes = |run: &NetworkRun| run.outcome.streams.iter().any(|stream| stream.echoes.is_some());
        let echoes = ECHO_LEGEND.iter().filter(|_| self.runs.iter().any(has_echoes));
        transfers.chain(streams).chain(echoes).copied().collect()
    }

    fn text(&self, report: Option<&Path>, records: Option<&Path>) -> String {
        let legend: String = self.legend().iter().map(|(term, meaning)| format!("{term:13} {meaning}\n")).collect();
        let mut text = format!("{}\n\n{}\n\n", self.setting(), self.table().to_terminal());
        if let Some(streams) = self.streams() {
            text += &format!("{}\n\n", streams.to_terminal());
        }
        text += &legend;
        text += &closing(&self.notices(), records, report);
        text.trim_end().to_owned()
    }

    fn page(&self) -> Page {
        let mut page = Page { title: format!("Dovetail: {}", self.network.name), blocks: Vec::new() };
        page.blocks.push(Block::Text(self.setting() + "."));
        page.blocks.push(Block::Table(self.table()));
        page.blocks.extend(self.streams().map(Block::Table));
        page.blocks.push(Block::Terms(self.legend()));
        let mut chart = |title: &str, note: &str, plot| page.blocks.push(Block::chart(title, note, plot));
        if self.network.transfers() > 0 {
            let lines = self.runs.iter().map(|run| (run.run.policy.as_str(), &run.outcome));
            chart(
                "Time by size",
                "Mean time of transfers of about that size, from the first packet to the last byte.",
                charts::time_by_size(lines.clone()),
            );
            chart(
                "Short transfers",
                "Share of transfers that took no longer than the time below.",
                charts::short_times(lines),
            );
        }
        for at in self.with_rate() {
            let traffic = self.runs.first().map_or(0, |run| run.outcome.streams[at].traffic);
            let lines =
                self.runs.iter().map(|run| (run.run.policy.as_str(), &run.outcome.streams[at], run.outcome.ended));
            let title = format!("Rate of {} over time", self.network.traffic[traffic].name);
            chart(&title, "Mean over ten seconds.", charts::rate_over_time(lines));
        }
        let runs: Vec<_> = self
            .runs
            .iter()
            .map(|run| charts::ChartedRun { policy: &run.run.policy, summary: &run.run.summary })
            .collect();
        chart(
            "Time at the link",
            "Share of packets that took no longer than the time below.",
            charts::latency_cdf(&runs),
        );
        page.blocks.push(Block::Heading("Flows".to_owned()));
        for run in self.runs {
            let title = format!("{}: the flows with most packets", run.run.policy);
            page.blocks.push(Block::More { title, table: flows(&run.run) });
        }
        page.blocks.extend(self.notices().into_iter().map(Block::Text));
        page.blocks.push(Block::Table(self.provenance.table()));
        page
    }
}

/// Number of streams with columns and a chart.
const STREAMS_SHOWN: usize = 3;
/// Number of streams with a row for each policy.
const STREAMS_LISTED: usize = 8;

/// Meaning of the columns.
const LEGEND: [(&str, &str); 3] = [
    (
        "short ms",
        "mean time of transfers under 20 kB, from the first packet to the last byte; p95: 95 % took no longer",
    ),
    ("middle, long s", "mean time of transfers up to and over 1 MB"),
    ("unfinished", "transfers not finished at the end; they took at least until then: ≥"),
];

const ECHO_LEGEND: [(&str, &str); 1] = [(
    "echo ms",
    "from a keystroke until its echo is back; unanswered: those without one at the end, which took at least until then: ≥",
)];

const STREAM_LEGEND: [(&str, &str); 2] = [
    ("Mbit/s", "rate at the receiver after the first ten seconds; least 10 s: in the worst ten seconds after them"),
    (
        "p50 to max ms",
        "of a stream: from a packet's arrival at the link until it was sent whole; dropped %: of its packets",
    ),
];
