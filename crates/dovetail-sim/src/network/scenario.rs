//! Networks described in TOML. The format's reference is `docs/networks.md`.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use dovetail_sched::{DropPolicy, Limits, Nanos, PolicyError, PolicySpec, Weight};
use serde::{Deserialize, de::IgnoredAny};
use toml::Spanned;

use super::{
    changes::changes,
    check::{Contradiction, MAX_LINKS, MAX_NODES, Part},
    format::{
        AccessForm, CongestionForm, Document, InteractiveForm, LinkForm, Names, NodeForm, RequestsForm, ServersForm,
        TrafficForm, TransfersForm, UdpForm, UsersForm,
    },
    spec::{
        Access, AccessUplink, Arrivals, Asks, Datagrams, Interactive, Kind, Link, Network, Node, Requests,
        ServerConnections, Traffic, UserConnections,
    },
    transport::{Named, Protocol, Transport},
};
use crate::workload::{
    WorkloadError, check_printable, clip,
    input::Bytes,
    written::{self, Pace, Pair, Quantity, read_size},
};

/// Default limit of packets queued at a link: more than the windows of hundreds of connections, so that TCP never reaches it,
/// but finite.
const DEFAULT_BUFFER_PACKETS: Option<u32> = Some(100_000);
/// Default number of flows that a link distinguishes.
const DEFAULT_FLOWS: u32 = 1 << 16;
/// Default interval between probes: ten of 64 bytes a second are 0.3 % of 2 Mbit/s.
const DEFAULT_PROBE: Nanos = Nanos::from_millis(100);
/// Default lengths of a request and of a response's header: as observed in prototypes and in the gateway's testbed.
const DEFAULT_REQUEST_BYTES: u32 = 330;
const DEFAULT_HEADER_BYTES: u32 = 330;
/// Default limit of a user's connections to the gateway: what browsers open to a host.
const DEFAULT_USER_CONNECTIONS: u32 = 6;
/// How long an idle one is kept: like the gateway's own `idle`.
const DEFAULT_USER_IDLE: Nanos = Nanos::from_secs(120);
/// Buffer that the gateway has for each.
const DEFAULT_USER_BUFFER_BYTES: u32 = 64_000;

impl Network {
    /// Whether a TOML text describes a network rather than a workload.
    #[must_use]
    pub fn is_described_by(text: &str) -> bool {
        #[derive(Deserialize)]
        struct Probe {
            network: Option<IgnoredAny>,
        }
        toml::from_str::<Probe>(text).is_ok_and(|probe| probe.network.is_some())
    }

