//! The committed counts, and the comparison with them.
//!
//! Another compiler generates other instructions for the same code, so counts are compared only with those of the same one.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// An excess over the committed count above this is a failure.
pub const TOLERANCE: f64 = 0.03;

/// Counts by row.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The compiler and its target, as it reports them.
    pub compiler: String,
    /// Instructions per packet.
    pub instructions: BTreeMap<String, f64>,
}

/// Result of comparing a count with the committed one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// There is no committed count.
    New,
    /// More or less by this fraction, within the tolerance.
    Within(f64),
    /// Less by this fraction, beyond the tolerance: the committed count is out of date.
    Less(f64),
    /// More by this fraction, beyond the tolerance.
    More(f64),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("not committed"),
            Self::Within(by) => write!(f, "{:+.1} %", by * 100.0),
            Self::Less(by) => write!(f, "{:+.1} %: less", by * 100.0),
            Self::More(by) => write!(f, "{:+.1} %: more", by * 100.0),
        }
    }
}

impl Reference {
    /// Compares `instructions` of the row with the committed count.
    #[must_use]
    pub fn verdict(&self, row: &str, instructions: f64) -> Verdict {
        let Some(&committed) = self.instructions.get(row) else { return Verdict::New };
        let by = instructions / committed - 1.0;
        if by > TOLERANCE {
            Verdict::More(by)
        } else if by < -TOLERANCE {
            Verdict::Less(by)
        } else {
            Verdict::Within(by)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_hundred_more_is_too_much() {
        let instructions = BTreeMap::from([("row".to_owned(), 100.0)]);
        let reference = Reference { compiler: "rustc".into(), instructions };
        let verdict = |count| reference.verdict("row", count);
        assert!(matches!(verdict(102.9), Verdict::Within(_)));
        assert!(matches!(verdict(97.1), Verdict::Within(_)));
        assert!(matches!(verdict(103.1), Verdict::More(_)));
        assert_eq!(verdict(90.0).to_string(), "-10.0 %: less");
        assert_eq!(reference.verdict("another", 1.0), Verdict::New);
    }

    #[test]
    fn every_committed_count_is_of_a_row_that_there_is() {
        let reference: Reference = toml::from_str(include_str!("../reference.toml")).unwrap();
        assert!(reference.instructions.len() > 20);
        let all = crate::work::Work::all(1_000).unwrap();
        for name in reference.instructions.keys() {
            assert!(all.iter().any(|work| work.name == *name), "{name}: bench/counts/run.sh --write");
        }
    }
}
