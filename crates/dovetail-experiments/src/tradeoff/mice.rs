//! Fig. 6: three elephants and three mice. A flow with small demand is served at once, however little fairness is guaranteed.

use super::{
    paper::{ALPHAS, MODULES},
    queues::{QUEUE, with_deviations},
    runs::{Job, run_all},
    watch::Watch,
};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
};
use dovetail_compare::report::plot::{Axis, Plot};

/// By what factor a mouse's latency must be lower; the paper says "two orders of magnitude".
pub(crate) const TIMES_LOWER: f64 = 50.0;

pub(super) fn fig6(given: &Given<'_>) -> Result<Finding, Error> {
    let jobs = ALPHAS.map(|alpha| Job::tradeoff("tradeoff-fig6", alpha).queues(QUEUE));
    let runs = run_all(&jobs, given)?;
    let mut finding = Finding::default();
    // Flows are in the order of the scenario: an elephant of each module, then a mouse of each.
    let mean = |run: &Watch, flow: usize| run.flows[flow].latency.mean();
    let mut of_module = [f64::INFINITY; MODULES.len()];
    for (alpha, run) in ALPHAS.into_iter().zip(&runs) {
        let elephants = (0..3).map(|flow| mean(run, flow)).fold(f64::INFINITY, f64::min);
        let mice = (3..6).map(|flow| mean(run, flow)).fold(0.0, f64::max);
        let what = format!("quickest elephant's mean latency over slowest mouse's, alpha={alpha}");
        finding.rows.push(Row::at_least(what, "", Some(100.0), TIMES_LOWER, elephants / mice));
        for (module, least) in of_module.iter_mut().enumerate() {
            *least = least.min(mean(run, module) / mean(run, module + 3));
        }
    }
    for (module, least) in MODULES.into_iter().zip(of_module) {
        let what = format!("elephant's mean latency over mouse's, {module}, least over all alphas");
        finding.rows.push(Row::at_least(what, "", Some(100.0), TIMES_LOWER, least));
    }
    let mice = (3..6).map(|flow| runs[0].flows[flow].arrived).min().unwrap_or(0);
    finding.remarks.push(format!(
        "The paper says \"two orders of magnitude\". Mice send at random times (Poisson), so they are not \
         synchronised with the elephants, {mice} packets or more each in 60 s; none is dropped. Rows by alpha \
         compare an elephant of any module with a mouse of any."
    ));
    for (title, flows, unit) in [("Fig. 6a, elephants", 0..3, "ms"), ("Fig. 6b, mice", 3..6, "µs")] {
        let scale = if unit == "ms" { 1e6 } else { 1e3 };
        let mut plot = Plot::new(Axis::linear("alpha"), Axis::linear(format!("latency, {unit}")));
        for flow in flows {
            let latencies: Vec<_> = runs.iter().map(|run| run.flows[flow].latency).collect();
            plot.add(with_deviations(MODULES[flow % 3], ALPHAS.to_vec(), &latencies, 1.0 / scale));
        }
        finding.charts.push(chart(title, "Mean latency and its standard deviation.", plot));
    }
    Ok(finding)
}
