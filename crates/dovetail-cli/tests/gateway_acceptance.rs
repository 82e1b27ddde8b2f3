//! Compares `dovetail gateway` with Squid and with its promises, in runs of a minute each: with `DOVETAIL_LONG=1`, on an
//! otherwise idle machine, with `--nocapture` for the figures. Otherwise skipped. `DOVETAIL_CELLS="600 ms, Connect"` runs
//! only the responses whose line contains that.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;

use std::time::Duration;

use dovetail_bed::{BedSpec, Job, PlaySpec, Proxy, Repeat, Uplink, Via, What};
use gateways::{Settings, alone, chosen, download, gateway, has, has_squid, link, ms, play, possible, side_by_side};

/// Factor by which a class or user with one connection gets less than its share beside another with this many: 1 is exact.
fn shares((via, trip, many, weights): (Via, u64, usize, [u32; 2]), duration: Duration) -> (String, f64) {
    let is_class = weights[0] > 0;
    let (bed, settings, other) = if is_class {
        (link(2_000_000, ms(trip), &[1, 1]), vec![weights[0], weights[1]], (1, 0))
    } else {
        (link(2_000_000, ms(trip), &[2]), vec![1], (0, 1))
    };
    let mut jobs = vec![download(0, 0, via)];
    jobs.extend(vec![download(other.0, other.1, via); many]);
    let long = PlaySpec { warm_up: ms(30_000), duration, drain: ms(0), ..PlaySpec::default() };
    let settings = Settings { weights: &settings, ..Settings::default() };
    let played = play(&bed, &gateway(settings), &jobs, &long);
    let is_one = |job: &Job| (job.class, job.user) == (0, 0);
    let (one, others) = (played.rate_bps(is_one), played.rate_bps(|job| !is_one(job)));
    let wanted = if is_class { f64::from(weights[0]) / f64::from(weights[1]) } else { 1.0 };
    let whose = if is_class { format!("classes {} : {}", weights[0], weights[1]) } else { "users".to_owned() };
    let share = one / others / wanted;
    let used = played.link.utilisation;
    (format!("{via:?}, {trip} ms, {whose}, 1 beside {many}: {share:.3} of its share, utilisation {used:.3}"), share)
}

#[test]
fn shares_are_kept_whatever_the_connections() {
    if !possible() {
        return;
    }
    let mut cells = Vec::new();
    for weights in [[4, 1], [0, 0]] {
        for via in [Via::Absolute, Via::Connect] {
            for trip in [16, 100] {
                cells.extend([1, 8, 50].map(|many| (via, trip, many, weights)));
            }
        }
    }
    let cells = chosen(cells, |(via, trip, many, weights)| format!("{via:?}, {trip} ms, {weights:?}, {many}"));
    let done = side_by_side(6, &cells, |cell| {
        let (words, share) = shares(cell, ms(90_000));
        eprintln!("{words}");
        share
    });
    assert!(done.iter().all(|share| (0.9..1.1).contains(share)), "{done:.3?}");
}

#[test]
fn two_hundred_connections_have_no_more_than_one() {
    if !possible() {
        return;
    }
    let cells = chosen(vec![Via::Absolute, Via::Connect], |via| format!("{via:?}"));
    let done = side_by_side(2, &cells, |via| {
        // Windows of tunnels are lent to their user, at most 2 MB, and repaid: less than a tenth of what both have in this time.
        let (words, share) = shares((via, 40, 200, [0, 0]), ms(200_000));
        eprintln!("{words}");
        share
    });
    assert!(done.iter().all(|share| (0.9..1.1).contains(share)), "{done:.3?}");
}

