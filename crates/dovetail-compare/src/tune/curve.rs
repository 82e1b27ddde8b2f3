//! What a knob does: a run a value, and the figures that are weighed.
//!
//! **Gain.** How much less time the same work takes: the makespan, where all runs sent the same packets. Where packets
//! are dropped, or flows supply as many as a policy takes, runs do not do the same job. Work is then the service on
//! packets' dominant resources, as in the fluid that a fair share is defined by, and what counts is its time per second
//! of work.
//!
//! **Price.** The fairness that is given up: of the promised share, if there is a promise. Without, what is seen, and
//! whichever of two is the worse part of its largest loss: the worst share, or how far one flow ever got ahead of
//! another in active time, which is where packing shows first. Differences that chance makes are not blown up to a
//! price: a tenth of a share and the length of a packet are the least by which a loss is divided.

use dovetail_sched::Nanos;
use dovetail_sim::{PipelineMode, measure::Shares};

use super::{
    knee::{Knee, knee},
    knob::Tunable,
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
    /// Every value costs what it gains.
    Even,
    /// What is lost could not be seen.
    Blind,
}

/// The least part of the fairest's worst share that counts as a whole loss.
const LOSS: f64 = 0.1;

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
    fn given_up(&self) -> Option<Vec<f64>> {
        let promised: Option<Vec<f64>> = self.points.iter().map(|point| point.promise).collect();
        if let Some(promised) = promised {
            return Some(promised.iter().map(|share| promised[0] - share).collect());
        }
        let shares: Option<Vec<f64>> = self.points.iter().map(Point::worst_share).collect();
        let shares: Vec<f64> = shares?.iter().map(|share| -share).collect();
        let ahead: Vec<f64> = self.points.iter().map(|point| point.gap().unwrap_or_default().as_f64()).collect();
        let (lost, ahead) =
            (losses(&shares, -shares[0] * LOSS), losses(&ahead, self.points[0].shares.longest.as_f64()));
        Some(lost.into_iter().zip(ahead).map(|(lost, ahead)| lost.max(ahead)).collect())
    }

    /// What to run.
    pub(crate) fn choice(&self) -> Choice {
        let gains = self.gains();
        let given_up = self.given_up();
        match knee(&gains, given_up.as_deref().unwrap_or(&vec![0.0; gains.len()])) {
            Knee::Flat => Choice::Flat,
            _ if given_up.is_none() => Choice::Blind,
            Knee::At(at) => Choice::Knee(at),
            Knee::Even => Choice::Even,
        }
    }

    /// The point to run.
    pub(crate) fn recommended(&self) -> usize {
        if let Choice::Knee(at) = self.choice() { at } else { 0 }
    }
}

/// By how much each of these is over the first, as a part of the most, or of `least` if the most is less.
fn losses(badness: &[f64], least: f64) -> Vec<f64> {
    let over = |bad: &f64| (bad - badness[0]).max(0.0);
    let most = badness.iter().map(over).fold(least, f64::max);
    badness.iter().map(|bad| if most > 0.0 { over(bad) / most } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_parts_of_the_most_and_little_is_little() {
        assert_eq!(losses(&[-0.75, -0.5, -1.0, -0.25], 0.1), [0.0, 0.5, 0.0, 1.0]);
        assert_eq!(losses(&[-0.75, -0.625], 0.25), [0.0, 0.5]);
        assert_eq!(losses(&[0.0, 0.0], 0.0), [0.0, 0.0]);
        assert!(losses(&[], 1.0).is_empty());
    }
}
