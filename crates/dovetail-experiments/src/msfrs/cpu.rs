//! Table 3: the CPU time of a gateway whose users always demand more than the link carries, with and without scheduling.
//!
//! In the paper both are the same program, Squid, with and without MSF-RS. Here, in addition to unmodified Squid, this
//! program is measured under `none`, which forwards every request at once: a row compared with that one shows what scheduling
//! costs or saves, and a row compared with Squid shows the effect of another program. Squid is measured twice, which shows
//! the noise. CPU time is that of processes in user and system mode per megabyte received by users.

use std::time::Duration;

use dovetail_bed::{BedSpec, Load, LoadSpec, Measured};

use super::gateways::{Gateway, Job, measured, possible};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
};
use dovetail_compare::table::{Table, figure};

const GATEWAYS: [Gateway; 5] =
    [Gateway::Squid, Gateway::Ours("none"), Gateway::Ours("msf-rs"), Gateway::Ours("grants"), Gateway::Squid];
/// Tolerated difference between the two measurements of Squid, in percent.
const NOISE: f64 = 10.0;
const CLASSES: usize = 10;

/// A link of the table: its rate, its queue in packets (150 ms of full ones), and the paper's CPU seconds of Squid and of
/// MSF-RS with ten classes.
struct Capacity {
    mbps: u32,
    buffer_packets: u32,
    paper_s: [f64; 2],
}

const CAPACITIES: [Capacity; 2] = [
    Capacity { mbps: 2, buffer_packets: 25, paper_s: [63.22, 44.8] },
    Capacity { mbps: 10, buffer_packets: 125, paper_s: [84.90, 56.34] },
];

pub(super) fn table3(given: &Given<'_>) -> Result<Finding, Error> {
    possible()?;
    let job = |capacity: &Capacity, gateway| Job {
        gateway,
        bed: BedSpec {
            rate_bps: u64::from(capacity.mbps) * 1_000_000,
            buffer_packets: capacity.buffer_packets,
            lan_bps: Some(100_000_000),
            users: vec![1; CLASSES],
            ..BedSpec::default()
        },
        weights: vec![1; CLASSES],
        load: LoadSpec {
            load: Load::Closed { outstanding: 4 },
            warm_up: Duration::from_secs(10),
            duration: Duration::from_secs(31),
            drain: Duration::ZERO,
            ..LoadSpec::default()
        },
    };
    let jobs: Vec<Job> =
        CAPACITIES.iter().flat_map(|capacity| GATEWAYS.map(|gateway| job(capacity, gateway))).collect();
    // One after another, since parallel runs compete for caches and so affect the times.
    finding(&measured(&jobs, 1, given)?)
}

/// From the runs of each gateway at each capacity.
fn finding(made: &[Measured]) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    let header =
        ["link Mbit/s", "gateway", "CPU ms/MB", "CPU ms/request", "CPU %", "resident MB", "link %", "dropped %"];
    let mut table = Table::new(&header, 2);
    for (capacity, runs) in CAPACITIES.iter().zip(made.chunks(GATEWAYS.len())) {
        let [squid, none, msf_rs, grants, again] = runs else { return Err(Error::broken("a finished run is missing")) };
        let per_megabyte = |run: &Measured| run.cpu_ms_per_megabyte().unwrap_or(f64::NAN);
        let change = |run, other| (per_megabyte(run) / per_megabyte(other) - 1.0) * 100.0;
        let paper = (capacity.paper_s[1] / capacity.paper_s[0] - 1.0) * 100.0;
        let named = |what: &str| format!("{} Mbit/s: CPU time a byte, {what}", capacity.mbps);
        let against = |what, run, other| Row::at_most(named(what), "%", Some(paper), paper, change(run, other));
        finding.rows.extend([
            against("MSF-RS against none, one program", msf_rs, none),
            against("MSF-RS against Squid", msf_rs, squid),
            Row::at_most(named("grants against Squid"), "%", None, 0.0, change(grants, squid)),
            Row::new(named("Squid against Squid"), "%", None, 0.0, change(again, squid), NOISE),
        ]);
        for (gateway, run) in GATEWAYS.iter().zip(runs) {
            let used = run.proxy.as_ref();
            let of = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), figure);
            table.push([
                capacity.mbps.to_string(),
                gateway.to_string(),
                of(run.cpu_ms_per_megabyte()),
                of(run.cpu_ms_per_request()),
                of(used.map(|used| used.cpu_s / run.link.seconds * 100.0)),
                of(used.map(|used| used.resident_bytes as f64 / 1e6)),
                format!("{:.1}", run.link.utilisation * 100.0),
                format!("{:.1}", run.link.dropped() * 100.0),
            ]);
        }
    }
    finding.tables.push(("Ten classes of one user with four requests outstanding".into(), table));
    finding.remarks.push(
        "Measured on this machine just now, so every run has other numbers; the kernel accounts CPU time to 10 ms, \
         and what it does in interrupts to no process. The paper has the CPU seconds of 200 s: 63.22 for Squid and \
         44.8 for MSF-RS with ten classes at 2 Mbit/s, 84.90 and 56.34 at 10 Mbit/s, with a hundred classes 46.02 and \
         58.04."
            .into(),
    );
    Ok(finding)
}