#[test]
fn a_fast_link_is_used() {
    if !possible() || !has_squid() || !has("ethtool", "--version") {
        return;
    }
    let cells: Vec<_> =
        [10, 40].into_iter().flat_map(|trip| [Via::Absolute, Via::Connect].map(|via| (trip, via))).collect();
    for (trip, via) in chosen(cells, |(trip, via)| format!("{trip} ms, {via:?}")) {
        let bed = BedSpec { gso: true, ..link(500_000_000, ms(trip), &[8]) };
        let jobs: Vec<_> = (0..8).map(|user| download(0, user, via)).collect();
        let spec = PlaySpec { duration: ms(20_000), drain: ms(0), queue_every: None, ..PlaySpec::default() };
        let [ours, theirs] = [gateway(Settings::default()), Proxy::squid()].map(|proxy| {
            let played = play(&bed, &proxy, &jobs, &spec);
            (played.link.utilisation, played.proxy.unwrap().cpu_s / played.link.seconds)
        });
        eprintln!(
            "500 Mbit/s, {trip} ms, {via:?}, eight users: utilisation {:.3} and {:.2} of a CPU, Squid {:.3} and {:.2}",
            ours.0, ours.1, theirs.0, theirs.1
        );
        assert!(ours.0 > 0.9 * theirs.0, "{ours:?}, Squid {theirs:?}");
    }
}

#[test]
fn one_response_alone_is_hardly_slower_than_through_squid() {
    if !possible() || !has_squid() || !has("ethtool", "--version") {
        return;
    }
    let trips = [10, 160, 600];
    let cells: Vec<_> = [2, 5, 10, 20, 50, 500]
        .into_iter()
        .flat_map(|mbps| {
            trips.into_iter().flat_map(move |trip| [Via::Absolute, Via::Connect].map(|via| (mbps, trip, via)))
        })
        .collect();
    let cells = chosen(cells, |(mbps, trip, via)| format!("{mbps} Mbit/s, {trip} ms, {via:?}"));
    let run = |(mbps, trip, via): (u64, u64, Via)| {
        let [ours, theirs] =
            [gateway(Settings::default()), Proxy::squid()].map(|proxy| alone(mbps * 1_000_000, trip, via, &proxy));
        eprintln!("{mbps} Mbit/s, {trip} ms, {via:?}: {ours:.2} s, Squid {theirs:.2} s, rate {:.3}", theirs / ours);
        (trip, theirs / ours)
    };
    let (slow, fast): (Vec<_>, Vec<_>) = cells.into_iter().partition(|&(mbps, ..)| mbps <= 20);
    let mut rates = side_by_side(6, &slow, run);
    rates.extend(side_by_side(1, &fast, run));
    // From 600 ms away windows take seconds of the eight to fill the link: mostly over 0.9, the goal, but not always.
    assert!(rates.iter().all(|&(trip, rate)| rate >= if trip < 600 { 0.9 } else { 0.7 }), "{rates:.3?}");
}

#[test]
fn a_video_keeps_its_pace_beside_downloads_of_a_lighter_class() {
    if !possible() {
        return;
    }
    // 2 Mbit/s in segments of four seconds over one connection, as fast as they arrive, and six downloads. The video's
    // class has four tenths of the link, 3.8 Mbit/s.
    let cells = [(Via::Absolute, 40), (Via::Connect, 40), (Via::Absolute, 100), (Via::Connect, 100)];
    let slowest = side_by_side(4, &cells, |(via, trip)| {
        let mut jobs: Vec<_> = (0..6).map(|user| download(1, user, via)).collect();
        let what = What::Get { bytes: 1_000_000 };
        jobs.push(Job { what, at: ms(8_000), repeat: Repeat::Times(15), ..download(0, 0, via) });
        let settings = Settings { weights: &[4, 1], ..Settings::default() };
        let spec = PlaySpec { warm_up: ms(8_000), duration: ms(70_000), drain: ms(30_000), ..PlaySpec::default() };
        let bed = link(10_000_000, ms(trip), &[1, 6]);
        let played = play(&bed, &gateway(settings), &jobs, &spec);
        let video = played.jobs.iter().find(|one| one.job.class == 0).unwrap();
        let took: Vec<_> = video.rounds.iter().map(|round| round.took().unwrap().as_secs_f64()).collect();
        eprintln!("{via:?}, {trip} ms: segments of 4 s took {took:.2?} s, utilisation {:.3}", played.link.utilisation);
        // The first two fill the player's buffer.
        took[2..].iter().copied().fold(0.0, f64::max)
    });
    assert!(slowest.iter().all(|&took| took < 4.0), "{slowest:?}");
}

