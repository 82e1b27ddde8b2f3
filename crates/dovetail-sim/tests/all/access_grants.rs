//! Promises of `grants`, over a simulated access network: latency compared with the ordinary gateway, shares, a misconfigured
//! capacity, a wide link.

#![allow(clippy::unwrap_used)]

use dovetail_sched::{FlowId, Nanos, Packet, units::Rate};
use dovetail_sim::{
    Observer, Passage, Profile,
    network::{Asks, Contender, Exchange, Kind, Network, NetworkOptions, NetworkOutcome, Requests, simulate_access},
};
use dovetail_stats::{Quantile, quantile};

const WARM_UP_S: usize = 30;
const STOP_S: usize = 150;

/// Bytes that the watched link sent in each second.
#[derive(Debug, Default)]
struct Sent(Vec<u64>);

impl Observer for Sent {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}
    fn arrived(&mut self, _: &Packet) {}
    fn dropped(&mut self, _: &Packet, _: Nanos) {}
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let second = (passage.start()[0].0 / 1_000_000_000) as usize;
        self.0.resize(self.0.len().max(second + 1), 0);
        self.0[second] += u64::from(packet.bytes);
    }
}

impl Sent {
    fn utilisation(&self, network: &Network, from: usize, to: usize) -> f64 {
        let bits = self.0[from..to].iter().sum::<u64>() as f64 * 8.0;
        bits / network.links[network.watched].rate.bps() / (to - from) as f64
    }
}

fn access() -> Network {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/access.toml");
    let text = std::fs::read_to_string(path).unwrap();
    Network::parse(&text, path, &mut |_| unreachable!("it names no file")).unwrap()
}

fn each_request(network: &mut Network, change: impl Fn(&mut Requests)) {
    for traffic in &mut network.traffic {
        if let Kind::Requests(requests) = &mut traffic.kind {
            change(requests);
        }
    }
}

fn run(network: &Network, gateway: &str) -> (NetworkOutcome, Sent) {
    let gateway: Contender = gateway.parse().unwrap();
    let mut sent = Sent::default();
    let outcome = simulate_access(network, &gateway, &mut sent, NetworkOptions::default()).unwrap();
    (outcome, sent)
}

/// Rate of each class from one second to another, in bit/s.
fn rates(outcome: &NetworkOutcome, from: usize, to: usize) -> Vec<f64> {
    outcome.access.as_ref().unwrap().classes.iter().map(|class| class.mean_bps(from, to)).collect()
}

#[track_caller]
fn near(value: f64, expected: f64, part: f64) {
    assert!((value / expected - 1.0).abs() <= part, "{value} is not {expected} within {part}");
}

/// Results of ten seeds of an open loop, pooled.
struct Pooled {
    mean_s: f64,
    median_s: f64,
    p99_s: f64,
    long_s: f64,
    dropped: f64,
}

fn pooled(gateway: &str, load: f64) -> Pooled {
    let (mut took, mut long, mut dropped) = (Vec::new(), Vec::new(), 0.0);
    for seed in 1..=10 {
        let mut network = access();
        network.seed = seed;
        network.stop_at = Some(Nanos::from_secs(500));
        each_request(&mut network, |requests| requests.asks = Asks::Load(load));
        let (outcome, _) = run(&network, gateway);
        let counted = |one: &&Exchange| one.wanted >= Nanos::from_secs(WARM_UP_S as u64);
        for one in outcome.access.as_ref().unwrap().exchanges.iter().filter(counted) {
            let seconds = one.took().expect("all is answered in the end").as_secs_f64();
            took.push(seconds);
            if one.bytes > 200_000 {
                long.push(seconds);
            }
        }
        dropped += outcome.link.dropped as f64 / outcome.link.arrived as f64 / 10.0;
    }
    took.sort_by(f64::total_cmp);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Pooled {
        mean_s: mean(&took),
        median_s: quantile(&took, Quantile::MEDIAN).unwrap(),
        p99_s: quantile(&took, Quantile::P99).unwrap(),
        long_s: mean(&long),
        dropped,
    }
}

