//! A column of the table, of one type.

use super::table::{Cell, Summary};

/// A column's values in the order of the rows; where a row has none, nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Yes or no.
    Truth(Vec<Option<bool>>),
    /// Whole numbers.
    Whole(Vec<Option<u64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
}

impl Summary {
    /// The names of the columns, in order, and what is in them. A column has the type of its first value.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Column)> {
        self.columns.iter().map(|name| (name.as_str(), self.column(name)))
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
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
