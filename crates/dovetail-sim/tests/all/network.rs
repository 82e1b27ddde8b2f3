//! Networks: behaviour of a real TCP over links whose timing can be computed.

#![allow(clippy::unwrap_used)]

use dovetail_sched::{Limits, Nanos, Weight};
use dovetail_sim::{
    network::{Arrivals, Datagrams, Kind, Network, Traffic},
    workload::Size,
};

use crate::dumbbell::{dumbbell, traffic};
use crate::watch::run;

/// UDP packets of 1,000 bytes; host 0 takes 0.8 ms for one.
fn every(gap: Nanos) -> Kind {
    Kind::Datagrams(Datagrams { bytes: 1000, gap, random: false, on_off: None, flow_each: false })
}

/// From host 0 to its sink over a link of 4 Mbit/s, which takes 2 ms for a packet.
fn udp(gap: Nanos, packets: u64) -> Network {
    let traffic = Traffic { stop: Nanos(gap.0 * packets), ..traffic(1, every(gap)) };
    Network { stop_at: Some(Nanos::from_secs(3)), ..dumbbell(1, 4.0, 10_000, vec![traffic]) }
}

/// One packet over an idle path: a handshake and a segment, three links each way.
#[test]
fn a_segment_takes_a_handshake_and_half_a_round_trip() {
    let kind = Kind::Transfers { count: 1, size: Size::Fixed(1), unit_bytes: 1000, arrivals: Arrivals::Together };
    let outcome = run(&dumbbell(1, 3.0, 50, vec![traffic(1, kind)]), "fifo").outcome;
    let took = outcome.transfers[0].took().unwrap().as_secs_f64();
    // 10 + 30 + 10 ms each way; TCP's options add less than a millisecond to the handshake.
    let data = 1040.0 * 8.0 * (2.0 / 10e6 + 1.0 / 3e6);
    assert!((0.150 + data..0.151 + data).contains(&took), "{took}");
}

#[test]
fn a_constant_rate_keeps_its_times_over_idle_links() {
    let run = run(&udp(Nanos::from_millis(10), 100), "fifo");
    assert_eq!(run.watch.sent.len(), 100);
    for (number, sent) in (0..).zip(&run.watch.sent) {
        // 0.8 ms on the access link and its 10 ms; no packet is ahead of it.
        let at = Nanos::from_micros(10_000 * number + 10_800);
        assert_eq!((sent.handle, sent.bytes, sent.arrival), (number, 1000, at));
        assert_eq!((sent.begun, sent.ends), (at, at + Nanos::from_millis(2)));
    }
    // After the watched link 30 ms, 0.8 ms and 10 ms: 53.6 ms in all, so the first second misses the last five.
    assert_eq!(run.outcome.streams[0].received_bytes, [95_000, 5_000]);
    assert_eq!(run.outcome.ended, Nanos::from_micros(990_000 + 53_600));
}

#[test]
fn a_queue_drains_at_the_links_rate() {
    // Every millisecond, onto a link that takes two.
    let run = run(&udp(Nanos::from_millis(1), 500), "fifo");
    for (number, sent) in (0..500).zip(&run.watch.sent) {
        let begun = Nanos::from_micros(2000 * number + 10_800);
        assert_eq!(sent.arrival, Nanos::from_micros(1000 * number + 10_800));
        assert_eq!((sent.begun, sent.ends), (begun, begun + Nanos::from_millis(2)));
    }
    assert_eq!((run.outcome.link.sent, run.outcome.link.dropped, run.outcome.link.left), (500, 0, 0));
}

/// A packet every millisecond onto a link that takes two: number n, counted from 0, takes 2 + n ms.
#[test]
fn a_streams_time_at_the_link_is_its_waiting_and_its_bits() {
    let run = run(&udp(Nanos::from_millis(1), 500), "fifo");
    let took = run.outcome.streams[0].at_link.unwrap();
    assert_eq!(took.max, Nanos::from_millis(501));
    for (percentile, exact_ms) in [(took.p50, 251.0), (took.p99, 496.0)] {
        let off = percentile.as_f64() / 1e6 / exact_ms;
        assert!((1.0..1.001).contains(&off), "{percentile}: {exact_ms} ms");
    }
}

