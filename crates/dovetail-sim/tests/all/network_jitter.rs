//! Hosts with jitter in sending.

#![allow(clippy::unwrap_used)]

use std::{env, ops::RangeInclusive};

use dovetail_sched::Nanos;
use dovetail_sim::{
    network::{Arrivals, Kind, MAX_JITTER, Network, NetworkOptions, simulate_network},
    workload::Size,
};
use dovetail_skip::skipped;

use crate::described::parse;
use crate::dumbbell::{dumbbell, traffic};
use crate::recorded::records;
use crate::watch::{Run, check_books, run};

/// One transfer of 300 packets, for which the queue has room.
fn one(jitter: Nanos) -> Network {
    let kind = Kind::Transfers { count: 1, size: Size::Fixed(300), unit_bytes: 1000, arrivals: Arrivals::Together };
    let mut network = dumbbell(1, 3.0, 1_000, vec![traffic(1, kind)]);
    network.transport.jitter = jitter;
    network
}

/// TCP's sequence numbers, in the order in which packets left the link.
fn sequence(run: &Run) -> Vec<u32> {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes[24..28].try_into().unwrap());
    records(&run.capture).iter().map(|(_, bytes)| number(bytes)).collect()
}

#[test]
fn an_ends_packets_stay_in_order_however_late_they_leave() {
    let took = |jitter| {
        let run = run(&one(jitter), "fifo");
        check_books(&run).unwrap();
        assert!(sequence(&run).is_sorted(), "{:?}", sequence(&run));
        assert_eq!(run.outcome.link.dropped, 0);
        run.outcome.transfers[0].took().unwrap()
    };
    let (prompt, late) = (took(Nanos::ZERO), took(Nanos::from_millis(20)));
    assert!(late > prompt, "{late} with jitter, {prompt} without");
}

#[test]
fn equal_seeds_are_equally_late() {
    let network = one(Nanos::from_millis(3));
    assert_eq!(run(&network, "drr").capture, run(&network, "drr").capture);
    let mut other = network.clone();
    other.seed += 1;
    assert_ne!(run(&network, "drr").capture, run(&other, "drr").capture);
}

/// Connections of a crowd that receive no byte in the minute, and in its last 50 s, in total over these seeds.
fn without_a_byte(crowd: &str, seeds: RangeInclusive<u64>, jitter: Nanos) -> [usize; 2] {
    let silent = |seed: u64| {
        let mut network = parse(crowd).unwrap();
        (network.seed, network.transport.jitter) = (seed, jitter);
        let (policy, options) = ("fifo".parse().unwrap(), NetworkOptions::default());
        let outcome = simulate_network(&network, &policy, &mut (), options).unwrap();
        [0, 10].map(|from| outcome.streams.iter().filter(|stream| stream.mean_bps(from, 60) == 0.0).count())
    };
    seeds.map(silent).fold([0, 0], |[whole, late], [more, later]| [whole + more, late + later])
}

/// A packet takes 120 us on the link.
const CROWD: &str = r#"name = "crowd"
[network]
stop = "60s"
[[link]]
between = ["a", "b"]
rate = "100Mbps"
delay = "20ms"
buffer_packets = 333
watched = true
[[traffic]]
name = "t"
from = "a"
to = "b"
long_lived = 500
"#;

#[test]
fn what_a_timer_sends_finds_room_as_what_an_acknowledgement_sends_does() {
    let [prompt, late] = [Nanos::ZERO, Nanos::from_millis(1)].map(|jitter| without_a_byte(CROWD, 1..=4, jitter));
    println!("500 flows: without a byte in a minute and in its last 50 s: {late:?} with jitter, {prompt:?} without");
    assert_eq!(late[0], 0, "over the whole minute");
    assert!(2 * late[1] < prompt[1], "{late:?} with jitter, {prompt:?} without");
}

/// docs/transport.md, "Many flows, one clock".
#[test]
fn of_two_thousand_nobody_is_without_a_byte() {
    if env::var_os("DOVETAIL_LONG").is_none() {
        return skipped("sixteen runs of 2,000 flows (DOVETAIL_LONG=1)");
    }
    let page = include_str!("../../../../docs/transport.md");
    let crowd = page.split("<!-- file: crowd.toml -->\n```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let [prompt, late] = [Nanos::ZERO, Nanos::from_micros(100)].map(|jitter| without_a_byte(crowd, 1..=16, jitter));
    println!("2,000 flows: without a byte in a minute and in its last 50 s: {late:?} with jitter, {prompt:?} without");
    assert_eq!(late[0], 0, "over the whole minute");
}

#[test]
fn nobody_waits_longer_than_the_most() {
    let network = one(MAX_JITTER + Nanos(1));
    let (policy, options) = ("fifo".parse().unwrap(), NetworkOptions::default());
    let error = simulate_network(&network, &policy, &mut (), options).unwrap_err().to_string();
    assert!(error.contains("jitter is at most 1s"), "{error}");
}
