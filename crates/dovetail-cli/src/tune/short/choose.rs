//! Which setting to run.
//!
//! Long flows should hardly get less than where nobody is preferred, under DRR: settings that leave them less than
//! [`KEPT`] of that are out. Of the others the one with the shortest times for short transfers is the measure, and the
//! mildest within [`ALIKE`] of it is recommended: the least ratio, and with it the least threshold. A few seeds cannot
//! tell finer differences apart, and a preference that buys nothing now is a risk when traffic changes.

use super::grid::Point;

/// The part of long flows' rate under DRR that they are to keep.
pub(super) const KEPT: f64 = 0.95;

/// Times that differ by less than this part are alike.
pub(super) const ALIKE: f64 = 0.02;

/// What the grid says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// The setting to run, as an index.
    pub(super) at: usize,
    /// The shortest mean time of short transfers under any setting that leaves long flows enough, in seconds.
    pub(super) least_s: f64,
    /// Whether there is such a setting; without one, it is the best for long flows.
    pub(super) kept: bool,
}

/// Weighs settings, of which there is at least one, against what long flows get under DRR.
pub(super) fn choose(points: &[Point], drr_mbps: f64) -> Choice {
    let fair = |point: &&Point| point.got.long_mbps >= KEPT * drr_mbps;
    let least_s = points.iter().filter(fair).map(|point| point.got.short_s).fold(f64::INFINITY, f64::min);
    let alike =
        points.iter().enumerate().filter(|(_, point)| fair(point) && point.got.short_s <= least_s * (1.0 + ALIKE));
    let mildest =
        alike.min_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio).then(a.threshold_bytes.cmp(&b.threshold_bytes)));
    if let Some((at, _)) = mildest {
        return Choice { at, least_s, kept: true };
    }
    let by_rate = points.iter().enumerate().max_by(|(_, a), (_, b)| a.got.long_mbps.total_cmp(&b.got.long_mbps));
    let (at, least_s) = by_rate.map_or((0, f64::NAN), |(at, point)| (at, point.got.short_s));
    Choice { at, least_s, kept: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::short::grid::Got;

    fn point(ratio: f64, threshold_bytes: u64, short_s: f64, long_mbps: f64) -> Point {
        Point { policy: String::new(), ratio, threshold_bytes, got: Got { short_s, long_mbps } }
    }

    #[test]
    fn the_mildest_of_the_quickest_that_leave_enough() {
        let points = [
            point(1.0, 10_000, 0.300, 1.0),
            point(2.0, 20_000, 0.203, 0.96),
            point(2.0, 10_000, 0.202, 0.96),
            point(8.0, 10_000, 0.200, 0.97),
            point(30.0, 10_000, 0.100, 0.94),
        ];
        assert_eq!(choose(&points, 1.0), Choice { at: 2, least_s: 0.2, kept: true });
        // More is taken for granted than any setting leaves.
        assert_eq!(choose(&points, 2.0), Choice { at: 0, least_s: 0.3, kept: false });
    }
}
