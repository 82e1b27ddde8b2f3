//! Invariants of every run: nothing is lost unaccounted, every byte is delivered, and the transmitter never idles.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use dovetail_sched::{DropPolicy, Limits, Nanos, PolicySpec, Setup, Weight, registry::REGISTRY, units::Rate};
use dovetail_sim::{
    network::{Arrivals, Congestion, Datagrams, Kind, Link, Network, Node, Protocol, TcpConfig, Traffic, Transport},
    workload::Size,
};
use proptest::prelude::*;

use crate::dumbbell::{dumbbell, traffic};
use crate::recorded::delivered;
use crate::watch::{Run, check_books, run};

/// Web-like transfers, a long-lived connection and an on-off UDP flow, over a small buffer.
fn mixed(congestion: Congestion) -> Network {
    let web = Kind::Transfers {
        count: 60,
        size: Size::Pareto { shape: 1.2, min: 5000.0, max: 200_000.0 },
        unit_bytes: 1,
        arrivals: Arrivals::PerSecond(10.0),
    };
    let udp = Datagrams {
        bytes: 500,
        gap: Nanos::from_millis(4),
        on_off: Some((Nanos::from_secs(1), Nanos::from_secs(1))),
        random: false,
        flow_each: false,
    };
    let kinds = [("web", web), ("long", Kind::LongLived(1)), ("udp", Kind::Datagrams(udp))];
    let traffic = kinds.map(|(name, kind)| Traffic { name: name.into(), ..traffic(4, kind) });
    let mut network = Network { stop_at: Some(Nanos::from_secs(30)), ..dumbbell(4, 3.0, 12, traffic.into()) };
    network.transport.tcp.congestion = congestion;
    network
}

/// The registry's policies that order the packets of a single resource.
fn policies() -> Vec<&'static str> {
    let builds = |name: &&str| {
        let spec: PolicySpec = name.parse().unwrap();
        spec.build(&Setup::new(1, Limits::UNLIMITED)).is_ok()
    };
    REGISTRY.iter().map(|entry| entry.name).filter(builds).collect()
}

/// Every transfer's bytes are in the capture of the watched link, after which nothing is lost.
fn check_delivered(run: &Run, network: &Network) {
    let mut delivered: Vec<u64> = delivered(&run.capture).into_values().collect();
    assert!(run.outcome.transfers.iter().any(|transfer| transfer.dropped > 0), "nothing was put to the test");
    for transfer in &run.outcome.transfers {
        let at = delivered.iter().position(|&bytes| bytes == transfer.bytes);
        delivered.swap_remove(at.unwrap_or_else(|| panic!("{transfer:?} is nowhere in the capture")));
        // A handshake, the data, and the end.
        assert!(transfer.packets > 2 + transfer.bytes / u64::from(network.transport.mtu_bytes - 40));
    }
}

#[test]
fn books_balance_under_every_policy() {
    assert!(policies().len() > 8, "{:?}", policies());
    for congestion in [Congestion::Reno, Congestion::Cubic, Congestion::Bbr] {
        let network = mixed(congestion);
        for policy in policies() {
            let run = run(&network, policy);
            assert!(run.outcome.link.dropped > 0 && run.outcome.unknown == 0);
            check_books(&run).unwrap_or_else(|why| panic!("{policy}: {why}"));
            assert_eq!(run.outcome.transfers.len(), 60);
            assert!(run.outcome.transfers.iter().all(|transfer| transfer.ended.is_some()), "{policy}");
            check_delivered(&run, &network);
        }
    }
}

/// Which transfers begin when, their sizes and hosts: everything except the results.
fn arrivals(run: &Run) -> (Vec<(usize, u64, Nanos)>, BTreeSet<String>) {
    let transfers = run.outcome.transfers.iter();
    let transfers = transfers.map(|transfer| (transfer.traffic, transfer.bytes, transfer.begun)).collect();
    let hosts = run.watch.appeared.iter().map(|(label, class, _)| format!("{class} {label}"));
    (transfers, hosts.collect())
}

#[test]
fn every_policy_meets_the_same_arrivals() {
    let network = mixed(Congestion::Reno);
    let expected = arrivals(&run(&network, "fifo"));
    assert_eq!((expected.0.len(), expected.1.len()), (60, 62));
    for policy in policies() {
        assert_eq!(arrivals(&run(&network, policy)), expected, "{policy}");
    }
    let elsewhere = arrivals(&run(&Network { seed: 2, ..network }, "fifo"));
    assert!(elsewhere.0 != expected.0 && elsewhere.1 != expected.1, "another seed draws others");
}

/// A flood from ever new addresses over a link that distinguishes few flows, together with transfers.
fn flooded(flows: u32, gap: Nanos) -> Network {
    let web =
        Kind::Transfers { count: 20, size: Size::Fixed(20), unit_bytes: 1000, arrivals: Arrivals::PerSecond(4.0) };
    let flood = Kind::Datagrams(Datagrams { bytes: 100, gap, random: false, on_off: None, flow_each: true });
    let mut network =
        dumbbell(2, 3.0, 30, vec![traffic(2, web), Traffic { name: "flood".into(), ..traffic(2, flood) }]);
    network.stop_at = Some(Nanos::from_secs(20));
    network.links[0].limits.flows = flows;
    network
}

