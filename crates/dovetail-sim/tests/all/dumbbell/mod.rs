//! A dumbbell network and its traffic.

#![allow(clippy::unwrap_used, dead_code)]

use dovetail_sched::{DropPolicy, Limits, Nanos, PolicySpec, Weight, units::Rate};
use dovetail_sim::network::{Kind, Link, Network, Node, Traffic, Transport};

/// Sources s0.. and sinks c0.. on either side of two routers, with a queue of `buffer` packets for the link between them.
pub fn dumbbell(hosts: usize, bottleneck_mbps: f64, buffer: u32, traffic: Vec<Traffic>) -> Network {
    let fifo: PolicySpec = "fifo".parse().unwrap();
    let mut nodes = vec![Node { name: "r1".into() }, Node { name: "r0".into() }];
    let link = |from, to, mbps: f64, delay_ms, packets| Link {
        from,
        to,
        rate: Rate::from_bps(mbps * 1e6).unwrap(),
        changes: [].into(),
        delay: Nanos::from_millis(delay_ms),
        policy: fifo.clone(),
        limits: Limits { packets, flows: 65_536, on_full: DropPolicy::Tail, ..Limits::UNLIMITED },
        mark_packets: None,
    };
    let mut links = vec![link(0, 1, bottleneck_mbps, 30, Some(buffer)), link(1, 0, bottleneck_mbps, 30, Some(buffer))];
    for host in 0..2 * hosts {
        let (node, router) = (2 + host, host / hosts);
        nodes.push(Node { name: format!("h{host}") });
        links.push(link(node, router, 10.0, 10, None));
        links.push(link(router, node, 10.0, 10, None));
    }
    Network {
        name: "dumbbell".into(),
        description: String::new(),
        source: String::new(),
        seed: 1,
        stop_at: None,
        nodes,
        links,
        watched: 0,
        transport: Transport { mtu_bytes: 1040, ..Transport::default() },
        traffic,
        access: None,
    }
}

/// Traffic from the sources to the sinks of a [`dumbbell`] with `hosts` hosts per side.
pub fn traffic(hosts: usize, kind: Kind) -> Traffic {
    Traffic {
        name: "web".into(),
        weight: Weight::ONE,
        class: None,
        from: (2..2 + hosts).collect(),
        to: (2 + hosts..2 + 2 * hosts).collect(),
        start: Nanos::ZERO,
        stop: Nanos::MAX,
        kind,
    }
}
