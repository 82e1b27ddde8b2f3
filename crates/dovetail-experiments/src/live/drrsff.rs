//! Figs. 5 and 8 of the DRR-SFF paper, live: transfers of the kernel's own TCP over a link of 3 Mbit/s, under each policy;
//! and an unlimited connection together with them. The paper has only simulations.
//!
//! There is one host on each side of a middlebox, which is the router in front of the narrow link: it has the link's rate, a
//! queue of 50 packets, and 50 ms of delay each way. Hosts are configured as in the scenario, and transfers have its sizes
//! and start times, but there are a quarter as many. The simulator runs the same with access links as fast as the lab's,
//! which have no rate.
//!
//! Labs run side by side, each in separate namespaces: at this rate a middlebox hardly needs a processor.

use std::time::Duration;

use dovetail_box::{
    config::Config,
    live::{
        ClassCounters, Spawned,
        lab::{HOST_INTERFACE, Lab, LabError, LabSpec, Place},
    },
};
use dovetail_compare::{
    network::{
        builtin,
        times::{Rates, SLOW_START_S, SizeClass, Times, windows},
    },
    side_by_side::{side_by_side, side_by_side_on},
    table::Table,
};
use dovetail_netns::{Namespace, NetnsError, tool};
use dovetail_sched::{Nanos, units::Rate};
use dovetail_sim::network::{Congestion, Kind, Link, Network, NetworkOptions, NetworkOutcome, simulate_network};

use super::connections::{Plan, run};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
    spread::Spread,
};

/// Runs of each policy, each with different transfers; the same for every policy.
const SEEDS: u64 = 8;
/// Transfers per run: a quarter of the paper's.
const TRANSFERS: u32 = 1000;
/// Number of parallel labs.
const AT_ONCE: usize = 8;
/// How often a run is tried if the machine delays its middlebox.
const TRIES: usize = 3;
/// The fraction of a run by which the machine may delay its middlebox.
const MAX_LATENESS: f64 = 0.01;
/// How long transfers may take after the last has begun: the largest takes half a minute even without others.
const PATIENCE: Duration = Duration::from_secs(300);
/// Relative tolerance between live and simulated.
const CLOSE: f64 = 0.10;
/// Overhead of a frame over its packet.
const ETHERNET_BYTES: u32 = 14;
/// A window below this fraction of FIFO's mean is starved.
const STARVED: f64 = 0.05;

const POLICIES: [&str; 4] = ["fifo", "drr", "las", "drr-sff"];

pub(super) fn fig5(given: &Given<'_>) -> Result<Finding, Error> {
    let [here, there] = both("drr-sff", given)?;
    let mut finding = Finding::default();
    let [fifo, _, las, sff] = &here;
    let short = |runs: &Runs| means(runs, SizeClass::Short);
    let middle = |runs: &Runs| means(runs, SizeClass::Middle);
    finding.rows = vec![
        Row::at_most("short, DRR-SFF / FIFO, live", "", None, 0.65, ratio(&short(sff), &short(fifo)).median),
        Row::at_most("short, DRR-SFF / LAS, live", "", None, 1.10, ratio(&short(sff), &short(las)).median),
    ];
    for ((policy, here), there) in POLICIES.iter().zip(&here).zip(&there) {
        for (what, of) in [("short", &short as &dyn Fn(&Runs) -> Vec<f64>), ("20 to 1,000 packets", &middle)] {
            let apart = ratio(&of(here), &of(there)).median;
            finding.rows.push(Row::new(format!("{what}, {policy}, live / simulated"), "", None, 1.0, apart, CLOSE));
        }
    }
    let mut table = Table::new(
        &[
            "policy",
            "short ms",
            "simulated",
            "20 to 1,000 packets s",
            "simulated",
            "longer s",
            "simulated",
            "dropped",
            "simulated",
        ],
        1,
    );
    for ((policy, here), there) in POLICIES.iter().zip(&here).zip(&there) {
        let times = SizeClass::ALL.iter().flat_map(|&class| {
            let scale = if class == SizeClass::Short { 1e3 } else { 1.0 };
            [here, there].map(|runs| Spread::of(means(runs, class).into_iter().map(|mean| mean * scale)).text())
        });
        let dropped = [here, there].map(|runs| Spread::of(runs.iter().map(|run| run.link.dropped as f64)).text());
        table.push([(*policy).to_owned()].into_iter().chain(times).chain(dropped));
    }
    finding
        .tables
        .push((format!("Mean times in a run of {TRANSFERS} transfers, median [least..most] of {SEEDS} runs"), table));
    finding.remarks.push(REMARK.into());
    Ok(finding)
}

