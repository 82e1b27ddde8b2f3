//! The report page: cost against size with both lines, and deviations of packets from the line.

use super::{
    fit,
    show::{LEGEND, Profiles},
    summary::{Profile, quantile},
};
use crate::report::{
    Block, Page,
    plot::{Axis, Plot, Series},
};

pub(crate) fn page(profiles: &Profiles<'_>) -> Page {
    let mut page = Page { title: "Dovetail: cost of packets on this machine".to_owned(), blocks: Vec::new() };
    page.blocks.push(Block::Text(profiles.said() + "."));
    page.blocks.push(Block::Table(profiles.table()));
    page.blocks.push(Block::Terms(LEGEND.to_vec()));
    page.blocks.push(chart_of_ratios(profiles.functions));
    for profile in profiles.functions {
        page.blocks.push(Block::Heading(profile.function.to_owned()));
        page.blocks.push(Block::Text(Profiles::sentence(profile) + "."));
        page.blocks.push(chart_of_costs(profile));
        page.blocks.push(Block::Table(profiles.sizes(profile)));
    }
    for note in profiles.notes() {
        page.blocks.push(Block::Text(format!("Note: {note}.")));
    }
    page
}

/// Packets drawn per function: enough to show their distribution.
const DOTS: usize = 1200;

/// Points per line of the distribution.
const STEPS: u32 = 120;

fn chart_of_costs(profile: &Profile) -> Block {
    let sizes = &profile.sizes;
    // A single outlier would compress everything else.
    let highest = sizes.iter().map(|row| row.p99_ns).max().unwrap_or(0);
    let step = profile.samples.len().div_ceil(DOTS).max(1);
    let dots = profile.samples.iter().step_by(step).filter(|sample| sample.nanos <= highest);
    let (x, y): (Vec<f64>, Vec<f64>) =
        dots.map(|sample| (f64::from(sample.bytes), micros(sample.nanos as f64))).unzip();
    let cost = Axis::linear("cost, µs").range(0.0, micros(highest as f64) * 1.05);
    let mut plot = Plot::new(Axis::linear("bytes"), cost);
    plot.add(Series::cloud("packets", x, y));
    let bytes: Vec<f64> = sizes.iter().map(|row| row.bytes.into()).collect();
    let medians = sizes.iter().map(|row| micros(row.median_ns as f64)).collect();
    plot.add(Series::dots("medians", bytes.clone(), medians));
    let along = |line: fit::Line| bytes.iter().map(|&bytes| micros(line.at(bytes))).collect();
    plot.add(Series::line("line of medians", bytes.clone(), along(profile.medians.line)));
    plot.add(Series::dashed("line of all packets", bytes.clone(), along(profile.fit.line)));
    let note = "One packet in several is drawn. The few above every size's 99th percentile are beyond the edge, but in \
                the line of all packets.";
    Block::chart(format!("Cost against size: {}", profile.function), note, plot)
}

/// The fraction of packets that take longer than this multiple of the line's cost.
fn chart_of_ratios(profiles: &[Profile]) -> Block {
    let mut plot = Plot::new(Axis::log("measured over fitted"), Axis::log("packets above, %"));
    for profile in profiles {
        let sorted = &profile.sorted_ratios;
        let n = sorted.len().max(1) as f64;
        // Evenly spaced on a logarithmic scale, from all packets down to one.
        let left = (0..=STEPS).map(|step| n.powf(-f64::from(step) / f64::from(STEPS)));
        let points = left.filter_map(|left| Some((quantile(sorted, 1.0 - left)?.max(AXIS_MIN), left * 100.0)));
        let (ratio, share) = points.unzip();
        plot.add(Series::line(profile.function, ratio, share));
    }
    let note = "The share of packets that took more than this multiple of the line's cost; the lines end at the slowest \
                packet.";
    Block::chart("How far from the line", note, plot)
}

/// A logarithmic axis has no zero.
const AXIS_MIN: f64 = 0.01;

fn micros(nanos: f64) -> f64 {
    nanos / 1e3
}
