//! The table of results.

use std::fmt;

use comfy_table::{CellAlignment, presets};
use dovetail_stats::median_of_runs;

#[derive(Default)]
pub struct Table(Vec<[String; 4]>);

impl Table {
    /// Adds a row with the median and the extremes of the measurements.
    pub fn push(&mut self, what: impl Into<String>, subject: impl Into<String>, measured: &[f64], unit: &str) {
        let Some(median) = median_of_runs(measured.iter().copied()) else { return };
        let least = measured.iter().copied().fold(f64::INFINITY, f64::min);
        let most = measured.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (what, subject) = (what.into(), subject.into());
        eprintln!("{what}: {subject}: {median:.2} {unit}");
        self.0.push([what, subject, format!("{median:.2} {unit}"), format!("{least:.2} to {most:.2}")]);
    }

    /// The same for ratios, round by round.
    pub fn push_ratio(
        &mut self,
        what: impl Into<String>,
        subject: impl Into<String>,
        ours: &[f64],
        theirs: &[f64],
        whose: &str,
    ) {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
        self.push(what, subject, &ratios, &format!("of {whose}"));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(["measured", "through", "median", "least to most"]);
        for row in &self.0 {
            table.add_row(row);
        }
        if let Some(column) = table.column_mut(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.fmt(f)
    }
}
