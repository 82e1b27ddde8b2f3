//! The committed counts, and what is held against them.
//!
//! Another compiler makes other instructions of the same code, so counts are only held against those of the same one.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// So much more than the committed count is a failure.
pub const TOLERANCE: f64 = 0.03;

/// Counts by row.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The compiler and its target, as it says itself.
    pub compiler: String,
    /// Instructions a packet.
    pub instructions: BTreeMap<String, f64>,
}

/// How a count lies to the committed one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// None is committed.
    New,
    /// By this part more, or less, but no more than may be.
    Within(f64),
    /// By this part less, beyond what may be more: the committed count is out of date.
    Less(f64),
    /// By this part more than may be.
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
    /// How `instructions` of the row lie to the committed ones.
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
