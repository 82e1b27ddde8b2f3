//! The grid as text and as JSON.

use std::path::Path;

use serde::Serialize;

use super::{
    super::seeds::{ALIKE, SEEDS, seeds_from},
    choose::{Choice, P99_OVER, Rule, keeps_all},
    grid::{ORDINARY, Tuning},
    point::{Got, Point},
};
use crate::{
    network::users::setting,
    provenance::Provenance,
    setting::closing,
    table::{Table, figure},
};

#[derive(Serialize)]
pub(super) struct TuningJson {
    network: String,
    provenance: Provenance,
    seeds: Vec<u64>,
    points: Vec<PointJson>,
    beside: Vec<BesideJson>,
    recommended: String,
    why: String,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct PointJson {
    order: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ageing: Option<u64>,
    delay_ms: u64,
    keeps_rules: bool,
    #[serde(flatten)]
    got: BesideJson,
}

#[derive(Serialize)]
struct BesideJson {
    policy: String,
    mean_s: f64,
    p99_s: f64,
    long_mean_s: Option<f64>,
    unanswered: f64,
}

impl BesideJson {
    fn of(policy: &str, got: Got) -> Self {
        let Got { mean_s, p99_s, long_s, unanswered } = got;
        Self { policy: policy.to_owned(), mean_s, p99_s, long_mean_s: long_s, unanswered }
    }
}

pub(super) fn json(tuning: &Tuning<'_>) -> TuningJson {
    let point = |point: &Point| PointJson {
        order: point.order,
        ageing: point.ageing,
        delay_ms: point.delay_ms,
        keeps_rules: keeps_all(point.got, tuning.ordinary),
        got: BesideJson::of(&point.policy, point.got),
    };
    TuningJson {
        network: tuning.network.name.clone(),
        seeds: seeds_from(tuning.provenance.seed),
        provenance: tuning.provenance.clone(),
        points: tuning.points.iter().map(point).collect(),
        beside: tuning.beside.iter().map(|(policy, got)| BesideJson::of(policy, *got)).collect(),
        recommended: recommended(tuning).to_owned(),
        why: why(tuning),
        notes: notes(tuning),
    }
}

fn recommended<'a>(tuning: &'a Tuning<'_>) -> &'a str {
    match tuning.choice {
        Choice::Setting { .. } => &tuning.chosen().policy,
        Choice::TooCostly { .. } | Choice::NoGain { .. } => ORDINARY,
    }
}

/// A setting in words.
pub(super) fn named(order: &str, ageing: Option<u64>) -> String {
    ageing.map_or_else(|| order.to_owned(), |units| format!("{order}, ageing {units}"))
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), figure)
}

/// Gateways shown for comparison, and the given settings.
pub(super) fn table<'a>(tuning: &Tuning<'_>, points: impl Iterator<Item = &'a Point>) -> Table {
    let mut table = Table::new(&["gateway", "d* ms", "mean s", "p99 s", "long s", "unanswered %", "breaks"], 1);
    let chosen = recommended(tuning);
    let mut push = |policy: &str, name: &str, delay: String, got: Got| {
        let mark = if policy == chosen { "*" } else { " " };
        let broken = Rule::ALL.into_iter().filter(|rule| !rule.is_kept(got, tuning.ordinary)).map(column);
        let unanswered = figure(got.unanswered * 100.0);
        let waits = [Some(got.mean_s), Some(got.p99_s), got.long_s].map(shown);
        let row = [format!("{mark} {name}"), delay].into_iter().chain(waits);
        table.push(row.chain([unanswered, broken.collect::<Vec<_>>().join(", ")]));
    };
    for (policy, got) in &tuning.beside {
        push(policy, policy, "–".to_owned(), *got);
    }
    for point in points {
        push(&point.policy, &named(point.order, point.ageing), point.delay_ms.to_string(), point.got);
    }
    table
}

/// The column that a rule concerns.
const fn column(rule: Rule) -> &'static str {
    match rule {
        Rule::P99 => "p99",
        Rule::Long => "long",
        Rule::Unanswered => "unanswered",
    }
}