/// For a player that requests four seconds of a video of 2 Mbit/s every four seconds: how late the segments arrive. More
/// than eight seconds is a pause, as it buffers two segments before it starts.
fn video(proxy: &Proxy<'_>, users: u32, via: Via) -> Vec<f64> {
    let part = |number: u64| Job {
        what: What::Get { bytes: 1_000_000 },
        at: ms(8_000 + 4_000 * number),
        repeat: Repeat::Times(1),
        ..download(0, 0, via)
    };
    let mut jobs: Vec<_> = (0..18).map(part).collect();
    jobs.extend((0..4).map(|at| download(1, at % users, [Via::Absolute, Via::Connect][at as usize / 2])));
    let spec = PlaySpec { warm_up: ms(8_000), duration: ms(80_000), drain: ms(20_000), ..PlaySpec::default() };
    let played = play(&link(4_000_000, ms(40), &[1, users]), proxy, &jobs, &spec);
    let parts = played.jobs.iter().filter(|one| one.job.class == 0);
    parts.map(|one| one.took().map_or(f64::INFINITY, |took| took.as_secs_f64())).collect()
}

#[test]
fn a_video_keeps_its_pace_on_a_narrow_link() {
    if !possible() || !has_squid() {
        return;
    }
    // Half of the link is 1.91 Mbit/s of payload, less than the video needs: with equal weights it would fall behind. Here
    // its class has four fifths and two thirds.
    let cells: Vec<_> = [(&[4, 1][..], 1), (&[8, 1][..], 4)]
        .into_iter()
        .flat_map(|(weights, users)| [Via::Absolute, Via::Connect].map(|via| (weights, users, via)))
        .collect();
    let paused = side_by_side(4, &cells, |(weights, users, via)| {
        let [ours, theirs] = [gateway(Settings { weights, ..Settings::default() }), Proxy::squid()]
            .map(|proxy| video(&proxy, users, via));
        eprintln!(
            "4 Mbit/s, {via:?}, weights {weights:?}, four downloads of {users} users: parts of 4 s took {ours:.1?} s, with Squid {theirs:.1?}"
        );
        ours.iter().any(|&took| took > 8.0)
    });
    assert!(!paused.contains(&true), "a player paused");
}

#[test]
fn a_link_that_slows_down_is_found_out_and_so_is_one_that_recovers() {
    if !possible() {
        return;
    }
    let cells = [(Via::Absolute, 40), (Via::Connect, 40)];
    let seen = side_by_side(2, &cells, |(via, trip)| {
        let jobs: Vec<_> = (0..6).map(|user| download(0, user, via)).collect();
        let rates = vec![(ms(30_000), 1_000_000), (ms(70_000), 4_000_000)];
        let spec = PlaySpec { warm_up: ms(15_000), duration: ms(120_000), drain: ms(0), rates, ..PlaySpec::default() };
        let bed = BedSpec { buffer_packets: 200, ..link(4_000_000, ms(trip), &[6]) };
        let played = play(&bed, &gateway(Settings { weights: &[1], ..Settings::default() }), &jobs, &spec);
        let of = |from, to| {
            let rate = played.jobs.iter().map(|one| one.bytes.rate_bps(ms(from), ms(to))).sum::<f64>();
            (rate / 1e6, played.longest_queue(ms(from), ms(to)))
        };
        let [before, after, back] = [of(20_000, 30_000), of(40_000, 70_000), of(100_000, 120_000)];
        eprintln!(
            "{via:?}: {before:.2?} before, {after:.2?} from 10 s after the fall, {back:.2?} from 30 s after the rise"
        );
        (before.0, after.1, back.0)
    });
    for (before, queue, back) in seen {
        assert!(queue < ms(150) && back > 0.9 * before, "{queue:?}, {back} of {before}");
    }
}

