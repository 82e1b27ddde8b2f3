//! Charts as HTML and inline SVG, which a page carries as they are: nothing is loaded, and no chart script is needed.
//!
//! Lines, dots, areas and bars are SVG that is stretched over whatever room the page has, with strokes that keep their width;
//! labels are HTML, placed by percentages. So a chart fits a phone, a desktop and paper without being drawn for each, its text
//! is never scaled, and all its colours are the page's, light or dark. A few lines of script say what is under the pointer
//! (`page.js`); without them the chart is complete.
//!
//! A chart has two [`Axis`] and some [`Series`] over them. Where the horizontal axis has names, bars stand beside each other;
//! where the vertical one has, they lie, one after the other.

mod axis;
mod draw;
mod grid;

pub use axis::Axis;
pub use grid::Grid;

use draw::Frame;

/// A chart.
#[derive(Debug, Clone)]
pub struct Plot {
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

/// What a series' points are drawn as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Line {
        dashed: bool,
        dotted: bool,
    },
    Dots {
        small: bool,
    },
    /// On top of those before it.
    Area,
    /// One for each name of an axis.
    Bars,
}

/// Points under a name.
#[derive(Debug, Clone)]
pub struct Series {
    name: String,
    shape: Shape,
    points: Vec<[f64; 2]>,
    /// From where to where each point reaches.
    spread: Option<(Along, Vec<[f64; 2]>)>,
    /// Beside each point.
    labels: Vec<String>,
    large: Option<usize>,
}

/// An axis's direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// The horizontal one.
    X,
    /// The vertical one.
    Y,
}

impl Series {
    fn new(name: impl Into<String>, shape: Shape, points: Vec<[f64; 2]>) -> Self {
        Self { name: name.into(), shape, points, spread: None, labels: Vec::new(), large: None }
    }

    /// A line through points.
    #[must_use]
    pub fn line(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(name, Shape::Line { dashed: false, dotted: false }, zip(x, y))
    }

    /// A line with a dot on each point.
    #[must_use]
    pub fn dotted_line(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(name, Shape::Line { dashed: false, dotted: true }, zip(x, y))
    }

    /// A dashed line.
    #[must_use]
    pub fn dashed(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(name, Shape::Line { dashed: true, dotted: false }, zip(x, y))
    }

    /// Dots.
    #[must_use]
    pub fn dots(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(name, Shape::Dots { small: false }, zip(x, y))
    }

    /// Dots of which there are many, so that they are small and shine through.
    #[must_use]
    pub fn cloud(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(name, Shape::Dots { small: true }, zip(x, y))
    }

    /// An area on top of those that were added before, all at the same points.
    #[must_use]
    pub fn area(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(name, Shape::Area, zip(x, y))
    }

    /// A bar for each name of an axis.
    #[must_use]
    pub fn bars(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self::new(name, Shape::Bars, values.into_iter().enumerate().map(|(at, value)| [at as f64, value]).collect())
    }

    /// With a whisker at each point, from its first to its second number.
    #[must_use]
    pub fn spread(self, along: Along, ends: Vec<[f64; 2]>) -> Self {
        Self { spread: Some((along, ends)), ..self }
    }

    /// With a text beside each point.
    #[must_use]
    pub fn labelled(self, labels: Vec<String>) -> Self {
        Self { labels, ..self }
    }

    /// With one point larger than the others.
    #[must_use]
    pub fn with_large(self, point: usize) -> Self {
        Self { large: Some(point), ..self }
    }
}

fn zip(x: Vec<f64>, y: Vec<f64>) -> Vec<[f64; 2]> {
    x.into_iter().zip(y).map(|(x, y)| [x, y]).collect()
}

impl Plot {
    /// Without series so far.
    #[must_use]
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, series: Vec::new() }
    }

    /// Draws `series` as well.
    pub fn add(&mut self, series: Series) {
        self.series.push(series);
    }

    /// As HTML; `says` tells those who cannot see it what it is.
    pub(super) fn to_html(&self, says: &str) -> String {
        Frame::of(self).to_html(says)
    }
}

/// The class of a series' colour; from the ninth on colours are used again, dashed or paler.
fn colour(at: usize) -> String {
    let again = if at >= COLOURS { " again" } else { "" };
    format!("c{}{again}", at % COLOURS)
}

/// As many as `page.css` has.
const COLOURS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_escapes_names_and_leaves_out_what_is_no_point() {
        let mut plot = Plot::new(Axis::log("x < 1"), Axis::linear("y"));
        plot.add(Series::line("</svg><b>", vec![0.0, 1.0, f64::NAN, 10.0], vec![1.0, 2.0, 3.0, 4.0]));
        let html = plot.to_html("says \"so\"");
        assert!(!html.contains("</svg><b>") && html.contains("&lt;/svg&gt;&lt;b&gt;") && html.contains("x &lt; 1"));
        assert!(html.contains("aria-label=\"says &quot;so&quot;\"") && !html.contains("NaN"));
        assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
        // Two points are left: one at each end of the axis, with the margins.
        assert_eq!(html.matches("class=\"line").count(), 1);
    }

    #[test]
    fn bars_lie_one_after_the_other_and_stand_beside_each_other() {
        let names = || vec!["a".to_owned(), "b".to_owned()];
        let mut lying = Plot::new(Axis::linear("ms"), Axis::names("", names()));
        let mut standing = Plot::new(Axis::names("", names()), Axis::linear("ms"));
        for plot in [&mut lying, &mut standing] {
            plot.add(Series::bars("one", vec![1.0, 2.0]));
            plot.add(Series::bars("two", vec![3.0, 2.0]));
        }
        let tip = "<title>two, a: 3.00</title>";
        for plot in [lying, standing] {
            let html = plot.to_html("");
            assert_eq!(html.matches("class=\"bar").count(), 4);
            assert!(html.contains(tip), "{html}");
        }
    }

    #[test]
    fn a_chart_without_points_is_drawn_empty() {
        let html = Plot::new(Axis::log("x"), Axis::linear("y")).to_html("nothing");
        assert!(html.contains("<svg") && !html.contains("NaN"));
        assert!(Plot::new(Axis::names("", Vec::new()), Axis::linear("y")).to_html("").contains("<svg"));
    }
}
