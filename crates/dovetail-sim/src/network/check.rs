//! Validates that the parts of a network fit together, and limits its size.

use std::collections::HashSet;

use dovetail_sched::Nanos;
use dovetail_tcp::Congestion;

use super::{
    error::NetworkError,
    spec::{Arrivals, Asks, Datagrams, Interactive, Kind, LATEST, Link, Network, Requests, Traffic},
    transport::{MAX_JITTER, Protocol, QUIC_MAX_MTU_BYTES, QUIC_MIN_MTU_BYTES, Transport},
};
use crate::workload::clip;

/// The far queue keeps 256 probes: 2.56 seconds of them.
const MIN_PROBE: Nanos = Nanos::from_millis(10);
/// The most connections of a user to the gateway.
const MAX_CONNECTIONS: u32 = 1000;
/// TLS 1.2 takes two round trips, and no version takes more.
const MAX_TLS_ROUND_TRIPS: u8 = 2;
/// The most requests a user has open at once.
const MAX_OPEN_PER_USER: u32 = 10_000;

/// The most nodes, and the most links: routes are a table over pairs of nodes.
pub(super) const MAX_NODES: usize = 1024;
pub(super) const MAX_LINKS: usize = 4096;
/// The most transfers over all traffic, and the most requests: each produces a row.
pub(super) const MAX_TRANSFERS: u64 = 10_000_000;
/// The most unlimited connections of one traffic: a host opens connections from 16,384 ports.
const MAX_LONG_LIVED: u32 = 10_000;
/// The most connections open at once: each has buffers.
#[cfg(feature = "network")]
pub(super) const MAX_OPEN: usize = 1 << 16;
/// The same for QUIC, whose connections take ten times the memory.
#[cfg(feature = "network")]
pub(super) const MAX_OPEN_QUIC: usize = 1 << 14;
/// The largest transfer.
const MAX_TRANSFER_BYTES: f64 = 1e12;

/// What a contradiction is about, for the place that a message names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Whole,
    /// The table `[network]`.
    Hosts,
    Access,
    Traffic(usize),
}

/// Why a network cannot be run, and where it says so.
#[derive(Debug)]
pub(super) struct Contradiction {
    pub(super) part: Part,
    pub(super) why: NetworkError,
}

impl From<Contradiction> for NetworkError {
    fn from(wrong: Contradiction) -> Self {
        wrong.why
    }
}

impl Part {
    pub(super) fn wrong(self, what: impl Into<String>) -> Result<(), Contradiction> {
        Err(Contradiction { part: self, why: NetworkError::Network(what.into()) })
    }
}

impl Traffic {
    /// Whether its parts fit together, in a network of `nodes` nodes.
    pub(super) fn check(&self, nodes: usize) -> Result<(), String> {
        if self.from.is_empty() || self.to.is_empty() {
            return Err("it needs senders and receivers".into());
        }
        if self.from.iter().chain(&self.to).any(|&node| node >= nodes) {
            return Err("both ends are existing nodes".into());
        }
        let mut sends = vec![false; nodes];
        self.from.iter().for_each(|&node| sends[node] = true);
        if self.to.iter().any(|&node| sends[node]) {
            return Err("a node cannot send to itself".into());
        }
        if self.class.is_some() && !matches!(self.kind, Kind::Requests(_)) {
            return Err("only users are of another traffic's class".into());
        }
        if self.stop <= self.start {
            return Err("stop is after start".into());
        }
        match &self.kind {
            Kind::Transfers { count: 0, .. } | Kind::LongLived(0) => Err("count is at least 1".into()),
            Kind::LongLived(flows) if *flows > MAX_LONG_LIVED => {
                Err(format!("long_lived is at most {MAX_LONG_LIVED}, not {flows}"))
            }
            Kind::Transfers { arrivals: Arrivals::PerSecond(rate) | Arrivals::Load(rate), .. }
                if !(1e-6..=1e9).contains(rate) =>
            {
                Err("a rate or a load is from 0.000001 to 1000000000".into())
            }
            Kind::Transfers { unit_bytes: 0, .. } => Err("a unit is at least a byte".into()),
            Kind::Transfers { size, unit_bytes, .. } => size.check(MAX_TRANSFER_BYTES / f64::from(*unit_bytes)),
            Kind::Datagrams(Datagrams { bytes, gap, .. }) if !(28..=65_535).contains(bytes) || gap.0 == 0 => {
                Err("datagrams are from 28 to 65535 bytes, with some time between them".into())
            }
            // Bursts and pauses without duration would never let time advance.
            Kind::Datagrams(Datagrams { on_off: Some((on, _)), .. }) if on.0 == 0 => {
                Err("a burst has a mean duration over 0".into())
            }
            Kind::Interactive(Interactive { gap, keystroke_bytes, echo_bytes })
                if gap.0 == 0 || [keystroke_bytes, echo_bytes].iter().any(|bytes| !(1..=65_535).contains(*bytes)) =>
            {
                Err("keystrokes and echoes are from 1 to 65535 bytes, with some time between them".into())
            }
            Kind::Requests(requests) => requests.check(),
            _ => Ok(()),
        }
    }
}

