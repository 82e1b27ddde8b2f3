//! How many rows hold, and how many were expected to.

use std::fmt;

use crate::row::{Expectation, Row};

/// How many rows hold, and how many were expected to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Rows.
    pub rows: usize,
    /// Rows that hold.
    pub held: usize,
    /// Rows that do not hold and are known not to.
    pub known: usize,
    /// Rows that were expected to hold and do not.
    pub missed: usize,
    /// Rows that hold although they are known not to.
    pub surprising: usize,
}

impl Tally {
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut tally = Self::default();
        for row in rows {
            tally.rows += 1;
            tally.held += usize::from(row.holds);
            match (row.holds, row.expectation) {
                (false, Expectation::Holds) => tally.missed += 1,
                (false, Expectation::KnownNot(_)) => tally.known += 1,
                (true, Expectation::KnownNot(_)) => tally.surprising += 1,
                (true, Expectation::Holds) | (_, Expectation::Open) => {}
            }
        }
        tally
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} rows hold", self.held, self.rows)?;
        if self.known > 0 {
            write!(f, "; {} known not to", self.known)?;
        }
        if self.missed > 0 {
            write!(f, "; {} that should hold do not", self.missed)?;
        }
        if self.surprising > 0 {
            write!(f, "; {} hold that were known not to", self.surprising)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_counts_once_among_those_that_hold_or_do_not() {
        let row = |measured, expectation| Row { expectation, ..Row::at_most("a", "", None, 1.0, measured) };
        let known = Expectation::KnownNot("it is a misprint");
        let rows = [
            row(0.5, Expectation::Holds),
            row(2.0, Expectation::Holds),
            row(2.0, known),
            row(0.5, known),
            row(2.0, Expectation::Open),
        ];
        let tally = Tally::of(rows.iter());
        assert_eq!(tally, Tally { rows: 5, held: 2, known: 1, missed: 1, surprising: 1 });
        let said = "2 of 5 rows hold; 1 known not to; 1 that should hold do not; 1 hold that were known not to";
        assert_eq!(tally.to_string(), said);
        assert_eq!(Tally::of(rows[..1].iter()).to_string(), "1 of 1 rows hold");
    }
}
