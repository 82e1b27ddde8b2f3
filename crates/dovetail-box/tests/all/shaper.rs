//! Behind a shaper with backpressure: the rate is used, the shaper drops nothing, flows stay in order.

use std::{thread, time::Instant};

use dovetail_box::live::lab::{Lab, Place, datagram};
use dovetail_netns::{NetnsError, tool};

use crate::{
    live::{Running, is_judged, lab},
    traffic::{PATIENCE, Record, frames},
};

const RATE_BPS: f64 = 20e6;
const FLOWS: u16 = 8;
/// Length of each frame.
const BYTES: usize = 1200;
/// Packets that arrive in a run: some 3 s.
const ARRIVALS: usize = 6000;
/// Maximum number of runs disturbed by a machine that keeps the box from running.
const TRIES: usize = 8;

const SETTINGS: &str =
    "policy = \"drr\"\n[link]\nrate = \"20Mbps\"\npace = \"device\"\n[queues]\npackets_per_flow = 50\n";

/// A number in front of a word in a shaper's statistics.
fn told(lab: &Lab, word: &str) -> u64 {
    let shown = format!("-n {} -s qdisc show dev outside", lab.namespace(Place::Box).name());
    let shown = String::from_utf8(tool("tc", &shown).unwrap()).unwrap();
    let words: Vec<&str> = shown.split([' ', '(', ')', ',', '\n']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|&found| found == word).unwrap_or_else(|| panic!("no '{word}' in {shown}"));
    words[at + 1].trim_end_matches('b').parse().unwrap_or_else(|_| panic!("'{word}' in {shown}"))
}

/// Offers one and a half times the shaper's rate until this many have arrived; returns the rate at which they did, and
/// samples of the shaper's queue, in bytes.
fn overload(lab: &Lab) -> (Record, f64, Vec<u64>) {
    let (source, mut target) = (lab.raw(Place::Inside).unwrap(), lab.raw(Place::Outside).unwrap());
    let (mut sent, mut heard, mut queued) = (0_u64, Vec::new(), Vec::new());
    let begun = Instant::now();
    // Excludes the first ones, which a full bucket passes at once.
    const SETTLED: usize = 500;
    while heard.len() < ARRIVALS {
        assert!(begun.elapsed() < PATIENCE, "{} arrived", heard.len());
        let due = begun.elapsed().as_secs_f64() * 1.5 * RATE_BPS / 8.0 / BYTES as f64;
        // A sender does not send later what it missed while it did not run.
        if sent + 200 < due as u64 {
            sent = due as u64;
        }
        while sent < due as u64 {
            let frame = datagram::frame(Place::Inside, (sent % u64::from(FLOWS)) as u16, sent, BYTES);
            source.send(std::iter::once(&*frame)).unwrap();
            sent += 1;
        }
        while let Some(frame) = target.receive() {
            heard.extend(datagram::number(frame).map(|number| (number, Instant::now())));
        }
        if heard.len() > SETTLED + 100 * queued.len() {
            queued.push(told(lab, "backlog"));
        }
        thread::sleep(std::time::Duration::from_micros(500));
    }
    let time = heard[heard.len() - 1].1 - heard[SETTLED].1;
    let rate = ((heard.len() - SETTLED - 1) * BYTES * 8) as f64 / time.as_secs_f64();
    queued.sort_unstable();
    (Record::new(FLOWS, sent, heard), rate, queued)
}