impl Requests {
    fn check(&self) -> Result<(), String> {
        match self.asks {
            Asks::Kept { each, .. } if !(1..=MAX_OPEN_PER_USER).contains(&each) => {
                return Err(format!("a user keeps from 1 to {MAX_OPEN_PER_USER} requests, not {each}"));
            }
            Asks::PerSecond(rate) | Asks::Load(rate) if !(1e-6..=1e6).contains(&rate) => {
                return Err("a rate or a load is from 0.000001 to 1000000".into());
            }
            _ => {}
        }
        if self.patience == Some(Nanos::ZERO) {
            return Err("patience is longer than nothing".into());
        }
        if self.silent.iter().any(|(from, to)| from >= to) {
            return Err("a silence begins before it ends".into());
        }
        if let Some(upload) = &self.upload {
            upload.check(MAX_TRANSFER_BYTES).map_err(|what| format!("upload: {what}"))?;
        }
        self.size.check(MAX_TRANSFER_BYTES)
    }
}

impl Network {
    /// Whether requests go through a gateway, and no gateway is without requests.
    fn check_access(&self) -> Result<(), Contradiction> {
        let wrong = |what: &str| Part::Access.wrong(what);
        let asked = self.traffic.iter().any(|traffic| matches!(traffic.kind, Kind::Requests(_)));
        let Some(access) = &self.access else {
            return if asked { Part::Whole.wrong("requests need a gateway: add [access]") } else { Ok(()) };
        };
        if !asked {
            return wrong("there is a gateway, but no traffic has requests");
        }
        if access.gateway >= self.nodes.len() || access.provider >= self.nodes.len() {
            return wrong("the gateway and the provider's end are existing nodes");
        }
        if self.links[self.watched].to != access.gateway {
            return wrong("the watched link leads to the gateway");
        }
        if access.probe.is_some_and(|gap| gap < MIN_PROBE) {
            return wrong("probes are 10 ms apart at least");
        }
        // The traffic with requests that stops last counts.
        let asks = |traffic: &&Traffic| matches!(traffic.kind, Kind::Requests(_));
        let stops = self.traffic.iter().filter(asks).map(|traffic| traffic.stop).max();
        let stops = stops.unwrap_or(Nanos::MAX).min(self.over_at());
        if access.warm_up + Nanos::from_secs(1) > stops {
            return wrong("warm_up leaves a second at least before users stop");
        }
        if access.capacity_bytes_per_s.is_some_and(|capacity| !(1.0..=1e12).contains(&capacity)) {
            return wrong("a capacity is from 8 bit/s to 8 Tbit/s");
        }
        if access.uplink.is_some_and(|uplink| !(8.0..=8e12).contains(&uplink.rate.bps())) {
            return wrong("an uplink is from 8 bit/s to 8 Tbit/s");
        }
        if !(1..=self.transport.mtu_bytes).contains(&access.request_bytes) || access.header_bytes > 1 << 20 {
            return wrong("a request is at least a byte and fits a packet, and a header is up to 1 MiB long");
        }
        if access.users.is_some_and(|users| !(1..=MAX_CONNECTIONS).contains(&users.most)) {
            return wrong("a user has from 1 to 1000 connections to the gateway");
        }
        if access.users.is_some_and(|users| !(self.transport.mtu_bytes..=1 << 24).contains(&users.buffer_bytes)) {
            return wrong("the buffer for a user's connection is from the largest packet to 16 MiB");
        }
        if access.servers.tls_round_trips > MAX_TLS_ROUND_TRIPS {
            return wrong("tls_round_trips is 0, 1 or 2");
        }
        let is_class =
            |at: usize| self.traffic.get(at).is_some_and(|traffic| asks(&traffic) && self.class_of(at) == at);
        if let Some(at) = (0..self.traffic.len()).find(|&at| self.class_of(at) != at && !is_class(self.class_of(at))) {
            return self
                .wrong_traffic(at, "a class of users is another traffic with requests, which names no class itself");
        }
        let mut users = HashSet::new();
        for (at, traffic) in self.traffic.iter().enumerate().filter(|(_, traffic)| asks(traffic)) {
            if traffic.from.contains(&access.gateway) {
                return self.wrong_traffic(at, "the gateway is no server");
            }
            if traffic.to.contains(&access.gateway) {
                return self.wrong_traffic(at, "the gateway is no user");
            }
            if let Some(user) = traffic.to.iter().find(|user| !users.insert(**user)) {
                let user = self.nodes.get(*user).map_or("?", |node| &node.name);
                return self.wrong_traffic(at, &format!("'{}' is named twice: every user is of one class", clip(user)));
            }
        }
        Ok(())
    }