/// Describes the rules.
fn rules() -> String {
    format!(
        "p99 at most {:.0} % over {ORDINARY}'s, long responses no slower, no more requests unanswered",
        P99_OVER * 100.0
    )
}

/// The difference of a time from the ordinary gateway's.
fn change(seconds: f64, ordinary_s: f64) -> String {
    let from_to = format!("({} s to {} s)", figure(ordinary_s), figure(seconds));
    match ((seconds / ordinary_s - 1.0) * 100.0).round() {
        0.0 => format!("stays {from_to}"),
        percent if percent < 0.0 => format!("falls {:.0} % {from_to}", -percent),
        percent if percent.is_finite() => format!("rises {percent:.0} % {from_to}"),
        _ => format!("is unbounded ({} s under {ORDINARY})", figure(ordinary_s)),
    }
}

/// What users get with the setting.
fn gets(tuning: &Tuning<'_>, got: Got) -> String {
    let long = got.long_s.zip(tuning.ordinary.long_s);
    let long =
        long.map(|(long_s, ordinary_s)| format!(", the mean wait for long responses {}", change(long_s, ordinary_s)));
    format!(
        "against {ORDINARY} the mean wait {}, p99 {}{}",
        change(got.mean_s, tuning.ordinary.mean_s),
        change(got.p99_s, tuning.ordinary.p99_s),
        long.unwrap_or_default(),
    )
}

fn why(tuning: &Tuning<'_>) -> String {
    let Point { policy, got, .. } = tuning.chosen();
    let (gets, rules, alike) = (gets(tuning, *got), rules(), ALIKE * 100.0);
    match tuning.choice {
        Choice::Setting { least_s, .. } => format!(
            "{gets}; of the settings that satisfy the constraints ({rules}) and are within {alike:.0} % of their \
             lowest mean ({} s) this one has the lowest p99",
            figure(least_s)
        ),
        Choice::TooCostly { .. } => {
            format!("no setting satisfies the constraints ({rules}); with {policy}, the quickest, {gets}")
        }
        Choice::NoGain { .. } => format!(
            "no setting that satisfies the constraints ({rules}) has a mean lower than {ORDINARY}'s by more than \
             {alike:.0} %; with {policy}, the quickest of them, {gets}"
        ),
    }
}

pub(super) fn lines(tuning: &Tuning<'_>) -> [String; 2] {
    [format!("Recommended: {}", recommended(tuning)), format!("Why: {}.", why(tuning))]
}

pub(super) fn notes(tuning: &Tuning<'_>) -> Vec<String> {
    let closed = "in a closed loop users send the next request when one is answered, so each setting sees different requests: \
                  users served sooner send more; with --load 0.9 requests arrive at random, the same for all";
    tuning.is_closed().then(|| closed.to_owned()).into_iter().collect()
}

/// Meaning of the columns.
pub(super) const LEGEND: [(&str, &str); 6] = [
    ("*", "recommended"),
    ("gateway", "none, msf-rs and grants with their defaults; then grants by order and ageing, each with its best d*"),
    ("d*", "the target delay of the far queue: the knob delay"),
    (
        "mean, p99 s",
        "from the moment a user wants the response to its last byte; long s: mean of responses over 200 kB",
    ),
    ("unanswered", "requests cancelled, or not answered by the end; they count with the time that they lasted"),
    ("breaks", "the constraints that the setting violates, compared with none"),
];

/// What was run, in a sentence.
pub(super) fn setting_line(tuning: &Tuning<'_>) -> String {
    format!("{}; medians of {SEEDS} seeds from {} on", setting(tuning.network), tuning.network.seed)
}

pub(super) fn text(tuning: &Tuning<'_>, report: Option<&Path>) -> String {
    let [recommended, why] = lines(tuning);
    let legend: String = LEGEND.iter().map(|(term, meaning)| format!("{term:13} {meaning}\n")).collect();
    let rows = tuning.rows();
    let text = format!(
        "{}\n\n{}\n\n{legend}\n{recommended}\n{why}\n{}",
        setting_line(tuning),
        table(tuning, rows.iter().map(|row| row.best)).to_terminal(),
        closing(&notes(tuning), None, report),
    );
    text.trim_end().to_owned()
}
