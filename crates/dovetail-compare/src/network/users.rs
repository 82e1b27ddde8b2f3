//! Results of users behind a gateway.

use dovetail_sched::{FlowId, Nanos, Packet};
use dovetail_sim::{
    Observer, Passage, Profile,
    network::{AccessOutcome, Asks, Exchange, Kind, Link, Network, NetworkOutcome, Traffic},
};
use dovetail_stats::{Durations, Quantile};
use serde::Serialize;

use super::times::split;
use crate::table::{figure, megabits};

/// Bytes sent by the watched link, second by second.
#[derive(Debug, Clone, Default)]
pub struct LinkLoad {
    sent_bytes: Vec<u64>,
    sent: u64,
    waited_s: f64,
}

impl LinkLoad {
    /// The utilisation of this link, from second `from` to before second `to`.
    pub fn utilisation(&self, link: &Link, from: usize, to: usize) -> f64 {
        let bytes: u64 = (from..to).filter_map(|second| self.sent_bytes.get(second)).sum();
        let bits = link.bits_between(Nanos::from_secs(from as u64), Nanos::from_secs(to as u64));
        if bits > 0.0 { bytes as f64 * 8.0 / bits } else { 0.0 }
    }

    /// Mean waiting time of packets in the link's queue.
    pub fn mean_wait_s(&self) -> f64 {
        self.waited_s / self.sent.max(1) as f64
    }
}

impl Observer for LinkLoad {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}

    fn arrived(&mut self, _: &Packet) {}

    fn dropped(&mut self, _: &Packet, _: Nanos) {}

    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let Some(&start) = passage.start().first() else { return };
        let second = (start.0 / 1_000_000_000) as usize;
        self.sent += 1;
        self.waited_s += (start - packet.arrival).as_secs_f64();
        if second >= self.sent_bytes.len() {
            self.sent_bytes.resize(second + 1, 0);
        }
        self.sent_bytes[second] += u64::from(packet.bytes);
    }
}

/// Responses longer than this are long.
pub const LONG_BYTES: u64 = 200_000;

/// Results of users in one run, for requests that they wanted after the warm-up.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// For all requests.
    #[serde(flatten)]
    pub all: Latency,
    /// Mean for responses over [`LONG_BYTES`].
    pub long_mean_s: Option<f64>,
    /// Whether that is a lower bound.
    pub long_mean_at_least: bool,
    /// Utilisation of the link while users sent requests.
    pub utilisation: f64,
    /// Fraction of packets dropped by the link's buffer.
    pub dropped: f64,
    /// Probes of the far queue without an answer.
    pub lost_probes: u64,
    /// Connections opened by the gateway.
    pub connections: u64,
    /// Results by class.
    pub classes: Vec<ClassFigures>,
}

/// Results of the users of a class.
#[derive(Debug, Clone, Serialize)]
pub struct ClassFigures {
    /// Its name.
    pub class: String,
    /// Its weight.
    pub weight: f64,
    /// Number of its users.
    pub users: usize,
    /// Rate while users sent requests, including headers.
    pub kbps: f64,
    /// For its requests.
    #[serde(flatten)]
    pub latency: Latency,
}

/// From the moment a response is wanted to its last byte. Unanswered requests last until cancelled, or the run's end.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Latency {
    /// Number of requests counted.
    pub requests: u64,
    /// Not answered by the end.
    pub unfinished: u64,
    /// Cancelled.
    pub cancelled: u64,
    /// The mean.
    pub mean_s: Option<f64>,
    /// The median.
    pub median_s: Option<f64>,
    /// The 99th percentile.
    pub p99_s: Option<f64>,
    /// The longest.
    pub max_s: Option<f64>,
    /// Which of these are lower bounds because of unanswered requests.
    pub at_least: LatencyAtLeast,
    /// Mean time that answered requests were queued before their release.
    pub queued_s: Option<f64>,
}

/// Which latencies are lower bounds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct LatencyAtLeast {
    /// The mean.
    pub mean_s: bool,
    /// The median.
    pub median_s: bool,
    /// The 99th percentile.
    pub p99_s: bool,
    /// The longest.
    pub max_s: bool,
}

