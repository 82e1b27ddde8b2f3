//! `dovetail gateway` where shares are hard to keep: one connection per class, many tunnels of one user, uploads beside
//! downloads.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;

use std::thread;

use dovetail_bed::{BedSpec, Job, PlaySpec, Played, Uplink, Via, What, check};
use gateways::{Settings, download, gateway, link, ms, play};

fn possible() -> bool {
    check().inspect_err(|lacking| dovetail_skip::skipped(lacking)).is_ok()
}

/// Measured from second `from` on, for 24 s.
fn run(spec: &BedSpec, settings: Settings<'_>, jobs: &[Job], from: u64) -> Played {
    let counted =
        PlaySpec { warm_up: ms(1000 * from), duration: ms(1000 * (from + 24)), drain: ms(0), ..PlaySpec::default() };
    play(spec, &gateway(settings), jobs, &counted)
}

#[test]
fn weights_hold_with_one_tunnel_each() {
    if possible() {
        dovetail_bed::patiently(weights_hold_with_one_tunnel_each_once);
    }
}

fn weights_hold_with_one_tunnel_each_once() {
    let shares = [16, 100].map(|trip| {
        thread::spawn(move || {
            let jobs = [download(0, 0, Via::Connect), download(1, 0, Via::Connect)];
            let settings = Settings { weights: &[4, 1], ..Settings::default() };
            let played = run(&link(2_000_000, ms(trip), &[1, 1]), settings, &jobs, 8);
            let [heavy, light] = [0, 1].map(|class| played.rate_bps(|job| job.class == class));
            eprintln!("{trip} ms: {:.2}, utilisation {:.3}", heavy / light, played.link.utilisation);
            (trip, heavy / light)
        })
    });
    for (trip, ratio) in shares.map(|share| share.join().unwrap()) {
        assert!((3.4..4.6).contains(&ratio), "{trip} ms: {ratio:.2} where the weights are 4 and 1");
    }
}

#[test]
fn users_of_a_class_share_alike_whatever_their_tunnels() {
    if possible() {
        dovetail_bed::patiently(users_of_a_class_share_alike_whatever_their_tunnels_once);
    }
}

fn users_of_a_class_share_alike_whatever_their_tunnels_once() {
    let mut jobs = vec![download(0, 0, Via::Connect); 20];
    jobs.push(download(0, 1, Via::Connect));
    let played = run(&link(2_000_000, ms(40), &[2]), Settings { weights: &[1], ..Settings::default() }, &jobs, 20);
    let [many, one] = [0, 1].map(|user| played.rate_bps(|job| job.user == user));
    let ratio = many / one;
    eprintln!("{ratio:.2}, utilisation {:.3}", played.link.utilisation);
    // The only tunnel's window takes time to grow, from 8 KiB to a hundred, and longer beside other work: 1.2 to 2.5 were
    // observed where unscheduled tunnels would give 20.
    assert!((0.5..5.0).contains(&ratio), "the user of 20 tunnels has {ratio:.2} of what the one of 1 has");
}

#[test]
fn uploads_leave_the_downlink_alone() {
    if possible() {
        dovetail_bed::patiently(uploads_leave_the_downlink_alone_once);
    }
}

fn uploads_leave_the_downlink_alone_once() {
    let goodput = |(posts, more): (usize, &'static str)| {
        thread::spawn(move || {
            let uplink = Some(Uplink { rate_bps: 512_000, buffer_packets: 50 });
            let spec = BedSpec { uplink, ..link(4_000_000, ms(40), &[3]) };
            let mut jobs = vec![download(0, 0, Via::Absolute), download(0, 1, Via::Absolute)];
            let what = What::Post { bytes: 50_000_000 };
            jobs.extend(vec![Job { what, ..download(0, 2, Via::Absolute) }; posts]);
            let settings = Settings { weights: &[1], more, ..Settings::default() };
            let played = run(&spec, settings, &jobs, 8);
            [played.rate_bps(|job| job.user < 2), played.rate_bps(|job| job.user == 2)]
        })
    };
    let paced = "[uplink]\nrate = \"512kbps\"";
    let [alone, unpaced, beside] = [(0, ""), (6, ""), (6, paced)].map(goodput).map(|run| run.join().unwrap());
    let [[alone, _], [beside_unpaced, _], [beside, up]] =
        [alone, unpaced, beside].map(|rates| rates.map(|bps| bps / 1e6));
    eprintln!(
        "Mbit/s: {alone:.2} alone, {beside_unpaced:.2} beside uploads, {beside:.2} and {up:.3} up where they are paced"
    );
    // If nothing paces them, acknowledgements wait behind uploads for more than a second, whatever the gateway does.
    assert!(beside > 0.85 * alone, "{beside} of {alone}");
    assert!(up > 0.2, "uploads go on");
}
