//! Table 2: how long users wait at a real gateway; Squid's mean latency and MSF-RS's.
//!
//! The paper's field trial uses a list of URLs requested by an enterprise's users, and servers in the Internet. Here users
//! send requests in open loop at 0.9 of the link, so that order matters (Fig. 9 explains why), for responses of the paper's
//! simulated sizes from servers 10 to 250 ms away. A request counts from the moment the response is wanted to its last byte,
//! and with its age if it was not answered.

use dovetail_bed::{BedSpec, LoadSpec, Measured};

use super::gateways::{Gateway, Job, measured, possible};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
    spread::Spread,
};
use dovetail_compare::table::Table;

const GATEWAYS: [Gateway; 3] = [Gateway::Squid, Gateway::Ours("msf-rs"), Gateway::Ours("grants")];
const SEEDS: u64 = 5;
/// Gold, silver, bronze.
const WEIGHTS: [u32; 3] = [4, 2, 1];

/// Squid's mean latency and MSF-RS's, in milliseconds.
const PAPER_MS: [f64; 2] = [1686.1, 1174.9];

pub(super) fn table2(given: &Given<'_>) -> Result<Finding, Error> {
    possible()?;
    let job = |gateway, seed| Job {
        gateway,
        bed: BedSpec::default(),
        weights: WEIGHTS.to_vec(),
        load: LoadSpec { seed, ..LoadSpec::default() },
    };
    let jobs: Vec<Job> =
        GATEWAYS.into_iter().flat_map(|gateway| (1..=SEEDS).map(move |seed| job(gateway, seed))).collect();
    // Real time, most of it idle: run all at once.
    let made = measured(&jobs, jobs.len(), given)?;
    let runs: Vec<&[Measured]> = made.chunks(SEEDS as usize).collect();
    let [squid, msf_rs, grants] = runs[..] else { return Err(Error::broken("a finished run is missing")) };
    Ok(finding(squid, msf_rs, grants))
}

/// From the runs of each gateway, in the order of their seeds.
fn finding(squid: &[Measured], msf_rs: &[Measured], grants: &[Measured]) -> Finding {
    let paper = (PAPER_MS[1] / PAPER_MS[0] - 1.0) * 100.0;
    let all = || [squid, msf_rs, grants].into_iter().flatten();
    let failed: usize = all().map(|run| run.failed().count()).sum();
    let rows = vec![
        Row::at_most("mean latency, MSF-RS against Squid", "%", Some(paper), paper, change(msf_rs, squid, mean_ms)),
        Row::at_most("mean latency, grants against Squid", "%", None, -25.0, change(grants, squid, mean_ms)),
        Row::at_most("median latency, grants against Squid", "%", None, -30.0, change(grants, squid, median_ms)),
        Row::at_most("p99, grants against Squid", "%", None, 10.0, change(grants, squid, p99_s)),
        Row::at_most("requests that failed, in all runs", "", None, 0.0, failed as f64),
    ];
    let header = [
        "gateway",
        "mean ms",
        "median ms",
        "p99 s",
        "gold ms",
        "silver ms",
        "bronze ms",
        "link %",
        "dropped %",
        "unanswered",
    ];
    let mut table = Table::new(&header, 1);
    for (gateway, runs) in GATEWAYS.iter().zip([squid, msf_rs, grants]) {
        let spread = |digits, value: &dyn Fn(&Measured) -> f64| Spread::of(runs.iter().map(value)).to_decimals(digits);
        let class = |class| spread(0, &|run| run.latency_of(|one| one.class == class).mean_s * 1e3);
        table.push([
            gateway.to_string(),
            spread(0, &mean_ms),
            spread(0, &median_ms),
            spread(1, &p99_s),
            class(0),
            class(1),
            class(2),
            spread(1, &|run| run.link.utilisation * 100.0),
            spread(1, &|run| run.link.dropped() * 100.0),
            spread(0, &|run| run.latency().unfinished as f64),
        ]);
    }
    let offered = Spread::of(squid.iter().map(Measured::offered));
    let late_ms = all().map(|run| run.latest.as_secs_f64() * 1e3).fold(0.0, f64::max);
    Finding {
        rows,
        tables: vec![("Median [least..most] over the seeds".into(), table)],
        remarks: vec![
            format!(
                "The paper has {:.0} ms for Squid and {:.0} ms for MSF-RS, of which 515.5 ms in the queue; what its \
                 users requested, and from where, is not published. Here the seeds have a load of {} of the link.",
                PAPER_MS[0],
                PAPER_MS[1],
                offered.to_decimals(2)
            ),
            format!(
                "Measured on this machine just now, all runs at once: every run has other numbers. No packet was held more \
                 than {late_ms:.1} ms beyond its round-trip time."
            ),
        ],
        ..Finding::default()
    }
}

/// The change of one gateway relative to another on the same requests, in percent: the median over the seeds.
fn change(runs: &[Measured], others: &[Measured], value: fn(&Measured) -> f64) -> f64 {
    Spread::of(runs.iter().zip(others).map(|(run, other)| (value(run) / value(other) - 1.0) * 100.0)).median
}

fn mean_ms(run: &Measured) -> f64 {
    run.latency().mean_s * 1e3
}

fn median_ms(run: &Measured) -> f64 {
    run.latency().median_s * 1e3
}

fn p99_s(run: &Measured) -> f64 {
    run.latency().p99_s
}
