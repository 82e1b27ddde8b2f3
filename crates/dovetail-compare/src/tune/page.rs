//! The report page: the curves, the recommendation, and every figure.

use super::{
    advice,
    curve::{Curve, Point},
    show::{LEGEND, Tuning},
};
use crate::report::{
    Block, Page,
    plot::{Axis, Plot, Series},
};

pub(crate) fn page(tuning: &Tuning<'_>) -> Page {
    let mut page = Page { title: format!("Dovetail: tuning for {}", tuning.plan.input.name()), blocks: Vec::new() };
    page.blocks.push(Block::Text(tuning.setting() + "."));
    for curve in tuning.curves {
        page.blocks.push(Block::Text(advice::why(curve)));
    }
    // Different middleboxes are not drawn into one chart.
    if let [first, others @ ..] = tuning.curves
        && !others.is_empty()
        && others.iter().all(|curve| curve.pipeline == first.pipeline)
    {
        page.blocks.push(chart_of_efficiency(&tuning.curves.iter().collect::<Vec<_>>()));
    }
    for curve in tuning.curves {
        page.blocks.push(Block::Heading(tuning.title(curve)));
        page.blocks.push(Block::Table(tuning.table(curve)));
        page.blocks.push(chart_of_efficiency(&[curve]));
        page.blocks.push(chart_of_utilisation(curve, tuning.plan.input.resources()));
        page.blocks.extend(chart_of_shares(curve));
    }
    page.blocks.push(Block::Terms(LEGEND.to_vec()));
    for note in tuning.notes() {
        let mut letters = note.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        page.blocks.push(Block::Text(format!("{first}{}.", letters.as_str())));
    }
    page.blocks.push(Block::Table(tuning.provenance.table()));
    page
}

/// Horizontal position of points: the worst share if every run has one, else the knob's value.
struct Across {
    title: String,
    of: fn(&Point) -> f64,
}

impl Across {
    fn of(curves: &[&Curve]) -> Self {
        let seen = curves.iter().flat_map(|curve| &curve.points).all(|point| point.worst_share().is_some());
        if seen {
            let of = |point: &Point| point.worst_share().unwrap_or_default();
            return Self { title: "worst flow's share of its fair share".to_owned(), of };
        }
        let knobs: Vec<_> = curves.iter().map(|curve| curve.tunable.knob).collect();
        Self { title: knobs.join(", "), of: |point| point.value }
    }

    fn axis(&self) -> Axis {
        Axis::linear(self.title.as_str())
    }
}

/// A line through the points, with a large dot at the recommended one.
fn line(curve: &Curve, name: &str, x: fn(&Point) -> f64, y: impl Fn(&Point) -> f64) -> Series {
    let points = curve.points.iter();
    Series::dotted_line(name, points.clone().map(x).collect(), points.map(y).collect()).with_large(curve.recommended())
}

/// Adds the knob's values beside the points.
fn labelled(line: Series, curve: &Curve) -> Series {
    line.labelled(curve.points.iter().map(|point| point.value.to_string()).collect())
}

fn chart_of_efficiency(curves: &[&Curve]) -> Block {
    let across = Across::of(curves);
    let makespan = curves.iter().all(|curve| curve.same_packets());
    let (title, axis, note) = if makespan {
        ("Makespan", "makespan, s", "Lower is faster; further right is fairer. The large point is recommended.")
    } else {
        (
            "Work",
            "seconds of dominant service a second",
            "Higher is more; further right is fairer. The large point is recommended.",
        )
    };
    let mut plot = Plot::new(across.axis(), Axis::linear(axis));
    for curve in curves {
        let name = format!("{} by {}", curve.tunable.policy, curve.tunable.knob);
        let height = |point: &Point| if makespan { point.run.summary.makespan.as_secs_f64() } else { point.work() };
        plot.add(labelled(line(curve, &name, across.of, height), curve));
    }
    Block::chart(format!("{title} against fairness"), note, plot)
}

fn chart_of_utilisation(curve: &Curve, resources: &[String]) -> Block {
    let across = Across::of(&[curve]);
    let mut plot = Plot::new(across.axis(), Axis::linear("busy, % of the makespan"));
    for (at, name) in resources.iter().enumerate() {
        let line = line(curve, name, across.of, |point| point.run.summary.utilisation[at] * 100.0);
        // Lines of balanced resources are close, and their labels would overlap.
        plot.add(if at == 0 { labelled(line, curve) } else { line });
    }
    let note = format!("Beside each point of {} the {} that it was run with.", resources[0], curve.tunable.knob);
    Block::chart("Utilisation against fairness", note, plot)
}

/// The observed shares at each value, and the promised ones.
fn chart_of_shares(curve: &Curve) -> Option<Block> {
    type Share = fn(&Point) -> Option<f64>;
    let shown = |of: Share| -> Option<Vec<f64>> { curve.points.iter().map(of).collect() };
    let values: Vec<String> = curve.points.iter().map(|point| point.value.to_string()).collect();
    let places: Vec<f64> = (0..values.len()).map(|at| at as f64).collect();
    let mut plot = Plot::new(Axis::names(curve.tunable.knob, values), Axis::linear("share of the fair share"));
    let lines: [(&str, Share); 3] = [
        ("median", |point| point.shares.median),
        ("one in a hundred", |point| point.shares.first_percentile),
        ("worst", Point::worst_share),
    ];
    for (name, of) in lines {
        plot.add(Series::dotted_line(name, places.clone(), shown(of)?));
    }
    if let Some(promised) = shown(|point| point.promise) {
        plot.add(Series::dashed("guaranteed", places, promised));
    }
    Some(Block::chart("Observed shares", "Every waiting flow in every window.", plot))
}