pub(super) fn fig8(given: &Given<'_>) -> Result<Finding, Error> {
    let [here, there] = both("drr-sff-ftp", given)?;
    let mut finding = Finding::default();
    let [fifo, _, las, sff] = &here;
    finding.rows = vec![
        Row::at_least("FTP, DRR-SFF / FIFO, live", "", None, 0.8, ratio(&ftp(sff), &ftp(fifo)).median),
        Row::at_most("FTP, windows starved under DRR-SFF, live", "%", None, 0.0, starved(sff, fifo)),
        Row::at_most("FTP, LAS / FIFO, live", "", None, 0.75, ratio(&ftp(las), &ftp(fifo)).median),
    ];
    let mut table = Table::new(
        &["policy", "FTP Mbit/s", "simulated", "starved windows %", "simulated", "short ms", "simulated"],
        1,
    );
    let fifos = [fifo, &there[0]];
    for ((policy, here), there) in POLICIES.iter().zip(&here).zip(&there) {
        let apart = ratio(&ftp(here), &ftp(there)).median;
        finding.rows.push(Row::new(format!("FTP, {policy}, live / simulated"), "", None, 1.0, apart, CLOSE));
        let runs = [here, there];
        let rates = runs.map(|runs| Spread::of(ftp(runs)).text());
        let starved = [0, 1].map(|at| format!("{:.1}", starved(runs[at], fifos[at])));
        let short =
            runs.map(|runs| Spread::of(means(runs, SizeClass::Short).into_iter().map(|mean| mean * 1e3)).text());
        table.push([(*policy).to_owned()].into_iter().chain(rates).chain(starved).chain(short));
    }
    finding.tables.push((format!("The FTP beside {TRANSFERS} transfers, median [least..most] of {SEEDS} runs"), table));
    finding.remarks.push(REMARK.into());
    Ok(finding)
}

const REMARK: &str = "Live transfers are of the kernel's TCP between namespaces, times from the SYN to the last byte. Ratios are \
                      taken in each pair of runs, which have the same transfers; rows judge their medians.";

/// A policy's runs, one per seed.
type Runs = Vec<NetworkOutcome>;

/// The mean time of a class in each run, in seconds.
fn means(runs: &Runs, class: SizeClass) -> Vec<f64> {
    let mean = |run: &NetworkOutcome| Times::of(class.transfers(run), run.ended).mean_s;
    runs.iter().map(|run| mean(run).unwrap_or(f64::NAN)).collect()
}

/// One over the other, run by run.
fn ratio(above: &[f64], below: &[f64]) -> Spread {
    Spread::of(above.iter().zip(below).map(|(above, below)| above / below))
}

/// When the last transfer begins: until then the load is as specified.
fn arrivals_end(run: &NetworkOutcome) -> Nanos {
    run.transfers.iter().map(|transfer| transfer.begun).max().unwrap_or_default()
}

/// The FTP connection's mean rate in each run, in Mbit/s.
fn ftp(runs: &Runs) -> Vec<f64> {
    let mean = |run: &NetworkOutcome| Rates::of(run.streams.first()?, SLOW_START_S, arrivals_end(run)).mean_mbps;
    runs.iter().map(|run| mean(run).unwrap_or(f64::NAN)).collect()
}

/// The percentage of starved windows of ten seconds over all runs.
fn starved(runs: &Runs, fifo: &Runs) -> f64 {
    let (mut starved, mut all) = (0, 0);
    for (run, mean) in runs.iter().zip(ftp(fifo)) {
        let Some(stream) = run.streams.first() else { continue };
        let windows = windows(stream, SLOW_START_S, arrivals_end(run));
        all += windows.len();
        starved += windows.iter().filter(|&&rate| rate < STARVED * mean).count();
    }
    starved as f64 * 100.0 / all.max(1) as f64
}

