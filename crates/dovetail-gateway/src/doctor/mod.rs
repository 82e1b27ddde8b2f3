//! `dovetail gateway doctor`: measures a link before a gateway is installed there, and writes a first configuration.
//!
//! It contacts the servers given to it, the routers on the way to the first of them, and the system's name servers if a server
//! is given by name; nothing else.
//!
//! `estimate` interprets measurements, without a clock or a socket. `probes` tests ways to measure the far queue, at rest and
//! while `transfer` fills the link; `machine` checks this machine, and `networks` finds its users' side. `table` and `configuration` write the findings.

mod bounds;
mod configuration;
mod error;
mod estimate;
mod machine;
mod networks;
mod probes;
mod table;
mod target;
mod transfer;

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use dovetail_sched::units::Rate;
use tokio::{
    net::lookup_host,
    runtime::Builder,
    time::{Instant, sleep},
};

pub use self::{
    bounds::Bounds,
    error::DoctorError,
    estimate::{RoundTrips, Seen, Throughput},
    machine::Check,
    networks::Network,
    target::{Fetch, Target},
};
use self::{
    estimate::{choose, round_trips, throughput},
    probes::Candidate,
    transfer::Way,
};
use crate::config::{Limits, Probe};

/// The fraction of a full packet's frame that is payload: TCP over Ethernet.
const PAYLOAD: f64 = 1448.0 / 1514.0;
/// How long probes are tested at rest.
const AT_REST: Duration = Duration::from_secs(3);
/// Pause between two transfers, for queues to drain.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of probes tested while the link is full: each takes a little of it.
const MAX_CANDIDATES: usize = 6;

/// What to measure, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// A server of the operator's beyond the link, with a large file if the rate is to be measured.
    pub to: Option<Target>,
    /// Where to send data, to measure the uplink's rate.
    pub upload: Option<Target>,
    /// Probes to test; if empty, the possible ones on the way to the server.
    pub probes: Vec<Probe>,
    /// The provider's figure, if the rate is not measured.
    pub rate: Option<Rate>,
    /// Limits of each measurement.
    pub bounds: Bounds,
}

/// Progress of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// What is being measured.
    pub what: &'static str,
    /// Elapsed time.
    pub for_: Duration,
    /// Maximum time.
    pub of: Duration,
    /// Bytes transferred.
    pub bytes: u64,
}

/// The measurement of one direction of the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction {
    /// The throughput, if enough arrived.
    pub throughput: Option<Throughput>,
    /// Bytes transferred for it.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
    /// Whether the volume limit was reached before the time limit.
    pub ended_early: bool,
}

impl Direction {
    /// The link's raw rate, frames included.
    #[must_use]
    pub fn rate_bps(&self) -> Option<f64> {
        self.throughput.map(|found| found.bytes_per_s * 8.0 / PAYLOAD)
    }
}

/// A probe and its measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The configuration that corresponds to it.
    pub probe: Probe,
    /// What it measured.
    pub seen: Seen,
}

/// The results.
#[derive(Debug, Clone)]
pub struct Findings {
    /// The plan that was carried out.
    pub plan: Plan,
    /// The server's address.
    pub server: Option<IpAddr>,
    /// Probes that were tested.
    pub tried: Vec<Tried>,
    /// The recommended one of them, as an index.
    pub chosen: Option<usize>,
    /// The downlink, if it was measured.
    pub downlink: Option<Direction>,
    /// The uplink, if it was measured.
    pub uplink: Option<Direction>,
    /// The checks of this machine.
    pub machine: Vec<Check>,
    /// Networks of this machine other than the one towards the server.
    pub networks: Vec<Network>,
}

impl Findings {
    /// The downlink's raw rate in bits per second: as measured, or as given by the operator.
    #[must_use]
    pub fn rate_bps(&self) -> Option<f64> {
        let measured = self.downlink.and_then(|downlink| downlink.rate_bps());
        measured.or(self.plan.rate.map(Rate::bps))
    }

    /// The recommended probe and its measurements.
    #[must_use]
    pub fn probe(&self) -> Option<&Tried> {
        self.tried.get(self.chosen?)
    }

    /// How long a packet is queued when the downlink's buffer is full.
    #[must_use]
    pub fn far_buffer(&self) -> Option<Duration> {
        self.probe()?.seen.downlink_buffer()
    }
}

/// Carries out a plan. `tell` is called with the progress many times a second.
///
/// # Errors
/// [`DoctorError`] if a server does not answer as required, or the system fails.
pub fn examine(plan: Plan, mut tell: impl FnMut(Progress)) -> Result<Findings, DoctorError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(plan, &mut tell))
}