#[test]
fn a_shaper_behind_the_box_is_kept_busy_and_drops_nothing() {
    let Some(lab) = lab("tbf") else { return };
    let name = lab.namespace(Place::Box).name();
    let shaper = format!("-n {name} qdisc add dev outside root tbf rate 20mbit burst 5kb limit 30kb");
    if let Err(NetnsError::Refused { said, .. }) = tool("tc", &shaper) {
        return dovetail_skip::skipped(format_args!("tc qdisc add tbf: {said}"));
    }
    let mut used = Vec::new();
    for _ in 0..TRIES {
        let running = Running::start(&lab, SETTINGS);
        let dropped = told(&lab, "dropped");
        let (record, rate, queued) = overload(&lab);
        let by_shaper = told(&lab, "dropped") - dropped;
        let status = running.stop();
        println!("{:.2} Mbit/s of 20, {by_shaper} dropped by the shaper, {} by the box", rate / 1e6, {
            status.classes.iter().map(|(_, class)| class.queue_full).sum::<u64>()
        });
        assert_eq!((record.duplicated(), record.reordered()), (0, 0));
        // Frames forwarded by the bridge find a full shaper.
        if !is_judged(&status) {
            continue;
        }
        assert_eq!(by_shaper, 0);
        // A box that is kept from running makes it shorter, not longer.
        let median_ms = queued[queued.len() / 2] as f64 * 8.0 / RATE_BPS * 1e3;
        println!("{median_ms:.2} ms in the shaper's queue in the median");
        assert!(median_ms <= 2.0, "{queued:?}");
        assert_eq!(status.ports[1].refused, 0, "{status:#?}");
        used.push(rate / RATE_BPS);
        // A machine that keeps the box from running for some milliseconds costs whatever exceeds the bucket.
        if (0.97..1.02).contains(&used[used.len() - 1]) {
            return;
        }
    }
    assert!(used.is_empty(), "of the rate was used: {used:.3?}");
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms each time");
}

#[test]
fn a_frame_that_a_shaper_drops_stops_no_other() {
    let Some(lab) = lab("tbfdrop") else { return };
    let name = lab.namespace(Place::Box).name();
    // It drops what its bucket can never hold.
    let shaper = format!("-n {name} qdisc add dev outside root tbf rate 100mbit burst 1000 latency 50ms");
    if let Err(NetnsError::Refused { said, .. }) = tool("tc", &shaper) {
        return dovetail_skip::skipped(format_args!("tc qdisc add tbf: {said}"));
    }
    let running = Running::start(&lab, "policy = \"drr\"\n[link]\nrate = \"1Gbps\"\n");
    let traffic = frames(&lab, Place::Inside, 3, 200);
    traffic.go_on(50);
    let source = lab.raw(Place::Inside).unwrap();
    for _ in 0..20 {
        source.send(std::iter::once(&*datagram::frame(Place::Inside, 3, 0, 1400))).unwrap();
    }
    running.until(|status| status.ports[1].refused > 0);
    traffic.go_on(50);
    let _ = traffic.end();
    drop(running.stop());
}

#[test]
fn a_box_that_stops_behind_a_shaper_sends_what_is_queued() {
    let Some(lab) = lab("tbfstop") else { return };
    let name = lab.namespace(Place::Box).name();
    let shaper = format!("-n {name} qdisc add dev outside root tbf rate 20mbit burst 5kb limit 30kb");
    if let Err(NetnsError::Refused { said, .. }) = tool("tc", &shaper) {
        return dovetail_skip::skipped(format_args!("tc qdisc add tbf: {said}"));
    }
    for _ in 0..TRIES {
        let running = Running::start(&lab, SETTINGS);
        let (source, mut target) = (lab.raw(Place::Inside).unwrap(), lab.raw(Place::Outside).unwrap());
        // Some 200 ms at the shaper's rate, for which the queues have room.
        let sent = 50 * u64::from(FLOWS);
        for number in 0..sent {
            let frame = datagram::frame(Place::Inside, (number % u64::from(FLOWS)) as u16, number, BYTES);
            source.send(std::iter::once(&*frame)).unwrap();
        }
        let begun = Instant::now();
        let status = running.stop();
        if !is_judged(&status) {
            continue;
        }
        let (mut heard, asked) = (Vec::new(), Instant::now());
        while heard.len() < sent as usize && asked.elapsed() < PATIENCE / 10 {
            while let Some(frame) = target.receive() {
                heard.extend(datagram::number(frame).map(|number| (number, Instant::now())));
            }
            thread::sleep(std::time::Duration::from_millis(1));
        }
        let record = Record::new(FLOWS, sent, heard);
        println!("{sent} sent, then stopped: {} lost, after {:.1?}", record.lost(), begun.elapsed());
        assert_eq!((record.lost(), record.duplicated(), record.reordered()), (0, 0, 0));
        return;
    }
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms each time");
}
