//! Configuration changes under traffic.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Place, datagram};
use rustix::process::Signal;

use crate::{
    live::{Running, by_each_io, config, is_judged, lab},
    process::Process,
    traffic::{Stream, both_ways},
};

/// Maximum number of runs disturbed by a machine that keeps the box from running.
const TRIES: usize = 6;

fn class(name: &str, ports: &str, function: &str) -> String {
    format!("[[class]]\nname = \"{name}\"\nports = [{ports}]\nfunctions = [\"{function}\"]\neffect = \"discard\"\n")
}

/// Successive settings, each with room for what arrives in the 25 ms for which a box may be kept from running; their
/// classes split the traffic's flows (ports 10000 to 10006) in different ways.
fn settings() -> Vec<String> {
    let head =
        |policy: &str, queues: &str| format!("policy = \"{policy}\"\n[link]\nrate = \"1Gbps\"\n[queues]\n{queues}\n");
    let (low, high) = ("10000, 10001, 10002", "10003, 10004");
    let (first, second) = (class("first", low, "monitoring"), class("second", high, "ipsec"));
    vec![
        head("drfq", "") + &first + &second,
        // In reverse order, renamed, one fewer, none, one with other ports.
        head("drfq", "") + &second + &first,
        head("drfq", "") + &class("third", low, "redundancy") + &second,
        head("tradeoff:alpha=0.9", "") + &second,
        head("mr3", "packets_per_flow = 100\npackets = 700"),
        head("fifo", "packets_per_flow = 90\npackets = 600") + &class("second", "4500", "monitoring"),
        head("atfq", "packets_per_flow = 200") + &first + &class("second", low, "forwarding"),
    ]
}

fn changes_under_traffic_cost_no_packet(io: &str) {
    change_under_traffic("change", io, 1);
}

fn changes_under_traffic_cost_no_packet_on_several_workers(io: &str) {
    change_under_traffic("team", io, 3);
}

fn change_under_traffic(name: &str, io: &str, workers: usize) {
    let Some(lab) = lab(name) else { return };
    for _ in 0..TRIES {
        let settings: Vec<_> =
            settings().into_iter().map(|text| format!("{io}{text}[cpu]\nworkers = {workers}\n")).collect();
        let running = Running::start(&lab, &settings[0]);
        let traffic = both_ways(&lab);
        let mut changes = 0;
        for round in 0..6 {
            for (at, next) in settings.iter().enumerate() {
                running.control.reload(config(&lab, next)).unwrap();
                changes += 1;
                // Every other change follows at once, while packets of two earlier policies are still queued.
                if (at + round) % 2 == 0 {
                    traffic.iter().for_each(|traffic| traffic.send_on(40));
                }
            }
        }
        traffic.iter().for_each(|traffic| traffic.send_on(100));
        let records = traffic.map(Stream::end);
        let status = running.stop();
        let full: u64 = status.classes.iter().map(|(_, class)| class.queue_full).sum();
        println!(
            "{changes} changes: lost {:?}, duplicated {:?}, late {:?} of {:?}",
            records.each_ref().map(|record| record.lost()),
            records.each_ref().map(|record| record.duplicated()),
            records.each_ref().map(|record| record.reordered()),
            records.each_ref().map(|record| record.sent)
        );
        for record in &records {
            assert_eq!(record.duplicated(), 0);
        }
        assert_eq!(status.workers.len(), workers);
        // Counters of removed classes are lost, so a run in which a queue may have been full does not count.
        if is_judged(&status) && full == 0 {
            for record in &records {
                assert_eq!((record.lost(), record.reordered()), (0, 0));
            }
            return;
        }
    }
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms each time");
}

#[test]
fn churn_costs_no_memory() {
    let Some(lab) = lab("churn") else { return };
    let is_long = env::var("DOVETAIL_LONG").is_ok_and(|value| value == "1");
    let time = Duration::from_secs(if is_long { 60 } else { 4 });
    let changing = |at: usize| {
        let settings = settings();
        // As many flows as arrive within a second, twice.
        settings[at % settings.len()].replace("[queues]\n", "[queues]\nflows = 4096\ntimeout = \"1s\"\n")
    };
    let mut running = Process::start(&lab, &changing(0), true);
    let source = lab.raw(Place::Inside).unwrap();
    let (begun, mut round, mut warm) = (Instant::now(), 0, None);
    while begun.elapsed() < time || round < 40 {
        for flow in 0..2000_u16 {
            let frame = datagram::frame(
                Place::Inside,
                flow.wrapping_add((round as u16).wrapping_mul(2000)),
                0,
                60 + usize::from(flow % 1400),
            );
            source.send(std::iter::once(&*frame)).unwrap();
            if flow % 100 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        round += 1;
        running.reload(&lab, &changing(round));
        // Time to process what arrived.
        thread::sleep(Duration::from_millis(30));
        if round == 20 {
            warm = Some(running.resident_kb());
        }
    }
    let (warm, end) = (warm.unwrap(), running.resident_kb());
    running.signal(Signal::TERM);
    assert!(running.wait().success());
    println!("{round} rounds of 2,000 flows and a change: {warm} kB after 20, {end} kB at the end");
    // Queues, tables and buffers have reached their size by then.
    assert!(end < warm + warm / 4, "{warm} kB after 20 rounds, {end} kB after {round}");
}

by_each_io!(changes_under_traffic_cost_no_packet, changes_under_traffic_cost_no_packet_on_several_workers);