    /// Parses a network. `file` is its name for messages; `open` opens files that it refers to.
    ///
    /// # Errors
    /// [`WorkloadError`], with the line, when the text is not TOML, has keys that the format does not, or contradicts
    /// itself.
    pub fn parse(
        text: &str,
        file: &str,
        open: &mut dyn FnMut(&str) -> io::Result<Bytes>,
    ) -> Result<Self, WorkloadError> {
        let document: Document = dovetail_toml::read(text).map_err(|fault| WorkloadError::of(fault, text, file))?;
        let name = &document.name;
        check_printable(name.get_ref())
            .map_err(|what| WorkloadError::at(text, file, name.span().start, format!("name: {what}")))?;
        let mut nodes = Nodes::default();
        for form in &document.node {
            let declared = nodes.declare(form.get_ref());
            declared.map_err(|what| WorkloadError::at(text, file, form.span().start, format!("node: {what}")))?;
        }
        let mut links = Vec::new();
        let mut watched = None;
        for form in &document.link {
            let wrong = |what: String| WorkloadError::at(text, file, form.span().start, format!("link: {what}"));
            let link = form.get_ref();
            if link.watched && watched.replace(links.len()).is_some() {
                return Err(wrong("another link is watched already".into()));
            }
            nodes.join(link, &mut links).map_err(wrong)?;
        }
        for form in &document.node {
            let name = &form.get_ref().name;
            if nodes.groups[name].iter().any(|member| !nodes.places.contains_key(member)) {
                let what = format!("node: no link names '{}'", clip(name));
                return Err(WorkloadError::at(text, file, form.span().start, what));
            }
        }
        let whole = |what: String| WorkloadError::File { file: file.into(), what };
        let watched = watched.ok_or_else(|| whole("one link is to have watched = true".into()))?;
        let wrong = |form: &Spanned<TrafficForm>, what: String| {
            let name = clip(&form.get_ref().name);
            WorkloadError::at(text, file, form.span().start, format!("traffic '{name}': {what}"))
        };
        let traffic = document.traffic.iter().map(|form| {
            let traffic = nodes.traffic(form, open).map_err(|what| wrong(form, what))?;
            traffic.check(nodes.nodes.len()).map_err(|what| wrong(form, what))?;
            Ok::<_, WorkloadError>(traffic)
        });
        let mut traffic = traffic.collect::<Result<Vec<_>, _>>()?;
        let mut named = HashSet::new();
        if let Some(twice) = document.traffic.iter().find(|form| !named.insert(form.get_ref().name.as_str())) {
            return Err(wrong(twice, "another has the same name".into()));
        }
        for (at, form) in document.traffic.iter().enumerate() {
            let own = form.get_ref();
            let Some(class) = own.requests.as_ref().and_then(|requests| requests.class.as_deref()) else { continue };
            let known = traffic.iter().position(|other| other.name == class);
            let known = known.ok_or_else(|| wrong(form, format!("no traffic is called '{}'", clip(class))))?;
            if own.weight.is_some() {
                return Err(wrong(form, "its weight is that of its class: leave it out".into()));
            }
            traffic[at].weight = traffic[known].weight;
            traffic[at].class = Some(known);
        }
        let access = document.access.as_ref().map(|form| {
            let watched = &links[watched];
            let access = nodes.access(form.get_ref(), watched);
            access.map_err(|what| WorkloadError::at(text, file, form.span().start, format!("access: {what}")))
        });
        let access = access.transpose()?;
        let (hosts, form) = (document.network.span().start, document.network.into_inner().0);
        let network = Self {
            name: document.name.into_inner(),
            description: document.description,
            source: document.source,
            seed: document.seed,
            stop_at: form.stop.as_ref().map(|stop| stop.0),
            nodes: nodes.nodes,
            links,
            watched,
            transport: transport(&form).map_err(|what| WorkloadError::at(text, file, hosts, what))?,
            traffic,
            access,
        };
        network.check().map_err(|Contradiction { part, why }| {
            let at = match part {
                Part::Whole => None,
                Part::Hosts => Some(hosts),
                Part::Access => document.access.as_ref().map(|form| form.span().start),
                Part::Traffic(number) => document.traffic.get(number).map(|form| form.span().start),
            };
            at.map_or_else(|| whole(why.to_string()), |at| WorkloadError::at(text, file, at, why.to_string()))
        })?;
        Ok(network)
    }
}

/// How hosts send: a preset with knobs, and the keys that are given separately.
fn transport(form: &super::format::NetworkForm) -> Result<Transport, String> {
    let bytes = |bytes: &Quantity<written::Bytes>| bytes.0.0.try_into().unwrap_or(u32::MAX);
    let mut transport = Transport::default();
    if let Some(name) = &form.transport {
        let Named { protocol, tcp } = name.parse().map_err(|what| format!("network: transport: {what}"))?;
        (transport.protocol, transport.tcp) = (protocol, tcp);
    }
    if let Some(congestion) = form.congestion {
        transport.tcp.congestion = match congestion {
            CongestionForm::Reno => dovetail_tcp::Congestion::Reno,
            CongestionForm::Cubic => dovetail_tcp::Congestion::Cubic,
            CongestionForm::Bbr => dovetail_tcp::Congestion::Bbr,
        };
    }
    if let Some(window) = &form.window {
        transport.tcp.receive_bytes = bytes(window);
    }
    if form.delayed_ack.is_some() && transport.protocol == Protocol::Quic {
        return Err("network: delayed_ack is TCP's: leave it out with QUIC".into());
    }
    if let Some(delay) = &form.delayed_ack {
        transport.tcp.ack_delay = delay.0;
    }
    if let Some(mtu) = &form.mtu {
        transport.mtu_bytes = bytes(mtu);
    }
    if let Some(jitter) = &form.jitter {
        transport.jitter = jitter.0;
    }
    Ok(transport)
}

/// Nodes by name; links declare the nodes they name.
#[derive(Default)]
struct Nodes {
    nodes: Vec<Node>,
    places: HashMap<String, usize>,
    joined: HashSet<(usize, usize)>,
    // Names that stand for several nodes, and these nodes.
    groups: HashMap<String, Vec<String>>,
}

