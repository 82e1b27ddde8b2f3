//! What a chart shows, in words, for those who do not see it.

use super::{
    Grid, Plot,
    axis::{Axis, Scale, ends},
    series::Shape,
};
use crate::table::figure;

/// Most values that are listed one by one: more are not listened to.
const MAX_LISTED: usize = 24;

impl Plot {
    /// Bars with their values, or the range of each series; with the axes' titles.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        let bars = self.series.iter().filter(|series| series.shape == Shape::Bars);
        let are_listed = bars.map(|series| series.points.len()).sum::<usize>() <= MAX_LISTED;
        for series in &self.series {
            let known: Vec<[f64; 2]> = series.points.iter().copied().filter(|[_, y]| y.is_finite()).collect();
            let names = if self.y.has_names() { &self.y } else { &self.x };
            let said = if series.shape == Shape::Bars && are_listed {
                listed(names, &known)
            } else {
                let (low, high) = ends(known.iter().map(|point| point[1]));
                if low > high { "no values".to_owned() } else { range(low, high) }
            };
            words += &format!(" {}: {said}.", series.name);
        }
        let titles = [("Up", &self.y.title), ("Across", &self.x.title)];
        for (side, title) in titles.into_iter().filter(|(_, title)| !title.is_empty()) {
            words += &format!(" {side}: {title}.");
        }
        words
    }
}

impl Grid {
    /// The largest values with the names that they belong to.
    pub(super) fn words(&self) -> String {
        let rows = self.names.iter().zip(&self.values);
        let mut cells: Vec<(&str, &str, f64)> = rows
            .flat_map(|(row, values)| {
                self.names.iter().zip(values).map(move |(column, &value)| (&**row, &**column, value))
            })
            .filter(|(_, _, value)| *value > 0.0)
            .collect();
        cells.sort_by(|one, other| other.2.total_cmp(&one.2));
        let which = if cells.len() > MAX_LISTED { " The largest:" } else { "" };
        let said: Vec<String> = cells
            .iter()
            .take(MAX_LISTED)
            .map(|(row, column, value)| format!("{row} → {column} {} {}", figure(*value), self.unit))
            .collect();
        format!("{which} {}.", said.join(", "))
    }
}

fn listed(names: &Axis, points: &[[f64; 2]]) -> String {
    let name = |at: f64| match &names.scale {
        Scale::Names(names) => names.get(at as usize).map_or("", String::as_str),
        Scale::Linear | Scale::Log => "",
    };
    points.iter().map(|&[at, value]| format!("{} {}", name(at), figure(value))).collect::<Vec<_>>().join(", ")
}

fn range(low: f64, high: f64) -> String {
    let (low, high) = (figure(low), figure(high));
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Grid, Plot, Series};

    #[test]
    fn a_chart_says_its_values_to_those_who_do_not_see_it() {
        let mut plot = Plot::new(Axis::names("", vec!["cpu".into(), "link".into()]), Axis::linear("busy, %"));
        plot.add(Series::bars("fifo", vec![12.0, 99.5]));
        let html = plot.to_html("Use.");
        assert!(html.contains("aria-label=\"Use. fifo: cpu 12.0, link 99.5. Up: busy, %.\""), "{html}");
        let mut plot = Plot::new(Axis::linear("time, s"), Axis::linear("ms"));
        plot.add(Series::line("a<b", vec![0.0, 1.0, 2.0], vec![3.0, f64::NAN, 150.0]));
        plot.add(Series::line("none", Vec::new(), Vec::new()));
        let html = plot.to_html("Wait.");
        let said = "aria-label=\"Wait. a&lt;b: 3.00 to 150. none: no values. Up: ms. Across: time, s.\"";
        assert!(html.contains(said), "{html}");
        let values = vec![vec![0.0, 4.0], vec![1.0, 2.0]];
        let grid = Grid { titles: ["who", "for"], names: vec!["a".into(), "c".into()], values, unit: "ms" };
        let html = grid.to_html("Who.");
        assert!(html.contains("aria-label=\"Who. a → c 4.00 ms, c → c 2.00 ms, c → a 1.00 ms.\""), "{html}");
    }

    #[test]
    fn labels_of_an_axis_are_not_read_out_beside_what_the_chart_says() {
        let mut plot = Plot::new(Axis::linear("x"), Axis::linear("y"));
        plot.add(Series::line("a", vec![0.0, 1.0], vec![0.0, 1.0]));
        let html = plot.to_html("");
        assert!(html.contains("<div class=\"texts\" aria-hidden=\"true\">"), "{html}");
        assert!(html.matches("<span").count() > 3);
        let outside = html.split("<div class=\"texts\"").next().unwrap_or_default();
        assert!(!outside.contains("<span"), "{html}");
    }
}
