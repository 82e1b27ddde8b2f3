//! The table of policies' figures, for one run of each or over several samples.

use dovetail_stats::median_of_runs;
use serde_json::Value;

use crate::{
    interval::interval,
    table::{count, figure, megabits},
};

/// A column of the table.
pub(super) struct Column {
    pub(super) title: String,
    /// Path of the figure in a policy's document.
    path: String,
    /// Factor that the document's figure is multiplied by.
    scale: f64,
    shown: fn(f64) -> String,
}

impl Column {
    /// The figure in each sample that has it, in order.
    pub(super) fn numbers(&self, samples: &[&Value]) -> Vec<f64> {
        let number = |sample: &&Value| Some(sample.pointer(&self.path)?.as_f64()? * self.scale);
        samples.iter().filter_map(number).collect()
    }
}

/// The columns.
pub(super) fn columns(resources: &[String]) -> Vec<Column> {
    let column =
        |title: &str, path: &str, scale, shown| Column { title: title.to_owned(), path: path.to_owned(), scale, shown };
    let four = |value: f64| format!("{value:.4}");
    let two = |value: f64| format!("{value:.2}");
    let millis = 1e-3;
    let busy = resources.iter().map(|name| {
        let path = format!("/utilisation/{}", name.replace('~', "~0").replace('/', "~1"));
        column(&format!("{name} %"), &path, 100.0, two)
    });
    let rest = [
        column("makespan s", "/makespan_s", 1.0, four),
        column("Mbit/s", "/throughput_mbps", 1.0, megabits),
        column("Jain", "/fairness/jain_dominant", 1.0, four),
        column("gap ms", "/fairness/max_active_time_gap_us", millis, figure),
        column("mean ms", "/latency_us/mean", millis, figure),
        column("p50 ms", "/latency_us/p50", millis, figure),
        column("p95 ms", "/latency_us/p95", millis, figure),
        column("p99 ms", "/latency_us/p99", millis, figure),
        column("dropped", "/dropped", 1.0, |dropped| count(dropped.round() as u64)),
    ];
    busy.chain(rest).collect()
}

/// The columns that a page draws for several samples.
pub(super) fn drawn(resources: &[String]) -> Vec<Column> {
    let drawn = ["Mbit/s", "gap ms", "p50 ms", "p99 ms"];
    let busy = resources.len();
    columns(resources)
        .into_iter()
        .enumerate()
        .filter(|(at, column)| *at < busy || drawn.contains(&column.title.as_str()))
        .map(|(_, column)| column)
        .collect()
}

/// Their headings.
pub(super) fn header(columns: &[Column]) -> Vec<String> {
    ["policy".to_owned()].into_iter().chain(columns.iter().map(|column| column.title.clone())).collect()
}

/// What is shown of the samples.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shown {
    Median,
    Interval,
}

/// A figure over the samples that have it; a dash if none does.
pub(super) fn cell(column: &Column, samples: &[&Value], shown: Shown) -> String {
    let numbers = column.numbers(samples);
    let text = match shown {
        Shown::Median => median_of_runs(numbers).map(column.shown),
        Shown::Interval => interval(&numbers).map(|ends| ends.map(column.shown).join("–")),
    };
    text.unwrap_or_else(|| "–".to_owned())
}