impl Nodes {
    fn place(&mut self, name: &str) -> Result<usize, String> {
        if name.is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
            return Err("a node's name is 1 to 64 bytes long, without control characters".into());
        }
        Ok(*self.places.entry(name.to_owned()).or_insert_with(|| {
            self.nodes.push(Node { name: name.to_owned() });
            self.nodes.len() - 1
        }))
    }

    /// Declares one name for several nodes.
    fn declare(&mut self, form: &NodeForm) -> Result<(), String> {
        let NodeForm { name, count } = form;
        check_printable(name)?;
        if !(1..=MAX_NODES).contains(count) {
            return Err(format!("count is from 1 to {MAX_NODES}, not {count}"));
        }
        let members = (1..=*count).map(|number| format!("{name}-{number}")).collect();
        match self.groups.insert(name.clone(), members) {
            None => Ok(()),
            Some(_) => Err(format!("'{}' is declared twice", clip(name))),
        }
    }

    /// The nodes that these names stand for.
    fn members(&self, names: &Names) -> Vec<String> {
        let of = |name: &String| self.groups.get(name).cloned().unwrap_or_else(|| vec![name.clone()]);
        names.as_slice().iter().flat_map(of).collect()
    }

    /// Adds both directions of every link that the form stands for. The first is the one that may be watched.
    fn join(&mut self, form: &LinkForm, links: &mut Vec<Link>) -> Result<(), String> {
        let (from, to) = (self.members(&form.between.0), self.members(&form.between.1));
        if form.watched && (from.len() != 1 || to.len() != 1) {
            return Err("a watched link is between one node and one other".into());
        }
        let (packets, bytes) = (form.buffer_packets, form.buffer.as_ref().map(|buffer| buffer.0.0));
        let (packets_back, bytes_back) =
            match (form.buffer_packets_back, form.buffer_back.as_ref().map(|buffer| buffer.0.0)) {
                (None, None) => (packets, bytes),
                back => back,
            };
        if [packets, packets_back].contains(&Some(0)) || [bytes, bytes_back].contains(&Some(0)) {
            return Err("a buffer holds at least a packet".into());
        }
        let mark_packets_back = form.mark_packets_back.or(form.mark_packets);
        if [form.mark_packets, mark_packets_back].contains(&Some(0)) {
            return Err("mark_packets is at least 1".into());
        }
        let flows = form.flows.unwrap_or(DEFAULT_FLOWS);
        if !(1..=Limits::UNLIMITED.flows).contains(&flows) {
            return Err(format!("flows is from 1 to {}", Limits::UNLIMITED.flows));
        }
        let limits = |packets: Option<u32>, bytes: Option<u64>| Limits {
            packets: packets.or(DEFAULT_BUFFER_PACKETS.filter(|_| bytes.is_none())),
            bytes,
            flows,
            on_full: DropPolicy::Tail,
            ..Limits::UNLIMITED
        };
        let policy: PolicySpec = form
            .policy
            .as_deref()
            .unwrap_or("fifo")
            .parse()
            .map_err(|error: PolicyError| match error {
                PolicyError::OrdersOther { name, .. } => format!(
                    "'{name}' orders requests at a gateway, not packets on a link: compare it in a network with [access]"
                ),
                error => error.to_string(),
            })?;
        let [changes, changes_back] = changes(form)?;
        let there = Link {
            from: 0,
            to: 0,
            rate: form.rate.0,
            changes,
            delay: form.delay.as_ref().map_or(Nanos::ZERO, |delay| delay.0),
            policy,
            limits: limits(packets, bytes),
            mark_packets: form.mark_packets,
        };
        let back = Link {
            rate: form.back(),
            changes: changes_back,
            limits: limits(packets_back, bytes_back),
            mark_packets: mark_packets_back,
            ..there.clone()
        };
        for from in &from {
            for to in &to {
                if links.len() + 2 > MAX_LINKS {
                    return Err(format!("with it there are over {MAX_LINKS} links, each direction counted"));
                }
                let (from, to) = (self.place(from)?, self.place(to)?);
                let name = |node: usize| &self.nodes[node].name;
                if from == to {
                    return Err(format!("'{}' is at both ends", clip(name(from))));
                }
                // Of two links between the same nodes, one would never be used.
                if !self.joined.insert((from.min(to), from.max(to))) {
                    let (from, to) = (clip(name(from)), clip(name(to)));
                    return Err(format!("there is a link between '{from}' and '{to}' already"));
                }
                links.push(Link { from, to, ..there.clone() });
                links.push(Link { from: to, to: from, ..back.clone() });
            }
        }
        Ok(())
    }

    /// The gateway; `watched` is the link that leads to it.
    fn access(&self, form: &AccessForm, watched: &Link) -> Result<Access, String> {
        let named = self.places.get(&form.gateway).copied();
        let gateway = named.ok_or_else(|| format!("no link names a node '{}'", clip(&form.gateway)))?;
        if watched.to != gateway {
            return Err(format!("the watched link is to be written from the provider to '{}'", clip(&form.gateway)));
        }
        let bytes = |bytes: Option<&Quantity<written::Bytes>>, default: u32| {
            bytes.map_or(default, |bytes| bytes.0.0.try_into().unwrap_or(u32::MAX))
        };
        if form.uplink.is_none() && form.uplink_learn == Some(true) {
            return Err("uplink_learn needs uplink, the rate that is never exceeded".into());
        }
        Ok(Access {
            gateway,
            provider: watched.from,
            capacity_bytes_per_s: form.capacity.as_ref().map(|rate| rate.0.bps() / 8.0),
            probe: Some(form.probe.as_ref().map_or(DEFAULT_PROBE, |probe| probe.0)).filter(|&gap| gap > Nanos::ZERO),
            request_bytes: bytes(form.request.as_ref(), DEFAULT_REQUEST_BYTES),
            header_bytes: bytes(form.header.as_ref(), DEFAULT_HEADER_BYTES),
            tells_length: form.tells_length.unwrap_or(true),
            sees_end: form.sees_end.unwrap_or(false),
            warm_up: form.warm_up.as_ref().map_or(Nanos::ZERO, |warm_up| warm_up.0),
            uplink: form
                .uplink
                .as_ref()
                .map(|rate| AccessUplink { rate: rate.0, learns: form.uplink_learn.unwrap_or(true) }),
            users: form.users.as_deref().map(users).transpose()?,
            servers: form.servers.as_deref().map(servers).transpose()?.unwrap_or_default(),
        })
    }

    fn traffic(
        &self,
        form: &Spanned<TrafficForm>,
        open: &mut dyn FnMut(&str) -> io::Result<Bytes>,
    ) -> Result<Traffic, String> {
        let form = form.get_ref();
        let known = |names: &Names| {
            let place = |name: &String| {
                let place = self.places.get(name).copied();
                place.ok_or_else(|| format!("no link names a node '{}'", clip(name)))
            };
            self.members(names).iter().map(place).collect::<Result<Vec<_>, _>>()
        };
        let kind = match (&form.transfers, form.long_lived, &form.udp, &form.interactive, &form.requests) {
            (Some(transfers), None, None, None, None) => self::transfers(transfers, open)?,
            (None, Some(flows), None, None, None) => Kind::LongLived(flows),
            (None, None, Some(udp), None, None) => Kind::Datagrams(datagrams(udp)?),
            (None, None, None, Some(typed), None) => Kind::Interactive(interactive(typed)?),
            (None, None, None, None, Some(asked)) => Kind::Requests(requests(asked, open)?),
            _ => return Err("it has one of transfers, long_lived, udp, interactive and requests".into()),
        };
        check_printable(&form.name).map_err(|what| format!("name: {what}"))?;
        if form.name.is_empty() {
            return Err("a name is not empty".into());
        }
        let weight = form.weight.unwrap_or(1.0);
        Ok(Traffic {
            name: form.name.clone(),
            weight: Weight::new(weight).ok_or_else(|| format!("weight is from 0.000001 to 1000000, not {weight}"))?,
            class: None,
            from: known(&form.from)?,
            to: known(&form.to)?,
            start: form.start.as_ref().map_or(Nanos::ZERO, |start| start.0),
            stop: form.stop.as_ref().map_or(Nanos::MAX, |stop| stop.0),
            kind,
        })
    }
}

