//! Runs of many settings over many seeds, and their results.

use dovetail_sched::Nanos;

use super::{
    cell::Cell,
    interval::Interval,
    paper::FLOW_1,
    trips::{Trip, Trips, play, worst_s},
};
use crate::{error::Error, experiment::Given};
use dovetail_compare::side_by_side::side_by_side;

/// Results of a flow in a run, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FlowDelays {
    pub(super) worst: f64,
    pub(super) mean: f64,
    /// Mean wait for CPU and link.
    pub(super) waits: [f64; 2],
    /// Waits of the packet with the worst delay.
    pub(super) waits_of_worst: [f64; 2],
    /// Total time of its packets on CPU and link.
    pub(super) took: [f64; 2],
}

/// Results of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunDelays {
    pub(super) flows: Vec<FlowDelays>,
    /// How unevenly the CPU passes work to the link: the standard deviation, over all tenths of a second, of the seconds of
    /// link time needed by the packets that leave the CPU in them.
    pub(super) unevenness: f64,
}

/// A setting with the policies to run in it: estimates are part of a policy's string.
pub(super) struct Setting {
    pub(super) cell: Cell,
    pub(super) policies: Vec<String>,
}

/// The results of one setting.
pub(super) struct Outcome {
    pub(super) setting: Setting,
    /// By seed, then policy. With the same seed all policies get the same packets.
    pub(super) seeds: Vec<Vec<RunDelays>>,
}

impl Outcome {
    /// The ratio of a value under the second policy to that under the first.
    pub(super) fn ratio(&self, of: impl Fn(&RunDelays) -> f64) -> Interval {
        let ratios: Vec<f64> = self.seeds.iter().map(|runs| of(&runs[1]) / of(&runs[0])).collect();
        Interval::of_ratios(&ratios)
    }

    /// Its mean under one policy.
    pub(super) fn mean(&self, policy: usize, of: impl Fn(&RunDelays) -> f64) -> f64 {
        self.seeds.iter().map(|runs| of(&runs[policy])).sum::<f64>() / self.seeds.len() as f64
    }
}

/// The worst delay of MPEG flow 1.
pub(super) fn worst_of_flow_1(run: &RunDelays) -> f64 {
    run.flows.get(FLOW_1).map_or(0.0, |flow| flow.worst)
}

/// The worst delay of all flows.
pub(super) fn worst_of_all(run: &RunDelays) -> f64 {
    run.flows.iter().map(|flow| flow.worst).fold(0.0, f64::max)
}

/// Results of a run with this many flows.
pub(super) fn delays(trips: &Trips, flows: usize) -> RunDelays {
    let of_flow = |flow: usize| {
        let count = trips.of(flow).count().max(1) as f64;
        let mean = |of: &dyn Fn(&Trip) -> f64| trips.of(flow).map(of).sum::<f64>() / count;
        let slowest = trips.of(flow).max_by(|a, b| a.delay_s().total_cmp(&b.delay_s()));
        FlowDelays {
            worst: worst_s(trips.of(flow)),
            mean: mean(&Trip::delay_s),
            waits: [0, 1].map(|resource| mean(&|trip| trip.wait_s(resource))),
            waits_of_worst: [0, 1].map(|resource| slowest.map_or(0.0, |trip| trip.wait_s(resource))),
            took: [0, 1].map(|resource| trips.busy_s(Some(flow), resource, Nanos::ZERO, Nanos::MAX)),
        }
    };
    RunDelays { flows: (0..flows).map(of_flow).collect(), unevenness: unevenness(trips) }
}

/// See [`RunDelays`]; the last, incomplete tenth is omitted.
fn unevenness(trips: &Trips) -> f64 {
    const TENTH: u64 = 100_000_000;
    let tenth = |trip: &Trip| (trip.end[0].0 / TENTH) as usize;
    let whole = trips.0.iter().map(tenth).max().unwrap_or(0);
    let mut work = vec![0.0; whole];
    for trip in &trips.0 {
        if let Some(work) = work.get_mut(tenth(trip)) {
            *work += (trip.end[1] - trip.start[1]).as_secs_f64();
        }
    }
    let mean = work.iter().sum::<f64>() / whole as f64;
    (work.iter().map(|work| (work - mean).powi(2)).sum::<f64>() / whole as f64).sqrt()
}