/// The runs of each policy, live and simulated.
fn both(scenario: &str, given: &Given<'_>) -> Result<[[Runs; POLICIES.len()]; 2], Error> {
    let jobs: Vec<_> = (1..=SEEDS).flat_map(|seed| POLICIES.map(|policy| (seed, policy))).collect();
    let simulated = |&(seed, policy): &(u64, &str)| {
        let outcome = simulate_network(&network(scenario, seed)?, &policy.parse()?, &mut (), NetworkOptions::default());
        outcome.map_err(|error| Error::broken(format!("{policy}: {error}")))
    };
    let there: Vec<NetworkOutcome> = side_by_side(&jobs, simulated)?;
    let beside: Vec<_> = jobs.iter().zip(&there).enumerate().collect();
    let here = side_by_side_on(AT_ONCE, &beside, |&(number, (&(seed, policy), simulated))| {
        let outcome = live(&network(scenario, seed)?, policy, simulated, number)?;
        given.bar.inc(outcome.link.arrived);
        Ok::<_, Error>(outcome)
    })?;
    Ok([by_policy(here), by_policy(there)])
}

fn by_policy(runs: Vec<NetworkOutcome>) -> [Runs; POLICIES.len()] {
    let mut by_policy = [const { Vec::new() }; POLICIES.len()];
    for (at, run) in runs.into_iter().enumerate() {
        by_policy[at % POLICIES.len()].push(run);
    }
    by_policy
}

/// The paper's network with fewer transfers, and hosts whose own links are practically unlimited.
fn network(scenario: &str, seed: u64) -> Result<Network, Error> {
    let mut network = builtin(scenario)?;
    network.seed = seed;
    for traffic in &mut network.traffic {
        if let Kind::Transfers { count, .. } = &mut traffic.kind {
            *count = TRANSFERS;
        }
    }
    let fast = Rate::from_bps(10e9).map_err(Error::broken)?;
    let watched = network.watched;
    for (at, link) in network.links.iter_mut().enumerate() {
        if at != watched {
            link.rate = fast;
        }
    }
    Ok(network)
}

/// A run with real connections: the same as the simulated ones.
fn live(network: &Network, policy: &str, simulated: &NetworkOutcome, number: usize) -> Result<NetworkOutcome, Error> {
    let mut kept = Vec::new();
    for _ in 0..TRIES {
        match live_once(network, policy, simulated, number)? {
            Ok(outcome) => return Ok(outcome),
            Err(why) => kept.push(why),
        }
    }
    let kept = kept.join("; ");
    Err(Error::lacking(format!("the machine is too busy: in each of {TRIES} runs it kept the box waiting: {kept}")))
}

/// A run, or the reason why the machine was too busy for it.
fn live_once(
    network: &Network,
    policy: &str,
    simulated: &NetworkOutcome,
    number: usize,
) -> Result<Result<NetworkOutcome, String>, Error> {
    let spec = LabSpec { name: format!("dovetail-trial-{number}"), ..LabSpec::default() };
    let lab = Lab::up(&spec).map_err(|wrong| match wrong {
        LabError::NotRoot | LabError::Namespace(_) => Error::lacking(wrong),
        wrong => Error::broken(wrong),
    })?;
    let hosts = [Place::Inside, Place::Outside].map(|side| lab.namespace(side));
    for host in hosts {
        set_up(host, network).map_err(Error::lacking)?;
    }
    let config = Config::parse(&(spec.box_section() + &settings(network, policy))).map_err(Error::broken)?;
    let running = Spawned::start(config, |_| {}).map_err(Error::lacking)?;
    let plan = Plan {
        transfers: simulated.transfers.iter().map(|transfer| (transfer.begun, transfer.bytes)).collect(),
        endless: network.is_endless(),
        patience: PATIENCE,
    };
    let [inside, outside] = hosts;
    let mut outcome = run(&plan, inside, outside, spec.outside[0]).map_err(Error::broken)?;
    let control = running.control().clone();
    running.stop().map_err(Error::lacking)?;
    let status = control.status();
    let sum = |of: fn(&ClassCounters) -> u64| status.classes.iter().map(|(_, class)| of(class)).sum();
    outcome.link.arrived = sum(|class| class.arrived);
    outcome.link.dropped = sum(|class| class.queue_full);
    let late = status.figures.late.as_f64() / outcome.ended.as_f64();
    let is_fit = status.oddities.lapses == 0 && late < MAX_LATENESS;
    Ok(if is_fit {
        Ok(outcome)
    } else {
        Err(format!("{} in all, {} times for over 25 ms", status.figures.late, status.oddities.lapses))
    })
}

