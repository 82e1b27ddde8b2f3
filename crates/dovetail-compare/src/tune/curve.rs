//! What a knob does: a run a value, and the figures that are weighed.
//!
//! **Gain.** How much less time the same work takes: the makespan, where all runs sent the same packets. Where packets
//! are dropped, or flows supply as many as a policy takes, runs do not do the same job. Work is then the service on
//! packets' dominant resources, as in the fluid that a fair share is defined by, and what counts is its time per second
//! of work.
//!
//! **Price.** The fairness that is given up, as a part of a fair share: of the promised share, if there is a promise. Without,
//! what is seen, and the larger of two: what the worst share fell by, and what the gap grew by, as a part of a second, or of a fifth
//! of a run of less than five. The gap
//! is how far one flow ever got ahead of another in active time, which is where packing shows first. A window cuts packets, so
//! a share is known to a packet only: what one packet explains is no fall. Where a fair share of a window is less than a
//! packet, that is all of it, and the gap alone is the price.

use dovetail_sched::Nanos;
use dovetail_sim::{PipelineMode, measure::Shares};

use super::{
    knee::{Stops, WORTH, stops},
    knob::Tunable,
    window::longest,
};
use crate::run::PolicyRun;

/// A value of the knob and what came of it.
pub(crate) struct Point {
    pub(crate) value: f64,
    pub(crate) promise: Option<f64>,
    pub(crate) run: PolicyRun,
    pub(crate) shares: Shares,
}

impl Point {
    /// The least share that was seen.
    pub(crate) fn worst_share(&self) -> Option<f64> {
        self.shares.worst.map(|worst| worst.share)
    }

    /// What the longest packet is of the fair share in the worst window: how coarse shares are.
    pub(crate) fn packet_share(&self) -> Option<f64> {
        self.shares.worst.map(|worst| self.shares.longest.as_f64() / worst.fair_nanos)
    }

    /// The largest lead in active time of a waiting flow over another.
    pub(crate) fn gap(&self) -> Option<Nanos> {
        self.run.summary.max_active_time_gap
    }

    /// Seconds of dominant service a second: how many resources' worth of time went into packets' main needs.
    pub(crate) fn work(&self) -> f64 {
        let makespan = self.run.summary.makespan;
        if makespan == Nanos::ZERO { 0.0 } else { self.shares.dominant.as_f64() / makespan.as_f64() }
    }
}

/// All values of a knob, the fairest first; there is at least one.
pub(crate) struct Curve {
    pub(crate) tunable: &'static Tunable,
    pub(crate) pipeline: PipelineMode,
    pub(crate) points: Vec<Point>,
}

/// What to run, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The knee is here.
    Knee(usize),
    /// Nothing is gained by any other value.
    Flat,
    /// What this one gains, the most of any, is not worth its price, and no less is.
    Expensive(usize),
    /// What is lost could not be seen.
    Blind,
}

impl Curve {
    /// Whether all runs did the same job, so that the sooner done is the more efficient.
    pub(crate) fn same_packets(&self) -> bool {
        let done = |point: &Point| (point.run.outcome.sent, point.run.summary.bytes_sent, point.shares.dominant);
        self.points.iter().all(|point| point.run.outcome.dropped == 0 && done(point) == done(&self.points[0]))
    }

    /// What each value gains over the fairest, as a part of its time for the same work.
    pub(crate) fn gains(&self) -> Vec<f64> {
        let fairest = self.points[0].work();
        // With the same packets the work of a second is to the fairest's as the makespans are, the other way round.
        let gain = |point: &Point| if point.work() > 0.0 { 1.0 - fairest / point.work() } else { 0.0 };
        self.points.iter().map(gain).collect()
    }

    /// The fairness that each value gives up; `None` if that could not be seen.
    fn prices(&self) -> Option<Vec<f64>> {
        let all = |of: fn(&Point) -> Option<f64>| self.points.iter().map(of).collect::<Option<Vec<f64>>>();
        if let Some(promised) = all(|point| point.promise) {
            return Some(lost(&promised));
        }
        let beyond_a_packet = |point: &Point, lost: f64| (lost - point.packet_share().unwrap_or_default()).max(0.0);
        let shares = all(Point::worst_share).map(|shares| {
            self.points.iter().zip(lost(&shares)).map(|(point, lost)| beyond_a_packet(point, lost)).collect::<Vec<_>>()
        });
        // In so much time a lead moves a share by no more than this part of it, whatever windows shares are taken in.
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

    /// What to run.
    pub(crate) fn choice(&self) -> Choice {
        match self.stops() {
            None if self.gains().iter().any(|&gain| gain >= WORTH) => Choice::Blind,
            Some(Stops { knee: Some(at), .. }) => Choice::Knee(at),
            Some(Stops { most: Some(at), .. }) => Choice::Expensive(at),
            _ => Choice::Flat,
        }
    }

    /// The point to run.
    pub(crate) fn recommended(&self) -> usize {
        if let Choice::Knee(at) = self.choice() { at } else { 0 }
    }

    /// The point to run instead where a larger gain is worth more than is taken for granted: the cheapest of those that gain
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
