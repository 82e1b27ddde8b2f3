//! The paper's network under one policy and seed.

use std::sync::Arc;

use dovetail_sched::Weight;
use dovetail_sim::{
    Observer,
    network::{Arrivals, Kind, Network, NetworkOptions, NetworkOutcome, TcpConfig, Traffic, simulate_network},
    workload::Size,
};

use super::paper::SEEDS;
use crate::{error::Error, experiment::Given, once::Once};
use dovetail_compare::network::{builtin, times::SizeClass};

/// The traffic of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Setting {
    /// 4,000 transfers at a load of 0.8.
    Transfers,
    /// The same between hosts of the paper's time.
    Hosts2005,
    /// In addition, an unlimited connection.
    Ftp,
    /// In addition, more short transfers, so that these carry 40 % of the transfers' bytes.
    ManyShort,
}

/// A run to make.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Job {
    setting: Setting,
    policy: &'static str,
    seed: u64,
}

/// A policy's runs, one per seed.
pub(super) type Runs = Vec<Arc<NetworkOutcome>>;

/// The runs of each policy in a setting.
pub(super) fn runs<const N: usize>(
    setting: Setting,
    policies: [&'static str; N],
    given: &Given<'_>,
) -> Result<[Runs; N], Error> {
    static RUNS: Once<Job, NetworkOutcome> = Once::new();
    let job = |policy| move |seed| Job { setting, policy, seed };
    let jobs: Vec<Job> = policies.into_iter().flat_map(|policy| (1..=SEEDS).map(job(policy))).collect();
    let mut made = RUNS.make(&jobs, |job| make(job, given))?.into_iter();
    Ok(policies.map(|_| made.by_ref().take(SEEDS as usize).collect()))
}

fn make(job: &Job, given: &Given<'_>) -> Result<NetworkOutcome, Error> {
    play(&network(job.setting, job.seed)?, job.policy, &mut (), given)
}

/// Runs a policy in front of the network's watched link.
pub(super) fn play<O: Observer>(
    network: &Network,
    policy: &str,
    observer: &mut O,
    given: &Given<'_>,
) -> Result<NetworkOutcome, Error> {
    let options = NetworkOptions { stop: given.stop(), ..NetworkOptions::default() };
    let outcome = simulate_network(network, &policy.parse()?, observer, options);
    let outcome = outcome.map_err(|error| Error::broken(format!("{policy}: {error}")))?;
    given.bar.inc(outcome.link.arrived);
    Ok(outcome)
}

/// Short transfers' fraction of the transfers' bytes in the special case.
const MANY: f64 = 0.4;

fn network(setting: Setting, seed: u64) -> Result<Network, Error> {
    let name = match setting {
        Setting::Transfers | Setting::Hosts2005 => "drr-sff",
        Setting::Ftp | Setting::ManyShort => "drr-sff-ftp",
    };
    let mut network = builtin(name)?;
    network.seed = seed;
    if setting == Setting::Hosts2005 {
        let receive_bytes = network.transport.tcp.receive_bytes;
        network.transport.tcp = TcpConfig { receive_bytes, ..TcpConfig::year_2005() };
    }
    if setting == Setting::ManyShort {
        let more = more_short(&network)?;
        network.traffic.extend(more);
    }
    Ok(network)
}

/// Transfers with sizes like the web's, but none over 19 packets, over the same period; `None` if the short ones of a run
/// carry that fraction already.
fn more_short(network: &Network) -> Result<Option<Traffic>, Error> {
    let web = &network.traffic[0];
    let Kind::Transfers { size: Size::Pareto { shape, min, .. }, unit_bytes, arrivals: Arrivals::Load(load), .. } =
        web.kind
    else {
        return Err(Error::broken("the web's sizes are Pareto and its load is given"));
    };
    let (mut short, mut all) = (0.0, 0.0);
    for bytes in web.sizes(0, network.seed) {
        let wire = network.transport.wire_bytes(bytes) as f64;
        all += wire;
        if SizeClass::of(bytes) == SizeClass::Short {
            short += wire;
        }
    }
    // short + more must be MANY of all + more.
    let more = (MANY * all - short) / (1.0 - MANY);
    let size = Size::Pareto { shape, min, max: 19.0 };
    let mean_wire = size.mean() * network.transport.wire_bytes(unit_bytes.into()) as f64;
    let count = (more / mean_wire) as u32;
    Ok((count > 0).then(|| Traffic {
        name: "more short".into(),
        weight: Weight::ONE,
        kind: Kind::Transfers { count, size, unit_bytes, arrivals: Arrivals::Load(load * more / all) },
        ..web.clone()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_transfers_carry_their_part() {
        for seed in 1..=4 {
            let network = network(Setting::ManyShort, seed).unwrap();
            let sizes = network.traffic.iter().enumerate().flat_map(|(at, traffic)| traffic.sizes(at, seed));
            let (short, long): (Vec<u64>, Vec<u64>) = sizes.partition(|&bytes| bytes < 20_000);
            let wire =
                |sizes: &[u64]| sizes.iter().map(|&bytes| network.transport.wire_bytes(bytes)).sum::<u64>() as f64;
            let part = wire(&short) / (wire(&short) + wire(&long));
            let as_drawn = network.traffic.iter().all(|traffic| traffic.name != "more short");
            assert!((part - MANY).abs() < 0.01 || as_drawn && part > MANY, "{part}");
        }
    }
}
