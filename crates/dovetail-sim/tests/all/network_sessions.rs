//! Interactive sessions: echo times alone, and together with a bulk transfer.

#![allow(clippy::unwrap_used)]

use dovetail_sched::Nanos;
use dovetail_sim::network::{Echoes, Interactive, Kind, Network, Traffic};

use crate::dumbbell::{dumbbell, traffic};
use crate::watch::run;

/// Packets of 140 and 190 bytes.
const TYPED: Interactive = Interactive { gap: Nanos::from_secs(1), keystroke_bytes: 100, echo_bytes: 150 };

/// From host 0; with a bulk transfer from host 1, if requested.
fn network(with_bulk: bool) -> Network {
    let of = |name: &str, host: usize, kind| Traffic {
        name: name.into(),
        from: vec![2 + host],
        to: vec![4 + host],
        ..traffic(2, kind)
    };
    let mut all = vec![Traffic { stop: Nanos::from_secs(118), ..of("ssh", 0, Kind::Interactive(TYPED)) }];
    all.extend(with_bulk.then(|| of("bulk", 1, Kind::LongLived(1))));
    Network { stop_at: Some(Nanos::from_secs(120)), ..dumbbell(2, 3.0, 50, all) }
}

fn echoes(network: &Network, policy: &str) -> Echoes {
    run(network, policy).outcome.streams[0].echoes.unwrap()
}

/// 10, 30 and 10 ms each way, and the transmission times of both packets over all links.
fn alone_ns() -> f64 {
    100e6 + (140.0 + 190.0) * 8e9 * (2.0 / 10e6 + 1.0 / 3e6)
}

#[test]
fn alone_an_echo_takes_the_round_trip_and_its_bits() {
    let Echoes { answered, unanswered, took, shortest_wait } = echoes(&network(false), "fifo");
    assert_eq!((unanswered, shortest_wait), (0, None));
    // Of 118 expected.
    assert!((80..160).contains(&answered), "{answered}");
    let median = took.unwrap().p50.as_f64();
    // To the precision of a histogram.
    assert!((1.0..1.0011).contains(&(median / alone_ns())), "{median} of {}", alone_ns());
}

#[test]
fn beside_a_bulk_transfer_drr_keeps_it_and_fifo_does_not() {
    let network = network(true);
    let [fifo, drr] = ["fifo", "drr"].map(|policy| echoes(&network, policy));
    assert_eq!((fifo.answered, drr.unanswered), (drr.answered, 0), "the same keystrokes");
    // A bulk packet takes 2.8 ms: one is being sent, one may be first in the round.
    let packet_ns = 1040.0 * 8e9 / 3e6;
    let median = |echoes: &Echoes| echoes.took.unwrap().p50.as_f64();
    assert!(median(&drr) < alone_ns() * 1.001 + 2.0 * packet_ns, "{}", median(&drr));
    // Reno keeps the buffer of 50 more than half full on average.
    assert!(median(&fifo) > alone_ns() + 15.0 * packet_ns, "{}", median(&fifo));
}

#[test]
fn one_seed_is_one_session() {
    let network = network(true);
    assert_eq!(echoes(&network, "drr"), echoes(&network, "drr"));
    let other = Network { seed: 2, ..network.clone() };
    assert_ne!(echoes(&network, "drr"), echoes(&other, "drr"));
}
