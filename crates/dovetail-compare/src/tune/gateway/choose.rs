//! Chooses the setting to run.
//!
//! No user should pay for a better mean: compared with the ordinary gateway, a setting's 99th percentile may be longer by at
//! most [`P99_OVER`], long responses must not take longer, and no more requests may be left unanswered, because an infinite
//! wait is not part of any mean. Among the settings that obey these rules the least mean is the reference, and of those
//! within [`ALIKE`] of it the one with the least 99th percentile is recommended. If no setting obeys the rules, or none of
//! those that do has a shorter mean, the ordinary gateway is recommended.

use super::{
    super::seeds::ALIKE,
    point::{Got, Point},
};

/// Fraction by which the 99th percentile may exceed the ordinary gateway's.
pub(super) const P99_OVER: f64 = 0.1;

/// A rule for settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    P99,
    Long,
    Unanswered,
}

impl Rule {
    pub(super) const ALL: [Self; 3] = [Self::P99, Self::Long, Self::Unanswered];

    /// Whether these results obey it.
    pub(super) fn is_kept(self, got: Got, ordinary: Got) -> bool {
        match self {
            Self::P99 => got.p99_s <= ordinary.p99_s * (1.0 + P99_OVER),
            Self::Long => {
                ordinary.long_s.is_none_or(|ordinary_s| got.long_s.is_some_and(|long_s| long_s <= ordinary_s))
            }
            Self::Unanswered => got.unanswered <= ordinary.unanswered,
        }
    }
}

/// Whether they obey all rules.
pub(super) fn keeps_all(got: Got, ordinary: Got) -> bool {
    Rule::ALL.iter().all(|rule| rule.is_kept(got, ordinary))
}

/// The outcome of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Choice {
    /// Run this setting; the least mean of any that obeys the rules is `least_s`, in seconds.
    Setting { at: usize, least_s: f64 },
    /// No setting obeys the rules; this one has the least mean.
    TooCostly { at: usize },
    /// No setting that obeys the rules has a shorter mean than the ordinary gateway; this one comes closest.
    NoGain { at: usize },
}

impl Choice {
    /// The setting it refers to.
    pub(super) const fn at(self) -> usize {
        let (Self::Setting { at, .. } | Self::TooCostly { at } | Self::NoGain { at }) = self;
        at
    }
}

/// Weighs settings against the results of the ordinary gateway; `None` if there are none.
pub(super) fn choose<'a>(points: impl Iterator<Item = &'a Point> + Clone, ordinary: Got) -> Option<Choice> {
    let all = points.enumerate();
    let keeps = |&(_, point): &(usize, &Point)| keeps_all(point.got, ordinary);
    let Some((at, least_s)) = best(all.clone().filter(keeps)) else {
        return best(all).map(|(at, _)| Choice::TooCostly { at });
    };
    let gains = least_s < ordinary.mean_s * (1.0 - ALIKE);
    Some(if gains { Choice::Setting { at, least_s } } else { Choice::NoGain { at } })
}

/// Among the settings whose means are close to the least, the one with the least 99th percentile; and that least mean.
fn best<'a>(points: impl Iterator<Item = (usize, &'a Point)> + Clone) -> Option<(usize, f64)> {
    let least_s = points.clone().map(|(_, point)| point.got.mean_s).min_by(f64::total_cmp)?;
    let alike = points.filter(|(_, point)| point.got.mean_s <= least_s * (1.0 + ALIKE));
    alike.min_by(|(_, a), (_, b)| a.got.p99_s.total_cmp(&b.got.p99_s)).map(|(at, _)| (at, least_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn got(mean_s: f64, p99_s: f64, long_s: f64) -> Got {
        Got { mean_s, p99_s, long_s: Some(long_s), unanswered: 0.0 }
    }

    fn point(got: Got) -> Point {
        Point { policy: String::new(), order: "srpt", ageing: None, delay_ms: 60, got }
    }

    #[test]
    fn of_alike_means_that_keep_the_rules_the_least_p99() {
        let points = [
            point(got(1.021, 5.0, 9.0)),
            point(got(1.0, 10.9, 9.9)),
            point(got(1.02, 10.0, 10.0)),
            point(got(0.5, 11.1, 9.0)),
            point(got(0.5, 9.0, 10.1)),
            point(Got { unanswered: 0.01, ..got(0.5, 9.0, 9.0) }),
        ];
        assert_eq!(choose(points.iter(), got(2.0, 10.0, 10.0)), Some(Choice::Setting { at: 2, least_s: 1.0 }));
        assert_eq!(choose([].iter(), got(2.0, 10.0, 10.0)), None);
    }

    #[test]
    fn where_nothing_qualifies_or_gains_it_says_so_and_what_came_closest() {
        let points = [point(got(1.5, 20.0, 9.0)), point(got(1.0, 20.0, 9.0)), point(got(1.01, 19.0, 12.0))];
        assert_eq!(choose(points.iter(), got(2.0, 10.0, 10.0)), Some(Choice::TooCostly { at: 2 }));
        assert_eq!(choose(points.iter(), got(1.02, 30.0, 10.0)), Some(Choice::NoGain { at: 1 }));
        assert_eq!(choose(points.iter(), got(1.03, 30.0, 10.0)), Some(Choice::Setting { at: 1, least_s: 1.0 }));
    }

    #[test]
    fn long_responses_count_where_there_are_some() {
        let none = Got { long_s: None, ..got(2.0, 10.0, 0.0) };
        assert!(keeps_all(got(1.0, 10.0, 99.0), none) && keeps_all(none, none));
        assert!(!keeps_all(none, got(2.0, 10.0, 10.0)));
    }
}
