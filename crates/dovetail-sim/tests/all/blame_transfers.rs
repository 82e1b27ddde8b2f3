//! Attribution of transfers' time, checked by a replay of the watched link's packets.

use std::collections::BTreeMap;

use dovetail_sched::{FlowId, Nanos, Packet, PolicySpec};
use dovetail_sim::{
    Observer, Passage, Profile,
    blame::{Explanation, HELD, ON_ITS_WAY, RECOVERING, STALLED, Selection, TransferBlame, WITHOUT_FLOW},
    network::{Arrivals, Kind, Network, NetworkOptions, NetworkOutcome, simulate_network},
    workload::Size,
};

use crate::dumbbell::{dumbbell, traffic};

/// When a packet was queued at the link, and when it was sent, unless it was dropped.
#[derive(Debug, Clone, Copy)]
struct Stay {
    came: Nanos,
    gone: Nanos,
    on_link: Option<(Nanos, Nanos)>,
}

/// Packets by flow, and each flow's class; flows in order of appearance.
#[derive(Default)]
struct Stays {
    classes: Vec<String>,
    of_flow: BTreeMap<FlowId, usize>,
    stays: Vec<Vec<Stay>>,
}

impl Stays {
    fn of(&mut self, packet: &Packet) -> &mut Vec<Stay> {
        &mut self.stays[self.of_flow[&packet.flow]]
    }
}

impl Observer for Stays {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        self.of_flow.insert(flow, self.classes.len());
        self.classes.push(profile.class.expect("traffic has a name").to_owned());
        self.stays.push(Vec::new());
    }
    fn arrived(&mut self, _: &Packet) {}
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.of(packet).push(Stay { came: packet.arrival, gone: now, on_link: None });
    }
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let (start, end) = (passage.start()[0], passage.end()[0]);
        self.of(packet).push(Stay { came: packet.arrival, gone: start, on_link: Some((start, end)) });
    }
}

/// Transfers of two kinds and an unlimited connection, over a link with a small buffer.
fn network() -> Network {
    let transfers = |name: &str, size| {
        let kind = Kind::Transfers { count: 40, size, unit_bytes: 1000, arrivals: Arrivals::PerSecond(4.0) };
        let mut traffic = traffic(2, kind);
        traffic.name = name.into();
        traffic
    };
    let mut bulk = traffic(2, Kind::LongLived(1));
    bulk.name = "bulk".into();
    let mut network = dumbbell(
        2,
        3.0,
        12,
        vec![transfers("pages", Size::Uniform(1, 20)), transfers("files", Size::Uniform(20, 80)), bulk],
    );
    network.stop_at = Some(Nanos::from_secs(60));
    network
}

fn run(network: &Network, policy: &str, selection: Selection) -> (Stays, NetworkOutcome, Explanation) {
    let policy: PolicySpec = policy.parse().expect("a policy");
    let (mut stays, mut blame) = (Stays::default(), TransferBlame::new(selection, 1000));
    let options = NetworkOptions { blame: Some(&mut blame), ..NetworkOptions::default() };
    let outcome = simulate_network(network, &policy, &mut stays, options).expect("runs");
    (stays, outcome, blame.finish())
}

