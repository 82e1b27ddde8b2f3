//! Figs. 3 and 4: utilisation and shares at the beginning of Table 2's runs, while every flow is backlogged.

use std::sync::Arc;

use dovetail_compare::report::{
    charts::over_time,
    plot::{Axis, Plot, Series},
};
use dovetail_sched::Nanos;

use super::{
    super::{
        again::Way,
        beside::{self, POINTS, SHARE_PERCENT},
        windows::Windows,
    },
    modules::{flows, setting, tradeoff},
    table2::PACKETS_OF_EACH,
};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
    tradeoff::{paper::ALPHAS, testbed::Testbed},
};

/// A tenth of the paper's seconds, since the traffic is a tenth of the paper's.
const TENTH: Nanos = Nanos::from_millis(100);
/// All flows are backlogged at every alpha during this time, which excludes the first moment.
const BACKLOGGED: std::ops::Range<usize> = 1..20;
/// Long enough for a packet to be a small part of a flow's share: with half a second one percent.
const PART: Nanos = Nanos::from_millis(500);
const PARTS: usize = 4;
/// Lower bound of a share in a part relative to the guarantee: two packets less.
const TWO_PACKETS: f64 = 0.98;

/// Live and simulated, for one alpha.
fn runs(alpha: f64) -> Result<Arc<[Vec<Way>; 2]>, Error> {
    beside::ways(&setting(&tradeoff(alpha), PACKETS_OF_EACH), &flows(PACKETS_OF_EACH))
}

pub(in super::super) fn fig3(_: &Given<'_>) -> Result<Finding, Error> {
    let testbed = Testbed::new()?;
    let alphas = &ALPHAS[..4];
    let mut finding = Finding::default();
    let mut windows = Vec::new();
    for &alpha in alphas {
        windows.push(runs(alpha)?.each_ref().map(|ways| Windows::of(ways, TENTH, 60)));
    }
    for (j, resource) in ["CPU", "link"].into_iter().enumerate() {
        for (&alpha, windows) in alphas.iter().zip(&windows) {
            let paper = match (j, alpha) {
                (0, 1.0) => Some(70.0),
                (1, 1.0) | (0, 0.85) => Some(100.0),
                _ => None,
            };
            let expected = testbed.optimum(alpha).utilisation[j] * 100.0;
            let [here, there] = windows.each_ref().map(|of| {
                let busy = &of.utilisation(j)[BACKLOGGED];
                busy.iter().sum::<f64>() / busy.len() as f64
            });
            let what = format!("{resource} utilisation at the beginning, alpha={alpha}, live");
            finding.rows.push(Row::new(what, "%", paper, expected, here, POINTS));
            let what = format!("{resource} utilisation at the beginning, alpha={alpha}, live beside simulated");
            finding.rows.push(Row::new(what, "%", None, there, here, POINTS));
        }
        let lines = alphas.iter().zip(&windows).map(|(alpha, [here, _])| {
            let busy = here.utilisation(j);
            let times = (0..busy.len()).map(|at| at as f64 * TENTH.as_secs_f64()).collect();
            (format!("alpha={alpha}"), (times, busy))
        });
        let plot = over_time(lines, Axis::linear("busy, %"));
        finding.charts.push(chart(
            &format!("Fig. 3, {resource}, live"),
            "Utilisation in each tenth of a second.",
            plot,
        ));
    }
    finding.remarks.push(
        "\"At the beginning\" is from 0.1 to 2 s, while all flows are backlogged: one second of traffic, where the paper sends for \
         ten. Expected is what theorem 3 gives then."
            .into(),
    );
    Ok(finding)
}

pub(in super::super) fn fig4(_: &Given<'_>) -> Result<Finding, Error> {
    let testbed = Testbed::new()?;
    let fair = testbed.optimum(1.0).fair;
    let mut finding = Finding::default();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for alpha in ALPHAS {
        let runs = runs(alpha)?;
        let [here, there] = runs
            .each_ref()
            .map(|ways| Windows::of(ways, PART, PARTS).shares().flat_map(|(_, shares)| shares).collect::<Vec<_>>());
        let guaranteed = alpha * fair;
        let least = here.iter().copied().fold(f64::INFINITY, f64::min);
        let what = format!("least share and theorem 5's bound over alpha · fair share, alpha={alpha}, live");
        let bound = testbed.shortfall_s() / PART.as_secs_f64();
        finding.rows.push(Row::at_least(what, "", None, 1.0, (least + bound) / guaranteed));
        let what = format!("least share over alpha · fair share, alpha={alpha}, live");
        finding.rows.push(Row::at_least(what, "", Some(1.0), TWO_PACKETS, least / guaranteed));
        let apart = here.iter().zip(&there).map(|(here, there)| (here / there - 1.0).abs() * 100.0).fold(0.0, f64::max);
        let what = format!("largest difference of a share in half a second, alpha={alpha}, live from simulated");
        finding.rows.push(Row::at_most(what, "%", None, SHARE_PERCENT, apart));
        x.extend(here.iter().map(|_| alpha));
        y.extend(here.iter().map(|share| share * 100.0));
    }
    finding.remarks.push(format!(
        "Shares of each of the 60 flows in each half of the first two seconds, while all of them are backlogged; the paper's are in \
         each of 20. In so short a time a packet of IPsec is {:.1} % of what is guaranteed at alpha=1.",
        testbed.longest().as_f64() / PART.as_f64() / fair * 100.0
    ));
    let mut plot = Plot::new(Axis::linear("alpha"), Axis::linear("dominant share, %"));
    plot.add(Series::cloud("a flow in half a second", x, y));
    let guaranteed = ALPHAS.iter().map(|alpha| alpha * fair * 100.0).collect();
    plot.add(Series::line("alpha · fair share", ALPHAS.to_vec(), guaranteed));
    let note = "Each flow's dominant share in each half of the first two seconds, and the guaranteed share.";
    finding.charts.push(chart("Fig. 4, live", note, plot));
    Ok(finding)
}
