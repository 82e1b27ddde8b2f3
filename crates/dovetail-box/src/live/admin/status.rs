//! The status that the page shows: the box, CPU and link, interfaces, classes and flows.

use std::{collections::BTreeMap, net::Ipv6Addr, sync::Arc};

use dovetail_sched::{Nanos, Weight, flow::FiveTuple};
use serde::Serialize;

use super::{
    looks::Looks,
    recent::{Recent, Spent},
    sample::Sample,
};
use crate::{
    config::Side,
    live::{AnswerCounters, BusyFlow, ClassCounters, PortCounters, Status, TunnelCounters, WorkerCounters},
    node::Waited,
};

#[derive(Debug, Serialize)]
pub(super) struct Shown {
    version: &'static str,
    /// Age of this status.
    told_s_ago: f64,
    uptime_s: f64,
    policy: String,
    /// Whether there is a token; nothing can be changed without one.
    can_change: bool,
    /// Whether the configuration can be read again.
    can_reload: bool,
    /// The side on which scheduled traffic leaves.
    toward: Option<&'static str>,
    cpu_share: f64,
    workers: Vec<Worker>,
    link_bits_per_s: Option<f64>,
    /// Since the box started, like all sums here.
    cpu_busy_s: f64,
    cpu_blocked_s: f64,
    link_busy_s: f64,
    late_s: f64,
    lapses: u64,
    malformed_frames: u64,
    no_flow_packets: u64,
    /// ICMP errors to senders of dropped packets, by message.
    icmp_errors: BTreeMap<&'static str, IcmpErrors>,
    /// Current values.
    queued_packets: u64,
    queued_bytes: u64,
    flows: usize,
    interfaces: Vec<Interface>,
    /// Tunnels that are decrypted.
    tunnels: Vec<Tunnel>,
    classes: Vec<Class>,
    busiest: Busiest,
    recent: Option<Recent>,
    sample: Option<Sample>,
}

#[derive(Debug, Serialize)]
struct Interface {
    side: &'static str,
    name: String,
    received_frames: u64,
    sent_frames: u64,
    sent_bytes: u64,
    refused_frames: u64,
    missed_frames: u64,
}

#[derive(Debug, Serialize)]
struct Tunnel {
    name: String,
    decrypted_packets: u64,
    dropped_packets: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Serialize)]
struct IcmpErrors {
    sent: u64,
    limited: u64,
}

#[derive(Debug, Serialize)]
struct Worker {
    worked_packets: u64,
    busy_s: f64,
    preempted_packets: u64,
}

#[derive(Debug, Serialize)]
struct Class {
    name: String,
    weight: f64,
    arrived_packets: u64,
    arrived_bytes: u64,
    sent_packets: u64,
    sent_bytes: u64,
    dropped_packets: BTreeMap<&'static str, u64>,
    preempted_packets: u64,
    /// Current values: waiting for the CPU, and for the link.
    queued_packets: u64,
    between_packets: u64,
    spent: Spent,
}

#[derive(Debug, Serialize)]
struct Busiest {
    over_s: f64,
    active_flows: usize,
    flows: Vec<Flow>,
}

#[derive(Debug, Serialize)]
struct Flow {
    /// `None` if the packets are not IP.
    protocol: Option<String>,
    source: Option<String>,
    source_port: Option<u16>,
    destination: Option<String>,
    destination_port: Option<u16>,
    vlan: Option<u16>,
    class: String,
    sent_packets: u64,
    sent_bytes: u64,
    dropped_packets: u64,
    cpu_s: f64,
    link_s: f64,
}

/// Requests that this port permits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Permitted {
    pub(super) changes: bool,
    pub(super) reload: bool,
}

impl Shown {
    pub(super) fn of(status: &Status, now: Nanos, looks: &Looks, permitted: Permitted) -> Self {
        let (figures, oddities) = (&status.figures, &status.oddities);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            told_s_ago: (now - status.at).as_secs_f64(),
            uptime_s: (now - status.started).as_secs_f64(),
            policy: status.policy.clone(),
            can_change: permitted.changes,
            can_reload: permitted.reload,
            toward: status.toward.map(|side| SIDES[side.index()]),
            cpu_share: status.cpu_share,
            workers: status.workers.iter().map(Worker::of).collect(),
            link_bits_per_s: status.link_rate.map(|rate| rate.bps()),
            cpu_busy_s: figures.cpu_busy.as_secs_f64(),
            cpu_blocked_s: figures.cpu_blocked.as_secs_f64(),
            link_busy_s: figures.link_busy.as_secs_f64(),
            late_s: figures.late.as_secs_f64(),
            lapses: oddities.lapses,
            malformed_frames: oddities.malformed,
            no_flow_packets: oddities.no_flow,
            icmp_errors: icmp_errors(status),
            queued_packets: status.backlog.packets,
            queued_bytes: status.backlog.bytes,
            flows: status.flows,
            interfaces: interfaces(status),
            tunnels: status.tunnels.iter().map(Tunnel::of).collect(),
            classes: classes(status),
            busiest: Busiest {
                over_s: status.busiest.over.as_secs_f64(),
                active_flows: status.busiest.active,
                flows: status.busiest.flows.iter().map(Flow::of).collect(),
            },
            recent: looks.recent(),
            sample: looks.samples().back().cloned(),
        }
    }
}

