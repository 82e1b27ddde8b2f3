//! Where to stop: the knee of a curve of gains against fairness given up.
//!
//! Let `g_i` be what setting `i` gains over the fairest and `f_i` how much fairness it gives up, both as parts of the
//! most that any setting does. The straight line from (0, 0) to (1, 1) is a trade at a constant price. What a setting
//! gains beyond that price is its height over the line, and the *knee* is where that is largest (Satopää, Albrecht,
//! Irwin and Raghavan's Kneedle, SIMPLEX 2011, without their smoothing: settings are few and runs exact):
//!
//! ```text
//! height_i = g_i - f_i                knee = argmax height_i
//! ```
//!
//! Of settings within [`TIE`] of the highest the fairest is taken. Where no setting gains [`WORTH`] of the time there is
//! nothing to trade, and where none is [`TIE`] above the line every bit of fairness has the same price: both leave it to
//! the fairest setting.

/// A gain worth having: half a percent.
pub(crate) const WORTH: f64 = 0.005;

/// Heights closer than this are equal: a fiftieth of the whole gain.
const TIE: f64 = 0.02;

/// What a curve says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knee {
    /// Stop at this setting.
    At(usize),
    /// No setting gains anything to speak of.
    Flat,
    /// The gain grows evenly with the fairness given up, or later.
    Even,
}

/// The knee of settings from the fairest on: what each gains over the first, as a part of the first's time, and how
/// much fairness it gives up, in any unit.
pub(crate) fn knee(gains: &[f64], given_up: &[f64]) -> Knee {
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let (gain, price) = (most(gains), most(given_up));
    if gain < WORTH {
        return Knee::Flat;
    }
    // Fairness that nobody loses costs nothing.
    let part = |value: f64, of: f64| if of > 0.0 { value / of } else { 0.0 };
    let heights = gains.iter().zip(given_up).map(|(&g, &f)| part(g, gain) - part(f, price));
    let heights: Vec<f64> = heights.collect();
    let highest = most(&heights);
    if highest < TIE {
        return Knee::Even;
    }
    let at = heights.iter().position(|&height| height >= highest - TIE).unwrap_or(0);
    if gains[at] > 0.0 { Knee::At(at) } else { Knee::Even }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALPHAS: [f64; 7] = [0.0, 0.05, 0.1, 0.15, 0.3, 0.4, 0.5];

    #[test]
    fn the_published_curve_bends_at_0_85() {
        let makespans = [55.68, 52.50, 48.97, 47.17, 47.13, 47.07, 47.07];
        let gains = makespans.map(|makespan| 1.0 - makespan / 55.68);
        assert_eq!(knee(&gains, &ALPHAS), Knee::At(3));
    }

    #[test]
    fn who_gains_nothing_stays_fair() {
        assert_eq!(knee(&[0.0; 7], &ALPHAS), Knee::Flat);
        assert_eq!(knee(&[0.0, 0.001, 0.004, 0.002, -0.3, 0.004, 0.001], &ALPHAS), Knee::Flat);
        assert_eq!(knee(&[0.0], &[0.0]), Knee::Flat);
        assert_eq!(knee(&[], &[]), Knee::Flat);
    }

    #[test]
    fn a_constant_price_and_a_rising_one_have_no_knee() {
        assert_eq!(knee(&ALPHAS, &ALPHAS), Knee::Even);
        assert_eq!(knee(&ALPHAS.map(|x| x * x), &ALPHAS), Knee::Even);
    }

    #[test]
    fn ties_go_to_the_fairer_and_free_gains_are_taken() {
        assert_eq!(knee(&[0.0, 0.1, 0.101, 0.2], &[0.0, 0.05, 0.0501, 0.2]), Knee::At(1));
        // Nobody loses fairness: the least setting that has all of the gain.
        assert_eq!(knee(&[0.0, 0.05, 0.1, 0.1], &[0.0; 4]), Knee::At(2));
    }

    #[test]
    fn a_worse_tail_does_not_move_the_knee() {
        assert_eq!(knee(&[0.0, 0.1, 0.1, -0.2, -0.2], &[0.0, 0.1, 0.2, 0.3, 0.4]), Knee::At(1));
    }
}
