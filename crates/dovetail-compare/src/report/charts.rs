//! The charts of a report.

use std::collections::BTreeMap;

use dovetail_sched::Nanos;
use dovetail_sim::{
    measure::{self, Summary},
    network::{NetworkOutcome, Stream},
};
use dovetail_stats::median_of_runs;

use super::plot::{Along, Axis, Plot, Series};
use crate::{
    interval::interval,
    network::{
        times::{SizeClass, WINDOW_S, windows},
        users::Figures,
    },
};

/// A run with the data for charts.
#[derive(Debug, Clone, Copy)]
pub struct ChartedRun<'a> {
    /// The policy.
    pub policy: &'a str,
    /// Its figures.
    pub summary: &'a Summary,
}

/// Utilisation of each resource, a group of bars per resource.
pub fn utilisation(runs: &[ChartedRun<'_>], resources: &[String]) -> Plot {
    let busy = Axis::linear("busy, % of the makespan").range(0.0, 100.0);
    let mut plot = Plot::new(Axis::names("", resources.to_vec()), busy);
    for run in runs {
        plot.add(Series::bars(run.policy, run.summary.utilisation.iter().map(|share| share * 100.0).collect()));
    }
    plot
}

/// Utilisation of one resource over time, a line per policy.
pub fn utilisation_over_time(runs: &[ChartedRun<'_>], resource: usize) -> Plot {
    let lines = runs.iter().map(|run| {
        let series = &run.summary.series;
        (run.policy.to_owned(), points(series, &series.utilisation[resource], |share| share * 100.0))
    });
    over_time(lines, Axis::linear("busy, %").range(0.0, 100.0))
}

/// The gap in active time over time, a line per policy.
pub fn gap_over_time(runs: &[ChartedRun<'_>]) -> Plot {
    let lines = runs.iter().map(|run| {
        let series = &run.summary.series;
        (run.policy.to_owned(), points(series, &series.gap, |gap| gap.as_f64().max(AXIS_MIN) / 1e6))
    });
    over_time(lines, Axis::log("gap, ms"))
}

/// The fraction of packets with at most this latency, a line per policy.
pub fn latency_cdf(runs: &[ChartedRun<'_>]) -> Plot {
    let mut plot = Plot::new(Axis::log("latency, ms"), Axis::linear("packets, %").range(0.0, 100.0));
    for run in runs {
        let late = run.summary.latency_cdf.iter().map(|(late, _)| late.as_f64().max(AXIS_MIN) / 1e6).collect();
        let share = run.summary.latency_cdf.iter().map(|(_, share)| share * 100.0).collect();
        plot.add(Series::line(run.policy, late, share));
    }
    plot
}

/// A figure in several samples, by policy from the bottom: a dot for each, and their median and interval.
pub(crate) fn samples(title: &str, policies: Vec<String>, numbers: &[Vec<f64>]) -> Plot {
    let all = || numbers.iter().flatten().copied();
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    // Differences of orders of magnitude need a logarithmic axis.
    let figure = if least > 0.0 && most > least * 30.0 { Axis::log(title) } else { Axis::linear(title) };
    let mut plot = Plot::new(figure, Axis::names("", policies));
    let (mut dots, mut medians, mut ends) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()), Vec::new());
    for (row, numbers) in numbers.iter().enumerate() {
        for (at, &number) in numbers.iter().enumerate() {
            dots.0.push(number);
            // Side by side rather than on top of each other.
            dots.1.push(row as f64 + 0.3 * ((at as f64 + 0.5) / numbers.len() as f64 - 0.5));
        }
        if let (Some(median), Some(interval)) = (median_of_runs(numbers.iter().copied()), interval(numbers)) {
            medians.0.push(median);
            medians.1.push(row as f64);
            ends.push(interval);
        }
    }
    plot.add(Series::cloud("samples", dots.0, dots.1));
    plot.add(Series::dots("median", medians.0, medians.1).spread(Along::X, ends));
    plot
}

/// A gateway and its requests: for each its length and, if it was answered, its latency.
pub type Waits<'a> = (&'a str, Vec<(u64, Option<Nanos>)>);

/// The fraction of requests with at most this latency, a line per gateway.
pub fn waits(runs: &[Waits<'_>]) -> Plot {
    let mut plot = Plot::new(Axis::log("latency, s"), Axis::linear("requests, %").range(0.0, 100.0));
    for (gateway, waits) in runs {
        let mut took: Vec<f64> = waits.iter().filter_map(|(_, took)| *took).map(Nanos::as_secs_f64).collect();
        took.sort_by(f64::total_cmp);
        let step = took.len().div_ceil(POINTS).max(1);
        let ranks = (0..took.len()).step_by(step).chain(took.len().checked_sub(1));
        let (seconds, share) = ranks.map(|at| (took[at], (at + 1) as f64 * 100.0 / waits.len() as f64)).unzip();
        plot.add(Series::line(*gateway, seconds, share));
    }
    plot
}

/// The mean latency of responses by size, a line per gateway.
pub fn wait_by_size(runs: &[Waits<'_>]) -> Plot {
    let mut plot = Plot::new(Axis::log("response, bytes"), Axis::log("mean latency, s"));
    for (gateway, waits) in runs {
        let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (bytes, took) in waits {
            if let Some(took) = took {
                let sum = sums.entry(bytes.max(&1).ilog2()).or_default();
                *sum = (sum.0 + took.as_secs_f64(), sum.1 + 1.0);
            }
        }
        let middle = |power: u32| f64::from(power).exp2() * std::f64::consts::SQRT_2;
        let (sizes, means) = sums.iter().map(|(&power, (sum, count))| (middle(power), sum / count)).unzip();
        plot.add(Series::dotted_line(*gateway, sizes, means));
    }
    plot
}

/// The rate of each class, a group of bars per class.
pub fn class_rates(runs: &[(&str, &Figures)]) -> Plot {
    let names = runs.first().map(|(_, figures)| figures.classes.iter().map(|class| class.class.clone()).collect());
    let mut plot = Plot::new(Axis::names("", names.unwrap_or_default()), Axis::linear("kbit/s"));
    for (gateway, figures) in runs {
        plot.add(Series::bars(*gateway, figures.classes.iter().map(|class| class.kbps).collect()));
    }
    plot
}

/// One of a request scheduler's own figures over time, if it has it.
pub fn note_over_time(name: &str, notes: &[(Nanos, Vec<(&'static str, f64)>)]) -> Option<Plot> {
    let value =
        |figures: &[(&'static str, f64)]| figures.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let (at, values): (Vec<f64>, Vec<f64>) =
        notes.iter().filter_map(|(at, figures)| Some((at.as_secs_f64(), value(figures)?))).unzip();
    (!at.is_empty()).then(|| over_time([(name.to_owned(), (at, values))].into_iter(), Axis::linear(name)))
}

/// Shares of dominant service over time under one policy: of flows if they are few, otherwise of classes.
pub fn share_over_time(run: &ChartedRun<'_>) -> Option<Plot> {
    let series = &run.summary.series;
    let flows = run.summary.flows.len() <= series.flows.len();
    let lines = if flows || series.classes.is_empty() { &series.flows } else { &series.classes };
    let bins = lines.iter().map(|(_, line)| line.len()).max()?;
    let per_point = bins.div_ceil(POINTS);
    let share = Axis::linear("dominant service, %").range(0.0, 100.0);
    let mut plot = Plot::new(Axis::linear("time, s"), share);
    let sum_at = |line: &[f64], at: usize| line.iter().skip(at).take(per_point).sum::<f64>();
    let times: Vec<f64> = (0..bins).step_by(per_point).map(|at| seconds(series.width, at)).collect();
    let totals: Vec<f64> =
        (0..bins).step_by(per_point).map(|at| lines.iter().map(|(_, line)| sum_at(line, at)).sum()).collect();
    for (name, service) in lines {
        let shares = (0..bins)
            .step_by(per_point)
            .zip(&totals)
            .map(|(at, &total)| if total > 0.0 { sum_at(service, at) / total * 100.0 } else { 0.0 });
        plot.add(Series::area(name, times.clone(), shares.collect()));
    }
    Some(plot)
}

/// The mean time of transfers by size, a line per policy.
pub fn time_by_size<'a>(runs: impl Iterator<Item = (&'a str, &'a NetworkOutcome)>) -> Plot {
    let mut plot = Plot::new(Axis::log("size, kB"), Axis::log("mean time, s"));
    for (policy, outcome) in runs {
        // Bins are a quarter of an octave wide, since the sizes of a heavy tail are far apart.
        let mut bins: BTreeMap<i64, (f64, f64, f64)> = BTreeMap::new();
        for transfer in &outcome.transfers {
            if let Some(took) = transfer.took() {
                let bytes = transfer.bytes as f64;
                let bin = bins.entry((bytes.log2() * 4.0).floor() as i64).or_default();
                *bin = (bin.0 + 1.0, bin.1 + bytes, bin.2 + took.as_secs_f64());
            }
        }
        let (sizes, times) =
            bins.values().map(|(transfers, bytes, seconds)| (bytes / transfers / 1e3, seconds / transfers)).unzip();
        plot.add(Series::line(policy, sizes, times));
    }
    plot
}

/// The fraction of short transfers completed within a time, a line per policy.
pub fn short_times<'a>(runs: impl Iterator<Item = (&'a str, &'a NetworkOutcome)>) -> Plot {
    let mut plot = Plot::new(Axis::log("time, ms"), Axis::linear("transfers, %").range(0.0, 100.0));
    for (policy, outcome) in runs {
        let mut times: Vec<f64> =
            SizeClass::Short.transfers(outcome).filter_map(|transfer| Some(transfer.took()?.as_secs_f64())).collect();
        times.sort_by(f64::total_cmp);
        let all = SizeClass::Short.transfers(outcome).count();
        let step = times.len().div_ceil(POINTS).max(1);
        let shown = (0..times.len()).step_by(step).map(|at| (times[at] * 1e3, at));
        let (times, shares) = shown.map(|(time, at)| (time, (at + 1) as f64 * 100.0 / all as f64)).unzip();
        plot.add(Series::line(policy, times, shares));
    }
    plot
}

/// A stream's rate in each ten seconds, a line per policy.
pub fn rate_over_time<'a>(runs: impl Iterator<Item = (&'a str, &'a Stream, Nanos)>) -> Plot {
    let lines = runs.map(|(policy, stream, ended)| {
        let rates: Vec<f64> = windows(stream, 0, ended);
        let times = (0..rates.len()).map(|at| (at * WINDOW_S) as f64).collect();
        (policy.to_owned(), (times, rates))
    });
    over_time(lines, Axis::linear("Mbit/s"))
}

/// Any lines over time, in seconds.
pub fn over_time(lines: impl Iterator<Item = (String, (Vec<f64>, Vec<f64>))>, value: Axis) -> Plot {
    let mut plot = Plot::new(Axis::linear("time, s"), value);
    for (name, (times, values)) in lines {
        plot.add(Series::line(name, times, values));
    }
    plot
}

/// A logarithmic axis has no zero: a microsecond stands for anything shorter, in nanoseconds.
const AXIS_MIN: f64 = 1e3;

/// Most points per line, so that a page with ten policies stays small.
const POINTS: usize = 320;

/// Time in seconds and the mean of `value` over neighbouring bins, at most [`POINTS`] of them.
fn points<T: Copy>(series: &measure::Series, bins: &[T], value: impl Fn(T) -> f64) -> (Vec<f64>, Vec<f64>) {
    let per_point = bins.len().div_ceil(POINTS).max(1);
    let mean = |bins: &[T]| bins.iter().map(|&bin| value(bin)).sum::<f64>() / bins.len() as f64;
    let times = (0..bins.len()).step_by(per_point).map(|at| seconds(series.width, at)).collect();
    (times, bins.chunks(per_point).map(mean).collect())
}

fn seconds(width: Nanos, bin: usize) -> f64 {
    width.as_secs_f64() * bin as f64
}
