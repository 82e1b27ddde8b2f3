//! Inconsistent networks are rejected with a reason, and odd but consistent ones are run.

#![allow(clippy::unwrap_used)]

use dovetail_sched::{Limits, Nanos, units::Rate};
use dovetail_sim::{
    network::{
        Arrivals, Datagrams, Kind, Network, NetworkError, NetworkOptions, NetworkOutcome, Node, Traffic,
        simulate_network,
    },
    workload::Size,
};

use crate::dumbbell::{dumbbell, traffic};

fn simulate(network: &Network, policy: &str) -> Result<NetworkOutcome, NetworkError> {
    simulate_network(network, &policy.parse().unwrap(), &mut (), NetworkOptions::default())
}

fn transfers(count: u32, arrivals: Arrivals) -> Kind {
    Kind::Transfers { count, size: Size::Fixed(3), unit_bytes: 1000, arrivals }
}

fn udp(bytes: u32, gap: Nanos) -> Datagrams {
    Datagrams { bytes, gap, random: false, on_off: None, flow_each: false }
}

fn one(kind: Kind) -> Network {
    Network { stop_at: Some(Nanos::from_secs(5)), ..dumbbell(1, 3.0, 20, vec![traffic(1, kind)]) }
}

/// Each is rejected, with a message that contains these words.
fn refused(cases: Vec<(&str, Network)>) {
    for (words, network) in cases {
        let error = simulate(&network, "fifo").expect_err(words).to_string();
        assert!(error.contains(words), "'{error}' does not say '{words}'");
    }
}

#[test]
fn a_network_that_contradicts_itself() {
    let sound = one(transfers(1, Arrivals::Together));
    simulate(&sound, "fifo").unwrap();
    let changed = |change: &dyn Fn(&mut Network)| {
        let mut network = sound.clone();
        change(&mut network);
        network
    };
    let nodes = |count: usize| (0..count).map(|node| Node { name: format!("n{node}") }).collect();
    refused(vec![
        ("there are 1025 nodes and 6 directions of links: at most 1024 and 4096", changed(&|n| n.nodes = nodes(1025))),
        ("4097 directions of links", changed(&|n| n.links = vec![n.links[0].clone(); 4097])),
        ("a link is between two different nodes", changed(&|n| n.links[1].to = n.links[1].from)),
        ("a link is between two different nodes", changed(&|n| n.links[1].to = 4)),
        ("no link is watched", changed(&|n| n.watched = 6)),
        ("there is no traffic", changed(&|n| n.traffic.clear())),
        ("stop is at most 10000000s, not 10000001s", changed(&|n| n.stop_at = Some(Nanos::from_secs(10_000_001)))),
        ("from 576 to 65535 bytes, not 575", changed(&|n| n.transport.mtu_bytes = 575)),
        ("from 576 to 65535 bytes, not 65536", changed(&|n| n.transport.mtu_bytes = 65_536)),
        ("from the largest packet to 16 MiB, not 1039 bytes", changed(&|n| n.transport.tcp.receive_bytes = 1039)),
        (
            "from the largest packet to 16 MiB, not 16777217",
            changed(&|n| n.transport.tcp.receive_bytes = (1 << 24) + 1),
        ),
        ("10000001 transfers: at most 10000000", one(transfers(10_000_001, Arrivals::Together))),
        ("nothing here ends on its own: set a time to stop", Network { stop_at: None, ..one(Kind::LongLived(1)) }),
    ]);
}