/// How long idle connections are kept.
fn kept(reuse: Option<bool>, idle: Option<&Quantity<Nanos>>, default: Nanos) -> Result<Nanos, String> {
    match (reuse.unwrap_or(true), idle) {
        (true, idle) => Ok(idle.map_or(default, |idle| idle.0)),
        (false, None) => Ok(Nanos::ZERO),
        (false, Some(_)) => Err("idle is of connections that are used again: leave it out, or reuse".into()),
    }
}

fn users(form: &UsersForm) -> Result<UserConnections, String> {
    let bytes = |bytes: &Quantity<written::Bytes>| bytes.0.0.try_into().unwrap_or(u32::MAX);
    Ok(UserConnections {
        most: form.connections.unwrap_or(DEFAULT_USER_CONNECTIONS),
        idle: kept(form.reuse, form.idle.as_ref(), DEFAULT_USER_IDLE).map_err(|what| format!("users: {what}"))?,
        buffer_bytes: form.buffer.as_ref().map_or(DEFAULT_USER_BUFFER_BYTES, bytes),
    })
}

fn servers(form: &ServersForm) -> Result<ServerConnections, String> {
    let default = ServerConnections::default();
    Ok(ServerConnections {
        idle: kept(form.reuse, form.idle.as_ref(), default.idle).map_err(|what| format!("servers: {what}"))?,
        tls_round_trips: form.tls_round_trips.unwrap_or(default.tls_round_trips),
    })
}

