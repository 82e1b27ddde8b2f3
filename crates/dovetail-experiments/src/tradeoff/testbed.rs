//! Table 2 and Figs. 3 and 4: 60 flows of three modules with demands far beyond the capacity, and no drops.
//!
//! Of the three modules, checking and monitoring need the link most and IPsec the CPU. All flows are backlogged for more than
//! the first 20 seconds; what the fluid gives then follows from theorem 3 ([`optimum`]).

use dovetail_sched::Nanos;
use dovetail_sim::PipelineMode;

use super::{
    optimum::{Kind, Optimum, optimum},
    paper::{ALPHAS, MODULES, POINTS},
    runs::{Job, run_all},
};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
};
use dovetail_compare::{
    input::builtin_scenario,
    report::{
        charts::over_time,
        plot::{Axis, Plot, Series},
    },
};

/// The scenario.
pub(super) const TESTBED: &str = "tradeoff-table2";

/// The normalised makespans of Table 2, by [`ALPHAS`], and the makespan at alpha = 1 in seconds.
const PAPER_PERCENT: [f64; 7] = [100.0, 94.28, 87.95, 84.72, 84.64, 84.54, 84.54];
const PAPER_SECONDS: f64 = 55.68;

/// Tolerance of normalised makespans, in points, and of the makespan at alpha = 1, relative.
const MAKESPAN_POINTS: f64 = 2.5;
const MAKESPAN_SHARE: f64 = 0.03;

/// Seconds in which all flows are backlogged at every alpha.
const BACKLOGGED: std::ops::Range<usize> = 1..20;

/// Properties of the testbed known in advance.
pub(crate) struct Testbed {
    kinds: Vec<Kind>,
    /// The longest time of any packet on any resource.
    longest: Nanos,
}

/// Flows of each module, and bytes of every packet.
pub(crate) const FLOWS: usize = 20;
const BYTES: u32 = 800;

impl Testbed {
    pub(crate) fn new() -> Result<Self, Error> {
        let classes = builtin_scenario(TESTBED)?.classes;
        let mut testbed = Self { kinds: Vec::new(), longest: Nanos::ZERO };
        for module in MODULES {
            let class = classes.find(module).ok_or_else(|| Error::broken(format!("there is no class '{module}'")))?;
            let demand = classes.demand(class, BYTES);
            testbed.kinds.push(Kind::new(FLOWS, demand.times()));
            testbed.longest = testbed.longest.max(demand.dominant());
        }
        Ok(testbed)
    }

    pub(crate) fn optimum(&self, alpha: f64) -> Optimum {
        optimum(&self.kinds, alpha)
    }

    /// The longest time of any packet on any resource.
    #[cfg(all(feature = "live", target_os = "linux"))]
    pub(crate) fn longest(&self) -> Nanos {
        self.longest
    }

    /// By how much the packets' dominant service over any interval may fall short of the fluid's, in seconds: by theorem 5,
    /// at its end `(2n-1) tau` behind (according to its proof; `2 (n-1) tau` is printed) and at its beginning `tau` ahead.
    pub(crate) fn shortfall_s(&self) -> f64 {
        let flows = (MODULES.len() * FLOWS) as f64;
        2.0 * flows * self.longest.as_secs_f64()
    }
}

