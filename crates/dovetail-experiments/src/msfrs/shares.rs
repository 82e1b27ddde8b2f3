//! Figs. 8 and 10: the bandwidth of each class.

use super::runs::{Made, Setting, median, runs, spread};
use crate::{
    error::Error,
    experiment::{Finding, Given, chart},
    row::Row,
};
use dovetail_compare::{
    report::{
        charts::over_time,
        plot::{Axis, Plot, Series},
    },
    table::Table,
};

const SEEDS: u64 = 3;
/// Covers a class's last responses and the window's first period after it stops or begins.
const SETTLING_S: usize = 20;
/// Largest deviation of a ratio from that of the weights.
const TOLERANCE: f64 = 0.05;

const GATEWAYS: [&str; 4] = ["msf-rs", "grants", "none", "drr"];
const PHASES: [(usize, usize); 4] = [(0, 200), (200, 400), (400, 600), (600, 800)];

/// Rate of each class in a phase, in kbit/s.
fn rates(made: &Made, phase: usize) -> [f64; 3] {
    let (from, to) = PHASES[phase];
    let classes = made.outcome.access.as_ref().map(|access| access.classes.as_slice()).unwrap_or_default();
    [0, 1, 2].map(|class| classes.get(class).map_or(0.0, |class| class.mean_bps(from + SETTLING_S, to) / 1e3))
}

fn share(made: &Made, phase: usize, class: usize, over: usize) -> f64 {
    let rates = rates(made, phase);
    rates[class] / rates[over]
}

pub(super) fn fig8(given: &Given<'_>) -> Result<Finding, Error> {
    let all = runs(Setting::Phases, &GATEWAYS, SEEDS, given)?;
    let near = |what: String, paper: Option<f64>, expected: f64, measured: f64| {
        Row::new(what, "", paper, expected, measured, expected * TOLERANCE)
    };
    let mut rows = Vec::new();
    for (gateway, runs) in GATEWAYS.iter().zip(&all).take(2) {
        let paper = |value: f64| (*gateway == "msf-rs").then_some(value);
        let at = |phase, class, over| median(runs, |made| share(made, phase, class, over));
        rows.extend([
            near(format!("{gateway}: gold / bronze, all backlogged"), paper(3.96), 4.0, at(0, 0, 2)),
            near(format!("{gateway}: silver / bronze, all backlogged"), paper(1.98), 2.0, at(0, 1, 2)),
            near(format!("{gateway}: silver / bronze, gold asleep"), paper(2.0), 2.0, at(1, 1, 2)),
            near(format!("{gateway}: gold / bronze, gold back"), paper(4.0), 4.0, at(3, 0, 2)),
            near(format!("{gateway}: silver / bronze, gold back"), paper(2.0), 2.0, at(3, 1, 2)),
        ]);
        // The idle share is redistributed: the link stays full though only bronze sends requests, and others have their last
        // responses.
        let goodput = |made: &Made| made.network.goodput_bytes_per_s() * 8.0 / 1e3;
        let used = median(runs, |made| rates(made, 2).iter().sum::<f64>() / goodput(made) * 100.0);
        let what = format!("{gateway}: the link's goodput used while only bronze has requests");
        rows.push(Row::at_least(what, "%", None, 95.0, used));
    }
    // Without differentiation all classes get the same, apart from differences in their requests.
    let [none, drr] = [2, 3].map(|at| median(&all[at], |made| share(made, 0, 0, 2)));
    rows.push(Row::new("none: gold / bronze, all backlogged", "", None, 1.0, none, 0.2));
    rows.push(Row::new("drr: gold / bronze, all backlogged, as under none", "", None, none, drr, 0.05));
    let mut table = Table::new(&["gateway", "phase", "gold kbit/s", "silver kbit/s", "bronze kbit/s"], 2);
    for (gateway, runs) in GATEWAYS.iter().zip(&all) {
        for (phase, (from, to)) in PHASES.iter().enumerate() {
            let class = |class: usize| spread(runs, 0, |made| rates(made, phase)[class]);
            table.push([(*gateway).to_owned(), format!("{from} to {to} s"), class(0), class(1), class(2)]);
        }
    }
    let charts = GATEWAYS.iter().zip(&all).filter_map(|(gateway, runs)| {
        let made = runs.first()?;
        Some(chart(&format!("Fig. 8: {gateway}, first run"), "Mean over ten seconds.", over_time_by_class(made)))
    });
    Ok(Finding {
        rows,
        tables: vec![("Throughput, median [least..most] over the runs".into(), table)],
        charts: charts.collect(),
        remarks: vec![
            "DRR at the users' side never has two packets to choose from: everything has already crossed the link. \
             Under it and under the ordinary gateway every class gets what its connections take."
                .into(),
        ],
    })
}

