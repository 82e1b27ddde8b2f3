//! Experiments as text, page and JSON.

use dovetail_compare::{
    report::{Block, Page},
    table::{Table, figure},
};
use serde::Serialize;

use crate::{
    experiment::{Experiment, Finding},
    row::{Expectation, Judged, Row},
};

#[derive(Serialize)]
pub(crate) struct ExperimentJson<'a> {
    experiment: &'static str,
    rows: &'a [Row],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tables: Vec<TableJson<'a>>,
    /// Why there are no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<&'a str>,
}

#[derive(Serialize)]
struct TableJson<'a> {
    title: &'a str,
    header: &'a [String],
    rows: &'a [Vec<String>],
}

impl<'a> ExperimentJson<'a> {
    pub(crate) fn new(experiment: &Experiment, finding: &'a Finding) -> Self {
        let table = |(title, table): &'a (String, Table)| TableJson { title, header: &table.header, rows: &table.rows };
        let tables = finding.tables.iter().map(table).collect();
        let left_out = finding.remarks.first().filter(|_| finding.rows.is_empty()).map(String::as_str);
        Self { experiment: experiment.name, rows: &finding.rows, tables, left_out }
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&["what", "unit", "paper", "expected", "measured", "tolerance", "holds"], 2);
    for row in rows {
        table.push([
            row.what.clone(),
            row.unit.to_owned(),
            row.paper.map_or_else(|| "–".to_owned(), |paper| fine(paper, row.unit)),
            fine(row.expected, row.unit),
            fine(row.measured, row.unit),
            match row.judged {
                Judged::Within => format!("± {}", fine(row.tolerance, row.unit)),
                Judged::AtLeast => "at least".to_owned(),
                Judged::AtMost => "at most".to_owned(),
            },
            verdict(row).to_owned(),
        ]);
    }
    table
}

/// Whether a row holds, and whether this was expected.
fn verdict(row: &Row) -> &'static str {
    match (row.holds, row.expectation) {
        (true, Expectation::Holds | Expectation::Open) => "yes",
        (false, Expectation::Holds | Expectation::Open) => "NO",
        (false, Expectation::KnownNot(_)) => "no, as known",
        (true, Expectation::KnownNot(_)) => "yes, not as known",
    }
}

/// Why rows were known not to hold, a line per reason, in the order of the rows.
fn reasons(rows: &[Row]) -> Vec<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for row in rows {
        let Expectation::KnownNot(why) = row.expectation else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, rows)) => *rows += 1,
            None => reasons.push((why, 1)),
        }
    }
    let counted = |rows: usize| if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    reasons.into_iter().map(|(why, rows)| format!("Known not to hold ({}): {why}.", counted(rows))).collect()
}

/// Formatted with two decimals if these are significant, three for ratios.
fn fine(value: f64, unit: &str) -> String {
    match value.abs() {
        size if value.fract() == 0.0 || size >= 1000.0 => figure(value),
        size if size < 10.0 && unit.is_empty() => format!("{value:.3}"),
        _ => format!("{value:.2}"),
    }
}

pub(crate) fn text(experiment: &Experiment, finding: &Finding) -> String {
    let mut text = format!("{}: {} ({})\n\n", experiment.name, experiment.title, experiment.source);
    if !finding.rows.is_empty() {
        text += &table(&finding.rows).to_terminal();
        text.push('\n');
        for reason in reasons(&finding.rows) {
            text += &format!("{reason}\n");
        }
    }
    for (title, table) in &finding.tables {
        text += &format!("\n{title}\n{}\n", table.to_terminal());
    }
    if !finding.tables.is_empty() && !finding.remarks.is_empty() {
        text.push('\n');
    }
    for remark in &finding.remarks {
        text += &format!("{remark}\n");
    }
    text
}

pub(crate) fn page(findings: &[(&Experiment, Finding)]) -> Page {
    let mut page = Page { title: "Dovetail: published experiments, run again".to_owned(), blocks: Vec::new() };
    for (experiment, finding) in findings {
        page.blocks.push(Block::Heading(format!("{}: {}", experiment.name, experiment.title)));
        page.blocks.push(Block::Text(experiment.source.to_owned()));
        if !finding.rows.is_empty() {
            page.blocks.push(Block::Table(table(&finding.rows)));
            page.blocks.extend(reasons(&finding.rows).into_iter().map(Block::Text));
        }
        for (title, table) in &finding.tables {
            page.blocks.push(Block::Text(title.clone()));
            page.blocks.push(Block::Table(table.clone()));
        }
        page.blocks.extend(finding.remarks.iter().cloned().map(Block::Text));
        page.blocks.extend(finding.charts.iter().cloned());
    }
    page
}
