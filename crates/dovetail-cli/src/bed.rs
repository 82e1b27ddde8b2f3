//! `dovetail bed`: proxies at a narrow downlink of this machine, one table for all.

use std::{env, io::Write, time::Duration};

use dovetail_bed::{Bed, BedError, BedSpec, End, Load, LoadSpec, Measured, Proxy, Via, check};
use dovetail_compare::{
    Progress, Task,
    output::{print, print_json},
    side_by_side::side_by_side_on,
    table::{Table, bounded, figure},
};
use serde::Serialize;

use crate::{args::BedArgs, bars::Bars, failure::Failure};

/// Of the classes of users, for Dovetail's gateway.
const WEIGHTS: [u32; 3] = [4, 2, 1];

pub(crate) fn run(args: &BedArgs, bars: &Bars, out: &mut dyn Write) -> Result<(), Failure> {
    let (spec, load) = described(args)?;
    let whom = named(args)?;
    check().map_err(Failure::new)?;
    let runs: Vec<(&Named, LoadSpec)> = whom
        .iter()
        .flat_map(|one| args.seeds.0.iter().map(move |&seed| (one, seed)))
        .map(|(one, seed)| (one, LoadSpec { seed, ..load.clone() }))
        .collect();
    let bar = bars.begin(Task { name: "", width: 0, counts: "packets", total: None });
    let made = side_by_side_on(args.jobs.into(), &runs, |(one, load)| {
        let load = LoadSpec { via: one.via.unwrap_or(load.via), ..load.clone() };
        Bed::new(&spec)?.measure(&one.proxy, &load, &|packets| bar.inc(packets))
    });
    drop(bar);
    let made = made.map_err(|wrong: BedError| Failure::new(wrong))?;
    let rows: Vec<Row> = runs.iter().zip(&made).map(|((one, load), run)| Row::new(&one.name, load.seed, run)).collect();
    if args.json {
        return Ok(print_json(
            out,
            &Document { rate_bps: spec.rate_bps, buffer_packets: spec.buffer_packets, runs: &rows },
        )?);
    }
    print(out, &table(&rows, spec.users.len()))?;
    Ok(print(out, &notes(&made))?)
}

/// A proxy with its name in tables.
struct Named<'a> {
    name: String,
    proxy: Proxy<'a>,
    // How it is reached, if not as the load says.
    via: Option<Via>,
}

fn described(args: &BedArgs) -> Result<(BedSpec, LoadSpec), Failure> {
    let spec = BedSpec { rate_bps: args.rate.bps() as u64, buffer_packets: args.buffer_packets, ..BedSpec::default() };
    let load = match args.outstanding {
        Some(outstanding) => Load::Closed { outstanding },
        None => Load::Open { load: args.load },
    };
    let via = if args.connect { Via::Connect } else { Via::Absolute };
    let [warm_up, duration] = [args.warm_up, args.duration].map(|time| Duration::from_nanos(time.0));
    let load = LoadSpec { load, via, warm_up, duration, ..LoadSpec::default() };
    spec.validate().and_then(|()| load.validate(spec.users.len())).map_err(Failure::misuse)?;
    Ok((spec, load))
}

/// What to measure, in the order of the help.
fn named(args: &BedArgs) -> Result<Vec<Named<'_>>, Failure> {
    let program =
        env::current_exe().map_err(|error| Failure::new(format!("this program's file is not known: {error}")))?;
    let named = |name: &str, proxy| Named { name: name.to_owned(), proxy, via: None };
    let mut whom: Vec<_> = args.proxies.iter().map(|(name, line)| named(name, Proxy::shell(name, line))).collect();
    for policy in &args.policies {
        whom.push(named(policy.as_str(), Proxy::dovetail(&program, policy.as_str(), &WEIGHTS)));
    }
    if args.squid {
        whom.push(named("squid", Proxy::squid()));
    }
    if args.direct {
        whom.push(Named { via: Some(Via::Direct), ..named("direct", Proxy::Listening) });
    }
    if let Some(twice) = (1..whom.len()).find(|&at| whom[..at].iter().any(|other| other.name == whom[at].name)) {
        return Err(Failure::misuse(format!("{} is given twice: tables could not tell them apart", whom[twice].name)));
    }
    Ok(whom)
}

