//! Rows that are known not to hold, and why.
//!
//! A claim that is false as it is printed, or that does not come out here for a reason that is understood, stays in the
//! tables and counts as a row that does not hold; it only does not say that something broke. `docs/reproduce.md` has each
//! reason at length.

use crate::row::{Expectation, Row};

/// What is known of a row.
struct Known {
    experiment: &'static str,
    /// As the row says it.
    what: &'static str,
    why: &'static str,
}

const KNOWN: &[Known] = &[];

/// Says of an experiment's rows what is known of them: of captures that a user brings, nothing.
pub(crate) fn mark(experiment: &str, own_traffic: bool, rows: &mut [Row]) {
    for row in rows {
        if own_traffic {
            row.expectation = Expectation::Open;
            continue;
        }
        let known = KNOWN.iter().find(|known| known.experiment == experiment && known.what == row.what);
        if let Some(known) = known {
            row.expectation = Expectation::KnownNot(known.why);
        }
    }
}