#[test]
fn a_flood_evicts_flows_and_nothing_goes_unaccounted() {
    // 500 packets a second at 100 bytes: 0.4 of 3 Mbit/s, so that queues are short and idle flows can be evicted.
    for policy in ["fifo", "drr", "sfq", "wfq"] {
        let run = run(&flooded(64, Nanos::from_millis(2)), policy);
        check_books(&run).unwrap();
        let ids: BTreeSet<_> = run.watch.sent.iter().map(|sent| sent.flow).collect();
        assert!(ids.iter().all(|flow| flow.0 < 64), "{policy}: a flow beyond the bound");
        // All of 10,000 appear, and all but those in the table were evicted before their timeout.
        let appeared = run.watch.appeared.len() as u64;
        assert!(appeared >= 9_900, "{policy}: {appeared}");
        assert_eq!(run.outcome.evicted_flows, appeared - 64, "{policy}");
        assert!(run.outcome.transfers.iter().all(|transfer| transfer.ended.is_some()), "{policy}");
    }
}

/// If all flows that fit are backlogged, packets of others are dropped and counted.
#[test]
fn a_flood_that_cannot_be_told_apart_is_counted() {
    let run = run(&flooded(8, Nanos::from_micros(200)), "drr");
    check_books(&run).unwrap();
    assert!(run.outcome.unknown > 1000, "{}", run.outcome.unknown);
    assert!(run.watch.sent.iter().all(|sent| sent.flow.0 < 8));
}

/// A tree of routers and hosts: node n > 0 is attached to an earlier one, with random traffic between them.
fn tree() -> impl Strategy<Value = (Network, &'static str)> {
    let parents = prop::collection::vec(any::<prop::sample::Index>(), 2..7);
    let links = prop::collection::vec((0.2f64..20.0, 0u64..40, 2u32..12), 12);
    let transfers = prop::collection::vec((any::<prop::sample::Index>(), 1u32..4, 1u64..40_000, any::<bool>()), 1..4);
    let policy = prop::sample::select(vec!["fifo", "drr", "sfq", "drfq"]);
    let transport = (576u32..1500, 0usize..3, 14u32..18, any::<[bool; 4]>());
    (parents, links, transfers, policy, any::<u64>(), transport, any::<prop::sample::Index>()).prop_map(
        |(
            parents,
            shapes,
            transfers,
            policy,
            seed,
            (mtu_bytes, congestion, window, [delayed, old, ecn, pacing]),
            watched,
        )| {
            let nodes = parents.len() + 1;
            let mut links = Vec::new();
            for (node, parent) in (1..).zip(&parents) {
                let parent = parent.index(node);
                for (from, to) in [(node, parent), (parent, node)] {
                    let (mbps, delay, packets) = shapes[links.len() % shapes.len()];
                    links.push(Link {
                        from,
                        to,
                        rate: Rate::from_bps(mbps * 1e6).unwrap(),
                        changes: [].into(),
                        delay: Nanos::from_millis(delay),
                        policy: policy.parse().unwrap(),
                        limits: Limits {
                            packets: Some(packets),
                            flows: 16,
                            on_full: drops(packets),
                            ..Limits::UNLIMITED
                        },
                        mark_packets: (packets > 3).then_some(packets / 2),
                    });
                }
            }
            let traffic = (0..).zip(&transfers).map(|(at, &(from, count, bytes, together))| {
                let from = from.index(nodes);
                Traffic {
                    name: format!("t{at}"),
                    weight: Weight::ONE,
                    class: None,
                    from: vec![from],
                    to: (0..nodes).filter(|&node| node != from).collect(),
                    start: Nanos::from_millis(at),
                    stop: Nanos::MAX,
                    kind: Kind::Transfers {
                        count,
                        size: Size::Uniform(1, bytes),
                        unit_bytes: 1,
                        arrivals: if together { Arrivals::Together } else { Arrivals::PerSecond(20.0) },
                    },
                }
            });
            let network = Network {
                access: None,
                name: "tree".into(),
                description: String::new(),
                source: String::new(),
                seed,
                stop_at: None,
                nodes: (0..nodes).map(|node| Node { name: format!("n{node}") }).collect(),
                watched: watched.index(links.len()),
                links,
                transport: Transport {
                    protocol: Protocol::Tcp,
                    tcp: TcpConfig {
                        congestion: [Congestion::Reno, Congestion::Cubic, Congestion::Bbr][congestion],
                        ecn,
                        pacing,
                        receive_bytes: 1 << window,
                        ack_delay: if delayed { Nanos::from_millis(10) } else { Nanos::ZERO },
                        ..if old { TcpConfig::year_2005() } else { TcpConfig::linux() }
                    },
                    mtu_bytes,
                    jitter: Nanos::from_micros(seed % 3 * 700),
                },
                traffic: traffic.collect(),
            };
            (network, policy)
        },
    )
}

fn drops(packets: u32) -> DropPolicy {
    if packets.is_multiple_of(2) { DropPolicy::Tail } else { DropPolicy::Longest }
}

proptest! {
    #[test]
    fn all_transfers_end_whatever_the_network((network, policy) in tree()) {
        let run = run(&network, policy);
        check_books(&run).map_err(TestCaseError::fail)?;
        for transfer in &run.outcome.transfers {
            prop_assert!(transfer.ended.is_some(), "{:?} by {}", transfer, run.outcome.ended);
        }
        prop_assert_eq!(run.outcome.transfers.len() as u64, network.transfers());
    }
}
