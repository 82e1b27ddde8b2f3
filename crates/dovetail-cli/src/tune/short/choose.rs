//! Which setting to run.
//!
//! A setting is worth a look if no other has shorter times and a higher rate (the Pareto front). Along the front, from
//! the setting that is best for long flows on, what short transfers gain is weighed against the rate that long ones give
//! up, as parts of the most of each; the recommended setting is the [`knee`] of that curve.

use super::grid::Got;
use crate::tune::knee::{Knee, knee};

/// What the grid says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// The setting to run, as an index.
    pub(super) at: usize,
    pub(super) why: Why,
    /// The settings that no other beats, from the best for long flows to the best for short ones.
    pub(super) front: Vec<usize>,
}

/// Why that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// What comes after it costs more than it brings.
    Knee,
    /// No setting does anything for short transfers that is worth a change.
    Flat,
    /// Every gain has the same price: the one that long flows lose nothing by.
    Even,
}

/// Weighs settings, of which there is at least one.
pub(super) fn choose(settings: &[Got]) -> Choice {
    let front = front(settings);
    let first = settings[front[0]];
    let gains: Vec<f64> = front.iter().map(|&at| 1.0 - settings[at].short_s / first.short_s).collect();
    let given_up: Vec<f64> = front.iter().map(|&at| first.long_mbps - settings[at].long_mbps).collect();
    let (place, why) = match knee(&gains, &given_up) {
        Knee::At(place) => (place, Why::Knee),
        Knee::Flat => (0, Why::Flat),
        Knee::Even => (0, Why::Even),
    };
    Choice { at: front[place], why, front }
}

/// Settings that no other beats in both, the highest rate first.
fn front(settings: &[Got]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..settings.len()).collect();
    let by_rate = |&a: &usize, &b: &usize| {
        let (a, b) = (settings[a], settings[b]);
        b.long_mbps.total_cmp(&a.long_mbps).then(a.short_s.total_cmp(&b.short_s))
    };
    order.sort_by(by_rate);
    let mut least = f64::INFINITY;
    order.retain(|&at| {
        let better = settings[at].short_s < least;
        least = least.min(settings[at].short_s);
        better
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn got(short_s: f64, long_mbps: f64) -> Got {
        Got { short_s, long_mbps }
    }

    #[test]
    fn beaten_settings_are_left_out_and_the_knee_is_found() {
        // Long flows like the second best; the third has nearly all that short ones can gain; the fourth is beaten.
        let settings = [got(0.20, 0.5), got(0.40, 1.0), got(0.21, 0.98), got(0.30, 0.6), got(0.40, 0.9)];
        assert_eq!(choose(&settings), Choice { at: 2, why: Why::Knee, front: vec![1, 2, 0] });
    }

    #[test]
    fn nothing_to_gain_and_a_constant_price() {
        assert_eq!(choose(&[got(0.2, 1.0), got(0.2, 0.9)]).why, Why::Flat);
        assert_eq!(choose(&[got(0.2, 1.0)]), Choice { at: 0, why: Why::Flat, front: vec![0] });
        let even = choose(&[got(0.4, 1.0), got(0.3, 0.75), got(0.2, 0.5)]);
        assert_eq!((even.at, even.why), (0, Why::Even));
    }
}
