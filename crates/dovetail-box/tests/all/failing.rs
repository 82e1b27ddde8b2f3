//! A box that fails, as a process.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, PORTS, Place};
use dovetail_netns::tool;
use rustix::process::Signal;

use crate::{
    live::{by_each_io, lab},
    process::Process,
    traffic::{PATIENCE, Stream, both_ways, go_on, report},
};

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n";
const TWO_WORKERS: &str = "policy = \"drfq\"\n[link]\nrate = \"1Gbps\"\n[cpu]\nworkers = 2\n";
/// Longer than a bridge would wait, and shorter than it takes a TCP to send anew.
const SHORT: Duration = Duration::from_millis(100);
const TRIES: usize = 5;

fn traffic_goes_on_when_the_box_is_killed(io: &str) {
    kill(&(io.to_owned() + SETTINGS));
    kill(&(io.to_owned() + TWO_WORKERS));
}

fn kill(settings: &str) {
    let Some(lab) = lab("kill") else { return };
    let traffic = both_ways(&lab);
    go_on(&traffic, 200);
    let mut running = Process::start(&lab, settings, true);
    running.passes(500);
    let killed = Instant::now();
    running.signal(Signal::KILL);
    go_on(&traffic, 500);
    assert!(!running.wait().success());
    // The same when the next box takes over, and ends normally.
    let mut next = Process::start(&lab, settings, true);
    next.passes(500);
    next.signal(Signal::TERM);
    assert!(next.wait().success());
    go_on(&traffic, 500);
    let records = traffic.map(Stream::end);
    report("killed", killed, &records);
    assert!(records.iter().all(|record| record.duplicated() == 0), "no frame is forwarded twice");
}

fn traffic_goes_on_when_the_box_hangs(io: &str) {
    hang(&(io.to_owned() + SETTINGS));
    hang(&(io.to_owned() + TWO_WORKERS));
}

fn hang(settings: &str) {
    let Some(lab) = lab("hang") else { return };
    let traffic = both_ways(&lab);
    go_on(&traffic, 200);
    let mut running = Process::start(&lab, settings, true);
    running.passes(500);
    let lapses: u64 = running.hear("lapsed").parse().unwrap();
    let stopped = Instant::now();
    running.signal(Signal::STOP);
    go_on(&traffic, 1000);
    running.signal(Signal::CONT);
    // It takes over anew.
    while running.hear("lapsed").parse::<u64>().unwrap() == lapses {}
    running.passes(500);
    running.signal(Signal::TERM);
    assert!(running.wait().success());
    go_on(&traffic, 200);
    let records = traffic.map(Stream::end);
    report("hung", stopped, &records);
    assert!(records.iter().all(|record| record.duplicated() == 0), "no frame is forwarded twice");
}

pub fn unbridge(lab: &Lab) {
    for port in PORTS {
        tool("ip", &format!("-n {} link set {port} nomaster", lab.namespace(Place::Box).name())).unwrap();
    }
}

fn a_box_that_fails_closed_stops_traffic(io: &str) {
    let Some(lab) = lab("closed") else { return };
    unbridge(&lab);
    let traffic = both_ways(&lab);
    traffic.iter().for_each(|traffic| traffic.send_on(100));
    assert_eq!(traffic.each_ref().map(Stream::heard), [0, 0], "nothing forwards");
    let mut running = Process::start(&lab, &format!("on_failure = \"closed\"\n{io}{SETTINGS}"), true);
    go_on(&traffic, 500);
    running.signal(Signal::KILL);
    running.wait();
    // The last packets may still be in flight, so they are counted a little later.
    traffic.iter().for_each(|traffic| traffic.send_on(100));
    let heard = traffic.each_ref().map(Stream::heard);
    traffic.iter().for_each(|traffic| traffic.send_on(100));
    assert_eq!(traffic.each_ref().map(Stream::heard), heard, "nothing forwards any more");
    for record in traffic.map(Stream::end) {
        assert_eq!(record.duplicated(), 0);
    }
}

fn a_box_that_fails_closed_keeps_frames_over_a_short_stop(io: &str) {
    let Some(lab) = lab("short") else { return };
    unbridge(&lab);
    let queues = "[queues]\npackets_per_flow = 4000\n";
    for _ in 0..TRIES {
        let mut running = Process::start(&lab, &format!("on_failure = \"closed\"\n{io}{SETTINGS}{queues}"), true);
        let traffic = both_ways(&lab);
        go_on(&traffic, 100);
        let stopped = Instant::now();
        running.signal(Signal::STOP);
        thread::sleep(SHORT);
        running.signal(Signal::CONT);
        let was_short = stopped.elapsed() < 2 * SHORT;
        go_on(&traffic, 100);
        let records = traffic.map(Stream::end);
        running.signal(Signal::TERM);
        assert!(running.wait().success());
        report("stopped", stopped, &records);
        if was_short {
            assert!(records.iter().all(|record| (record.lost(), record.duplicated(), record.reordered()) == (0, 0, 0)));
            return;
        }
    }
    dovetail_skip::skipped("the machine is too busy: each stop took more than twice as long as it should");
}

/// The effective capabilities of each thread but the first, which is the test harness's and no box has, those that a program
/// which it runs could have, and whether such a program may have any.
fn capabilities(process: u32) -> Vec<(u64, u64, bool)> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let tasks = tasks.filter(|task| task.file_name().to_str() != Some(&process.to_string()));
    let of_task = |status: String| {
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        (number("CapEff:"), number("CapBnd:"), number("NoNewPrivs:") == 0)
    };
    tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok()).map(of_task).collect()
}

fn a_box_that_runs_may_do_nothing_any_more(io: &str) {
    let Some(lab) = lab("caps") else { return };
    let running = Process::start(&lab, &(io.to_owned() + TWO_WORKERS), false);
    let asked = Instant::now();
    let mut seen = capabilities(running.id());
    while seen.iter().any(|&of_thread| of_thread != (0, 0, false)) {
        assert!(asked.elapsed() < PATIENCE, "threads' capabilities: {seen:x?}");
        thread::sleep(Duration::from_millis(10));
        seen = capabilities(running.id());
    }
    println!("{} threads, none of which has a capability or can gain one", seen.len());
    assert!(seen.len() >= 4, "the loop, its workers, and who heeds signals");
    let traffic = both_ways(&lab);
    go_on(&traffic, 200);
    let _ = traffic.map(Stream::end);
}

by_each_io!(
    traffic_goes_on_when_the_box_is_killed,
    traffic_goes_on_when_the_box_hangs,
    a_box_that_fails_closed_stops_traffic,
    a_box_that_fails_closed_keeps_frames_over_a_short_stop,
    a_box_that_runs_may_do_nothing_any_more
);