    pub(super) fn wrong_traffic(&self, at: usize, what: &str) -> Result<(), Contradiction> {
        Part::Traffic(at).wrong(format!("traffic '{}': {what}", clip(&self.traffic[at].name)))
    }

    /// Whether hosts that run QUIC are used only for what QUIC supports.
    fn check_quic(&self) -> Result<(), Contradiction> {
        let wrong = |what: String| Part::Hosts.wrong(what);
        if self.transport.protocol != Protocol::Quic {
            return Ok(());
        }
        if !cfg!(feature = "quic") {
            return Err(Contradiction { part: Part::Hosts, why: NetworkError::LeftOutQuic });
        }
        if self.access.is_some() {
            return wrong("a gateway relays TCP: hosts with transport = \"quic\" cannot be behind one".into());
        }
        if let Some(typed) = self.traffic.iter().position(|traffic| matches!(traffic.kind, Kind::Interactive(_))) {
            return self.wrong_traffic(typed, "interactive sessions are over TCP, not over QUIC");
        }
        if self.transport.tcp.congestion != Congestion::Reno {
            return wrong(
                "QUIC here has congestion = reno alone: its library's CUBIC and BBR calculate with floats whose last bits \
                 depend on the machine"
                    .into(),
            );
        }
        let (least, most, mtu) = (QUIC_MIN_MTU_BYTES, QUIC_MAX_MTU_BYTES, self.transport.mtu_bytes);
        if !(least..=most).contains(&mtu) {
            return wrong(format!("QUIC's largest packet is from {least} to {most} bytes, not {mtu}: set mtu"));
        }
        Ok(())
    }

    /// Whether all parts fit together.
    pub(super) fn check(&self) -> Result<(), Contradiction> {
        let wrong = |what: String| Part::Whole.wrong(what);
        let wrong_hosts = |what: String| Part::Hosts.wrong(what);
        let (nodes, links) = (self.nodes.len(), self.links.len());
        if nodes > MAX_NODES || links > MAX_LINKS {
            return wrong(format!(
                "there are {nodes} nodes and {links} directions of links: at most {MAX_NODES} and {MAX_LINKS}"
            ));
        }
        if self.links.iter().any(|link| link.from >= nodes || link.to >= nodes || link.from == link.to) {
            return wrong("a link is between two different nodes".into());
        }
        let is_ordered = |link: &Link| link.changes.is_sorted_by(|one, next| one.at < next.at);
        if !self.links.iter().all(is_ordered) {
            return wrong("the changes of a link's rate are in order of time".into());
        }
        if self.links.iter().any(|link| link.changes.last().is_some_and(|last| last.rate.is_none())) {
            return wrong("after its last change a link has a rate".into());
        }
        if self.watched >= links {
            return wrong("no link is watched".into());
        }
        if self.traffic.is_empty() {
            return wrong("there is no traffic".into());
        }
        if self.transfers() > MAX_TRANSFERS {
            return wrong(format!("there are {} transfers: at most {MAX_TRANSFERS}", self.transfers()));
        }
        self.check_access()?;
        if self.transfers() == 0 && self.stop_at.is_none() {
            return wrong_hosts("nothing here ends on its own: set a time to stop".into());
        }
        if let Some(stop) = self.stop_at.filter(|&stop| stop > LATEST) {
            return wrong_hosts(format!("stop is at most {LATEST}, not {stop}"));
        }
        self.check_quic()?;
        let Transport { mtu_bytes, tcp, jitter, .. } = self.transport;
        let window_bytes = tcp.receive_bytes;
        if !(576..=65_535).contains(&mtu_bytes) {
            return wrong_hosts(format!("mtu: the largest packet is from 576 to 65535 bytes, not {mtu_bytes}"));
        }
        if !(mtu_bytes..=1 << 24).contains(&window_bytes) {
            return wrong_hosts(format!("the window is from the largest packet to 16 MiB, not {window_bytes} bytes"));
        }
        if jitter > MAX_JITTER {
            return wrong_hosts(format!("jitter is at most {MAX_JITTER}, not {jitter}"));
        }
        self.traffic
            .iter()
            .enumerate()
            .try_for_each(|(at, traffic)| traffic.check(nodes).or_else(|what| self.wrong_traffic(at, &what)))?;
        self.check_paths()
    }
}
