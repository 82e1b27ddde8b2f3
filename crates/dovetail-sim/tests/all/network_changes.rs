//! Links whose rate changes, or that carry nothing for a while, compared with a queue that is calculated packet by packet.

#![allow(clippy::unwrap_used)]

use dovetail_sched::{Nanos, units::Rate};
use dovetail_sim::network::{Datagrams, Kind, Link, Network, RateChange, Traffic};
use proptest::prelude::*;

use crate::{
    dumbbell::{dumbbell, traffic},
    watch::{Run, check_books, run},
};

const STOP: Nanos = Nanos::from_secs(20);

/// UDP and two unlimited connections over a link with these changes.
fn network(changes: Vec<RateChange>) -> Network {
    let datagrams = Datagrams { bytes: 900, gap: Nanos::from_millis(5), random: true, on_off: None, flow_each: false };
    let udp = Traffic { name: "udp".into(), ..traffic(4, Kind::Datagrams(datagrams)) };
    let mut network = dumbbell(4, 3.0, 50, vec![traffic(4, Kind::LongLived(2)), udp]);
    network.stop_at = Some(STOP);
    network.links[0].changes = changes.into();
    network
}

/// Bits per second at a time; none while the link is down.
fn bps_at(link: &Link, at: Nanos) -> Option<f64> {
    let last = link.changes.iter().rev().find(|change| change.at <= at);
    last.map_or(Some(link.rate), |change| change.rate).map(Rate::bps)
}

/// Every packet begins once it has arrived, the one before has ended and the link is up, and takes what the rate then says.
fn check_times(run: &Run, link: &Link) -> Result<(), TestCaseError> {
    let mut free = Nanos::ZERO;
    for sent in &run.watch.sent {
        let mut begins = sent.arrival.max(free);
        while bps_at(link, begins).is_none() {
            begins = link.changes.iter().map(|change| change.at).find(|&at| at > begins).unwrap();
        }
        prop_assert_eq!(sent.begun, begins);
        let took = f64::from(sent.bytes) * 8e9 / bps_at(link, begins).unwrap();
        prop_assert!(((sent.ends - sent.begun).as_f64() - took).abs() <= 1.0, "{sent:?}: {took} ns");
        free = sent.ends;
    }
    Ok(())
}

fn change(at_ms: u64, mbps: Option<f64>) -> RateChange {
    let rate = mbps.map(|mbps| Rate::from_bps(mbps * 1e6).unwrap());
    RateChange { at: Nanos::from_millis(at_ms), rate }
}

#[test]
fn a_link_carries_what_its_rate_at_the_time_says() {
    let network = network(vec![change(4_000, Some(1.0)), change(8_000, None), change(10_000, Some(6.0))]);
    let (run, link) = (run(&network, "fifo"), &network.links[0]);
    check_times(&run, link).unwrap();
    // Two connections and UDP fill it, from a second after each change on.
    let mut carried = [0.0; 20];
    for sent in &run.watch.sent {
        carried[(sent.begun.as_secs_f64() as usize).min(19)] += f64::from(sent.bytes) * 8.0 / 1e6;
    }
    println!("Mbit in each second: {carried:.2?}");
    let means = [(1, 4, 3.0), (5, 8, 1.0), (8, 10, 0.0), (14, 20, 6.0)];
    for (from, to, mbps) in means {
        let mean = carried[from..to].iter().sum::<f64>() / (to - from) as f64;
        assert!((mean - mbps).abs() <= 0.05 * mbps + 0.02, "{mean} of {mbps} Mbit/s from {from} to {to} s");
        let [from, to] = [from, to].map(|second| Nanos::from_secs(second as u64));
        assert!((link.bits_between(from, to) / (to - from).as_secs_f64() / 1e6 - mbps).abs() < 1e-9);
    }
    assert!((link.bits_between(Nanos::ZERO, STOP) / 1e6 - (4.0 * 3.0 + 4.0 * 1.0 + 10.0 * 6.0)).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_sent_one_after_the_other_while_there_is_a_link(
        steps in prop::collection::vec((1_u64..5_000, prop::option::of(0.05..20.0_f64)), 0..8),
        last in 0.5..20.0_f64,
    ) {
        let mut at_ms = 0;
        let mut changes: Vec<_> = steps.into_iter().map(|(after, mbps)| {
            at_ms += after;
            change(at_ms, mbps)
        }).collect();
        changes.push(change(at_ms + 1, Some(last)));
        let network = network(changes);
        let run = run(&network, "fifo");
        if network.links[0].changes.iter().all(|change| change.rate.is_some()) {
            check_books(&run).map_err(TestCaseError::fail)?;
        }
        check_times(&run, &network.links[0])?;
    }
}

#[test]
fn changes_out_of_order_or_without_an_end_are_refused() {
    for (changes, why) in [
        (vec![change(2, Some(1.0)), change(2, Some(2.0))], "in order of time"),
        (vec![change(2, None)], "after its last change a link has a rate"),
    ] {
        let network = network(changes);
        let refused = dovetail_sim::network::simulate_network(
            &network,
            &"fifo".parse().unwrap(),
            &mut crate::watch::Watch::default(),
            dovetail_sim::network::NetworkOptions::default(),
        );
        assert!(refused.unwrap_err().to_string().contains(why));
    }
}
