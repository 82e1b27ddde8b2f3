//! A chart's axes and series as HTML and SVG.

use std::fmt::Write as _;

use super::{
    axis::{Axis, Ruler},
    series::{Along, Plot, Series, Shape, colour},
};
use crate::{html::escape, table::figure};

/// Side length of the drawing in its own units: integers are fine enough for any screen.
pub(super) const SIDE: f64 = 4000.0;

/// Fraction of a name's space on its axis that bars occupy.
const BARS_WIDTH: f64 = 0.8;

/// Most bars that are labelled with their values.
const VALUES_SHOWN: usize = 16;

impl Plot {
    /// Renders it as HTML; `says` is the description for screen readers.
    pub(in crate::report) fn to_html(&self, says: &str) -> String {
        Frame::of(self).to_html(says)
    }
}

/// A chart with the ends of its axes.
struct Frame<'a> {
    plot: &'a Plot,
    /// Drawn position of each point of each series; areas are stacked.
    points: Vec<Vec<[f64; 2]>>,
    x: Ruler,
    y: Ruler,
}

impl<'a> Frame<'a> {
    fn of(plot: &'a Plot) -> Self {
        let lie = plot.y.has_names();
        let mut tops: Vec<f64> = Vec::new();
        let mut points = Vec::new();
        for series in &plot.series {
            let stacked = series.shape == Shape::Area || (series.shape == Shape::Bars && lie);
            let place = |(at, &[x, value]): (usize, &[f64; 2])| {
                let value = if stacked && value.is_finite() {
                    tops.resize(tops.len().max(at + 1), 0.0);
                    tops[at] += value;
                    tops[at]
                } else {
                    value
                };
                if series.shape == Shape::Bars && lie { [value, x] } else { [x, value] }
            };
            points.push(series.points.iter().enumerate().map(place).collect::<Vec<_>>());
        }
        let bars = |series: &&Series| matches!(series.shape, Shape::Bars | Shape::Area);
        let has_bars = plot.series.iter().any(|series| bars(&series));
        let ends = |along: Along| {
            let spread = plot.series.iter().filter_map(move |series| series.spread.as_ref());
            spread.filter(move |(of, _)| *of == along).flat_map(|(_, ends)| ends.iter().flatten().copied())
        };
        let all = |along: Along| {
            let points = points.iter().flatten().map(move |point| point[usize::from(along == Along::Y)]);
            points.chain(ends(along)).collect::<Vec<_>>()
        };
        let x = plot.x.over(all(Along::X).into_iter(), has_bars && lie);
        let y = plot.y.over(all(Along::Y).into_iter(), has_bars && !lie);
        Self { plot, points, x, y }
    }

    fn to_html(&self, says: &str) -> String {
        let Plot { x, y, series } = self.plot;
        let (across, up) = (x.labels(self.x), y.labels(self.y));
        let mut svg = String::new();
        for (value, _) in up.iter().filter(|_| !y.has_names()) {
            let _ = write!(svg, "<path class=\"rule\" d=\"M0 {}H{SIDE}\"/>", self.down(*value));
        }
        for (value, _) in across.iter().filter(|_| !x.has_names()) {
            let _ = write!(svg, "<path class=\"rule\" d=\"M{} 0V{SIDE}\"/>", self.right(*value));
        }
        let mut texts = String::new();
        // Stacked from the back: the topmost is drawn first.
        for at in (0..series.len()).rev() {
            self.draw(at, &mut svg, &mut texts);
        }
        labels(&mut texts, "up", "bottom", &up, |value| self.y.at(value));
        labels(&mut texts, "across", "left", &across, |value| self.x.at(value));
        let height =
            if y.has_names() { format!("height:{:.1}rem;", 1.0 + 1.9 * up.len() as f64) } else { String::new() };
        let ends =
            |ruler: Ruler| format!("{} {} {}", if ruler.is_log { "log" } else { "linear" }, ruler.low, ruler.high);
        let asks = if !y.has_names() && series.iter().any(|series| series.shape != Shape::Bars) {
            let names = |axis: &Axis| if axis.has_names() { labels_of(axis, self.x) } else { String::new() };
            format!(" data-x=\"{}\" data-y=\"{}\" data-names=\"{}\"", ends(self.x), ends(self.y), names(x))
        } else {
            String::new()
        };
        let drawing = format!(
            "<div class=\"area\" style=\"{height}--left:{}ch\"{asks}><svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {SIDE} \
             {SIDE}\" preserveAspectRatio=\"none\">{svg}</svg><div class=\"texts\" aria-hidden=\"true\">{texts}</div></div>",
            longest(&up),
            escape(&(says.to_owned() + &self.plot.words())),
        );
        format!("{}{}", legend(series), titled(&y.title, &x.title, &drawing))
    }

