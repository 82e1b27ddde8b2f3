//! What wrong estimates cost policies designed for known costs. No paper has this experiment. The traffic is `middlebox`,
//! half a second of it without queue limits, with packets of many lengths in each flow, and CPU costs that vary around each
//! function's line.
//!
//! Each policy runs in the pipeline it is designed for: ATFQ and DRFQ without a buffer between CPU and link, the trade-off
//! with an unlimited one.
//!
//! How much longer may a run be? A packet that needs more time than estimated delays the next one by the difference, and one
//! that needs less leaves the resource idle for it. A schedule that merely passes the errors on is therefore longer by the
//! sum of the errors: by the estimates' mean absolute error, as a fraction of the mean cost. A policy that loses more
//! amplifies its errors.

use dovetail_sched::{Limits, Nanos, PolicySpec, Setup, registry::with_knobs};
use dovetail_sim::{
    Options, PipelineMode,
    measure::{DEFAULT_WINDOW, Meters, Summary},
    simulate,
    workload::{Class, ClassSet, Noise, Workload},
};

use crate::error::Error;
use crate::{
    experiment::{Experiment, Finding, Given},
    row::Row,
};
use dovetail_compare::side_by_side::side_by_side;
use dovetail_compare::{input::builtin_scenario_with, table::Table};

pub(crate) const COSTS_WRONG: Experiment = Experiment {
    name: "costs-wrong",
    title: "what wrong estimates cost",
    source: "our own",
    by_trace: false,
    run: costs_wrong,
};

const SCENARIO: &str = "middlebox";
const DURATION: Nanos = Nanos::from_millis(500);
const SEEDS: u64 = 5;

const POLICIES: [(&str, PipelineMode); 3] = [
    ("atfq:batch=20", PipelineMode::NoWait),
    ("drfq", PipelineMode::NoWait),
    ("tradeoff:alpha=0.9", PipelineMode::Unbounded),
];

/// The scheduler's assumption; the first is the truth.
const ESTIMATES: [&str; 4] = ["known", "line", "ses", "llsr"];

/// Noise of CPU costs, as named in the table.
const NOISES: [(&str, Noise); 4] = [
    ("exact", Noise { spread: 0.0, spike_share: 0.0, spike_factor: 0.0, measured: None }),
    ("± 10 %", Noise { spread: 0.1, spike_share: 0.0, spike_factor: 0.0, measured: None }),
    ("± 40 %", Noise { spread: 0.4, spike_share: 0.0, spike_factor: 0.0, measured: None }),
    ("2 % x 4", Noise { spread: 0.0, spike_share: 0.02, spike_factor: 4.0, measured: None }),
];

/// Errors smaller than this fraction of the costs are due to rounding.
const NO_ERROR: f64 = 1e-3;

/// Means over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Means {
    makespan_s: f64,
    busy: [f64; 2],
    gap_ms: f64,
    jain: f64,
    /// Mean absolute error of the estimates over the mean cost; 0 if costs are known.
    error: f64,
}

impl Means {
    fn of(summary: &Summary, error: f64) -> Self {
        Self {
            makespan_s: summary.makespan.as_secs_f64(),
            busy: [0, 1].map(|at| summary.utilisation.get(at).copied().unwrap_or(0.0)),
            gap_ms: summary.max_active_time_gap.unwrap_or_default().as_micros_f64() / 1e3,
            jain: summary.jain_dominant.unwrap_or(f64::NAN),
            error,
        }
    }

    fn over(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Self {
            makespan_s: mean(|it| it.makespan_s),
            busy: [mean(|it| it.busy[0]), mean(|it| it.busy[1])],
            gap_ms: mean(|it| it.gap_ms),
            jain: mean(|it| it.jain),
            error: mean(|it| it.error),
        }
    }
}

/// The policy's string with estimates.
fn estimating(policy: &str, estimates: &str) -> String {
    with_knobs(policy, format_args!("estimator={estimates}"))
}

fn run(noise: &Noise, policy: &str, pipeline: PipelineMode, seed: u64, given: &Given<'_>) -> Result<Means, Error> {
    let mut scenario = builtin_scenario_with(SCENARIO, with_sizes)?;
    let classes = scenario.classes.classes().iter().map(|class| Class { noise: noise.clone(), ..class.clone() });
    let classes = classes.collect();
    scenario.classes = ClassSet::new(scenario.classes.resources().to_vec(), classes).map_err(Error::broken)?;
    scenario.duration = Some(DURATION);
    scenario.seed = seed;
    let mut workload = scenario.workload().map_err(Error::broken)?;
    let resources = workload.resources().len();
    let setup = Setup { programs: workload.programs(), ..Setup::new(resources, Limits::UNLIMITED) };
    let mut scheduler = policy.parse::<PolicySpec>()?.build(&setup)?;
    let mut meters = Meters::new(resources, DEFAULT_WINDOW);
    let options = Options { stop: given.stop(), ..Options::default() };
    let outcome = simulate(&mut workload, scheduler.as_mut(), pipeline, &mut meters, options)
        .map_err(|error| Error::broken(format!("{policy}: {error}")))?;
    given.bar.inc(outcome.sent);
    let mut error = 0.0;
    scheduler.figures(&mut |name, value| {
        if name == "cost_error_pct" {
            error = value / 100.0;
        }
    });
    Ok(Means::of(&meters.finish(), error))
}

