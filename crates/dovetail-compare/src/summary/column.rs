//! A typed column of the table.

use super::table::{Cell, Kind, Summary};

/// A column's values in the order of the rows; `None` for rows without one.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Booleans.
    Truth(Vec<Option<bool>>),
    /// Integers.
    Whole(Vec<Option<u64>>),
    /// Floating-point numbers.
    Number(Vec<Option<f64>>),
}

impl Summary {
    /// The names of the columns, in order, with their contents.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Column)> {
        self.columns.iter().map(|(name, kind)| (name.as_str(), self.column(name, *kind)))
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn column(&self, name: &str, kind: Kind) -> Column {
        fn values<T>(summary: &Summary, name: &str, value: impl Fn(&Cell) -> Option<T>) -> Vec<Option<T>> {
            summary.rows.iter().map(|row| row.get(name).and_then(&value)).collect()
        }
        match kind {
            Kind::Text => Column::Text(values(self, name, |cell| match cell {
                Cell::Text(text) => Some(text.clone()),
                _ => None,
            })),
            Kind::Truth => Column::Truth(values(self, name, |cell| match cell {
                Cell::Truth(truth) => Some(*truth),
                _ => None,
            })),
            Kind::Whole => Column::Whole(values(self, name, |cell| match cell {
                Cell::Whole(number) => Some(*number),
                _ => None,
            })),
            Kind::Number => Column::Number(values(self, name, |cell| match cell {
                Cell::Number(number) => Some(*number),
                _ => None,
            })),
        }
    }
}
