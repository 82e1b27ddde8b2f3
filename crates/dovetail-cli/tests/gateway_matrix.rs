//! `dovetail gateway` finishes every response that an ordinary proxy finishes: small runs at links of 2 to 50 Mbit/s, to
//! servers 10 to 600 ms away, plain and through tunnels, of different patterns, each alone and all at once.
//!
//! Checks only that they end, within a time that a busy machine keeps, and no speeds.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;

use std::{thread, time::Duration};

use dovetail_bed::{Bed, BedSpec, End, Job, PlaySpec, PlayedJob, Repeat, Via, What, check};
use gateways::{Settings, gateway, link, ms};

const RATES_BPS: [u64; 3] = [2_000_000, 10_000_000, 50_000_000];
const ROUND_TRIPS: [Duration; 3] = [ms(10), ms(160), ms(600)];

/// The load at a link of this rate.
fn patterns(rate_bps: u64) -> [What; 4] {
    [
        // A second of the link.
        What::Get { bytes: rate_bps / 8 },
        What::Stream { pieces: 200, piece_bytes: 1000, gap: ms(10) },
        What::Stream { pieces: 300, piece_bytes: 1, gap: ms(2) },
        // Bursts.
        What::Stream { pieces: 4, piece_bytes: 64_000, gap: ms(500) },
    ]
}

/// Approximate lower bound for any proxy: the link's time, the server's pauses, and the round trips of a slow-starting
/// connection.
fn ideal(job: &Job, bed: &BedSpec) -> Duration {
    let link = Duration::from_secs_f64(job.what.bytes() as f64 * 8.0 / bed.goodput_bps());
    let pauses = match job.what {
        What::Stream { pieces, gap, .. } => gap * pieces as u32,
        _ => Duration::ZERO,
    };
    link + pauses + 8 * bed.round_trips[job.server]
}

/// The incomplete results of these jobs at a gateway of their own, in words.
fn unfinished(bed: &mut Bed, policy: &'static str, jobs: &[Job]) -> Vec<String> {
    // Run side by side, each may have to wait for all others.
    let all: Duration = jobs.iter().map(|job| ideal(job, bed.spec())).sum();
    let drain = 10 * all.min(ms(12_000)) + ms(20_000);
    let play = PlaySpec { warm_up: ms(0), duration: ms(50), drain, rates: Vec::new(), queue_every: None };
    let settings = Settings { policy, ..Settings::default() };
    let played = bed.play(&gateway(settings), jobs, &play).unwrap_or_else(|error| panic!("{error}"));
    let count = jobs.len();
    let words = |one: &PlayedJob| {
        let Job { server, what, via, .. } = one.job;
        let end = one.rounds.last().map(|round| match &round.end {
            End::Failed(why) => format!("failed: {why}"),
            _ => format!("{} of {} bytes after {drain:?}", one.bytes.total(), what.bytes()),
        });
        let (mbps, trip) = (bed.spec().rate_bps / 1_000_000, bed.spec().round_trips[server]);
        format!("{mbps} Mbit/s, {trip:?}, {via:?}, {what:?}, one of {count}: {}", end.unwrap_or_default())
    };
    played.jobs.iter().filter(|one| !one.is_whole()).map(words).collect()
}

/// A testbed with a link of this rate to one server, and all patterns over it, plain and through tunnels.
fn cells(rate_bps: u64, round_trip: Duration) -> (Bed, Vec<Job>) {
    let spec = link(rate_bps, round_trip, &[4, 4]);
    let job = |class, user, what, via| Job { class, user, server: 0, at: ms(0), what, via, repeat: Repeat::Times(1) };
    let vias = (0..).zip([Via::Absolute, Via::Connect]);
    let jobs = vias
        .flat_map(|(class, via)| (0..).zip(patterns(rate_bps)).map(move |(user, what)| job(class, user, what, via)));
    (Bed::new(&spec).unwrap_or_else(|error| panic!("{error}")), jobs.collect())
}

/// Everything at all links, at once and each alone; links are independent of each other.
fn all_cells(policy: &'static str) {
    if let Err(lacking) = check() {
        return dovetail_skip::skipped(lacking);
    }
    let links = RATES_BPS.iter().flat_map(|&rate_bps| ROUND_TRIPS.map(|trip| (rate_bps, trip)));
    let runs = links.flat_map(|(rate_bps, trip)| {
        let together = thread::spawn(move || {
            let (mut bed, jobs) = cells(rate_bps, trip);
            unfinished(&mut bed, policy, &jobs)
        });
        let alone = [Via::Absolute, Via::Connect].map(|via| {
            thread::spawn(move || {
                let (mut bed, jobs) = cells(rate_bps, trip);
                let jobs = jobs.iter().filter(|job| job.via == via);
                jobs.flat_map(|job| unfinished(&mut bed, policy, std::slice::from_ref(job))).collect()
            })
        });
        alone.into_iter().chain([together])
    });
    let begun: Vec<thread::JoinHandle<Vec<String>>> = runs.collect();
    let left: Vec<String> = begun.into_iter().flat_map(|run| run.join().unwrap()).collect();
    assert!(left.is_empty(), "{policy}: {} unfinished\n{}", left.len(), left.join("\n"));
}

#[test]
fn no_response_is_left_unfinished() {
    all_cells("grants");
}

#[test]
#[ignore = "the same without scheduling: run it to tell a fault of the gateway from one of the bed"]
fn none_is_left_unfinished_without_scheduling() {
    all_cells("none");
}
