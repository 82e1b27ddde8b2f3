//! Weighs gains against prices.
//!
//! Setting `i` gains `g_i` over the fairest, as a fraction of its time, and costs `p_i`, as a fraction of a fair share. Both
//! are absolute, so the price of a step does not depend on which other settings were tried. A step from `i` to `j` is worth
//! it if its marginal gain is at least [`RATE`] times its marginal price:
//!
//! ```text
//! g_j - g_i >= RATE (p_j - p_i)            knee = argmax g_i - RATE p_i     where  g_i >= WORTH
//! ```
//!
//! On a concave curve the *knee* is where the slope falls below the rate. On any other it is the point from which no step is
//! worth it, so a curve that rises late has one too. Among settings within [`TIE`] of the highest the cheapest is taken. If
//! even the highest is below zero, no setting is worth its price, and the fairest is recommended.
//!
//! The rate is a judgement: half a percent of time for each percent that the worst-off flow may lose. A second setting is
//! therefore offered if it gains at least [`WORTH`] more: the cheapest that comes close to the largest gain of any setting,
//! within a tenth of it and [`WORTH`].
//!
//! Scaling both axes to the curve and taking its highest point over the diagonal (Kneedle, Satopää et al., SIMPLEX 2011)
//! finds a bend at any price: it finds one in a gain of 0.3 %, and none in a gain of 15 % for next to nothing if that comes
//! last.

/// The smallest gain, or difference of gains, that matters: half a percent.
pub(crate) const WORTH: f64 = 0.005;

/// Minimum gain, as a fraction of the time, per whole fair share.
pub(crate) const RATE: f64 = 0.5;

/// Settings whose gains minus prices are closer than this are equal: smaller differences decide nothing.
const TIE: f64 = 0.001;

/// The settings to recommend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stops {
    /// The knee; `None` if no setting is worth its price.
    pub(crate) knee: Option<usize>,
    /// The cheapest of those that gain most, if they gain more than the knee, or than the fairest if there is no knee.
    pub(crate) most: Option<usize>,
}

/// Selects among settings starting with the fairest: `gains` over the first as fractions of the first's time, and `prices` as
/// fractions of a fair share.
pub(crate) fn stops(gains: &[f64], prices: &[f64]) -> Stops {
    let cheapest = |of: &mut dyn Iterator<Item = usize>| of.min_by(|&i, &j| prices[i].total_cmp(&prices[j]));
    let settings = 0..gains.len().min(prices.len());
    let over = |i: usize| gains[i] - RATE * prices[i];
    let worth = |&i: &usize| gains[i] >= WORTH && over(i) >= 0.0;
    let highest = settings.clone().filter(worth).map(over).fold(f64::NEG_INFINITY, f64::max);
    let knee = cheapest(&mut settings.clone().filter(worth).filter(|&i| over(i) >= highest - TIE));
    let best = gains.iter().copied().fold(0.0, f64::max);
    let at_knee = knee.map_or(0.0, |knee| gains[knee]);
    let close = best - WORTH.min(best / 10.0);
    let most = cheapest(&mut settings.filter(|&i| gains[i] >= close));
    Stops { knee, most: most.filter(|&most| gains[most] - at_knee >= WORTH) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALPHAS: [f64; 7] = [0.0, 0.05, 0.1, 0.15, 0.3, 0.4, 0.5];

    fn at(knee: usize) -> Stops {
        Stops { knee: Some(knee), most: None }
    }

    #[test]
    fn the_published_curve_bends_at_0_85_and_gains_no_more_after_it() {
        let makespans = [55.68, 52.50, 48.97, 47.17, 47.13, 47.07, 47.07];
        let gains = makespans.map(|makespan| 1.0 - makespan / 55.68);
        assert_eq!(stops(&gains, &ALPHAS), at(3));
    }

    #[test]
    fn a_gain_below_half_a_percent_is_no_recommendation() {
        // Batches 1 to 100 of flows that are nearly alike: packing gains 0.3 % at 20, and a little more at a high price.
        let gains = [0.0, 0.0004, 0.001, 0.002, 0.003, 0.0045, 0.0062];
        let prices = [0.0, 0.0, 0.0001, 0.0004, 0.001, 0.004, 0.03];
        assert_eq!(stops(&gains, &prices), Stops { knee: None, most: Some(6) });
        assert_eq!(stops(&gains[..6], &prices[..6]), Stops::default());
        assert_eq!(stops(&[0.0; 7], &ALPHAS), Stops::default());
        assert_eq!(stops(&[0.0, -0.3, 0.004], &[0.0; 3]), Stops::default());
        assert_eq!(stops(&[0.0], &[0.0]), Stops::default());
        assert_eq!(stops(&[], &[]), Stops::default());
    }

    #[test]
    fn a_large_gain_for_a_small_price_is_taken_though_it_comes_last() {
        // Batches 1 to 100 on a local network: 15 % for a gap of 1.2 ms in windows of a second.
        let gains = [0.0, 0.004, 0.02, 0.05, 0.08, 0.12, 0.15];
        let prices = [0.0, 0.0, 0.0001, 0.0002, 0.0004, 0.0008, 0.0012];
        assert_eq!(stops(&gains, &prices), at(6));
    }

    #[test]
    fn what_costs_more_than_it_gains_is_offered_and_not_recommended() {
        // A fifth of a percent for each percent of share, throughout and towards the end.
        let even = ALPHAS.map(|price| price / 5.0);
        assert_eq!(stops(&even, &ALPHAS), Stops { knee: None, most: Some(6) });
        let late = ALPHAS.map(|price| price * price / 2.0);
        assert_eq!(stops(&late, &ALPHAS), Stops { knee: None, most: Some(6) });
        // The first step is worth it, the others are not.
        let bent = [0.0, 0.05, 0.06, 0.07, 0.1, 0.12, 0.14];
        assert_eq!(stops(&bent, &ALPHAS), Stops { knee: Some(1), most: Some(6) });
    }

    #[test]
    fn the_rate_is_where_a_step_stops_being_worth_it() {
        let over = |rate: f64| stops(&[0.0, 0.1, 0.1 + rate * 0.1], &[0.0, 0.1, 0.2]).knee;
        assert_eq!(over(RATE * 1.1), Some(2));
        assert_eq!(over(RATE * 0.9), Some(1));
    }

    #[test]
    fn ties_go_to_the_cheaper_and_free_gains_are_taken() {
        assert_eq!(stops(&[0.0, 0.1, 0.101, 0.1015], &[0.0, 0.05, 0.0515, 0.0525]), at(1));
        // The first setting with all of a gain that is free, and a cheaper one that gains more.
        assert_eq!(stops(&[0.0, 0.05, 0.1, 0.1], &[0.0; 4]), at(2));
        assert_eq!(stops(&[0.0, 0.05, 0.1], &[0.0, 0.02, 0.01]), at(2));
    }

    #[test]
    fn other_settings_do_not_move_the_knee() {
        let (gains, prices) = ([0.0, 0.1, 0.1, -0.2, -0.2], [0.0, 0.1, 0.2, 0.3, 0.4]);
        for tried in 2..=5 {
            assert_eq!(stops(&gains[..tried], &prices[..tried]), at(1));
        }
    }
}
