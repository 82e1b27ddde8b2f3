//! The width of windows: long enough for a user to notice, but not all of a run.

use dovetail_sched::Nanos;

/// The window of the published experiments; a longer one tells less about a short run.
pub(super) const MAX_WINDOW: Nanos = Nanos::from_secs(1);

/// Number of windows that a run should contain.
const WINDOWS: u64 = 5;

/// A second, or a fifth of a run that takes less than five.
pub(super) fn longest(makespan: Nanos) -> Nanos {
    Nanos(makespan.0 / WINDOWS).min(MAX_WINDOW)
}

/// The largest of 1, 2, 5, 10, 20, … nanoseconds that does not exceed `window`; 1 for 0.
pub(super) fn round_down(window: Nanos) -> Nanos {
    let power = 10u64.pow(window.0.max(1).ilog10());
    let times = [5, 2].into_iter().find(|&times| window.0 / power >= times).unwrap_or(1);
    Nanos(times * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_round() {
        let rounded =
            [0, 1, 4, 5, 9, 10, 19, 20, 49_999, 560_000_000, u64::MAX].map(|nanos| round_down(Nanos(nanos)).0);
        assert_eq!(rounded[..8], [1, 1, 2, 5, 5, 10, 10, 20]);
        assert_eq!(rounded[8..], [20_000, 500_000_000, 10_000_000_000_000_000_000]);
    }

    #[test]
    fn a_short_run_has_five() {
        assert_eq!([0, 9_000_000, 60_000_000_000].map(|nanos| longest(Nanos(nanos)).0), [0, 1_800_000, 1_000_000_000]);
    }
}
