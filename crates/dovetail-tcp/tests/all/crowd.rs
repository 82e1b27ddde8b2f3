//! Many unlimited flows that begin together over a link with room for about a packet of each.
//!
//! Most lose their first segments, and retransmit them when a timer runs. Timers of one host run at the same ticks and slots,
//! so flows that lost together retransmit together, and a queue that is full when the first of them arrive is full for the
//! others: the kernel leaves hundreds without a byte. Flows of hosts that each have a clock of their own get in one by one.

use dovetail_sched::Nanos;
use dovetail_tcp::Timers;

use crate::{
    path::{Flow, Got, Mishaps, UNLIMITED, run},
    recorded::{Crowd, Recorded, config},
};

fn simulated(kernel: &Crowd, phase: impl Fn(u64) -> Nanos) -> Vec<Got> {
    let flow = |at: u64| {
        let mut config = config(&kernel.congestion, kernel.receive_buffer_bytes);
        config.timers = Timers::Wheel { phase: phase(at) };
        // As in `kernel/src/cases.rs`.
        let begins = Nanos::from_micros(at * (51_341 + 2 * kernel.stagger) % 100_000);
        Flow { begins, bytes: UNLIMITED, pauses: Nanos::ZERO, config }
    };
    let flows: Vec<_> = (0..kernel.flows).map(flow).collect();
    run(&kernel.path(), &Mishaps::default(), &flows, Nanos::from_secs(kernel.seconds))
}

/// Number of flows that received nothing, and total rate.
fn outcome(got: &[Got]) -> (u64, f64) {
    let bytes = |got: &Got| got.tenths.iter().sum::<u64>();
    let without = got.iter().filter(|got| bytes(got) == 0).count();
    (without as u64, got.iter().map(bytes).sum::<u64>() as f64)
}

fn small() -> impl Iterator<Item = Crowd> {
    Recorded::read().crowd.into_iter().filter(|run| run.flows == 500)
}

/// Flows of one host: at least a third receive nothing; two fifths under the kernel. The link is full.
#[test]
fn one_hosts_timers_keep_step() {
    for kernel in small() {
        let (without, bytes) = outcome(&simulated(&kernel, |_| Nanos::ZERO));
        println!("without a byte {without} / {}, bytes {bytes} / {}", kernel.without_a_byte, kernel.bytes);
        let part = |count: u64| count as f64 / kernel.flows as f64;
        assert!((part(without) - part(kernel.without_a_byte)).abs() <= 0.15, "{without}");
        assert!((bytes / kernel.bytes as f64 - 1.0).abs() <= 0.01, "{bytes}");
    }
}

/// Flows of as many hosts, started at different times: most get in.
#[test]
fn many_hosts_timers_do_not() {
    for kernel in small() {
        let (without, bytes) = outcome(&simulated(&kernel, |at| Nanos(at * 7_919_000_003)));
        println!("without a byte {without}, bytes {bytes}");
        assert!(4 * without <= kernel.without_a_byte, "{without}");
    }
}
