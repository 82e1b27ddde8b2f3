//! A typed column of the table.

use super::table::{Cell, Summary};

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
    /// The names of the columns, in order, with their contents. A column has the type of its first value.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Column)> {
        self.columns.iter().map(|name| (name.as_str(), self.column(name)))
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

    fn column(&self, name: &str) -> Column {
        fn values<T>(summary: &Summary, name: &str, value: impl Fn(&Cell) -> Option<T>) -> Vec<Option<T>> {
            summary.rows.iter().map(|row| row.get(name).and_then(&value)).collect()
        }
        match self.rows.iter().find_map(|row| row.get(name)) {
            None | Some(Cell::Text(_)) => {
                Column::Text(values(
                    self,
                    name,
                    |cell| if let Cell::Text(text) = cell { Some(text.clone()) } else { None },
                ))
            }
            Some(Cell::Truth(_)) => {
                Column::Truth(values(
                    self,
                    name,
                    |cell| if let Cell::Truth(truth) = cell { Some(*truth) } else { None },
                ))
            }
            Some(Cell::Whole(_)) => {
                Column::Whole(values(
                    self,
                    name,
                    |cell| if let Cell::Whole(number) = cell { Some(*number) } else { None },
                ))
            }
            Some(Cell::Number(_)) => {
                Column::Number(values(
                    self,
                    name,
                    |cell| if let Cell::Number(number) = cell { Some(*number) } else { None },
                ))
            }
        }
    }
}