pub(super) fn table2(given: &Given<'_>) -> Result<Finding, Error> {
    let mut jobs: Vec<Job> = ALPHAS.iter().map(|&alpha| Job::tradeoff(TESTBED, alpha)).collect();
    let others = ["drfq", "mr3", "gmr3"];
    jobs.extend(others.map(|policy| Job::new(TESTBED, policy)));
    jobs.push(Job::new(TESTBED, "drfq").pipeline(PipelineMode::Unbounded));
    let runs = run_all(&jobs, given)?;
    let seconds: Vec<f64> = runs.iter().map(|run| run.makespan().as_secs_f64()).collect();
    let fair = seconds[0];
    let mut finding = Finding::default();
    finding.rows.push(Row::new(
        "makespan, alpha=1",
        "s",
        Some(PAPER_SECONDS),
        PAPER_SECONDS,
        fair,
        PAPER_SECONDS * MAKESPAN_SHARE,
    ));
    for ((alpha, paper), seconds) in ALPHAS.into_iter().zip(PAPER_PERCENT).zip(&seconds) {
        let what = format!("makespan over that of alpha=1, alpha={alpha}");
        finding.rows.push(Row::new(what, "%", Some(paper), paper, seconds / fair * 100.0, MAKESPAN_POINTS));
    }
    for (policy, seconds) in others.into_iter().zip(&seconds[ALPHAS.len()..]) {
        let what = format!("makespan over that of alpha=1, {policy}");
        finding.rows.push(Row::new(what, "%", Some(100.0), 100.0, seconds / fair * 100.0, MAKESPAN_POINTS));
    }
    finding.remarks.push(
        "The paper does not give the modules' CPU times; 6, 14.14 and 97.6 µs a packet follow from its makespans, its \
         70 % of CPU and its 2 % a flow. With them an independent fluid came to 100, 95.07, 90.03, 85.10, 84.04, \
         84.04 and 84.04 %."
            .to_owned(),
    );
    finding.remarks.push(format!(
        "The paper says that DRFQ, MR³ and GMR³ have \"almost the same makespan\" as alpha=1 (6.1.2). MR³ and GMR³ \
         wait for the link by design; DRFQ runs with a buffer of 64 packets before it, since with an unlimited one it \
         would work ahead on the CPU and finish in {:.2} % of the time, with all that it put before the link waiting \
         there.",
        seconds[ALPHAS.len() + others.len()] / fair * 100.0
    ));
    let mut plot = Plot::new(Axis::linear("alpha"), Axis::linear("makespan, % of that of alpha=1"));
    let measured = ALPHAS.iter().zip(&seconds).map(|(_, seconds)| seconds / fair * 100.0).collect();
    plot.add(Series::dotted_line("measured", ALPHAS.to_vec(), measured));
    plot.add(Series::dotted_line("paper", ALPHAS.to_vec(), PAPER_PERCENT.to_vec()));
    finding.charts.push(chart("Table 2", "The makespan against alpha.", plot));
    Ok(finding)
}

pub(super) fn fig3(given: &Given<'_>) -> Result<Finding, Error> {
    let testbed = Testbed::new()?;
    let alphas = &ALPHAS[..4];
    let runs = run_all(&alphas.iter().map(|&alpha| Job::tradeoff(TESTBED, alpha)).collect::<Vec<_>>(), given)?;
    let mut finding = Finding::default();
    for (j, resource) in ["CPU", "link"].into_iter().enumerate() {
        for (&alpha, run) in alphas.iter().zip(&runs) {
            let paper = match (j, alpha) {
                (0, 1.0) => Some(70.0),
                (1, 1.0) | (0, 0.85) => Some(100.0),
                _ => None,
            };
            let expected = testbed.optimum(alpha).utilisation[j] * 100.0;
            let measured = run.utilisation_between(j, BACKLOGGED) * 100.0;
            let what = format!("{resource} utilisation at the beginning, alpha={alpha}");
            finding.rows.push(Row::new(what, "%", paper, expected, measured, POINTS));
        }
        let lines = alphas.iter().zip(&runs).map(|(alpha, run)| {
            let busy: Vec<f64> = run.utilisation(j).iter().map(|share| share * 100.0).collect();
            (format!("alpha={alpha}"), ((0..busy.len()).map(|second| second as f64).collect(), busy))
        });
        let plot = over_time(lines, Axis::linear("busy, %"));
        finding.charts.push(chart(&format!("Fig. 3, {resource}"), "Utilisation in each second.", plot));
    }
    // Bandwidth-bound flows are those through the first two modules.
    let done = |run: &super::watch::Watch| {
        let ends = MODULES[..2].iter().flat_map(|module| run.of_class(module)).map(|flow| flow.done);
        ends.fold(Nanos::ZERO, Nanos::max).as_secs_f64()
    };
    let fair = done(&runs[0]);
    finding.rows.push(Row::at_least(
        "bandwidth-bound flows' end over that of alpha=1, alpha=0.85",
        "",
        None,
        1.0,
        done(&runs[3]) / fair,
    ));
    finding.remarks.push(format!(
        "\"At the beginning\" is from 1 to 20 s, while all flows are backlogged; expected is what theorem 3 gives then. At \
         alpha=1 the bandwidth-bound flows end at {fair:.1} s, and the bottleneck moves to the CPU. The paper draws the \
         values between 70 and 100 %."
    ));
    Ok(finding)
}