fn over_time_by_class(made: &Made) -> Plot {
    const WIDTH_S: usize = 10;
    let classes = made.outcome.access.as_ref().map(|access| access.classes.as_slice()).unwrap_or_default();
    let lines = classes.iter().map(|class| {
        let points = (0..80).map(|at| at * WIDTH_S);
        let points = points.map(|from| (from as f64, class.mean_bps(from, from + WIDTH_S) / 1e3)).unzip();
        (made.network.traffic[class.traffic].name.clone(), points)
    });
    over_time(lines, Axis::linear("kbit/s"))
}

const USERS: [u32; 6] = [4, 8, 12, 16, 20, 24];
const COUNTING: [&str; 3] = ["msf-rs", "msf-rs:users=ignore", "grants"];

/// The rate of a user of a class over that of a user of bronze.
fn per_user(made: &Made, class: usize) -> f64 {
    let rate = |at: usize| made.figures.classes[at].kbps / made.figures.classes[at].users as f64;
    rate(class) / rate(2)
}

pub(super) fn fig10(given: &Given<'_>) -> Result<Finding, Error> {
    let mut rows = Vec::new();
    let mut table = Table::new(&["gateway", "users of gold", "gold, a user", "silver, a user", "bronze, a user"], 1);
    let mut lines: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); COUNTING.len()];
    for users in USERS {
        let all = runs(Setting::Users(users), &COUNTING, 1, given)?;
        for (at, (gateway, runs)) in COUNTING.iter().zip(&all).enumerate() {
            let part = |class: usize| median(runs, |made| per_user(made, class));
            let (gold, silver) = (part(0), part(1));
            lines[at].0.push(f64::from(users));
            lines[at].1.push(gold);
            table.push([
                (*gateway).to_owned(),
                users.to_string(),
                format!("{gold:.2}"),
                format!("{silver:.2}"),
                "1.00".to_owned(),
            ]);
            let without = gateway.contains("ignore");
            if without && users > 4 {
                // The class as a whole gets the share of its weight, to be divided among all its users.
                let expected = 4.0 * 4.0 / f64::from(users);
                rows.push(Row::at_most(
                    format!("{gateway}, {users} users: gold / bronze, a user"),
                    "",
                    None,
                    expected * 1.1,
                    gold,
                ));
            } else if !without {
                let paper = (*gateway == "msf-rs").then_some(4.0);
                let what = format!("{gateway}, {users} users: gold / bronze, a user");
                rows.push(Row::new(what, "", paper, 4.0, gold, 4.0 * TOLERANCE));
                let paper = (*gateway == "msf-rs").then_some(2.0);
                let what = format!("{gateway}, {users} users: silver / bronze, a user");
                rows.push(Row::new(what, "", paper, 2.0, silver, 2.0 * TOLERANCE));
            }
        }
    }
    let mut plot = Plot::new(Axis::linear("users of gold"), Axis::linear("a user of gold over one of bronze"));
    for (gateway, (users, parts)) in COUNTING.iter().zip(lines) {
        plot.add(Series::line(*gateway, users, parts));
    }
    Ok(Finding {
        rows,
        tables: vec![("A user's rate, over that of a bronze user".into(), table)],
        charts: vec![chart("Fig. 10", "With and without counting users.", plot)],
        ..Finding::default()
    })
}
