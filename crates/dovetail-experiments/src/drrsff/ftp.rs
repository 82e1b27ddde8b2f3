//! What an unlimited connection receives while transfers come and go.

use dovetail_sched::Nanos;
use dovetail_sim::network::NetworkOutcome;

use super::{
    runs::{Runs, Setting, runs},
    transfers::{near, ratio},
};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
    spread::Spread,
};
use dovetail_compare::{
    network::times::{Rates, SLOW_START_S, windows},
    report::charts,
    table::Table,
};

const POLICIES: [&str; 5] = ["fifo", "las", "run2c", "drr-sff", "drr-sff:ratio=1000000"];

/// A window below this fraction of FIFO's mean is starved.
const STARVED: f64 = 0.05;

pub(super) fn fig8(given: &Given<'_>) -> Result<Finding, Error> {
    finding(Setting::Ftp, [0.54, 12.0, 1.07], given)
}

pub(super) fn fig11(given: &Given<'_>) -> Result<Finding, Error> {
    finding(Setting::ManyShort, [0.37, 28.0, 1.00], given)
}

/// `ns3`: LAS's mean over FIFO's, its starved windows in percent, and DRR-SFF's mean over FIFO's.
fn finding(setting: Setting, ns3: [f64; 3], given: &Given<'_>) -> Result<Finding, Error> {
    let all = runs(setting, POLICIES, given)?;
    let [fifo, las, _, sff, _] = &all;
    let (to_fifo, las_to_fifo) = (ratio(&means(sff), &means(fifo)), ratio(&means(las), &means(fifo)));
    let mut rows = vec![
        Row::at_least("FTP, DRR-SFF / FIFO", "", None, 0.8, to_fifo.median),
        Row::at_most("FTP, windows starved under DRR-SFF", "%", None, 0.0, starved(sff, fifo)),
        Row::at_most("FTP, LAS / FIFO", "", None, 0.75, las_to_fifo.median),
    ];
    rows.extend([
        near("FTP, LAS / FIFO: beside ns-3", "", ns3[0], las_to_fifo.median),
        near("FTP, windows starved under LAS: beside ns-3", "%", ns3[1], starved(las, fifo)),
        near("FTP, DRR-SFF / FIFO: beside ns-3", "", ns3[2], to_fifo.median),
    ]);
    let mut table = Table::new(&["policy", "FTP Mbit/s", "over FIFO's", "starved windows %"], 1);
    for (policy, runs) in POLICIES.iter().zip(&all) {
        table.push([
            (*policy).to_owned(),
            Spread::of(means(runs)).text(),
            ratio(&means(runs), &means(fifo)).text(),
            format!("{:.1}", starved(runs, fifo)),
        ]);
    }
    let first = POLICIES.iter().zip(&all).filter_map(|(policy, runs)| {
        let run = runs.first()?;
        Some((*policy, &run.streams[0], arrivals_end(run)))
    });
    Ok(Finding {
        rows,
        tables: vec![("The FTP while transfers arrive, median [least..most] over the runs".into(), table)],
        charts: vec![chart("The FTP in the first run", "Mean over ten seconds.", charts::rate_over_time(first))],
        remarks: vec![
            "A window of ten seconds is starved if the FTP gets under 5 % of its mean rate under FIFO in the same run."
                .into(),
        ],
    })
}

/// When the last transfer begins: until then the load is as specified.
fn arrivals_end(run: &NetworkOutcome) -> Nanos {
    run.transfers.iter().map(|transfer| transfer.begun).fold(Nanos::ZERO, Nanos::max)
}

/// The FTP connection's mean rate in each run, in Mbit/s.
fn means(runs: &Runs) -> Vec<f64> {
    runs.iter()
        .map(|run| Rates::of(&run.streams[0], SLOW_START_S, arrivals_end(run)).mean_mbps.unwrap_or(f64::NAN))
        .collect()
}

/// The percentage of starved windows over all runs.
fn starved(runs: &Runs, fifo: &Runs) -> f64 {
    let (mut starved, mut all) = (0, 0);
    for (run, mean) in runs.iter().zip(means(fifo)) {
        let windows = windows(&run.streams[0], SLOW_START_S, arrivals_end(run));
        all += windows.len();
        starved += windows.iter().filter(|&&rate| rate < STARVED * mean).count();
    }
    starved as f64 * 100.0 / all.max(1) as f64
}
