//! `dovetail gateway` with Linux's default of `net.core.rmem_max`, less than a window needs: with `DOVETAIL_LONG=1`, some
//! ten minutes. The setting applies to the whole machine meanwhile. Otherwise skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;

use std::fs;

use dovetail_bed::{BedSpec, Job, PlaySpec, Proxy, Repeat, Via, What};
use gateways::{Settings, alone, download, gateway, has, has_squid, link, median, ms, play, possible, side_by_side};

const KEY: &str = "/proc/sys/net/core/rmem_max";
const LINUX_S: &str = "212992";
const PAIRS: usize = 3;

/// The machine's own setting, restored on drop.
struct RmemMax(String);

impl RmemMax {
    fn linux_s() -> Self {
        let own = fs::read_to_string(KEY).unwrap();
        fs::write(KEY, LINUX_S).unwrap();
        Self(own)
    }
}

impl Drop for RmemMax {
    fn drop(&mut self) {
        let _ = fs::write(KEY, &self.0);
    }
}

fn cells(mbps: &[u64], trips: &[u64]) -> Vec<(u64, u64, Via)> {
    let of = |&mbps| trips.iter().flat_map(move |&trip| [Via::Absolute, Via::Connect].map(|via| (mbps, trip, via)));
    mbps.iter().flat_map(of).collect()
}

/// The gateway's rate over Squid's, as the median of pairs, one after the other.
fn rate((mbps, trip, via): (u64, u64, Via)) -> f64 {
    let pairs: Vec<_> = (0..PAIRS)
        .map(|_| [gateway(Settings::default()), Proxy::squid()].map(|proxy| alone(mbps * 1_000_000, trip, via, &proxy)))
        .collect();
    let [ours, theirs] = [0, 1].map(|which| median(pairs.iter().map(|pair| pair[which]).collect()));
    let rate = median(pairs.iter().map(|[ours, theirs]| theirs / ours).collect());
    eprintln!("{mbps} Mbit/s, {trip} ms, {via:?}: {ours:.2} s, Squid {theirs:.2} s, rate {rate:.3}");
    rate
}

/// Duration of streams of small pieces, alone, relative to their servers' pauses.
fn small((mbps, trip, via): (u64, u64, Via)) -> f64 {
    let streams = [(500, 1000, 10), (1000, 1, 2)].map(|(pieces, piece_bytes, gap)| {
        let what = What::Stream { pieces, piece_bytes, gap: ms(gap) };
        let job = Job { what, repeat: Repeat::Times(1), ..download(0, 0, via) };
        let spec =
            PlaySpec { duration: ms(50), drain: ms(120_000), warm_up: ms(0), rates: Vec::new(), queue_every: None };
        let bed = BedSpec { gso: mbps > 100, ..link(mbps * 1_000_000, ms(trip), &[1]) };
        let took = play(&bed, &gateway(Settings::default()), &[job], &spec).jobs[0].took();
        let took = took.unwrap_or_else(|| panic!("{mbps} Mbit/s, {trip} ms, {via:?}, {what:?}: unfinished"));
        (took.as_secs_f64(), took.as_secs_f64() / (gap * pieces) as f64 * 1e3)
    });
    let [kilobytes, bytes] = streams.map(|(took, _)| took);
    eprintln!("{mbps} Mbit/s, {trip} ms, {via:?}: 500 of 1 kB in {kilobytes:.2} s, 1,000 of 1 byte in {bytes:.2} s");
    streams.into_iter().map(|(_, of_pauses)| of_pauses).fold(0.0, f64::max)
}

#[test]
fn windows_that_the_kernel_has_no_room_for_are_slower_at_most() {
    if !possible() || !has_squid() || !has("ethtool", "--version") {
        return;
    }
    let _setting = RmemMax::linux_s();
    let rates = side_by_side(4, &cells(&[5, 20], &[10, 160]), rate);
    let pauses = side_by_side(4, &cells(&[5, 20, 500], &[10, 160]), small);
    // Complete, and no faster than the kernel permits requesting: the first window is ten times that.
    side_by_side(1, &cells(&[500], &[10, 160]), rate);
    assert!(rates.iter().all(|&rate| rate >= 0.9), "{rates:.3?}");
    assert!(pauses.iter().all(|&of_pauses| of_pauses < 2.0), "{pauses:.2?}");
}
