//! Nanoseconds per operation over the number of flows, as an SVG chart for the book.

use std::fmt::Write;

use crate::row::{Row, Unit};

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const LABEL_HEIGHT: f64 = 14.0;
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#666666", "#7b3294"];
const DASHES: [&str; 3] = ["none", "6 3", "2 2"];

/// One line per subject through its medians; both axes are logarithmic. `None` if there is nothing to draw.
pub fn draw(rows: &[Row], title: &str) -> Option<String> {
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.benchmark == "operation" && row.unit == Unit::Nanos && row.spread.median > 0.0)
        .collect();
    let over = |value: fn(&Row) -> f64, fold: fn(f64, f64) -> f64| rows.iter().map(|row| value(row)).reduce(fold);
    let flows = |row: &Row| f64::from(row.flows);
    let (x_min, x_max) = (over(flows, f64::min)?.log10(), over(flows, f64::max)?.log10());
    let median = |row: &Row| row.spread.median;
    let (least, most) = (over(median, f64::min)?, over(median, f64::max)?);
    let steps = |nanos: f64| [1.0, 2.0, 5.0, 10.0].map(|step| step * 10f64.powf(nanos.log10().floor()));
    // The axis ends at a tick.
    let y_min = steps(least).into_iter().rev().find(|tick| *tick <= least)?.log10();
    let y_max = steps(most).into_iter().find(|tick| *tick >= most)?.log10();
    let x = |flows: f64| LEFT + (WIDTH - LEFT - RIGHT) * (flows.log10() - x_min) / (x_max - x_min).max(1.0);
    let y = |nanos: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (nanos.log10() - y_min) / (y_max - y_min).max(1.0);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>\n",
        escape(title)
    );
    let mut line = |x1: f64, y1: f64, x2: f64, y2: f64, text: &str, anchor: &str, at: (f64, f64)| {
        let _ = writeln!(svg, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"#ddd\"/>");
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>", at.0, at.1);
    };
    let ticks = |from: f64, to: f64| {
        (from.floor() as i32..=to as i32).flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(decade)))
    };
    for nanos in ticks(y_min, y_max).filter(|nanos| (y_min - 1e-9..y_max + 1e-9).contains(&nanos.log10())) {
        let at = y(nanos);
        line(LEFT, at, WIDTH - RIGHT, at, &nanos.to_string(), "end", (LEFT - 6.0, at + 4.0));
    }
    for flows in ticks(x_min, x_max).filter(|flows| (x_min - 1e-9..x_max + 1e-9).contains(&flows.log10())) {
        // Decades only: the axis spans four or five of them.
        if flows.log10().fract().abs() < 1e-9 {
            let at = x(flows);
            line(at, TOP, at, HEIGHT - BOTTOM, &flows.to_string(), "middle", (at, HEIGHT - BOTTOM + 18.0));
        }
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">flows</text>\n<text x=\"12\" y=\"{:.1}\">ns</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0,
        TOP - 10.0
    );

    let mut subjects: Vec<&str> = Vec::new();
    for row in &rows {
        if !subjects.contains(&row.subject.as_str()) {
            subjects.push(&row.subject);
        }
    }
    let mut ends = Vec::new();
    for (number, subject) in subjects.iter().enumerate() {
        let mut points: Vec<&&Row> = rows.iter().filter(|row| row.subject == *subject).collect();
        points.sort_by_key(|row| row.flows);
        let (colour, dash) = (COLOURS[number % COLOURS.len()], DASHES[number / COLOURS.len() % DASHES.len()]);
        let path: Vec<String> =
            points.iter().map(|row| format!("{:.1} {:.1}", x(flows(row)), y(row.spread.median))).collect();
        let _ = writeln!(
            svg,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
            path.join("L")
        );
        if let Some(last) = points.last() {
            ends.push((x(flows(last)), y(last.spread.median), *subject, colour));
        }
    }
    // Names are placed at the ends of their lines, pushed apart if they would overlap: up from the axis, then down.
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut places: Vec<f64> = ends.iter().map(|end| end.1).collect();
    let mut free = HEIGHT - BOTTOM;
    for place in places.iter_mut().rev() {
        *place = place.min(free);
        free = *place - LABEL_HEIGHT;
    }
    let mut free = TOP;
    for place in &mut places {
        *place = place.max(free);
        free = *place + LABEL_HEIGHT;
    }
    for ((x, y, subject, colour), at) in ends.into_iter().zip(places) {
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {y:.1}L{:.1} {at:.1}\" stroke=\"{colour}\" stroke-width=\"0.5\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            x + 14.0,
            x + 17.0,
            at + 4.0,
            escape(subject)
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
