//! Which lists of seeds can be run with.

use thiserror::Error;

/// Maximum number of seeds.
pub const MAX_SEEDS: usize = 1000;

/// Why a list of seeds cannot be run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SeedsError {
    /// There are none, or more than [`MAX_SEEDS`].
    #[error("1 to {MAX_SEEDS}, not {0}")]
    Count(usize),
    /// A seed is given twice.
    #[error("{0} is given twice")]
    Twice(u64),
}

/// Checks that these are 1 to [`MAX_SEEDS`] different seeds.
///
/// # Errors
/// If they are not.
pub fn check_seeds(seeds: &[u64]) -> Result<(), SeedsError> {
    if seeds.is_empty() || seeds.len() > MAX_SEEDS {
        return Err(SeedsError::Count(seeds.len()));
    }
    match seeds.iter().enumerate().find(|(at, seed)| seeds[..*at].contains(seed)) {
        Some((_, twice)) => Err(SeedsError::Twice(*twice)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_at_most_a_thousand_and_different() {
        let most: Vec<u64> = (1..=1000).collect();
        assert_eq!(check_seeds(&most), Ok(()));
        assert_eq!(check_seeds(&[7]), Ok(()));
        assert_eq!(check_seeds(&[]).map_err(|wrong| wrong.to_string()), Err("1 to 1000, not 0".to_owned()));
        assert_eq!(check_seeds(&[most, vec![0]].concat()), Err(SeedsError::Count(1001)));
        assert_eq!(check_seeds(&[3, 1, 2, 1]), Err(SeedsError::Twice(1)));
    }
}
