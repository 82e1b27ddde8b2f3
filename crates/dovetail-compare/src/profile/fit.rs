//! Fits a line through measured costs, and tells how good it is.
//!
//! Least squares: with means x̄ and ȳ, a = Σ(x - x̄)(y - ȳ) / Σ(x - x̄)² and b = ȳ - a·x̄. A cost is never negative, so if
//! either is below 0, the least squares among lines with a, b ≥ 0 are used instead. The sum of squares is convex, so this
//! line is on the border: through the origin, or level. R² = 1 - Σ(y - ax - b)² / Σ(y - ȳ)² for the line that is used: the
//! fraction of the variance of all packets that it explains.

use serde::Serialize;

/// A cost: `per_byte_ns`·bytes + `per_packet_ns`, neither negative.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Line {
    /// Cost per byte of the frame.
    pub per_byte_ns: f64,
    /// Cost per packet.
    pub per_packet_ns: f64,
}

impl Line {
    /// The cost of a packet, in nanoseconds.
    pub fn at(self, bytes: f64) -> f64 {
        self.per_byte_ns * bytes + self.per_packet_ns
    }
}

/// A fitted line, and its quality.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// The line.
    #[serde(flatten)]
    pub line: Line,
    /// `None` if all costs are equal.
    pub r2: Option<f64>,
    /// The least-squares line, if it has a negative part and was therefore rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Line>,
    /// Whether sizes differ: otherwise the slope cannot be determined.
    #[serde(skip)]
    pub slope_known: bool,
}

/// Fits points of bytes and nanoseconds; without any, a level line at 0.
pub fn fit(points: impl Iterator<Item = (f64, f64)> + Clone) -> Fit {
    let n = points.clone().count().max(1) as f64;
    let mean = |of: fn((f64, f64)) -> f64| points.clone().map(of).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(|(x, _)| x), mean(|(_, y)| y));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in points.clone() {
        let (x, y) = (x - mean_x, y - mean_y);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    let slope_known = xx > 0.0;
    let slope = if slope_known { xy / xx } else { 0.0 };
    let free = Line { per_byte_ns: slope, per_packet_ns: mean_y - slope * mean_x };
    let off = |line: Line| points.clone().map(|(x, y)| (y - line.at(x)).powi(2)).sum::<f64>();
    let fits = free.per_byte_ns >= 0.0 && free.per_packet_ns >= 0.0;
    let line = if fits {
        free
    } else {
        // Σxy and Σx² about 0 rather than about the means.
        let through = (xy + n * mean_x * mean_y) / (xx + n * mean_x * mean_x);
        let through = Line { per_byte_ns: through, per_packet_ns: 0.0 };
        let level = Line { per_byte_ns: 0.0, per_packet_ns: mean_y };
        if off(through) < off(level) { through } else { level }
    };
    let r2 = (yy > 0.0).then(|| 1.0 - off(line) / yy);
    Fit { line, r2, refused: (!fits).then_some(free), slope_known }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: Line, per_byte_ns: f64, per_packet_ns: f64) {
        assert!(
            (got.per_byte_ns - per_byte_ns).abs() < 1e-9 && (got.per_packet_ns - per_packet_ns).abs() < 1e-6,
            "{got:?}"
        );
    }

    #[test]
    fn a_line_is_found_again() {
        let found = fit([64.0, 512.0, 1500.0, 1500.0].into_iter().map(|x| (x, 2.5 * x + 700.0)));
        near(found.line, 2.5, 700.0);
        assert!((found.r2.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(found.refused, None);
    }

    #[test]
    fn the_line_and_r2_of_a_textbook() {
        // Anscombe's first quartet, 1973: y = 0.500 x + 3.00, R² = 0.67.
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let found = fit(x.into_iter().zip(y));
        assert!((found.line.per_byte_ns - 0.500_090_9).abs() < 1e-6, "{found:?}");
        assert!((found.line.per_packet_ns - 3.000_090_9).abs() < 1e-6, "{found:?}");
        assert!((found.r2.unwrap() - 0.666_542).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_negative_part_gives_way_to_the_best_line_without() {
        let steep = [(1.0, 1.0), (2.0, 4.0), (3.0, 9.0)];
        let found = fit(steep.into_iter());
        // (1 + 8 + 27) / 14.
        near(found.line, 36.0 / 14.0, 0.0);
        near(found.refused.unwrap(), 4.0, -10.0 / 3.0);
        let falling = [(1.0, 5.0), (2.0, 4.0), (3.0, 3.0)];
        let found = fit(falling.into_iter());
        near(found.line, 0.0, 4.0);
        near(found.refused.unwrap(), -1.0, 6.0);
        assert!(found.r2.unwrap().abs() < 1e-12);
        // No line with a, b ≥ 0 on a fine grid is better.
        for points in [steep, falling] {
            let off = |a: f64, b: f64| points.iter().map(|&(x, y)| (y - a * x - b).powi(2)).sum::<f64>();
            let line = fit(points.into_iter()).line;
            let best = off(line.per_byte_ns, line.per_packet_ns);
            for a in 0..100 {
                for b in 0..100 {
                    assert!(off(f64::from(a) / 20.0, f64::from(b) / 10.0) >= best - 1e-9);
                }
            }
        }
    }

    #[test]
    fn one_size_and_none_give_a_level_line() {
        let found = fit([(100.0, 3.0), (100.0, 5.0)].into_iter());
        near(found.line, 0.0, 4.0);
        assert!(!found.slope_known);
        assert_eq!(fit([(1.0, 2.0), (5.0, 2.0)].into_iter()).r2, None);
        near(fit(std::iter::empty()).line, 0.0, 0.0);
    }
}
