//! Contents of a chart: its series and their points.

use super::axis::Axis;

/// A chart.
#[derive(Debug, Clone)]
pub struct Plot {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
}

/// How a series' points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Line {
        dashed: bool,
        dotted: bool,
    },
    Dots {
        small: bool,
    },
    /// Stacked on the areas before it.
    Area,
    /// One bar for each name of an axis.
    Bars,
}

/// Named points.
#[derive(Debug, Clone)]
pub struct Series {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) points: Vec<[f64; 2]>,
    /// Range of each point.
    pub(super) spread: Option<(Along, Vec<[f64; 2]>)>,
    /// Label of each point.
    pub(super) labels: Vec<String>,
    pub(super) large: Option<usize>,
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

    /// Many dots, drawn small and translucent.
    #[must_use]
    pub fn cloud(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(name, Shape::Dots { small: true }, zip(x, y))
    }

    /// An area stacked on those added before, all with the same x values.
    #[must_use]
    pub fn area(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::new(name, Shape::Area, zip(x, y))
    }

    /// A bar for each name of an axis.
    #[must_use]
    pub fn bars(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self::new(name, Shape::Bars, values.into_iter().enumerate().map(|(at, value)| [at as f64, value]).collect())
    }

    /// Adds a whisker at each point, from its first to its second number.
    #[must_use]
    pub fn spread(self, along: Along, ends: Vec<[f64; 2]>) -> Self {
        Self { spread: Some((along, ends)), ..self }
    }

    /// Adds a text beside each point.
    #[must_use]
    pub fn labelled(self, labels: Vec<String>) -> Self {
        Self { labels, ..self }
    }

    /// Draws one point larger than the others.
    #[must_use]
    pub fn with_large(self, point: usize) -> Self {
        Self { large: Some(point), ..self }
    }
}

fn zip(x: Vec<f64>, y: Vec<f64>) -> Vec<[f64; 2]> {
    x.into_iter().zip(y).map(|(x, y)| [x, y]).collect()
}

impl Plot {
    /// An empty chart.
    #[must_use]
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, series: Vec::new() }
    }

    /// Adds `series`.
    pub fn add(&mut self, series: Series) {
        self.series.push(series);
    }
}

/// The CSS class of a series' colour; from the ninth on colours are reused, dashed or paler.
pub(super) fn colour(at: usize) -> String {
    let again = if at >= COLOURS { " again" } else { "" };
    format!("c{}{again}", at % COLOURS)
}

/// The number of colours in `page.css`.
const COLOURS: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_colour_has_dashes_of_its_own_where_colours_may_be_lost() {
        let css = include_str!("../page.css");
        let (_, from) = css.split_once("@media print, (forced-colors: active) {").expect("rules for it");
        // The first colour's lines have none.
        let dashes: HashSet<_> = (1..COLOURS)
            .map(|at| {
                let (_, rule) = from.split_once(&format!(".line.c{at} {{ stroke-dasharray: ")).expect("a rule");
                rule.split_once(';').expect("its end").0
            })
            .collect();
        assert_eq!(dashes.len(), COLOURS - 1, "{dashes:?}");
    }
}
