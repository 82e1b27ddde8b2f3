//! The runs behind the figures.

use std::sync::Arc;

use dovetail_sched::Nanos;
use dovetail_sim::network::{
    Asks, Contender, Datagrams, Kind, Network, NetworkOptions, NetworkOutcome, Node, Requests, Traffic,
};
use dovetail_sim::workload::Size;

use crate::{error::Error, experiment::Given, once::Once, spread::Spread};
use dovetail_compare::network::{
    Under, builtin, play,
    users::{Figures, LinkLoad},
};

/// Behaviour of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Setting {
    /// All classes are always backlogged; except gold from 200 s to 600 s, and silver from 400 s to 600 s.
    Phases,
    /// Request, think, request again.
    Thinking { equal: bool },
    /// Requests at random, with a load of this many percent of the link's capacity.
    Open { percent: u32, equal: bool },
    /// Always backlogged, with this many users of gold.
    Users(u32),
    /// Gold and silver every second and bronze every ten, and from 500 s to 1000 s only bronze.
    Sparse,
    /// Request, think, request again, while this many unrequested kbit/s alternate between on and off, this many seconds
    /// each.
    Crossed { kbps: u32, seconds: u64 },
}

/// A run to make.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Job {
    pub(super) setting: Setting,
    pub(super) gateway: String,
    pub(super) seed: u64,
}

/// Results of a run.
pub(super) struct Made {
    pub(super) network: Network,
    pub(super) outcome: NetworkOutcome,
    pub(super) load: LinkLoad,
    pub(super) figures: Figures,
}

/// The runs of each gateway in a setting, for each seed.
pub(super) fn runs<G: ToString>(
    setting: Setting,
    gateways: &[G],
    seeds: u64,
    given: &Given<'_>,
) -> Result<Vec<Vec<Arc<Made>>>, Error> {
    let jobs: Vec<Job> = gateways
        .iter()
        .flat_map(|gateway| (1..=seeds).map(move |seed| Job { setting, gateway: gateway.to_string(), seed }))
        .collect();
    Ok(made(&jobs, given)?.chunks(seeds as usize).map(<[_]>::to_vec).collect())
}

/// Each job's run.
pub(super) fn made(jobs: &[Job], given: &Given<'_>) -> Result<Vec<Arc<Made>>, Error> {
    static RUNS: Once<Job, Made> = Once::new();
    RUNS.make(jobs, |job| make(job, given))
}

fn make(job: &Job, given: &Given<'_>) -> Result<Made, Error> {
    let network = network(job.setting, job.seed)?;
    let gateway: Contender = job.gateway.parse()?;
    let mut load = LinkLoad::default();
    let options = NetworkOptions { stop: given.stop(), ..NetworkOptions::default() };
    let outcome = play(&network, Under::Gateway(&gateway), &mut load, options)?;
    given.bar.inc(outcome.link.arrived);
    let figures = Figures::of(&network, &outcome, &load);
    Ok(Made { network, outcome, load, figures })
}

/// Requests that each always backlogged user keeps outstanding.
const BACKLOG: u32 = 6;
/// The mean of the published sizes, exp(9.357 + 1.318²/2).
const MEAN_BYTES: u64 = 27_656;
/// How long open arrivals last, and how long after them all requests are to be answered.
const OPEN: Nanos = Nanos::from_secs(150);
const DRAINED: Nanos = Nanos::from_secs(450);