/// Describes in a sentence which users request how much through which link.
pub fn setting(network: &Network) -> String {
    let asks = |traffic: &Traffic| match &traffic.kind {
        Kind::Requests(requests) => {
            let how = match requests.asks {
                Asks::Kept { each, think } if think.0 > 0 => format!("{each} requests each, {think} to think"),
                Asks::Kept { each, .. } => format!("{each} requests each"),
                Asks::PerSecond(rate) => format!("{} requests a second each", figure(rate)),
                Asks::Load(load) => format!("a load of {}", figure(load)),
            };
            let users = traffic.to.len();
            let noun = if users == 1 { "user" } else { "users" };
            Some(format!("{users} {noun} of {} (weight {}, {how})", traffic.name, traffic.weight.as_f64()))
        }
        _ => None,
    };
    let traffic: Vec<String> = network.traffic.iter().filter_map(asks).collect();
    format!(
        "{}: {}; a downlink of {} Mbit/s",
        network.name,
        traffic.join(", "),
        megabits(network.links[network.watched].rate.bps() / 1e6)
    )
}

/// The seconds from the warm-up to the last requests.
pub fn asking(network: &Network, outcome: &NetworkOutcome) -> (usize, usize) {
    let warm_up = network.access.as_ref().map_or(Nanos::ZERO, |access| access.warm_up);
    let asks = |kind: &Kind| matches!(kind, Kind::Requests(_));
    let stop = network.traffic.iter().filter(|traffic| asks(&traffic.kind)).map(|traffic| traffic.stop).max();
    let second = |time: Nanos| (time.0 / 1_000_000_000) as usize;
    (second(warm_up), second(stop.unwrap_or(Nanos::MAX).min(outcome.ended)))
}

impl Figures {
    /// The figures of a run over a network.
    pub fn of(network: &Network, outcome: &NetworkOutcome, load: &LinkLoad) -> Self {
        let nothing = AccessOutcome::default();
        let access = outcome.access.as_ref().unwrap_or(&nothing);
        let (from, to) = asking(network, outcome);
        let counted: Vec<&Exchange> = counted(network, outcome).collect();
        let mut long = Durations::new();
        counted.iter().filter(|one| one.bytes > LONG_BYTES).for_each(|one| one.add_to(&mut long, outcome.ended));
        let (long_mean_s, long_mean_at_least) = split(long.sorted().mean());
        let class = |(at, traffic): (usize, &Traffic)| {
            matches!(traffic.kind, Kind::Requests(_)).then(|| ClassFigures {
                class: traffic.name.clone(),
                weight: traffic.weight.as_f64(),
                users: traffic.to.len(),
                kbps: access.classes.get(at).map_or(0.0, |class| class.mean_bps(from, to) / 1e3),
                latency: Latency::of(counted.iter().copied().filter(|one| one.traffic == at), outcome.ended),
            })
        };
        Self {
            all: Latency::of(counted.iter().copied(), outcome.ended),
            long_mean_s,
            long_mean_at_least,
            utilisation: load.utilisation(&network.links[network.watched], from, to),
            dropped: outcome.link.dropped as f64 / outcome.link.arrived.max(1) as f64,
            lost_probes: access.lost_probes,
            connections: access.dialled,
            classes: network.traffic.iter().enumerate().filter_map(class).collect(),
        }
    }
}

/// The requests that count: those wanted after the warm-up.
pub fn counted<'a>(network: &Network, outcome: &'a NetworkOutcome) -> impl Iterator<Item = &'a Exchange> + use<'a> {
    let warm_up = network.access.as_ref().map_or(Nanos::ZERO, |access| access.warm_up);
    let exchanges = outcome.access.iter().flat_map(|access| &access.exchanges);
    exchanges.filter(move |one| one.wanted >= warm_up)
}

impl Latency {
    /// The latency of these requests, in a run that ended at `run_ended`.
    pub fn of<'a>(exchanges: impl Iterator<Item = &'a Exchange>, run_ended: Nanos) -> Self {
        let (mut durations, mut queued) = (Durations::new(), Vec::new());
        let mut latency = Self::default();
        for exchange in exchanges {
            latency.requests += 1;
            exchange.add_to(&mut durations, run_ended);
            match exchange.ended {
                Some(_) => queued.extend(exchange.queued().map(Nanos::as_secs_f64)),
                None if exchange.cancelled.is_some() => latency.cancelled += 1,
                None => latency.unfinished += 1,
            }
        }
        let durations = durations.sorted();
        let (mean_s, mean) = split(durations.mean());
        let (median_s, median) = split(durations.median());
        let (p99_s, p99) = split(durations.quantile(Quantile::P99));
        let (max_s, max) = split(durations.max());
        let at_least = LatencyAtLeast { mean_s: mean, median_s: median, p99_s: p99, max_s: max };
        let queued_s = dovetail_stats::mean(&queued);
        Self { mean_s, median_s, p99_s, max_s, at_least, queued_s, ..latency }
    }
}