fn transfers(form: &TransfersForm, open: &mut dyn FnMut(&str) -> io::Result<Bytes>) -> Result<Kind, String> {
    let arrivals = match (form.load, &form.rate) {
        (Some(load), None) => Arrivals::Load(load),
        (None, Some(rate)) => match rate.0 {
            Pace::PerSecond(rate) => Arrivals::PerSecond(rate),
            Pace::Bits(_) => return Err("transfers: rate is a number per second, such as \"20/s\"".into()),
        },
        (None, None) => Arrivals::Together,
        _ => return Err("transfers: load or rate, not both".into()),
    };
    let unit = form.unit.as_ref().map_or(1, |unit| unit.0.0);
    Ok(Kind::Transfers {
        count: form.count,
        size: read_size(&form.size, open).map_err(|what| format!("size: {what}"))?,
        unit_bytes: u32::try_from(unit).map_err(|_| "a unit is under 4 GiB")?,
        arrivals,
    })
}

fn requests(form: &RequestsForm, open: &mut dyn FnMut(&str) -> io::Result<Bytes>) -> Result<Requests, String> {
    let asks = match (form.each, &form.rate, form.load) {
        (Some(each), None, None) => {
            Asks::Kept { each, think: form.think.as_ref().map_or(Nanos::ZERO, |think| think.0) }
        }
        (None, Some(_), None) | (None, None, Some(_)) if form.think.is_some() => {
            return Err("requests: think needs a number of requests to keep: add each".into());
        }
        (None, None, Some(load)) => Asks::Load(load),
        (None, Some(rate), None) => match rate.0 {
            Pace::PerSecond(rate) => Asks::PerSecond(rate),
            Pace::Bits(_) => return Err("requests: rate is a number per second, such as \"2/s\"".into()),
        },
        _ => return Err("requests: one of each, rate and load".into()),
    };
    let upload = form.upload.as_ref().map(|upload| read_size(upload, open));
    Ok(Requests {
        asks,
        size: read_size(&form.size, open).map_err(|what| format!("size: {what}"))?,
        upload: upload.transpose().map_err(|what| format!("upload: {what}"))?,
        patience: form.patience.as_ref().map(|patience| patience.0),
        silent: form.silent.iter().map(|Pair(from, to)| (from.0, to.0)).collect(),
    })
}

fn interactive(form: &InteractiveForm) -> Result<Interactive, String> {
    let Pace::PerSecond(rate) = form.rate.0 else {
        return Err("interactive: rate is a number per second, such as \"5/s\"".into());
    };
    let [keystroke_bytes, echo_bytes] =
        [&form.keystroke, &form.echo].map(|bytes| u32::try_from(bytes.0.0).unwrap_or(u32::MAX));
    Ok(Interactive { gap: Nanos::from_f64(1e9 / rate), keystroke_bytes, echo_bytes })
}

fn datagrams(form: &UdpForm) -> Result<Datagrams, String> {
    let bytes = u32::try_from(form.bytes.0.0).unwrap_or(u32::MAX);
    let gap_ns = match form.rate.0 {
        Pace::PerSecond(rate) => 1e9 / rate,
        Pace::Bits(rate) => rate.nanos_for(f64::from(bytes)),
    };
    let on_off = match (&form.on, &form.off) {
        (None, None) => None,
        (Some(on), Some(off)) if on.0 > Nanos::ZERO => Some((on.0, off.0)),
        _ => return Err("udp: on and off are given together, and on is over 0".into()),
    };
    Ok(Datagrams { bytes, gap: Nanos::from_f64(gap_ns), random: form.random, on_off, flow_each: form.flow_each })
}