/// Runs every setting over this many seeds.
pub(super) fn run_all(settings: Vec<Setting>, seeds: u64, given: &Given<'_>) -> Result<Vec<Outcome>, Error> {
    let items: Vec<(&Setting, u64)> =
        settings.iter().flat_map(|setting| (0..seeds).map(move |seed| (setting, seed))).collect();
    let runs = side_by_side(&items, |&(setting, seed)| {
        let packets = setting.cell.packets(seed)?;
        let mut runs = Vec::new();
        for policy in &setting.policies {
            runs.push(delays(&play(&packets, policy, given)?, packets.flows.len()));
            given.bar.inc(packets.arrivals.len() as u64);
        }
        Ok::<_, Error>(runs)
    })?;
    let mut runs = runs.into_iter();
    let outcome = |setting| Outcome { setting, seeds: runs.by_ref().take(seeds as usize).collect() };
    Ok(settings.into_iter().map(outcome).collect())
}

#[cfg(test)]
mod tests {
    use dovetail_compare::Silent;

    use super::*;

    #[test]
    fn a_run_is_summed_up_by_flow() {
        let seconds = |at: u64| Nanos::from_secs(at);
        let trip = |flow, arrival, start: [u64; 2], end: [u64; 2]| Trip {
            flow,
            arrival: seconds(arrival),
            start: start.map(seconds),
            end: end.map(seconds),
        };
        let trips = Trips(vec![trip(0, 0, [0, 3], [1, 4]), trip(1, 0, [1, 4], [2, 5]), trip(0, 2, [8, 9], [9, 10])]);
        let run = delays(&trips, 2);
        let first = FlowDelays { worst: 8.0, mean: 6.0, waits: [3.0, 1.0], waits_of_worst: [6.0, 0.0], took: [2.0; 2] };
        let second =
            FlowDelays { worst: 5.0, mean: 5.0, waits: [1.0, 2.0], waits_of_worst: [1.0, 2.0], took: [1.0; 2] };
        assert_eq!(run.flows, [first, second]);
        // Of 90 whole tenths, the two in which the first two packets leave the CPU have a second of link time each.
        let (mean, squares) = (2.0 / 90.0, 2.0 / 90.0);
        assert!((run.unevenness - f64::sqrt(squares - mean * mean)).abs() < 1e-12);
        assert_eq!((worst_of_flow_1(&run), worst_of_all(&run)), (8.0, 8.0));
        let flows = vec![FlowDelays { worst: 4.0, ..first }, FlowDelays { worst: 16.0, ..second }];
        let other = RunDelays { flows, unevenness: 0.0 };
        let setting = Setting { cell: Cell::BASE, policies: Vec::new() };
        let outcome = Outcome { setting, seeds: vec![vec![run, other]] };
        assert_eq!(outcome.ratio(worst_of_flow_1).mean, 0.5);
        assert!((outcome.ratio(worst_of_all).mean - 2.0).abs() < 1e-12);
        assert_eq!(outcome.mean(1, worst_of_all), 16.0);
    }

    /// The policies differ only in their names, so every ratio is exactly 1: the packets are the same.
    #[test]
    fn all_policies_get_the_same_packets() {
        let policies = vec!["cbcs".to_owned(); 2];
        let given = Given { traces: &[], bar: &Silent };
        let outcomes = run_all(vec![Setting { cell: Cell::BASE, policies }], 2, &given).unwrap();
        let [outcome] = &outcomes[..] else { panic!("one setting") };
        let ratio = outcome.ratio(worst_of_all);
        assert_eq!((ratio.mean, ratio.low, ratio.high, outcome.seeds.len()), (1.0, 1.0, 1.0, 2));
        assert_ne!(outcome.seeds[0], outcome.seeds[1], "seeds differ");
    }
}
