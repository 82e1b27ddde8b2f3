//! The grid as text, page and JSON.

use std::path::Path;

use serde::Serialize;

use super::{
    super::seeds::{ALIKE, COME_FROM, seeds_from},
    choose::{Choice, KEPT},
    grid::{FAIR, Tuning},
    point::{Got, Point},
};
use crate::{
    provenance::Provenance,
    report::{
        Block, Page,
        plot::{Axis, Plot, Series},
    },
    setting::closing,
    table::{Table, figure, megabits},
};

#[derive(Serialize)]
pub(super) struct TuningJson {
    network: String,
    provenance: Provenance,
    seeds: Vec<u64>,
    points: Vec<PointJson>,
    beside: Vec<PointJson>,
    recommended: String,
    why: String,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct PointJson {
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold_bytes: Option<u64>,
    short_mean_s: f64,
    long_mbps: f64,
}

pub(super) fn json(tuning: &Tuning) -> TuningJson {
    let point = |point: &Point| PointJson {
        policy: point.policy.clone(),
        ratio: Some(point.ratio),
        threshold_bytes: Some(point.threshold_bytes),
        short_mean_s: point.got.short_s,
        long_mbps: point.got.long_mbps,
    };
    let beside = |&(policy, got): &(&str, Got)| PointJson {
        policy: policy.to_owned(),
        ratio: None,
        threshold_bytes: None,
        short_mean_s: got.short_s,
        long_mbps: got.long_mbps,
    };
    TuningJson {
        network: tuning.network.clone(),
        seeds: seeds_from(tuning.provenance.seed),
        provenance: tuning.provenance.clone(),
        points: tuning.points.iter().map(point).collect(),
        beside: tuning.beside.iter().map(beside).collect(),
        recommended: recommended(tuning).0.to_owned(),
        why: why(tuning),
        // All kinds of tuning have notes; this one has none.
        notes: Vec::new(),
    }
}

/// The recommended policy, and the results of flows under it.
fn recommended(tuning: &Tuning) -> (&str, Got) {
    match tuning.choice {
        Choice::Setting { at, .. } => (&tuning.points[at].policy, tuning.points[at].got),
        Choice::TooCostly | Choice::NoGain => (FAIR, tuning.drr),
    }
}

/// A row per threshold, a column per ratio.
fn matrix(tuning: &Tuning, shown: fn(Got) -> String) -> Table {
    let ratios = tuning.ratios.iter().map(|ratio| format!("ratio {ratio}"));
    let mut table =
        Table { header: ["threshold".to_owned()].into_iter().chain(ratios).collect(), rows: Vec::new(), words: 1 };
    let columns = tuning.thresholds_bytes.len();
    for (at, &bytes) in tuning.thresholds_bytes.iter().enumerate() {
        let cell = |place: usize, point: &Point| {
            let chosen = matches!(tuning.choice, Choice::Setting { at, .. } if at == place);
            let mark = if chosen { "*" } else { "" };
            format!("{mark}{}", shown(point.got))
        };
        let cells = tuning.points.iter().enumerate().skip(at).step_by(columns).map(|(place, point)| cell(place, point));
        table.push([format!("{} kB", figure(bytes as f64 / 1e3))].into_iter().chain(cells));
    }
    table
}

fn beside(tuning: &Tuning) -> Table {
    let mut table = Table::new(&["beside", "short ms", "long Mbit/s"], 1);
    let (chosen, got) = recommended(tuning);
    let rows = tuning.beside.iter().filter(|(policy, _)| *policy != chosen);
    let rows = rows.map(|(policy, got)| (format!("  {policy}"), *got));
    for (policy, got) in rows.chain([(format!("* {chosen}"), got)]) {
        table.push([policy, figure(got.short_s * 1e3), megabits(got.long_mbps)]);
    }
    table
}

fn why(tuning: &Tuning) -> String {
    let kept = KEPT * 100.0;
    let Choice::Setting { least_s, .. } = tuning.choice else {
        return match tuning.choice {
            Choice::TooCostly => format!("no setting leaves long flows {kept:.0} % of their rate under {FAIR}"),
            _ => format!(
                "no setting that leaves long flows {kept:.0} % of their rate is faster for short ones than {FAIR}"
            ),
        };
    };
    let (_, got) = recommended(tuning);
    format!(
        "short transfers take {} ms, within {:.0} % of the lowest of any setting ({} ms) that leaves long flows \
         {kept:.0} % of their rate under {FAIR}, where they take {} ms; long flows get {:.0} % of that rate; among \
         equally good settings this one favours short flows least",
        figure(got.short_s * 1e3),
        ALIKE * 100.0,
        figure(least_s * 1e3),
        figure(tuning.drr.short_s * 1e3),
        got.long_mbps / tuning.drr.long_mbps * 100.0,
    )
}

fn lines(tuning: &Tuning) -> [String; 2] {
    [format!("Recommended: {}", recommended(tuning).0), format!("Why: {}.", why(tuning))]
}

const SHORT: &str = "Mean time of transfers under 20 kB, ms";
const LONG: &str =
    "Rate of long flows (over 1 MB, or unlimited), Mbit/s: all their bits over all the seconds they took";

pub(super) fn text(tuning: &Tuning, report: Option<&Path>) -> String {
    let [recommended, why] = lines(tuning);
    let text = format!(
        "{}\n\n{SHORT}\n{}\n\n{LONG}\n{}\n\n{}\n\n{recommended}\n{why}\n{}",
        tuning.network,
        matrix(tuning, |got| figure(got.short_s * 1e3)).to_terminal(),
        matrix(tuning, |got| megabits(got.long_mbps)).to_terminal(),
        beside(tuning).to_terminal(),
        closing(&[], None, report),
    );
    text.trim_end().to_owned()
}

pub(super) fn page(tuning: &Tuning) -> Page {
    let mut page = Page { title: format!("Dovetail: short flows first over {}", tuning.network), blocks: Vec::new() };
    page.blocks.extend(lines(tuning).map(Block::Text));
    page.blocks.push(Block::chart(
        "Short against long",
        "A point for each setting, a line for each threshold, the ratio growing along it: left is faster for short \
         transfers, up is better for long flows.",
        plot(tuning),
    ));
    page.blocks.extend([
        Block::Table(beside(tuning)),
        Block::Text(SHORT.into()),
        Block::Table(matrix(tuning, |got| figure(got.short_s * 1e3))),
        Block::Text(LONG.into()),
        Block::Table(matrix(tuning, |got| megabits(got.long_mbps))),
        Block::More { title: COME_FROM.to_owned(), table: tuning.provenance.table() },
    ]);
    page
}

fn plot(tuning: &Tuning) -> Plot {
    let mut plot = Plot::new(Axis::linear("short transfers, ms"), Axis::linear("long flows, Mbit/s"));
    let columns = tuning.thresholds_bytes.len();
    for (at, &bytes) in tuning.thresholds_bytes.iter().enumerate() {
        let points: Vec<&Point> = tuning.points.iter().skip(at).step_by(columns).collect();
        let (x, y) = points.iter().map(|point| (point.got.short_s * 1e3, point.got.long_mbps)).unzip();
        plot.add(Series::dotted_line(format!("{} kB", figure(bytes as f64 / 1e3)), x, y));
    }
    let mut dot = |name: &str, got: Got| {
        plot.add(Series::dots(name, vec![got.short_s * 1e3], vec![got.long_mbps]).with_large(0));
    };
    for &(policy, got) in &tuning.beside {
        dot(policy, got);
    }
    dot("recommended", recommended(tuning).1);
    plot
}
