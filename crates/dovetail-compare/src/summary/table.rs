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

/// The type of a column. One that is empty here has the type that it has elsewhere, so that tables can be concatenated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Truth,
    Whole,
    Number,
}

impl Kind {
    pub(super) fn of(cell: &Cell) -> Self {
        match cell {
            Cell::Text(_) => Self::Text,
            Cell::Truth(_) => Self::Truth,
            Cell::Whole(_) => Self::Whole,
            Cell::Number(_) => Self::Number,
        }
    }
}

/// One policy in one sample, or over all samples.
pub(super) type Row = BTreeMap<String, Cell>;

/// Figures as a table.
#[derive(Debug, Default)]
pub struct Summary {
    /// In order of appearance. A figure has the same type in every document.
    pub(super) columns: Vec<(String, Kind)>,
    pub(super) rows: Vec<Row>,
}