#[test]
fn traffic_that_contradicts_itself() {
    let sound = one(transfers(1, Arrivals::Together));
    let changed = |change: &dyn Fn(&mut Traffic)| {
        let mut network = sound.clone();
        change(&mut network.traffic[0]);
        network
    };
    let sized = |size, unit_bytes| one(Kind::Transfers { count: 1, size, unit_bytes, arrivals: Arrivals::Together });
    let bursts = Datagrams { on_off: Some((Nanos::ZERO, Nanos::ZERO)), ..udp(100, Nanos(1000)) };
    let datagrams = "datagrams are from 28 to 65535 bytes, with some time between them";
    let rate = "a rate or a load is from 0.000001 to 1000000000";
    let mut cases = vec![
        ("traffic 'web': it needs senders", changed(&|t| t.from.clear())),
        ("and receivers", changed(&|t| t.to.clear())),
        ("a node cannot send to itself", changed(&|t| t.to = t.from.clone())),
        ("both ends are existing nodes", changed(&|t| t.to = vec![4])),
        ("count is at least 1", one(transfers(0, Arrivals::Together))),
        ("count is at least 1", one(Kind::LongLived(0))),
        ("a unit is at least a byte", sized(Size::Fixed(1), 0)),
        ("sizes are from 1 to", sized(Size::Fixed(0), 1)),
        ("sizes are from 1 to 1000000000 bytes", sized(Size::Fixed(1_000_000_001), 1000)),
        (datagrams, one(Kind::Datagrams(udp(27, Nanos(1000))))),
        (datagrams, one(Kind::Datagrams(udp(65_536, Nanos(1000))))),
        (datagrams, one(Kind::Datagrams(udp(100, Nanos::ZERO)))),
        ("a burst has a mean duration over 0", one(Kind::Datagrams(bursts))),
    ];
    for hostile in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
        cases.push((rate, one(transfers(1, Arrivals::PerSecond(hostile)))));
        cases.push((rate, one(transfers(1, Arrivals::Load(hostile)))));
    }
    refused(cases);
}

#[test]
fn there_has_to_be_a_way_there_and_back() {
    let sound = one(transfers(1, Arrivals::Together));
    let without = |link: usize| {
        let mut network = sound.clone();
        network.links.remove(link);
        network
    };
    refused(vec![
        ("there is no path from 'h0' to 'h1': add a link", without(2)),
        ("there is no path from 'h1' to 'h0': add a link", without(3)),
        ("there is no path from 'h1' to 'h0': add a link", without(4)),
    ]);
}

#[test]
fn a_table_that_cannot_be_built() {
    let mut network = one(transfers(1, Arrivals::Together));
    network.links[0].limits.flows = 0;
    let error = simulate(&network, "drr").unwrap_err().to_string();
    assert!(error.contains("flows"), "{error}");
}

#[test]
fn a_capture_that_cannot_be_written() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let options = NetworkOptions { capture: Some(&mut Full), ..NetworkOptions::default() };
    let network = one(transfers(1, Arrivals::Together));
    let error = simulate_network(&network, &"fifo".parse().unwrap(), &mut (), options).unwrap_err().to_string();
    assert!(error.starts_with("the capture cannot be written: "), "{error}");
}

/// The slowest and the fastest link, and the longest delays: nothing overflows, and runs end.
#[test]
fn extreme_links_do_not_panic() {
    let bursts =
        Datagrams { on_off: Some((Nanos::from_millis(1), Nanos::ZERO)), ..udp(65_535, Nanos::from_millis(10)) };
    let kinds = [
        transfers(3, Arrivals::Load(1e9)),
        transfers(3, Arrivals::PerSecond(1e-6)),
        Kind::LongLived(2),
        Kind::Datagrams(udp(65_535, Nanos::MAX)),
        Kind::Datagrams(bursts),
    ];
    let rates = [f64::MIN_POSITIVE, 1e-3, 1.0, 1e15];
    let delays = [Nanos::ZERO, Nanos::from_secs(1), Nanos::from_secs(1_000_000), Nanos::MAX];
    for kind in kinds {
        for rate in rates {
            for delay in delays {
                for policy in ["fifo", "drr", "wfq", "sfq", "tradeoff"] {
                    let mut network = one(kind.clone());
                    // At 10^15 bit/s and without delay, a connection sends a packet every few nanoseconds.
                    let stop_at = if delay == Nanos::ZERO { Nanos::from_micros(10) } else { Nanos::from_secs(5) };
                    network.stop_at = Some(stop_at);
                    for link in &mut network.links {
                        (link.rate, link.delay) = (Rate::from_bps(rate).unwrap(), delay);
                        link.limits = Limits { packets: Some(5), flows: 4, ..Limits::UNLIMITED };
                    }
                    let outcome = simulate(&network, policy).unwrap();
                    assert!(outcome.ended <= stop_at);
                    let link = outcome.link;
                    assert_eq!(link.arrived, link.sent + link.dropped + link.left);
                }
            }
        }
    }
}
