//! Chooses the setting to run.
//!
//! Long flows should receive hardly less than under DRR, where no flow is preferred: settings that leave them less than
//! [`KEPT`] of that are excluded. Of the others the one with the shortest times for short transfers is the reference, and the
//! mildest within [`ALIKE`] of it is recommended: the least ratio, and for that the least threshold. A few seeds cannot
//! resolve finer differences, and a preference without a benefit is a risk when traffic changes. If no setting is faster than
//! DRR for short transfers, or none leaves long flows enough, DRR itself is recommended.

use super::{
    super::seeds::ALIKE,
    point::{Got, Point},
};

/// The fraction of their rate under DRR that long flows must keep.
pub(super) const KEPT: f64 = 0.95;

/// The outcome of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Choice {
    /// Run this setting; the shortest mean time of any that leaves long flows enough is `least_s`, in seconds.
    Setting { at: usize, least_s: f64 },
    /// Every setting takes too much from long flows.
    TooCostly,
    /// Short transfers gain nothing.
    NoGain,
}

/// Weighs settings against the results of DRR.
pub(super) fn choose(points: &[Point], drr: Got) -> Choice {
    let fair = |point: &&Point| point.got.long_mbps >= KEPT * drr.long_mbps;
    let least_s = points.iter().filter(fair).map(|point| point.got.short_s).fold(f64::INFINITY, f64::min);
    if least_s.is_infinite() {
        return Choice::TooCostly;
    }
    if least_s >= drr.short_s * (1.0 - ALIKE) {
        return Choice::NoGain;
    }
    let alike =
        points.iter().enumerate().filter(|(_, point)| fair(point) && point.got.short_s <= least_s * (1.0 + ALIKE));
    let by_preference = |(_, a): &(usize, &Point), (_, b): &(usize, &Point)| {
        a.ratio.total_cmp(&b.ratio).then(a.threshold_bytes.cmp(&b.threshold_bytes))
    };
    alike.min_by(by_preference).map_or(Choice::NoGain, |(at, _)| Choice::Setting { at, least_s })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let drr = |short_s, long_mbps| Got { short_s, long_mbps };
        assert_eq!(choose(&points, drr(0.4, 1.0)), Choice::Setting { at: 2, least_s: 0.2 });
        assert_eq!(choose(&points, drr(0.4, 2.0)), Choice::TooCostly);
        assert_eq!(choose(&points, drr(0.2, 1.0)), Choice::NoGain);
    }
}