/// Merges spans that touch or overlap.
fn union(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

fn overlap(one: &[(u64, u64)], other: &[(u64, u64)]) -> u64 {
    one.iter().flat_map(|a| other.iter().map(move |b| a.1.min(b.1).saturating_sub(a.0.max(b.0)))).sum()
}

#[test]
fn a_transfer_s_parts_are_what_a_replay_of_the_link_finds() {
    let network = network();
    for policy in ["fifo", "drr", "las", "drr-sff"] {
        let (stays, outcome, explanation) = run(&network, policy, Selection::All);
        assert!(outcome.link.dropped > 20, "{policy}: nothing was put to the test");
        let ended = outcome.transfers.iter().filter(|transfer| transfer.ended.is_some()).count();
        assert!(ended > 60, "{policy}: {ended}");
        assert_eq!(explanation.slowest.len(), ended, "{policy}");
        let lasted: Vec<u64> = (0..stays.stays.len())
            .map(|flow| stays.stays[flow].iter().map(|stay| stay.gone.0).max().unwrap_or(0))
            .collect();
        let column = |class: &str| {
            explanation.columns.iter().position(|column| column.class.as_deref() == Some(class)).expect("a column")
        };
        let (mut recovering, mut behind_bulk) = (0, 0);
        for told in &explanation.slowest {
            let transfer = &outcome.transfers[told.packet as usize];
            let life = (transfer.begun.0, transfer.ended.expect("it ended").0);
            assert_eq!(told.latency.0, life.1 - life.0);
            let sum = told.own[0].0 + told.causes.iter().map(|cause| cause.0).sum::<u64>();
            assert_eq!(sum, told.latency.0, "{policy}: transfer {}", told.packet);
            // Its flow: the transfers of its class reached the link in the order in which they began.
            let same = |at: &usize| stays.classes[*at] == network.traffic[transfer.traffic].name;
            let rank =
                outcome.transfers[..told.packet as usize].iter().filter(|t| t.traffic == transfer.traffic).count();
            let flow = (0..stays.classes.len()).filter(same).nth(rank).expect("its flow");
            assert!(lasted[flow] >= life.0, "the flow is another's");
            let clip = |from: Nanos, to: Nanos| (from.0.clamp(life.0, life.1), to.0.clamp(life.0, life.1));
            let on_link: Vec<_> =
                stays.stays[flow].iter().filter_map(|stay| stay.on_link).map(|(a, b)| clip(a, b)).collect();
            let own: u64 = on_link.iter().map(|(from, to)| to - from).sum();
            assert_eq!(told.own[0].0, own, "{policy}: transfer {}", told.packet);
            let waits = union(stays.stays[flow].iter().map(|stay| clip(stay.came, stay.gone)).collect());
            let mut waited: u64 = waits.iter().map(|(from, to)| to - from).sum();
            waited -= overlap(&waits, &on_link);
            for (traffic, name) in network.traffic.iter().map(|traffic| traffic.name.as_str()).enumerate() {
                let others: Vec<_> = (0..stays.classes.len())
                    .filter(|&at| at != flow && stays.classes[at] == name)
                    .flat_map(|at| stays.stays[at].iter().filter_map(|stay| stay.on_link))
                    .map(|(from, to)| (from.0, to.0))
                    .collect();
                let behind = overlap(&waits, &others);
                assert_eq!(told.causes[column(name)].0, behind, "{policy}: transfer {} behind {traffic}", told.packet);
                waited -= behind;
            }
            assert_eq!((told.causes[HELD].0, told.causes[STALLED].0), (waited, 0), "{policy}: {}", told.packet);
            // Only a transfer that lost a packet recovers, and even alone it takes one and a half round trips through the
            // network.
            let lost = stays.stays[flow].iter().any(|stay| stay.on_link.is_none());
            assert!(lost || told.causes[RECOVERING] == Nanos::ZERO, "{policy}: transfer {}", told.packet);
            assert!(told.causes[ON_ITS_WAY] >= Nanos::from_millis(100), "{policy}: transfer {}", told.packet);
            recovering += told.causes[RECOVERING].0;
            behind_bulk += told.causes[column("bulk")].0;
        }
        assert!(recovering > 0 && behind_bulk > 0, "{policy}: {recovering} {behind_bulk}");
        assert_eq!(explanation.selected.packets, ended as u64);
        assert_eq!(explanation.selected.left, outcome.transfers.len() as u64 - ended as u64);
        let rows: u64 = explanation.rows[WITHOUT_FLOW..].iter().map(|row| row.packets).sum();
        assert_eq!(rows, ended as u64);
    }
}

#[test]
fn who_looks_changes_nothing() {
    let network = network();
    let policy: PolicySpec = "drr".parse().expect("a policy");
    let plain = simulate_network(&network, &policy, &mut (), NetworkOptions::default()).expect("runs");
    assert_eq!(run(&network, "drr", Selection::All).1.transfers, plain.transfers);
}

#[test]
fn a_class_or_one_transfer_is_selected() {
    let network = network();
    let (_, outcome, explanation) = run(&network, "fifo", Selection::Class("files".into()));
    let files = outcome.transfers.iter().filter(|transfer| transfer.traffic == 1 && transfer.ended.is_some()).count();
    assert_eq!(explanation.selected.packets, files as u64);
    let (_, outcome, explanation) = run(&network, "fifo", Selection::Packet(3));
    assert_eq!(explanation.slowest[0].latency, outcome.transfers[3].took().expect("it ended"));
    assert_eq!(explanation.selected.packets, 1);
}