    fn right(&self, value: f64) -> i64 {
        (self.x.at(value) * SIDE).round() as i64
    }

    fn down(&self, value: f64) -> i64 {
        ((1.0 - self.y.at(value)) * SIDE).round() as i64
    }

    fn draw(&self, at: usize, svg: &mut String, texts: &mut String) {
        let series = &self.plot.series[at];
        let name = escape(&series.name);
        let class = colour(at);
        match series.shape {
            Shape::Bars => self.bars(at, svg, texts),
            Shape::Area => {
                // The topmost are drawn first, so each may extend to the bottom.
                let line = self.path(at);
                if let (Some(first), Some(last)) = (self.points[at].first(), self.points[at].last()) {
                    let (first, last) = (self.right(first[0]), self.right(last[0]));
                    let _ = write!(
                        svg,
                        "<path class=\"under {class}\" d=\"{line}L{last} {SIDE}L{first} {SIDE}z\"/><path class=\"stack {class}\" \
                         data-of=\"{name}\" d=\"{line}\"/>"
                    );
                }
            }
            Shape::Line { dashed, dotted } => {
                let line = line(dashed);
                let _ = write!(svg, "<path class=\"{line} {class}\" data-of=\"{name}\" d=\"{}\"/>", self.path(at));
                if dotted {
                    let _ = write!(svg, "<path class=\"dots {class}\" d=\"{}\"/>", self.dots(at));
                }
            }
            Shape::Dots { small } => {
                let size = if small { "cloud" } else { "dots" };
                let _ = write!(svg, "<path class=\"{size} {class}\" data-of=\"{name}\" d=\"{}\"/>", self.dots(at));
            }
        }
        if let Some((along, ends)) = &series.spread {
            let whisker = |(&[x, y], &[low, high]): (&[f64; 2], &[f64; 2])| match along {
                Along::X => format!("M{} {}H{}", self.right(low), self.down(y), self.right(high)),
                Along::Y => format!("M{} {}V{}", self.right(x), self.down(low), self.down(high)),
            };
            let drawn = self.points[at].iter().zip(ends).filter(|(point, ends)| {
                let [axis, other] =
                    if *along == Along::X { [&self.plot.x, &self.plot.y] } else { [&self.plot.y, &self.plot.x] };
                ends.iter().all(|end| axis.has(*end)) && other.has(point[usize::from(*along == Along::X)])
            });
            let _ = write!(svg, "<path class=\"whisker {class}\" d=\"{}\"/>", drawn.map(whisker).collect::<String>());
        }
        let large = series.large.and_then(|large| self.points[at].get(large)).filter(|point| self.has(**point));
        if let Some(point) = large {
            let (x, y) = (self.right(point[0]), self.down(point[1]));
            let _ = write!(svg, "<path class=\"large {class}\" d=\"M{x} {y}h0\"/>");
        }
        for (point, label) in self.points[at].iter().zip(&series.labels).filter(|(point, _)| self.has(**point)) {
            let (left, bottom) = (self.x.at(point[0]) * 100.0, self.y.at(point[1]) * 100.0);
            let label = escape(label);
            let _ = write!(texts, "<span class=\"label\" style=\"left:{left:.1}%;bottom:{bottom:.1}%\">{label}</span>");
        }
    }

    fn has(&self, [x, y]: [f64; 2]) -> bool {
        self.plot.x.has(x) && self.plot.y.has(y)
    }

    /// A line through the points, interrupted at points that cannot be drawn.
    fn path(&self, at: usize) -> String {
        let (mut path, mut last) = (String::new(), None);
        for &[x, y] in &self.points[at] {
            if !self.has([x, y]) {
                last = None;
                continue;
            }
            let point = (self.right(x), self.down(y));
            if last != Some(point) {
                let _ = write!(path, "{}{} {}", if last.is_none() { "M" } else { "L" }, point.0, point.1);
            }
            last = Some(point);
        }
        path
    }