/// The scenario's text with lengths uniformly distributed from half of each flow's length to one and a half times that: a
/// single length does not determine a line, and least squares would fall back to smoothing.
fn with_sizes(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("size = ").and_then(|size| size.parse::<u32>().ok()) {
        Some(size) => format!("size = {{ uniform = {{ min = {}, max = {} }} }}\n", size / 2, size + size / 2),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn costs_wrong(given: &Given<'_>) -> Result<Finding, Error> {
    measured(SEEDS, given)
}

fn measured(seeds: u64, given: &Given<'_>) -> Result<Finding, Error> {
    let mut items = Vec::new();
    for (policy, pipeline) in POLICIES {
        for noise in 0..NOISES.len() {
            for estimates in ESTIMATES {
                let policy = estimating(policy, estimates);
                items.extend((0..seeds).map(|seed| (policy.clone(), pipeline, noise, seed)));
            }
        }
    }
    let runs = side_by_side(&items, |(policy, pipeline, noise, seed)| {
        run(&NOISES[*noise].1, policy, *pipeline, *seed, given)
    })?;
    let means: Vec<Means> = runs.chunks(seeds as usize).map(Means::over).collect();
    let mut finding = Finding::default();
    let header =
        ["policy", "costs", "estimates", "makespan, s", "over known", "error", "CPU, %", "link, %", "gap, ms", "Jain"];
    let mut table = Table::new(&header, 3);
    for ((policy, _), of_policy) in POLICIES.iter().zip(means.chunks(NOISES.len() * ESTIMATES.len())) {
        let mut worst = [0.0f64; ESTIMATES.len()];
        for ((costs, _), of_costs) in NOISES.iter().zip(of_policy.chunks(ESTIMATES.len())) {
            for (at, (estimates, means)) in ESTIMATES.iter().zip(of_costs).enumerate() {
                let over_known = means.makespan_s / of_costs[0].makespan_s;
                if means.error > NO_ERROR {
                    worst[at] = worst[at].max((over_known - 1.0) / means.error);
                }
                let shown = [format!("{:.4}", means.makespan_s), format!("{over_known:.4}")].into_iter();
                let shown = shown.chain([format!("{:.4}", means.error)]);
                let shown = shown.chain(means.busy.map(|busy| format!("{:.2}", busy * 100.0)));
                let shown = shown.chain([format!("{:.3}", means.gap_ms), format!("{:.4}", means.jain)]);
                table.push([*policy, *costs, *estimates].map(str::to_owned).into_iter().chain(shown));
            }
        }
        for (estimates, worst) in ESTIMATES.iter().zip(worst).skip(1) {
            let what = format!("longer by this part of the estimates' error, at most: {policy}, {estimates}");
            finding.rows.push(Row::at_most(what, "", None, 1.0, worst));
        }
    }
    finding.tables.push((format!("Means over {seeds} seeds"), table));
    finding.remarks.push(
        "A row holds where wrong estimates lengthen the run, as a part of that with known costs, by no more than they are \
         wrong under any kind of costs: a packet taken to need less than it does delays the next by the difference, one taken \
         to need more idles for it. Error: mean absolute error of the estimates over the mean cost. The gap is the largest difference in active time of two flows that both wait, Jain's index that of \
         dominant service. Estimates are settled (settle=yes): their error is charged to the flow's next packet."
            .to_owned(),
    );
    Ok(finding)
}

#[cfg(test)]
mod tests {
    use dovetail_compare::Silent;

    use super::*;

    #[test]
    fn the_configured_line_is_the_truth_where_costs_are_exact() {
        let given = Given { traces: &[], bar: &Silent };
        let exact = &NOISES[0].1;
        for (policy, pipeline) in POLICIES {
            let by = |estimates: &str| run(exact, &estimating(policy, estimates), pipeline, 0, &given).unwrap();
            let known = by("known");
            assert!(known.makespan_s > 0.5 && known.busy[0] > 0.5, "{known:?}");
            assert_eq!(known, by("line"));
        }
        let noisy = |estimates: &str| {
            run(&NOISES[2].1, &estimating("drfq", estimates), PipelineMode::NoWait, 0, &given).unwrap()
        };
        assert_ne!(noisy("known"), noisy("line"));
        // Flows have packets of many lengths: least squares finds the line, and smoothing cannot.
        let error =
            |estimates| run(exact, &estimating("drfq", estimates), PipelineMode::NoWait, 0, &given).unwrap().error;
        assert!(error("llsr") < NO_ERROR && error("ses") > 0.05);
    }
}