#[test]
fn open_loop_latency_against_the_ordinary_gateway() {
    for load in [0.9, 1.2] {
        let (ordinary, grants) = (pooled("none", load), pooled("grants", load));
        let over = |grants: f64, ordinary: f64| grants / ordinary;
        println!(
            "{load}: mean {:.3}, median {:.3}, p99 {:.3}, long {:.3}, dropped {:.4}",
            over(grants.mean_s, ordinary.mean_s),
            over(grants.median_s, ordinary.median_s),
            over(grants.p99_s, ordinary.p99_s),
            over(grants.long_s, ordinary.long_s),
            grants.dropped
        );
        assert!(grants.mean_s <= 0.75 * ordinary.mean_s, "{load}: mean {} of {}", grants.mean_s, ordinary.mean_s);
        assert!(grants.median_s <= 0.7 * ordinary.median_s, "{load}: {} of {}", grants.median_s, ordinary.median_s);
        assert!(grants.p99_s <= 1.1 * ordinary.p99_s, "{load}: p99 {} of {}", grants.p99_s, ordinary.p99_s);
        assert!(grants.dropped < 0.05, "{load}: {}", grants.dropped);
        // Long responses wait for short ones, which TCP on its own does not ensure: 1.08 was observed.
        if load < 1.0 {
            assert!(grants.long_s <= 1.15 * ordinary.long_s, "{load}: long {} of {}", grants.long_s, ordinary.long_s);
        }
    }
}

#[test]
fn shares_follow_weights_and_the_link_is_full() {
    for seed in 1..=3 {
        let mut network = access();
        network.seed = seed;
        let (outcome, sent) = run(&network, "grants");
        let rates = rates(&outcome, WARM_UP_S, STOP_S);
        near(rates[0] / rates[2], 4.0, 0.03);
        near(rates[1] / rates[2], 2.0, 0.03);
        let used = sent.utilisation(&network, WARM_UP_S, STOP_S);
        assert!(used >= 0.975, "{used}");
    }
}

/// The longest time, in whole seconds, in which a class received nothing.
fn longest_famine(outcome: &NetworkOutcome, class: usize) -> usize {
    let (mut longest, mut now) = (0, 0);
    for second in 2..STOP_S {
        let got = outcome.access.as_ref().unwrap().classes[class].mean_bps(second, second + 1);
        now = if got > 0.0 { 0 } else { now + 1 };
        longest = longest.max(now);
    }
    longest
}

#[test]
fn a_capacity_that_is_wrong_by_a_factor_of_two_is_found_out() {
    for factor in [0.5, 2.0] {
        // In a minute and a half one seed's shares deviate from the weights by up to 5 %, either way, even if nothing is
        // wrong.
        let mut sums = [0.0; 3];
        for seed in 1..=3 {
            let mut network = access();
            network.seed = seed;
            let goodput = network.goodput_bytes_per_s();
            network.access.as_mut().unwrap().capacity_bytes_per_s = Some(factor * goodput);
            let (outcome, sent) = run(&network, "grants");
            let notes = &outcome.access.as_ref().unwrap().notes;
            let at = |second: u64, name: &str| {
                let (_, figures) = notes.iter().find(|(at, _)| *at == Nanos::from_secs(second)).unwrap();
                figures.iter().find(|(known, _)| *known == name).unwrap().1
            };
            assert!((at(1, "capacity") / goodput - factor).abs() < 0.1 * factor, "it begins where it was put");
            for second in [60, 90, 120, 149] {
                near(at(second, "capacity"), goodput, 0.1);
            }
            let used = sent.utilisation(&network, 60, STOP_S);
            // 0.9598 to 0.9866 were observed with eight seeds.
            assert!(used >= 0.955, "{factor}: {used}");
            for (sum, rate) in sums.iter_mut().zip(rates(&outcome, 60, STOP_S)) {
                *sum += rate;
            }
            for class in 0..3 {
                let famine = longest_famine(&outcome, class);
                assert!(famine <= 10, "{factor}: class {class} got nothing for {famine} s");
            }
        }
        near(sums[0] / sums[2], 4.0, 0.05);
        near(sums[1] / sums[2], 2.0, 0.05);
    }
}

