//! The report page: the recommendation, what each knob does, and every setting.

use super::{
    super::seeds::COME_FROM,
    choose::P99_OVER,
    grid::{ORDINARY, Tuning},
    point::{Got, Point},
    show::{LEGEND, lines, named, notes, setting_line, table},
};
use crate::report::{
    Block, Page,
    plot::{Axis, Plot, Series},
};

/// A figure to draw.
struct Drawn {
    title: &'static str,
    axis: &'static str,
    of: fn(Got) -> Option<f64>,
    /// Value of the horizontal line, relative to the ordinary gateway's.
    line: f64,
    /// Text about the line.
    says: &'static str,
}

const OUT: &str = "Settings above the dashed line are ruled out.";

const DRAWN: [Drawn; 3] = [
    Drawn {
        title: "Mean wait",
        axis: "mean wait, s",
        of: |got| Some(got.mean_s),
        line: 1.0,
        says: "The dashed line is the ordinary gateway.",
    },
    Drawn { title: "99th percentile", axis: "p99, s", of: |got| Some(got.p99_s), line: 1.0 + P99_OVER, says: OUT },
    Drawn { title: "Long responses", axis: "long responses, s", of: |got| got.long_s, line: 1.0, says: OUT },
];

pub(super) fn page(tuning: &Tuning<'_>) -> Page {
    let mut page =
        Page { title: format!("Dovetail: requests scheduled over {}", tuning.network.name), blocks: Vec::new() };
    page.blocks.push(Block::Text(setting_line(tuning) + "."));
    page.blocks.extend(lines(tuning).map(Block::Text));
    page.blocks.push(Block::Table(table(tuning, tuning.rows().iter().map(|row| row.best))));
    page.blocks.push(Block::Terms(LEGEND.to_vec()));
    for drawn in &DRAWN {
        let note = format!("A line for each order, with its best ageing. {}", drawn.says);
        page.blocks.push(Block::chart(format!("{} over d*", drawn.title), note, over_delay(tuning, drawn)));
    }
    let delay_ms = tuning.chosen().delay_ms;
    for drawn in &DRAWN[..2] {
        let note = format!("At a d* of {delay_ms} ms. {}", drawn.says);
        page.blocks.push(Block::chart(
            format!("{} over ageing", drawn.title),
            note,
            over_ageing(tuning, drawn, delay_ms),
        ));
    }
    page.blocks.push(Block::More { title: "Every setting".to_owned(), table: table(tuning, tuning.points.iter()) });
    page.blocks.extend(notes(tuning).into_iter().map(Block::Text));
    page.blocks.push(Block::More { title: COME_FROM.to_owned(), table: tuning.provenance.table() });
    page
}

fn over_delay(tuning: &Tuning<'_>, drawn: &Drawn) -> Plot {
    let mut plot = Plot::new(Axis::linear("d*, ms"), Axis::linear(drawn.axis));
    for row in tuning.best_rows() {
        let (x, y) = row.iter().map(|point| (point.delay_ms as f64, value(drawn, point.got))).unzip();
        let name = row.first().map(|point| named(point.order, point.ageing)).unwrap_or_default();
        plot.add(Series::dotted_line(name, x, y));
    }
    plot.add(across(tuning, drawn, tuning.delays_ms.iter().map(|&millis| millis as f64).collect()));
    plot
}

fn over_ageing(tuning: &Tuning<'_>, drawn: &Drawn, delay_ms: u64) -> Plot {
    let ages = |point: &&Point| point.delay_ms == delay_ms && point.ageing.is_some();
    let points: Vec<&Point> = tuning.points.iter().filter(ages).collect();
    let lines = points.chunk_by(|a, b| a.order == b.order);
    let units = lines.clone().next().unwrap_or_default();
    let names = units.iter().map(|point| point.ageing.unwrap_or_default().to_string()).collect();
    let places = |count: usize| (0..count).map(|at| at as f64).collect();
    let mut plot = Plot::new(Axis::names("ageing, bytes a second", names), Axis::linear(drawn.axis));
    for line in lines {
        let y = line.iter().map(|point| value(drawn, point.got)).collect();
        plot.add(Series::dotted_line(line.first().map_or("", |point| point.order), places(line.len()), y));
    }
    plot.add(across(tuning, drawn, places(units.len())));
    plot
}

/// Missing values are not drawn.
fn value(drawn: &Drawn, got: Got) -> f64 {
    (drawn.of)(got).unwrap_or(f64::NAN)
}

/// The horizontal line.
fn across(tuning: &Tuning<'_>, drawn: &Drawn, x: Vec<f64>) -> Series {
    let name = match (drawn.line - 1.0) * 100.0 {
        over if over > 0.0 => format!("{ORDINARY} and {over:.0} %"),
        _ => ORDINARY.to_owned(),
    };
    let most = vec![value(drawn, tuning.ordinary) * drawn.line; x.len()];
    Series::dashed(name, x, most)
}
