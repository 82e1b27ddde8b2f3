//! How fast packets are made and read. Run with `--release -- --ignored --nocapture`; limits are of a 2-core machine.

use std::{hint::black_box, io::Cursor, sync::LazyLock, time::Instant};

use dovetail_sched::units::parse_rate;
use dovetail_sim::workload::{Capture, CaptureOptions, ClassSet, Scenario, Workload};

fn nanos_per_arrival(workload: &mut dyn Workload, most: u64) -> f64 {
    let start = busy_nanos();
    let mut count = 0u64;
    while count < most
        && let Some(arrival) = workload.next().expect("a good workload")
    {
        black_box(&arrival);
        count += 1;
    }
    (busy_nanos() - start) / count as f64
}

/// Time that this thread has run, where the system tells; else time that has passed.
fn busy_nanos() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let busy = stat.and_then(|stat| stat.split(' ').next()?.parse().ok());
    busy.unwrap_or_else(|| START.elapsed().as_nanos() as f64)
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "speed", &mut |_| Err(std::io::ErrorKind::NotFound.into())).expect("a good scenario")
}

#[test]
#[ignore = "measures time"]
fn arrivals_of_a_thousand_poisson_flows() {
    let text = include_str!("../../../scenarios/speed.toml");
    let once = || nanos_per_arrival(&mut scenario(text).workload().expect("a good scenario"), 5_000_000);
    let nanos = (0..8).map(|_| once()).fold(f64::INFINITY, f64::min);
    println!("1,000 Poisson flows: {nanos:.1} ns an arrival");
    assert!(nanos <= 60.0, "{nanos:.1} ns");
}

#[test]
#[ignore = "measures time"]
fn packets_of_a_capture() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/mix-dev.pcap");
    let Ok(bytes) = std::fs::read(std::env::var("DOVETAIL_TRACES").map_or(file.into(), |at| at + "/mix-dev.pcap"))
    else {
        println!("skipped: no traces here");
        return;
    };
    let classes = ClassSet::table_ii(parse_rate("400Mbps").expect("a rate"));
    let once = || {
        let read = Box::new(Cursor::new(bytes.clone()));
        let mut capture = Capture::open(read, "mix-dev.pcap", CaptureOptions::new(classes.clone())).expect("a capture");
        nanos_per_arrival(&mut capture, u64::MAX)
    };
    println!("a capture: {:.1} ns a packet", (0..5).map(|_| once()).fold(f64::INFINITY, f64::min));
}