/// 100 Mbit/s, and round trips of 50 ms to every server.
fn wide() -> Network {
    let mut network = access();
    let watched = network.watched;
    let (gateway, provider) = (network.links[watched].to, network.links[watched].from);
    for (at, link) in network.links.iter_mut().enumerate() {
        link.rate = Rate::from_bps(if at == watched { 100e6 } else { 1e9 }).unwrap();
        let to_server = (link.from == provider || link.to == provider) && link.from != gateway && link.to != gateway;
        if to_server {
            link.delay = Nanos::from_millis(24);
        }
    }
    network.links[watched].limits.packets = Some(1000);
    network.transport.tcp.receive_bytes = 2 << 20;
    network.stop_at = Some(Nanos::from_secs(30));
    network.access.as_mut().unwrap().warm_up = Nanos::ZERO;
    each_request(&mut network, |requests| {
        requests.size = dovetail_sim::workload::Size::LogNormal { mu: 12.0, sigma: 1.318, min: 1.0, max: 2e7 };
    });
    network
}

#[test]
fn a_wide_link_far_from_its_servers_is_filled() {
    // Of users with one request at a time, most are waiting for the first bytes of a response at any moment.
    for (each, least) in [(4, 0.98), (1, 0.9)] {
        let mut network = wide();
        each_request(&mut network, |requests| requests.asks = Asks::Kept { each, think: Nanos::ZERO });
        let (_, sent) = run(&network, "grants");
        let used = sent.utilisation(&network, 5, 30);
        assert!(used >= least, "{each} requests each: {used}");
    }
    // One user, one response at a time: its window grows to the bandwidth-delay product.
    let mut network = wide();
    network.traffic.truncate(1);
    network.traffic[0].to.truncate(1);
    each_request(&mut network, |requests| {
        requests.asks = Asks::Kept { each: 1, think: Nanos::ZERO };
        requests.size = dovetail_sim::workload::Size::Fixed(1 << 30);
    });
    let (_, sent) = run(&network, "grants");
    let used = sent.utilisation(&network, 5, 30);
    assert!(used >= 0.95, "one response: {used}");
}

#[test]
fn users_have_their_parts_however_many_a_class_has() {
    let mut network = access();
    // One user of gold, four of silver, four of bronze.
    network.traffic[0].to.truncate(1);
    each_request(&mut network, |requests| requests.asks = Asks::Kept { each: 8, think: Nanos::ZERO });
    let (outcome, _) = run(&network, "grants");
    let rates = rates(&outcome, WARM_UP_S, STOP_S);
    near(rates[0] / (rates[2] / 4.0), 4.0, 0.05);
    near(rates[1] / rates[2], 2.0, 0.05);
}

#[test]
fn classes_are_told_apart_also_where_the_far_queue_has_little_room() {
    // 10 packets of 1,500 bytes are 60 ms at 2 Mbit/s: a queue of the target length would be a full one.
    let mut network = access();
    network.links[network.watched].limits.packets = Some(10);
    let (outcome, _) = run(&network, "grants");
    let rates = rates(&outcome, WARM_UP_S, STOP_S);
    assert!(rates[0] > 2.5 * rates[2] && rates[1] > 1.75 * rates[2], "{rates:?}");
    let dropped = |outcome: &NetworkOutcome| outcome.link.dropped as f64 / outcome.link.arrived as f64;
    let (ordinary, _) = run(&network, "none");
    assert!(dropped(&outcome) < 0.8 * dropped(&ordinary), "{} of {}", dropped(&outcome), dropped(&ordinary));
}
