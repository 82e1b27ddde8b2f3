//! Fig. 5: the 60 flows with queues of 200 packets, so that packets are dropped.

use dovetail_sched::Nanos;
use dovetail_stats::{Quantile, quantile};

use super::{
    super::{
        again::Way,
        beside::{self, Came, POINTS, compare, line},
        windows::Windows,
    },
    modules::{FLOWS_OF_EACH, RATE, flows, setting, tradeoff},
    planned::planned,
};
use crate::{
    error::Error,
    experiment::{Finding, Given},
    row::Row,
    tradeoff::{
        paper::ALPHAS,
        queues::{QUEUE, jain},
        testbed::Testbed,
    },
};

/// Half as long as in the paper.
const SENDING: Nanos = Nanos::from_secs(5);
const PACKETS_OF_EACH: u32 = 5 * RATE;
/// Minimum live CPU utilisation at alphas at which the fluid's CPU is always busy, in percent.
const BUSY: f64 = 92.0;

pub(in super::super) fn fig5(_: &Given<'_>) -> Result<Finding, Error> {
    let testbed = Testbed::new()?;
    let fair = testbed.optimum(1.0).fair;
    let mut finding = Finding::default();
    let mut table = beside::table();
    let mut of_alphas = Vec::new();
    for alpha in ALPHAS {
        let policy = tradeoff(alpha);
        let setting = setting(&policy, QUEUE);
        let runs = beside::ways(&setting, &flows(PACKETS_OF_EACH))?;
        let [here, there] = runs.each_ref().map(|ways| Came::of(ways));
        let planned = Came::of(&planned(&setting, PACKETS_OF_EACH)?).busy[0];
        let what = format!("mean CPU utilisation, alpha={alpha}, live");
        let paper = if alpha == 1.0 { Some(71.0) } else { (alpha <= 0.85).then_some(100.0) };
        finding.rows.push(Row::new(what, "%", paper, planned, here.busy[0], POINTS));
        if alpha == 0.85 {
            let what = format!("mean CPU utilisation, alpha={alpha}, live, at least");
            finding.rows.push(Row::at_least(what, "%", paper, BUSY, here.busy[0]));
        }
        compare(&mut finding, &policy, &here, &there);
        table.push(line(&policy, &here, &there));
        let shares = while_sending(&runs[0]);
        let of_ipsec: Vec<f64> =
            shares.iter().filter(|(class, _)| *class == setting.class("ipsec")).map(|of| of.1).collect();
        let what = format!("Jain's index of the {FLOWS_OF_EACH} IPsec flows' shares, alpha={alpha}, live");
        finding.rows.push(Row::at_least(what, "", None, 0.99, jain(&of_ipsec)));
        let least = shares.iter().map(|of| of.1).fold(f64::INFINITY, f64::min);
        let what = format!("least share over alpha · fair share, alpha={alpha}, live");
        finding.rows.push(Row::at_least(what, "", Some(1.0), 0.99, least / (alpha * fair)));
        of_alphas.push((of_ipsec.iter().sum::<f64>() / of_ipsec.len() as f64, p99(&runs[0])));
    }
    let [first, _, _, fourth, ..] = of_alphas[..] else { return Err(Error::broken("there are too few alphas")) };
    let gain = testbed.optimum(0.85).shares[2] / testbed.optimum(1.0).shares[2];
    let what = "IPsec flows' share over that of alpha=1, alpha=0.85, live";
    finding.rows.push(Row::new(what, "", Some(2.0), gain, fourth.0 / first.0, 0.1));
    let what = "99th percentile of latency over that of alpha=1, alpha=0.85, live";
    finding.rows.push(Row::at_most(what, "", None, 1.0, fourth.1 / first.1));
    finding.tables.push((beside::HEADING.into(), table));
    finding.remarks.push(format!(
        "Flows send for {SENDING}, where the paper's do for ten. Expected use of the CPU is that of the scenario in the simulator, \
         cut to as long; it is over the whole run, in whose end queues empty and not every resource has work."
    ));
    Ok(finding)
}

/// Each flow's class and its dominant share, while flows send.
fn while_sending(ways: &[Way]) -> Vec<(Option<u16>, f64)> {
    let windows = Windows::of(ways, SENDING, 1);
    windows.shares().flat_map(|(class, shares)| shares.into_iter().map(move |share| (class, share))).collect()
}

/// The 99th percentile of latency, in nanoseconds.
fn p99(ways: &[Way]) -> f64 {
    let mut latencies: Vec<Nanos> = ways.iter().map(|way| way.link[1] - way.arrival).collect();
    latencies.sort_unstable();
    quantile(&latencies, Quantile::P99).unwrap_or_default().as_f64()
}