/// Names of the sides, by index.
pub(super) const SIDES: [&str; 2] = {
    assert!(Side::Inside.index() == 0);
    ["inside", "outside"]
};

fn icmp_errors(status: &Status) -> BTreeMap<&'static str, IcmpErrors> {
    let shown = |AnswerCounters { sent, limited }| IcmpErrors { sent, limited };
    status.answers.by_kind().into_iter().map(|(kind, counters)| (kind, shown(counters))).collect()
}

fn interfaces(status: &Status) -> Vec<Interface> {
    let named = SIDES.into_iter().zip(&status.interfaces).zip(&status.ports);
    let interface = |((side, name), counters): ((&'static str, &Arc<str>), &PortCounters)| Interface {
        side,
        name: name.to_string(),
        received_frames: counters.received,
        sent_frames: counters.sent,
        sent_bytes: counters.sent_bytes,
        refused_frames: counters.refused,
        missed_frames: counters.missed,
    };
    named.map(interface).collect()
}

fn classes(status: &Status) -> Vec<Class> {
    let (count, none) = (status.classes.len() as u16, Waited::default());
    let class = |(at, (name, counters)): (usize, &(Arc<str>, ClassCounters))| {
        let number = at as u16;
        Class {
            name: name.to_string(),
            weight: status.weights.get(at).copied().unwrap_or(Weight::ONE).as_f64(),
            arrived_packets: counters.arrived,
            arrived_bytes: counters.arrived_bytes,
            sent_packets: counters.sent,
            sent_bytes: counters.sent_bytes,
            dropped_packets: counters.dropped_by().into_iter().collect(),
            preempted_packets: counters.preempted,
            queued_packets: status.waited.waiting_before_cpu(number),
            between_packets: status.waited.waiting_before_link(number),
            spent: Spent::of(number, count, &status.waited, &none),
        }
    };
    status.classes.iter().enumerate().map(class).collect()
}

impl Tunnel {
    fn of((name, counters): &(Arc<str>, TunnelCounters)) -> Self {
        Self {
            name: name.to_string(),
            decrypted_packets: counters.decrypted,
            dropped_packets: counters.dropped_by().into_iter().collect(),
        }
    }
}

impl Worker {
    fn of(worker: &WorkerCounters) -> Self {
        let WorkerCounters { worked, cpu, preempted } = *worker;
        Self { worked_packets: worked, busy_s: cpu.as_secs_f64(), preempted_packets: preempted }
    }
}

impl Flow {
    fn of(flow: &BusyFlow) -> Self {
        let address = |octets: [u8; 16]| Ipv6Addr::from(octets).to_canonical().to_string();
        let port = |port: u16| (port != 0).then_some(port);
        let tuple = flow.tuple.as_ref();
        Self {
            protocol: tuple.map(protocol),
            source: tuple.map(|tuple| address(tuple.source)),
            source_port: tuple.and_then(|tuple| port(tuple.source_port)),
            destination: tuple.map(|tuple| address(tuple.destination)),
            destination_port: tuple.and_then(|tuple| port(tuple.destination_port)),
            vlan: flow.vlan,
            class: flow.class.to_string(),
            sent_packets: flow.had.sent,
            sent_bytes: flow.had.sent_bytes,
            dropped_packets: flow.had.dropped,
            cpu_s: flow.had.cpu.as_secs_f64(),
            link_s: flow.had.link.as_secs_f64(),
        }
    }
}

/// The name of a common protocol, or its number (IANA's protocol numbers).
fn protocol(tuple: &FiveTuple) -> String {
    match tuple.protocol {
        1 => "icmp".into(),
        6 => "tcp".into(),
        17 => "udp".into(),
        47 => "gre".into(),
        50 => "esp".into(),
        51 => "ah".into(),
        58 => "icmpv6".into(),
        132 => "sctp".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Had;

    #[test]
    fn flows_are_written_as_usual() {
        let v4 = |octets: [u8; 4]| std::net::Ipv4Addr::from(octets).to_ipv6_mapped().octets();
        let tuple = FiveTuple {
            protocol: 17,
            source: v4([10, 0, 0, 1]),
            destination: [0x20; 16],
            source_port: 4500,
            destination_port: 0,
        };
        let flow = BusyFlow { tuple: Some(tuple), vlan: Some(7), class: "vpn".into(), had: Had::default() };
        let shown = Flow::of(&flow);
        assert_eq!((shown.protocol.as_deref(), shown.source.as_deref()), (Some("udp"), Some("10.0.0.1")));
        assert_eq!((shown.source_port, shown.destination_port, shown.vlan), (Some(4500), None, Some(7)));
        assert_eq!(shown.destination.as_deref(), Some("2020:2020:2020:2020:2020:2020:2020:2020"));
        assert_eq!(protocol(&FiveTuple { protocol: 89, ..tuple }), "89");
        let other = Flow::of(&BusyFlow { tuple: None, ..flow });
        assert_eq!((other.protocol, other.source, other.source_port), (None, None, None));
    }
}