#[test]
fn what_still_waits_at_the_end_is_left() {
    // Packet k arrives at 10.8 + k ms, and packet n begins at 10.8 + 2n ms: by 111 ms, 101 and 51.
    let network = Network { stop_at: Some(Nanos::from_millis(111)), ..udp(Nanos::from_millis(1), 500) };
    let outcome = run(&network, "fifo").outcome;
    assert_eq!((outcome.link.arrived, outcome.link.sent, outcome.link.left), (101, 51, 50));
    assert_eq!(outcome.ended, Nanos::from_millis(111));
}

#[test]
fn a_buffer_drops_exactly_the_overflow_of_a_burst() {
    for buffer in [1u32, 7, 39, 48, 49, 60] {
        // 50 packets in 50 ns, at the host's own link: one is being sent, and `buffer` packets wait.
        let mut network = udp(Nanos(1), 50);
        network.watched = 2;
        network.links[2].limits.packets = Some(buffer);
        let run = run(&network, "fifo");
        let fit = u64::from(buffer + 1).min(50);
        assert_eq!((run.outcome.link.sent, run.outcome.link.dropped), (fit, 50 - fit));
        assert!(run.watch.dropped.iter().map(|dropped| dropped.0).eq(fit..50), "a tail drop drops the last");
        assert_eq!(run.outcome.streams[0].received_bytes.iter().sum::<u64>(), 1000 * fit);
    }
}

#[test]
fn weights_reach_the_scheduler() {
    // Two hosts send 8 Mbit/s each into 4, with weights 1 and 3.
    let named = |name: &str, weight, host: usize| Traffic {
        name: name.into(),
        weight: Weight::new(weight).unwrap(),
        from: vec![2 + host],
        to: vec![4 + host],
        ..traffic(2, every(Nanos::from_millis(1)))
    };
    let mut network = dumbbell(2, 4.0, 50, vec![named("light", 1.0, 0), named("heavy", 3.0, 1)]);
    network.stop_at = Some(Nanos::from_secs(11));
    network.links[0].limits = Limits::per_flow(20);
    for policy in ["drr", "wfq", "sfq"] {
        let run = run(&network, policy);
        let classes: Vec<_> = run.watch.appeared.iter().map(|(_, class, weight)| (class.as_str(), *weight)).collect();
        assert_eq!(classes, [("light", Weight::ONE), ("heavy", Weight::new(3.0).unwrap())]);
        let [light, heavy] = [0, 1].map(|at| run.outcome.streams[at].mean_bps(1, 11));
        // To within a round of eight packets at either end.
        assert!((light - 1e6).abs() < 8e3 && (heavy - 3e6).abs() < 8e3, "{policy}: {light} {heavy}");
    }
}

/// What fits into a long-lived connection's socket is still sent after its traffic's end, but no more.
#[test]
fn a_long_lived_connection_stops_with_its_traffic() {
    let stopped = Traffic { stop: Nanos::from_secs(5), ..traffic(1, Kind::LongLived(1)) };
    let mut network = Network { stop_at: Some(Nanos::from_secs(20)), ..dumbbell(1, 3.0, 50, vec![stopped]) };
    network.transport.tcp.receive_bytes = 1 << 15;
    let received = &run(&network, "fifo").outcome.streams[0].received_bytes;
    assert!(received.iter().skip(6).all(|&bytes| bytes == 0), "{received:?}");
    assert!(received[4] > 100_000, "{received:?}");
}

#[test]
fn transfers_that_never_begin_are_not_waited_for() {
    let arrivals = Arrivals::PerSecond(0.001);
    let kind = Kind::Transfers { count: 2, size: Size::Fixed(1), unit_bytes: 1000, arrivals };
    let stop = Nanos::from_secs(10);
    let outcome = run(&dumbbell(1, 3.0, 50, vec![Traffic { stop, ..traffic(1, kind) }]), "fifo").outcome;
    assert!(outcome.transfers.len() == 1 && outcome.transfers[0].ended.is_some(), "{:?}", outcome.transfers);
    assert_eq!(outcome.ended, stop);
}