#[test]
fn a_link_that_is_interrupted_is_full_afterwards() {
    if !possible() {
        return;
    }
    // Two seconds in which it carries a packet or two: what a radio or satellite link does every now and then.
    let cells = [(Via::Absolute, 40), (Via::Connect, 40), (Via::Absolute, 600), (Via::Connect, 600)];
    let seen = side_by_side(4, &cells, |(via, trip)| {
        let settings = Settings { weights: &[1], ..Settings::default() };
        let [ours, theirs] = [gateway(settings), Proxy::squid()].map(|proxy| {
            let jobs: Vec<_> = (0..6).map(|user| download(0, user, via)).collect();
            let rates = vec![(ms(40_000), 10_000), (ms(42_000), 4_000_000)];
            let spec =
                PlaySpec { warm_up: ms(20_000), duration: ms(65_000), drain: ms(0), rates, ..PlaySpec::default() };
            let played = play(&link(4_000_000, ms(trip), &[6]), &proxy, &jobs, &spec);
            let of = |from, to| played.jobs.iter().map(|one| one.bytes.rate_bps(ms(from), ms(to))).sum::<f64>() / 1e6;
            (of(25_000, 40_000), of(45_000, 60_000))
        });
        eprintln!(
            "{via:?}, {trip} ms: {:.2} Mbit/s before two seconds without a link, {:.2} from 3 s after them; Squid {:.2} and {:.2}",
            ours.0, ours.1, theirs.0, theirs.1
        );
        (trip, ours.1 / ours.0, ours.1 / theirs.1)
    });
    // From 600 ms away 0.83 of Squid's rate was seen.
    let is_full = |&(trip, part, over_squid): &(u64, f64, f64)| if trip < 600 { part > 0.9 } else { over_squid > 0.7 };
    assert!(seen.iter().all(is_full), "{seen:.2?}");
}

#[test]
fn uploads_of_any_number_leave_the_downlink_alone() {
    if !possible() {
        return;
    }
    // The uplink carries 512 kbit/s, whatever is configured.
    let right = [0, 1, 6, 24].map(|posts| (posts, "512kbps"));
    let too_high = [(1, "2Mbps"), (6, "2Mbps"), (24, "1Mbps")];
    let rates = side_by_side(4, &[&right[..], &too_high].concat(), |(posts, configured)| {
        let uplink = Some(Uplink { rate_bps: 512_000, buffer_packets: 50 });
        let bed = BedSpec { uplink, ..link(4_000_000, ms(40), &[3]) };
        let mut jobs = vec![download(0, 0, Via::Absolute), download(0, 1, Via::Connect)];
        let what = What::Post { bytes: 50_000_000 };
        jobs.extend(vec![Job { what, ..download(0, 2, Via::Absolute) }; posts]);
        let spec = PlaySpec { warm_up: ms(15_000), duration: ms(120_000), drain: ms(0), ..PlaySpec::default() };
        let more = format!("[uplink]\nrate = \"{configured}\"");
        let settings = Settings { weights: &[1], more: &more, ..Settings::default() };
        let played = play(&bed, &gateway(settings), &jobs, &spec);
        let [down, up] = [false, true].map(|up| played.rate_bps(|job| (job.user == 2) == up) / 1e6);
        eprintln!("{posts} uploads over a configured {configured}: {down:.2} Mbit/s down, {up:.3} up");
        down
    });
    assert!(rates.iter().all(|rate| *rate > 0.85 * rates[0]), "{rates:?}");
}