    /// Lines of zero length, whose round ends are dots.
    fn dots(&self, at: usize) -> String {
        let points = self.points[at].iter().filter(|point| self.has(**point));
        points.map(|&[x, y]| format!("M{} {}h0", self.right(x), self.down(y))).collect()
    }

    fn bars(&self, at: usize, svg: &mut String, texts: &mut String) {
        let series = &self.plot.series[at];
        let lie = self.plot.y.has_names();
        let groups = self.plot.series.iter().filter(|series| series.shape == Shape::Bars).count();
        let place = self.plot.series[..at].iter().filter(|series| series.shape == Shape::Bars).count();
        let names = if lie { self.plot.y.labels(self.y) } else { self.plot.x.labels(self.x) };
        let class = colour(at);
        for ((&point, given), (_, name)) in self.points[at].iter().zip(&series.points).zip(&names) {
            let value = given[1];
            if !value.is_finite() || (lie && value == 0.0) {
                continue;
            }
            let path = if lie {
                let [end, row] = point;
                let (left, right) = (self.right(end - value), self.right(end));
                let (top, bottom) = (self.down(row + BARS_WIDTH / 2.0), self.down(row - BARS_WIDTH / 2.0));
                format!("M{left} {top}H{right}V{bottom}H{left}z")
            } else {
                let width = BARS_WIDTH / groups as f64;
                let from = point[0] - BARS_WIDTH / 2.0 + width * place as f64;
                let (left, right) = (self.right(from), self.right(from + width * 0.94));
                if groups * names.len() <= VALUES_SHOWN {
                    let (centre, bottom) = (self.x.at(from + width * 0.47) * 100.0, self.y.at(value) * 100.0);
                    let _ = write!(
                        texts,
                        "<span class=\"value\" style=\"left:{centre:.1}%;bottom:{bottom:.1}%\">{}</span>",
                        figure(value)
                    );
                }
                format!("M{left} {}V{}H{right}V{}z", self.down(0.0), self.down(value), self.down(0.0))
            };
            let tip = escape(&format!("{}, {name}: {}", series.name, figure(value)));
            let _ = write!(svg, "<path class=\"bar {class}\" d=\"{path}\"><title>{tip}</title></path>");
        }
    }
}

fn labels_of(axis: &Axis, ruler: Ruler) -> String {
    escape(&axis.labels(ruler).into_iter().map(|(_, label)| label).collect::<Vec<_>>().join("\n"))
}

/// Length of the longest label, within limits.
pub(super) fn longest(labels: &[(f64, String)]) -> usize {
    labels.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0).min(28)
}

/// Labels along an axis.
pub(super) fn labels(texts: &mut String, class: &str, side: &str, labels: &[(f64, String)], at: impl Fn(f64) -> f64) {
    for (value, label) in labels {
        let at = at(*value) * 100.0;
        if (-0.1..=100.1).contains(&at) {
            let label = escape(label);
            let _ = write!(texts, "<span class=\"{class}\" style=\"{side}:{at:.2}%\" title=\"{label}\">{label}</span>");
        }
    }
}

/// The class of a line.
const fn line(dashed: bool) -> &'static str {
    if dashed { "line dashed" } else { "line" }
}

/// The colours of the series, and a piece of each line for where dashes tell lines apart; for a single one, the title suffices.
fn legend(series: &[Series]) -> String {
    if series.len() < 2 {
        return String::new();
    }
    let entry = |(at, Series { name, shape, .. }): (usize, &Series)| {
        let class = colour(at);
        let piece = match *shape {
            Shape::Line { dashed, .. } => {
                format!("<svg aria-hidden=\"true\"><path class=\"{} {class}\" d=\"M2 5H42\"/></svg>", line(dashed))
            }
            _ => String::new(),
        };
        format!("<li class=\"{class}\">{piece}{}</li>", escape(name))
    };
    format!("<ul class=\"legend\">{}</ul>", series.iter().enumerate().map(entry).collect::<String>())
}

/// Adds the axes' titles to a drawing.
pub(super) fn titled(up: &str, across: &str, drawing: &str) -> String {
    let title = |class: &str, text: &str| match text {
        "" => String::new(),
        text => format!("<div class=\"{class}\">{}</div>", escape(text)),
    };
    format!("{}{drawing}{}", title("over", up), title("below", across))
}
