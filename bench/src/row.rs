//! Rows of the table.

use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

use crate::spread::Spread;

/// The unit of a row's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "ns")]
    Nanos,
    #[serde(rename = "packets/s")]
    PacketsPerSecond,
    #[serde(rename = "times")]
    Times,
    /// Same as [`Times`](Self::Times), for values of about 1: with two digits.
    #[serde(rename = "ratio")]
    Ratio,
    #[serde(rename = "%")]
    Percent,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "MB")]
    Megabytes,
}

/// The goal for a median.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    pub fn is_met(self, median: f64) -> bool {
        match self {
            Self::AtMost(most) => median <= most,
            Self::AtLeast(least) => median >= least,
        }
    }
}

/// A measurement with its spread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub benchmark: String,
    pub subject: String,
    pub flows: u32,
    #[serde(flatten)]
    pub spread: Spread,
    pub unit: Unit,
    pub goal: Option<Goal>,
}

/// All rows as an aligned table.
pub fn table<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["benchmark", "subject", "flows", "median", "min", "max", "unit", "goal", ""]);
    for row in rows {
        let number = |value| format_number(value, row.unit);
        let goal = row.goal.map_or(String::new(), |goal| match goal {
            Goal::AtMost(most) => format!("<= {}", number(most)),
            Goal::AtLeast(least) => format!(">= {}", number(least)),
        });
        let verdict = row.goal.map_or("", |goal| if goal.is_met(row.spread.median) { "met" } else { "missed" });
        let unit = match row.unit {
            Unit::Nanos => "ns",
            Unit::PacketsPerSecond => "packets/s",
            Unit::Times | Unit::Ratio => "times",
            Unit::Percent => "%",
            Unit::Bytes => "bytes",
            Unit::Megabytes => "MB",
        };
        table.add_row([
            row.benchmark.clone(),
            row.subject.clone(),
            group(&row.flows.to_string()),
            number(row.spread.median),
            number(row.spread.min),
            number(row.spread.max),
            unit.into(),
            goal,
            verdict.into(),
        ]);
    }
    for column in [2, 3, 4, 5, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn format_number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent | Unit::Ratio => format!("{value:.2}"),
        Unit::Nanos | Unit::Times if value < 99.95 => format!("{value:.1}"),
        Unit::Nanos | Unit::Times | Unit::Bytes | Unit::Megabytes => group(&format!("{value:.0}")),
        // Three digits are more than repetitions agree on.
        Unit::PacketsPerSecond => group(&format!("{:.0}", (value / 1e3).round() * 1e3)),
    }
}

/// Inserts thousands separators.
fn group(digits: &str) -> String {
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_verdicts() {
        let row = |median, unit, goal| Row {
            benchmark: "b".into(),
            subject: "s".into(),
            flows: 100_000,
            spread: Spread { median, min: median / 2.0, max: median * 2.0, repetitions: 3 },
            unit,
            goal,
        };
        let text = table(&[
            row(30.04, Unit::Nanos, Some(Goal::AtMost(30.0))),
            row(5_000_400.0, Unit::PacketsPerSecond, Some(Goal::AtLeast(5e6))),
        ])
        .to_string();
        let lines: Vec<&str> = text.lines().collect();
        for part in ["100,000", "30.0 ", "60.1", "<= 30.0", "missed"] {
            assert!(lines[1].contains(part), "{part} in {}", lines[1]);
        }
        for part in ["5,000,000", "10,001,000", ">= 5,000,000", "met"] {
            assert!(lines[2].contains(part), "{part} in {}", lines[2]);
        }
    }
}