fn network(setting: Setting, seed: u64) -> Result<Network, Error> {
    let mut network = builtin("msfrs")?;
    network.seed = seed;
    let (mut stop, mut warm_up) = (Nanos::from_secs(200), Nanos::from_secs(20));
    match setting {
        Setting::Phases => {
            stop = Nanos::from_secs(800);
            always(&mut network);
            let silences = [(200, 600), (400, 600)];
            for (at, (from, to)) in silences.into_iter().enumerate() {
                requests(&mut network, at)?.silent = vec![(Nanos::from_secs(from), Nanos::from_secs(to))];
            }
        }
        Setting::Thinking { equal } => make_equal(&mut network, equal),
        Setting::Open { percent, equal } => {
            make_equal(&mut network, equal);
            for requests in all_requests(&mut network) {
                requests.asks = Asks::Load(f64::from(percent) / 100.0);
            }
            for traffic in &mut network.traffic {
                traffic.stop = OPEN;
            }
            (stop, warm_up) = (DRAINED, Nanos::from_secs(30));
        }
        Setting::Users(users) => {
            stop = Nanos::from_secs(800);
            always(&mut network);
            network.traffic[0].to =
                (1..=users).map(|user| node(&network, &format!("g{user}"))).collect::<Result<_, _>>()?;
        }
        Setting::Sparse => {
            stop = Nanos::from_secs(1500);
            for (at, rate) in [1.0, 1.0, 0.1].into_iter().enumerate() {
                requests(&mut network, at)?.asks = Asks::PerSecond(rate);
            }
            for at in 0..2 {
                requests(&mut network, at)?.silent = vec![(Nanos::from_secs(500), Nanos::from_secs(1000))];
            }
        }
        Setting::Crossed { kbps, seconds } => {
            (stop, warm_up) = (Nanos::from_secs(3000), Nanos::from_secs(60));
            let (from, to) = (node(&network, "near1")?, node(&network, "gateway")?);
            let template = network.traffic[0].clone();
            network.traffic.extend(bursts(&template, from, to, kbps, seconds, stop));
        }
    }
    network.stop_at = Some(stop);
    if let Some(access) = &mut network.access {
        access.warm_up = warm_up;
    }
    Ok(network)
}

/// Packets of the same size as the others' at a constant rate, alternating between off and on, first off.
fn bursts(like: &Traffic, from: usize, to: usize, kbps: u32, seconds: u64, until: Nanos) -> Vec<Traffic> {
    const BYTES: u32 = 1040;
    let gap = Nanos::from_f64(f64::from(BYTES) * 8e6 / f64::from(kbps));
    let begins = (1..).step_by(2).map(|period| Nanos::from_secs(period * seconds)).take_while(|&begins| begins < until);
    let datagrams = Datagrams { bytes: BYTES, gap, random: false, on_off: None, flow_each: false };
    let burst = |start: Nanos| Traffic {
        name: "crossing".into(),
        from: vec![from],
        to: vec![to],
        start,
        stop: start + Nanos::from_secs(seconds),
        kind: Kind::Datagrams(datagrams),
        ..like.clone()
    };
    begins.map(burst).collect()
}

fn always(network: &mut Network) {
    for requests in all_requests(network) {
        requests.asks = Asks::Kept { each: BACKLOG, think: Nanos::ZERO };
    }
}

fn make_equal(network: &mut Network, equal: bool) {
    for requests in all_requests(network).filter(|_| equal) {
        requests.size = Size::Fixed(MEAN_BYTES);
    }
}

fn all_requests(network: &mut Network) -> impl Iterator<Item = &mut Requests> {
    network.traffic.iter_mut().filter_map(|traffic| match &mut traffic.kind {
        Kind::Requests(requests) => Some(requests),
        _ => None,
    })
}

fn requests(network: &mut Network, class: usize) -> Result<&mut Requests, Error> {
    all_requests(network).nth(class).ok_or_else(|| Error::broken("the scenario has three classes"))
}

fn node(network: &Network, name: &str) -> Result<usize, Error> {
    let named = |node: &Node| node.name == name;
    network.nodes.iter().position(named).ok_or_else(|| Error::broken(format!("the scenario has no node '{name}'")))
}

/// The median of the runs' values.
pub(super) fn median(runs: &[Arc<Made>], value: impl Fn(&Made) -> f64) -> f64 {
    Spread::of(runs.iter().map(|made| value(made))).median
}

/// The minimum, the median and the maximum of the runs' values, in words; empty if a run has none.
pub(super) fn spread(runs: &[Arc<Made>], digits: usize, value: impl Fn(&Made) -> f64) -> String {
    let values: Vec<f64> = runs.iter().map(|made| value(made)).collect();
    if values.iter().any(|value| value.is_nan()) { "–".to_owned() } else { Spread::of(values).to_decimals(digits) }
}
