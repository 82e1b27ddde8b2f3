//! The effect of a knob: one run per value, and the figures that are weighed.
//!
//! **Gain.** How much less time the same work takes. If all runs sent the same packets, this is the makespan. If packets are
//! dropped, or flows supply as many as a policy takes, runs do different work. Work is then the service on packets' dominant
//! resources, as in the fluid that defines fair shares, and the time per second of work is compared.
//!
//! **Price.** The fairness that is lost, as a fraction of a fair share. With a promise, the fraction of the promised share.
//! Without one, the larger of two observations: how much the worst share fell, and how much the gap grew, as a fraction of a
//! second, or of a fifth of a run of less than five. The gap is the furthest that one flow ever got ahead of another in
//! active time, which is where packing shows first. A window cuts packets, so shares are accurate only to a packet: what one
//! packet explains does not count as a fall. If a fair share of a window is less than a packet, this covers all of it, and
//! the gap alone is the price.

use dovetail_sched::Nanos;
use dovetail_sim::{PipelineMode, measure::Shares};

use super::{
    knee::{Stops, WORTH, stops},
    knob::Tunable,
    window::longest,
};
use crate::run::PolicyRun;

/// A value of the knob, and its results.
pub(crate) struct Point {
    pub(crate) value: f64,
    pub(crate) promise: Option<f64>,
    pub(crate) run: PolicyRun,
    pub(crate) shares: Shares,
}

impl Point {
    /// The smallest share observed.
    pub(crate) fn worst_share(&self) -> Option<f64> {
        self.shares.worst.map(|worst| worst.share)
    }

    /// The longest packet as a fraction of the fair share in the worst window: the granularity of shares.
    pub(crate) fn packet_share(&self) -> Option<f64> {
        self.shares.worst.map(|worst| self.shares.longest.as_f64() / worst.fair_nanos)
    }

    /// The largest lead in active time of one waiting flow over another.
    pub(crate) fn gap(&self) -> Option<Nanos> {
        self.run.summary.max_active_time_gap
    }

    /// Seconds of dominant service per second: how many resources' worth of time served packets' dominant demands.
    pub(crate) fn work(&self) -> f64 {
        let makespan = self.run.summary.makespan;
        if makespan == Nanos::ZERO { 0.0 } else { self.shares.dominant.as_f64() / makespan.as_f64() }
    }
}

/// All values of a knob, the fairest first; at least one.
pub(crate) struct Curve {
    pub(crate) tunable: &'static Tunable,
    pub(crate) pipeline: PipelineMode,
    pub(crate) points: Vec<Point>,
}

/// Which value to run, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The knee, at this index.
    Knee(usize),
    /// No other value gains anything.
    Flat,
    /// This value gains the most, but neither it nor any other is worth its price.
    Expensive(usize),
    /// The loss of fairness could not be measured.
    Blind,
}

impl Curve {
    /// Whether all runs did the same work, so that the shortest is the most efficient.
    pub(crate) fn same_packets(&self) -> bool {
        let done = |point: &Point| (point.run.outcome.sent, point.run.summary.bytes_sent, point.shares.dominant);
        self.points.iter().all(|point| point.run.outcome.dropped == 0 && done(point) == done(&self.points[0]))
    }

    /// The gain of each value over the fairest, as a fraction of its time for the same work.
    pub(crate) fn gains(&self) -> Vec<f64> {
        let fairest = self.points[0].work();
        // With the same packets, the ratio of work per second to the fairest's is the inverse ratio of the makespans.
        let gain = |point: &Point| if point.work() > 0.0 { 1.0 - fairest / point.work() } else { 0.0 };
        self.points.iter().map(gain).collect()
    }

    /// The fairness lost at each value; `None` if it could not be measured.
    fn prices(&self) -> Option<Vec<f64>> {
        let all = |of: fn(&Point) -> Option<f64>| self.points.iter().map(of).collect::<Option<Vec<f64>>>();
        if let Some(promised) = all(|point| point.promise) {
            return Some(lost(&promised));
        }
        let beyond_a_packet = |point: &Point, lost: f64| (lost - point.packet_share().unwrap_or_default()).max(0.0);
        let shares = all(Point::worst_share).map(|shares| {
            self.points.iter().zip(lost(&shares)).map(|(point, lost)| beyond_a_packet(point, lost)).collect::<Vec<_>>()
        });
        // Over this time, a lead changes a share by at most this fraction, whatever the windows of shares.
        let window = longest(self.points[0].run.summary.makespan).as_f64().max(1.0);
        let gaps = all(|point| point.gap().map(|gap| -gap.as_f64()));
        let gaps = gaps.map(|gaps| lost(&gaps).iter().map(|gap| gap / window).collect::<Vec<_>>());
        match (shares, gaps) {
            (Some(shares), Some(gaps)) => Some(shares.iter().zip(gaps).map(|(share, gap)| share.max(gap)).collect()),
            (shares, gaps) => shares.or(gaps),
        }
    }

    fn stops(&self) -> Option<Stops> {
        Some(stops(&self.gains(), &self.prices()?))
    }

    /// The choice.
    pub(crate) fn choice(&self) -> Choice {
        match self.stops() {
            None if self.gains().iter().any(|&gain| gain >= WORTH) => Choice::Blind,
            Some(Stops { knee: Some(at), .. }) => Choice::Knee(at),
            Some(Stops { most: Some(at), .. }) => Choice::Expensive(at),
            _ => Choice::Flat,
        }
    }

    /// Index of the recommended point.
    pub(crate) fn recommended(&self) -> usize {
        if let Choice::Knee(at) = self.choice() { at } else { 0 }
    }

    /// Index of the alternative if a larger gain is worth more than the default rate assumes: the cheapest of those that gain
    /// most.
    pub(crate) fn most(&self) -> Option<usize> {
        self.stops()?.most
    }
}

/// By how much each of these is below the first.
fn lost(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| (values[0] - value).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rises_is_no_loss() {
        assert_eq!(lost(&[0.75, 0.5, 1.0, 0.25]), [0.0, 0.25, 0.0, 0.5]);
        assert!(lost(&[]).is_empty());
    }
}