async fn measure(plan: Plan, tell: &mut dyn FnMut(Progress)) -> Result<Findings, DoctorError> {
    let server = match &plan.to {
        Some(target) => Some(resolve(target).await?),
        None => None,
    };
    let sink = match &plan.upload {
        Some(target) => Some(resolve(target).await?),
        None => None,
    };
    for probe in &plan.probes {
        crate::probe::Echo::start(probe).map_err(|error| DoctorError::Probe(probe.to_string(), error))?;
    }
    let candidates = candidates(&plan, server).await;
    let (mut candidates, mut seen) = at_rest(candidates, tell).await?;
    let mut downlink = None;
    if let (Some(Target { fetch: Some(fetch), .. }), Some(at)) = (&plan.to, server) {
        let (direction, trips) = fill(Way::Down, fetch, at, plan.bounds, &candidates, tell).await?;
        downlink = Some(direction);
        seen.iter_mut().zip(trips).for_each(|(seen, trips)| seen.down = Some(trips));
    }
    let mut uplink = None;
    if let (Some(Target { fetch: Some(fetch), .. }), Some(at)) = (&plan.upload, sink) {
        if downlink.is_some() {
            sleep(PAUSE).await;
        }
        let (direction, trips) = fill(Way::Up, fetch, at, plan.bounds, &candidates, tell).await?;
        uplink = Some(direction);
        seen.iter_mut().zip(trips).for_each(|(seen, trips)| seen.up = Some(trips));
    }
    let chosen = choose(&seen);
    let tried = candidates.drain(..).zip(seen).map(|(one, seen)| Tried { probe: one.probe(), seen }).collect();
    let rate = downlink.and_then(|downlink| downlink.throughput).map(|found| found.bytes_per_s);
    let rate = rate.or(plan.rate.map(|rate| rate.bps() / 8.0 * PAYLOAD));
    Ok(Findings {
        server: server.map(|server| server.ip()),
        tried,
        chosen,
        downlink,
        uplink,
        machine: machine::examine(rate, &Limits::default()),
        networks: networks::inner(server.or(sink))?,
        plan,
    })
}

async fn resolve(target: &Target) -> Result<SocketAddr, DoctorError> {
    let port = target.fetch.as_ref().map_or(0, |fetch| fetch.port);
    let failed = |error| DoctorError::Resolve(target.host.clone(), error);
    let mut found = lookup_host((&*target.host, port)).await.map_err(failed)?;
    found.next().ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))
}

async fn candidates(plan: &Plan, server: Option<SocketAddr>) -> Vec<Candidate> {
    if !plan.probes.is_empty() {
        return plan.probes.iter().cloned().map(Candidate::Sent).collect();
    }
    let Some(server) = server else { return Vec::new() };
    let route = probes::route(server.ip()).await;
    probes::candidates(&route, server.ip(), Some(server).filter(|server| server.port() != 0))
}

/// Tests all candidates at rest. Unanswered ones are sorted last, and if there are too many the farthest are dropped.
async fn at_rest(
    candidates: Vec<Candidate>,
    tell: &mut dyn FnMut(Progress),
) -> Result<(Vec<Candidate>, Vec<Seen>), DoctorError> {
    if candidates.is_empty() {
        return Ok((candidates, Vec::new()));
    }
    let waits = async {
        let began = Instant::now();
        while began.elapsed() < AT_REST {
            tell(Progress { what: "probes at rest", for_: began.elapsed(), of: AT_REST, bytes: 0 });
            sleep(Duration::from_millis(100)).await;
        }
    };
    let (series, ()) = probes::watch(&candidates, waits).await?;
    let seen = series.iter().map(|series| Seen { idle: round_trips(series, Duration::ZERO), ..Seen::default() });
    let mut all: Vec<_> = candidates.into_iter().zip(seen).collect();
    all.sort_by_key(|(_, seen)| !seen.is_answered());
    let answered = all.iter().filter(|(_, seen)| seen.is_answered()).count();
    // The last answered one stays: a handshake, the last resort, is sorted there.
    if answered > MAX_CANDIDATES {
        all.drain(MAX_CANDIDATES - 1..answered - 1);
    }
    Ok(all.into_iter().unzip())
}

async fn fill(
    way: Way,
    fetch: &Fetch,
    at: SocketAddr,
    bounds: Bounds,
    candidates: &[Candidate],
    tell: &mut dyn FnMut(Progress),
) -> Result<(Direction, Vec<RoundTrips>), DoctorError> {
    let what = if way == Way::Down { "downlink" } else { "uplink" };
    let mut told = |for_, bytes| tell(Progress { what, for_, of: bounds.time, bytes });
    let (series, arrived) = probes::watch(candidates, transfer::fill(way, fetch, at, bounds, &mut told)).await?;
    let arrived = arrived?;
    let throughput = throughput(&arrived);
    let last = arrived.last().map_or((Duration::ZERO, 0), |last| (last.at, last.bytes));
    // If no rate is known, half of the time is as good as any.
    let from = throughput.map_or(last.0 / 2, |found| found.full_from);
    let trips = series.iter().map(|series| round_trips(series, from)).collect();
    let ended_early = last.0 < bounds.time;
    Ok((Direction { throughput, bytes: last.1, took: last.0, ended_early }, trips))
}