pub(super) fn fig4(given: &Given<'_>) -> Result<Finding, Error> {
    let testbed = Testbed::new()?;
    let runs = run_all(&ALPHAS.map(|alpha| Job::tradeoff(TESTBED, alpha)), given)?;
    let seconds = 0..BACKLOGGED.end;
    let fair = testbed.optimum(1.0).fair;
    let mut finding = Finding::default();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut always_backlogged = usize::MAX;
    for (alpha, run) in ALPHAS.into_iter().zip(&runs) {
        let shares: Vec<f64> =
            run.flows.iter().flat_map(|flow| seconds.clone().map(|second| flow.share(second))).collect();
        guarantee_rows(&mut finding, &shares, alpha, fair, testbed.shortfall_s());
        x.extend(shares.iter().map(|_| alpha));
        y.extend(shares.iter().map(|share| share * 100.0));
        if alpha == 1.0 {
            let most = shares.iter().copied().fold(0.0, f64::max);
            let what = "largest share in a second, alpha=1";
            finding.rows.push(Row::new(what, "%", Some(2.0), fair * 100.0, most * 100.0, 0.1));
        }
        let backlogged = run.flows.iter().filter(|flow| flow.backlogged(BACKLOGGED)).count();
        always_backlogged = always_backlogged.min(backlogged);
    }
    let what = "flows backlogged from 1 to 20 s, least over all alphas";
    finding.rows.push(Row::new(what, "of 60", Some(60.0), 60.0, always_backlogged as f64, 0.0));
    finding.remarks.push(format!(
        "The fair share is 1 / max over r of the sum of normalised times, {:.3} %. Theorem 5 allows the packets' \
         service in a second to be 2 n τ = {:.2} ms less than the fluid's, with n = 60 flows and τ = {:.1} µs: at \
         alpha=0.5 more than is guaranteed. So the second kind of row is stricter: the guarantee itself to within 1 \
         %, about the effect of one packet.",
        fair * 100.0,
        testbed.shortfall_s() * 1e3,
        testbed.longest.as_micros_f64()
    ));
    let mut plot = Plot::new(Axis::linear("alpha"), Axis::linear("dominant share, %"));
    plot.add(Series::cloud("a flow in a second", x, y));
    let guaranteed = ALPHAS.iter().map(|alpha| alpha * fair * 100.0).collect();
    plot.add(Series::line("alpha · fair share", ALPHAS.to_vec(), guaranteed));
    let note = "Each flow's dominant share in each of the first 20 seconds, and the guaranteed share.";
    finding.charts.push(chart("Fig. 4", note, plot));
    Ok(finding)
}

/// Theorem 5's promise for shares guaranteed at `alpha * fair`, and the paper's observations.
pub(super) fn guarantee_rows(finding: &mut Finding, shares: &[f64], alpha: f64, fair: f64, shortfall: f64) {
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let guaranteed = alpha * fair;
    let what = format!("least share and theorem 5's bound over alpha · fair share, alpha={alpha}");
    finding.rows.push(Row::at_least(what, "", None, 1.0, (least + shortfall) / guaranteed));
    let what = format!("least share over alpha · fair share, alpha={alpha}");
    finding.rows.push(Row::at_least(what, "", Some(1.0), 0.99, least / guaranteed));
}