/// Configures a host like the network's. Connections must not inherit cached metrics of earlier ones.
fn set_up(host: &Namespace, network: &Network) -> Result<(), NetnsError> {
    let tcp = &network.transport.tcp;
    tool("ip", &format!("-n {} link set {HOST_INTERFACE} mtu {}", host.name(), network.transport.mtu_bytes))?;
    let congestion = match tcp.congestion {
        Congestion::Reno => "reno",
        Congestion::Bbr => "bbr",
        // Linux's default, and that of scenarios that name none.
        _ => "cubic",
    };
    host.set("ipv4/tcp_congestion_control", congestion)?;
    host.set("ipv4/tcp_timestamps", if tcp.timestamps { "1" } else { "0" })?;
    host.set("ipv4/tcp_no_metrics_save", "1")
}

/// A middlebox in front of the network's narrow link. It includes the whole path's delay: half a round trip each way.
fn settings(network: &Network, policy: &str) -> String {
    let link = &network.links[network.watched];
    let path: Nanos = one_way(network);
    // The middlebox's packets are frames.
    let mtu = f64::from(network.transport.mtu_bytes);
    let rate = link.rate.bps() * (mtu + f64::from(ETHERNET_BYTES)) / mtu;
    // One less, since one packet waits for the link outside these queues.
    let packets = link.limits.packets.unwrap_or(1).saturating_sub(1).max(1);
    format!(
        "policy = \"{policy}\"\n[link]\nrate = \"{:.3}kbps\"\ndelay = \"{}us\"\nbuffer_packets = 0\n\
         [queues]\npackets = {packets}\npackets_per_flow = {packets}\non_full = \"tail\"\n",
        rate / 1e3,
        path.0 / 1000
    )
}

/// Time of a packet in flight without queues: a host's link, the narrow one, and a host's link.
fn one_way(network: &Network) -> Nanos {
    let watched = &network.links[network.watched];
    let of_host =
        |is: &dyn Fn(&Link) -> bool| network.links.iter().find(|link| is(link)).map_or(Nanos::ZERO, |link| link.delay);
    of_host(&|link| link.to == watched.from && link.from != watched.to)
        + watched.delay
        + of_host(&|link| link.from == watched.to && link.to != watched.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_is_the_narrow_link_of_the_scenario() {
        let network = network("drr-sff", 1).unwrap();
        assert_eq!(one_way(&network), Nanos::from_millis(50));
        let text = LabSpec::default().box_section() + &settings(&network, "drr-sff");
        let config = Config::parse(&text).unwrap();
        // A full frame takes as long as a full packet there.
        let full = config.link.time(1054).as_f64();
        assert!((full / network.links[network.watched].rate.nanos_for(1040.0) - 1.0).abs() < 1e-6, "{full}");
        assert_eq!((config.delay, config.queues.packets), (Nanos::from_millis(50), 49));
    }

    #[test]
    fn runs_are_dealt_out_to_their_policies() {
        let run = |dropped| {
            let mut run = NetworkOutcome::default();
            run.link.dropped = dropped;
            run
        };
        let dealt = by_policy((0..8).map(run).collect());
        assert_eq!(
            dealt.map(|runs| runs.iter().map(|run| run.link.dropped).collect::<Vec<_>>()),
            [[0, 4], [1, 5], [2, 6], [3, 7]]
        );
    }
}