#[derive(Serialize)]
struct Document<'a> {
    rate_bps: u64,
    buffer_packets: u32,
    runs: &'a [Row],
}

/// The figures of a run.
#[derive(Serialize)]
struct Row {
    proxy: String,
    seed: u64,
    offered: f64,
    requests: usize,
    unfinished: usize,
    failed: usize,
    /// `None` if no request counts.
    mean_s: Option<f64>,
    median_s: Option<f64>,
    p99_s: Option<f64>,
    utilisation: f64,
    dropped: f64,
    /// Of each class of users.
    received_kbps: Vec<f64>,
    /// `None` without a proxy.
    cpu_ms_per_request: Option<f64>,
    resident_bytes: Option<u64>,
    #[serde(skip)]
    at_least: [bool; 3],
}

impl Row {
    fn new(proxy: &str, seed: u64, run: &Measured) -> Self {
        let latency = run.latency();
        let known = |value: f64| value.is_finite().then_some(value);
        let kbps = |&bytes: &u64| bytes as f64 * 8.0 / 1e3 / run.link.seconds;
        Self {
            proxy: proxy.to_owned(),
            seed,
            offered: run.offered(),
            requests: latency.requests,
            unfinished: latency.unfinished,
            failed: run.failed().count(),
            mean_s: known(latency.mean_s),
            median_s: known(latency.median_s),
            p99_s: known(latency.p99_s),
            utilisation: run.link.utilisation,
            dropped: run.link.dropped(),
            received_kbps: run.received_bytes.iter().map(kbps).collect(),
            cpu_ms_per_request: run.cpu_ms_per_request().and_then(known),
            resident_bytes: run.proxy.as_ref().map(|proxy| proxy.resident_bytes),
            at_least: [latency.unfinished > 0, latency.median_is_lower_bound, latency.p99_is_lower_bound],
        }
    }
}

fn table(rows: &[Row], classes: usize) -> String {
    let of_classes: Vec<String> = (1..=classes).map(|class| format!("class {class} kbit/s")).collect();
    let header = ["proxy", "seed", "offered %", "requests", "mean s", "median s", "p99 s", "link %", "dropped %"];
    let header = header.into_iter().chain(of_classes.iter().map(String::as_str));
    let header: Vec<&str> = header.chain(["unfinished", "failed", "CPU ms", "RSS MB"]).collect();
    let mut table = Table::new(&header, 1);
    for row in rows {
        let [mean, median, p99] = row.at_least;
        let percent = |part: f64| format!("{:.1}", part * 100.0);
        let words = [row.proxy.clone(), row.seed.to_string(), percent(row.offered), row.requests.to_string()];
        let latency = [(row.mean_s, mean), (row.median_s, median), (row.p99_s, p99)];
        let link = [percent(row.utilisation), percent(row.dropped)];
        let rest = [
            row.unfinished.to_string(),
            row.failed.to_string(),
            bounded(row.cpu_ms_per_request, false),
            bounded(row.resident_bytes.map(|bytes| bytes as f64 / 1e6), false),
        ];
        let latency = latency.into_iter().map(|(value, at_least)| bounded(value, at_least));
        table.push(
            words
                .into_iter()
                .chain(latency)
                .chain(link)
                .chain(row.received_kbps.iter().map(|&kbps| figure(kbps)))
                .chain(rest),
        );
    }
    table.to_terminal()
}

/// What the columns mean, and how far to trust them.
fn notes(made: &[Measured]) -> String {
    let late_ms = made.iter().map(|run| run.latest.as_secs_f64() * 1e3).fold(0.0, f64::max);
    let mut notes = format!(
        "\noffered %    what was requested, of the downlink's rate\n\
         mean s …     from a request until its response's last byte\n\
         unfinished   responses that were not whole at the end; they took at least until then: ≥\n\
         CPU ms       of the proxy's processes, for each request that was answered while counted\n\
         note: no packet was held more than {late_ms:.1} ms beyond its round-trip time; on a busy machine that would be more"
    );
    if let Some(End::Failed(why)) = made.iter().flat_map(Measured::failed).map(|one| &one.end).next() {
        notes += &format!("\nnote: the first request that failed: {why}");
    }
    notes
}
