//! All results of a run: observed, in a capture, and in its outcome.

#![allow(clippy::unwrap_used, dead_code)]

use std::collections::BTreeMap;

use dovetail_sched::{FlowId, Nanos, Packet, Weight};
use dovetail_sim::{
    Observer, Passage, Profile,
    network::{
        AccessOutcome, Contender, Network, NetworkError, NetworkOptions, NetworkOutcome, simulate_access,
        simulate_network,
    },
};

/// A packet that crossed the watched link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub handle: u64,
    pub flow: FlowId,
    pub bytes: u32,
    pub arrival: Nanos,
    pub begun: Nanos,
    pub ends: Nanos,
}

/// What the observer of the watched link recorded.
#[derive(Debug, Default)]
pub struct Watch {
    /// Label, class and weight of every flow that appeared, in order.
    pub appeared: Vec<(String, String, Weight)>,
    /// Arrivals by handle.
    pub arrived: BTreeMap<u64, Nanos>,
    pub sent: Vec<Sent>,
    pub dropped: Vec<(u64, Nanos)>,
}

impl Observer for Watch {
    fn appeared(&mut self, _: FlowId, profile: &Profile<'_>) {
        let class = profile.class.unwrap().to_string();
        self.appeared.push((profile.label.to_string(), class, profile.weight));
    }
    fn arrived(&mut self, packet: &Packet) {
        assert!(self.arrived.insert(packet.handle, packet.arrival).is_none(), "a handle came twice");
    }
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.dropped.push((packet.handle, now));
    }
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        self.sent.push(Sent {
            handle: packet.handle,
            flow: packet.flow,
            bytes: packet.bytes,
            arrival: packet.arrival,
            begun: passage.start()[0],
            ends: passage.done(),
        });
    }
}

/// A run with all observations.
pub struct Run {
    pub outcome: NetworkOutcome,
    pub watch: Watch,
    pub capture: Vec<u8>,
}

pub fn run(network: &Network, policy: &str) -> Run {
    let policy = policy.parse().unwrap();
    watched(|watch, options| simulate_network(network, &policy, watch, options))
}

/// What happened to the users behind a gateway.
pub fn access(run: &Run) -> &AccessOutcome {
    run.outcome.access.as_ref().unwrap()
}

/// A run with this contender at the gateway.
pub fn run_access(network: &Network, gateway: &str) -> Run {
    let gateway: Contender = gateway.parse().unwrap();
    watched(|watch, options| simulate_access(network, &gateway, watch, options))
}

fn watched(simulate: impl FnOnce(&mut Watch, NetworkOptions<'_>) -> Result<NetworkOutcome, NetworkError>) -> Run {
    let (mut watch, mut capture) = (Watch::default(), Vec::new());
    let options = NetworkOptions { capture: Some(&mut capture), ..NetworkOptions::default() };
    let outcome = simulate(&mut watch, options).unwrap();
    Run { outcome, watch, capture }
}

/// A transfer or stream as text, with all fields.
pub fn lines(outcome: &NetworkOutcome) -> String {
    let transfers = outcome.transfers.iter().map(|transfer| format!("{transfer:?}\n"));
    transfers.chain(outcome.streams.iter().map(|stream| format!("{stream:?}\n"))).collect()
}

/// Nothing is lost unaccounted, and the transmitter sends one packet at a time and never idles while one waits.
///
/// The latter holds for work-conserving policies only.
pub fn check_books(run: &Run) -> Result<(), String> {
    let Run { outcome, watch, .. } = run;
    let link = &outcome.link;
    let equal = |what: &str, left: u64, right: u64| {
        if left == right { Ok(()) } else { Err(format!("{what}: {left} and {right}")) }
    };
    equal("arrived = sent + dropped + left", link.arrived, link.sent + link.dropped + link.left)?;
    equal("arrivals seen, but for those of no known flow", link.arrived - outcome.unknown, watch.arrived.len() as u64)?;
    equal("packets seen sent", link.sent, watch.sent.len() as u64)?;
    equal("drops seen, but for those of no known flow", link.dropped - outcome.unknown, watch.dropped.len() as u64)?;
    let of_all = |what: fn(u64, u64) -> u64| {
        let transfers = outcome.transfers.iter().map(|transfer| what(transfer.packets, transfer.dropped));
        let streams = outcome.streams.iter().map(|stream| what(stream.packets, stream.dropped));
        transfers.chain(streams).sum::<u64>()
    };
    equal("packets of transfers and streams", of_all(|packets, _| packets), link.arrived)?;
    equal("drops of transfers and streams", of_all(|_, dropped| dropped), link.dropped)?;
    if let Some(pair) = watch.sent.windows(2).find(|pair| pair[1].begun < pair[0].ends) {
        return Err(format!("two packets on the transmitter: {pair:?}"));
    }
    let mut gaps: Vec<_> = watch.sent.windows(2).map(|pair| (pair[0].ends, pair[1].begun)).collect();
    gaps.extend(watch.sent.last().map(|last| (last.ends, outcome.ended)));
    // A policy that follows a fluid may request the next whole nanosecond.
    gaps.retain(|&(from, to)| from + Nanos(1) < to);
    let mut gone: BTreeMap<u64, Nanos> = watch.dropped.iter().copied().collect();
    gone.extend(watch.sent.iter().map(|sent| (sent.handle, sent.begun)));
    for (handle, &from) in &watch.arrived {
        let to = gone.get(handle).copied().unwrap_or(outcome.ended);
        let next = gaps.get(gaps.partition_point(|gap| gap.1 <= from));
        if let Some(gap) = next.filter(|gap| gap.0 < to && from < to) {
            return Err(format!("packet {handle} waited from {from} to {to}, and nothing was sent in {gap:?}"));
        }
    }
    Ok(())
}
