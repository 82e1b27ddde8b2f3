//! Table 1: utilisation while unrequested traffic comes and goes.

use super::runs::{Job, Setting, made};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
};
use dovetail_compare::table::Table;

const SECONDS: [u64; 5] = [40, 80, 160, 320, 640];
const KBPS: [u32; 3] = [400, 800, 1200];

/// In percent, by seconds and rate.
const PAPER: [[f64; 3]; 5] =
    [[97.94, 97.91, 97.62], [97.90, 97.95, 97.77], [97.94, 97.92, 97.68], [97.83, 97.80, 97.76], [97.93, 97.83, 97.85]];

const MIN_KB: f64 = 96.0;

pub(super) fn table1(given: &Given<'_>) -> Result<Finding, Error> {
    let cells: Vec<(u64, u32)> = SECONDS.iter().flat_map(|&seconds| KBPS.map(|kbps| (seconds, kbps))).collect();
    let jobs = |gateway: &str| -> Vec<Job> {
        let job = |&(seconds, kbps): &(u64, u32)| Job {
            setting: Setting::Crossed { kbps, seconds },
            gateway: gateway.to_owned(),
            seed: 1,
        };
        cells.iter().map(job).collect()
    };
    let used = |gateway: &str| -> Result<Vec<f64>, Error> {
        let runs = made(&jobs(gateway), given)?;
        Ok(runs.iter().map(|made| made.figures.utilisation * 100.0).collect())
    };
    let (msf_rs, grants) = (used("msf-rs")?, used("grants")?);
    let mut rows = Vec::new();
    let mut table = Table::new(&["on and off s", "Mbit/s", "paper", "msf-rs", "grants"], 0);
    for (at, &(seconds, kbps)) in cells.iter().enumerate() {
        let paper = PAPER[at / KBPS.len()][at % KBPS.len()];
        let mbps = f64::from(kbps) / 1e3;
        rows.push(Row::at_least(
            format!("{seconds} s, {mbps} Mbit/s: utilisation"),
            "%",
            Some(paper),
            MIN_KB,
            msf_rs[at],
        ));
        table.push([
            seconds.to_string(),
            format!("{mbps:.1}"),
            format!("{paper:.2}"),
            format!("{:.2}", msf_rs[at]),
            format!("{:.2}", grants[at]),
        ]);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    rows.push(Row::at_least("mean of all: utilisation", "%", Some(97.84), MIN_KB, mean(&msf_rs)));
    rows.push(Row::at_least("mean of all: utilisation, grants", "%", None, MIN_KB, mean(&grants)));
    Ok(Finding { rows, tables: vec![("Utilisation in percent".into(), table)], ..Finding::default() })
}
