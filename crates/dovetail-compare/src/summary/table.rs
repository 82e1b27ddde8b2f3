//! The table: rows that may lack cells, and the union of their columns.

use std::collections::BTreeMap;

/// A value of a row; if a row has none, its cell is empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Truth(bool),
    Whole(u64),
    Number(f64),
}

/// One policy in one sample, or over all samples.
pub(super) type Row = BTreeMap<String, Cell>;

/// Figures as a table.
#[derive(Debug, Default)]
pub struct Summary {
    /// In order of appearance.
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}
