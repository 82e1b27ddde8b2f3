//! A thousand active users at a link of 50 Mbit/s: the link's utilisation, the spread of the users' shares, and the
//! gateway's resource usage. Prints its figures. Takes ten minutes, as root: DOVETAIL_LONG=1. DOVETAIL_CELLS="in 45 s" runs
//! only those whose line contains that.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;

use std::{collections::HashMap, time::Duration};

use dovetail_bed::{Bed, BedSpec, End, Load, LoadSpec, Sizes, patiently};
use gateways::{Settings, chosen, gateway, link, ms, possible};

const CLASSES: usize = 4;
const USERS: u32 = 250;
const RATE_BPS: u64 = 50_000_000;
/// Bytes by which users may be ahead of others by default.
const SLACK: u64 = 256_000;

/// A run: how long it counts, and the bytes by which users may be ahead of others.
#[derive(Debug, Clone, Copy)]
struct Cell {
    counted: Duration,
    slack: u64,
}

#[test]
fn a_thousand_users_have_shares_that_are_apart_by_no_more_than_they_may_be() {
    if !possible() {
        return;
    }
    let cells = [(45, SLACK), (45, 20_000), (240, SLACK)];
    let cells = cells.map(|(seconds, slack)| Cell { counted: Duration::from_secs(seconds), slack });
    for cell in chosen(cells.into(), |cell| format!("slack {} B, in {:?}", cell.slack, cell.counted)) {
        patiently(move || once(cell));
    }
}

fn once(cell: Cell) {
    let spec = BedSpec { lan_bps: None, ..link(RATE_BPS, ms(40), &[USERS; CLASSES]) };
    let mut bed = Bed::new(&spec).unwrap_or_else(|error| panic!("{error}"));
    let seconds = Duration::from_secs;
    let load = LoadSpec {
        load: Load::Closed { outstanding: 1 },
        sizes: Sizes::Fixed(20_000),
        warm_up: seconds(15),
        duration: seconds(15) + cell.counted,
        drain: seconds(15),
        ..LoadSpec::default()
    };
    let policy = format!("grants:slack={}", cell.slack);
    let settings = Settings { policy: &policy, more: "[limits]\nconnections = 4096\n", ..Settings::default() };
    let measured = bed.measure(&gateway(settings), &load, &|_| ()).unwrap_or_else(|error| panic!("{error}"));
    let mut had: HashMap<(usize, u32), u64> = HashMap::new();
    let mut failed = 0;
    for one in &measured.exchanges {
        let ended = matches!(one.end, End::Answered(at) if at >= load.warm_up && at < load.duration);
        failed += usize::from(matches!(one.end, End::Failed(_)));
        *had.entry((one.class, one.user)).or_default() += if ended { one.bytes } else { 0 };
    }
    let bytes: Vec<_> = had.values().map(|&bytes| bytes as f64).collect();
    let (sum, squares) = (bytes.iter().sum::<f64>(), bytes.iter().map(|bytes| bytes * bytes).sum::<f64>());
    let jain = sum * sum / (bytes.len() as f64 * squares);
    let least = bytes.iter().copied().fold(f64::MAX, f64::min) * bytes.len() as f64 / sum;
    let most = bytes.iter().copied().fold(0.0, f64::max) * bytes.len() as f64 / sum;
    let (proxy, latency) = (measured.proxy.as_ref().unwrap(), measured.latency());
    println!(
        "{} users at 50 Mbit/s, slack {} B, in {:?}: link {:.3}, Jain's index of users {jain:.4}, least {least:.2} and most \
         {most:.2} of the mean; {failed} failed; {:.1} MB resident, {:.1} s of CPU; responses take {:.2} s, {:.2} s at p99",
        bytes.len(),
        cell.slack,
        cell.counted,
        measured.link.utilisation,
        proxy.resident_bytes as f64 / 1e6,
        proxy.cpu_s,
        latency.mean_s,
        latency.p99_s,
    );
    assert_eq!(bytes.len(), CLASSES * USERS as usize, "a user had nothing at all");
    assert_eq!(failed, 0);
    assert!(measured.link.utilisation > 0.85, "{}", measured.link.utilisation);
    // Users may be ahead of others by the policy's `slack` and their last response: with a thousand users, that is what one
    // of them gets in most of a minute.
    let apart = (most - least) * sum / bytes.len() as f64;
    assert!(apart < 2.0 * (cell.slack as f64 + 20_000.0), "{apart}");
    assert!(proxy.resident_bytes < 200_000_000, "{}", proxy.resident_bytes);
}
