//! A grid with a value for each pair of names, in which darker cells have larger values.

use std::fmt::Write as _;

use super::draw::{labels, longest, titled};
use crate::{html::escape, table::figure};

/// A grid whose rows and columns have the same names.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Titles of the rows and of the columns.
    pub titles: [&'static str; 2],
    /// Names of the rows from the top, and of the columns from the left.
    pub names: Vec<String>,
    /// By row, then by column.
    pub values: Vec<Vec<f64>>,
    /// Unit of the values.
    pub unit: &'static str,
}

impl Grid {
    /// Renders it as HTML; `says` is the description for screen readers.
    pub(in crate::report) fn to_html(&self, says: &str) -> String {
        let most = self.values.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let side = self.names.len().max(1);
        let mut cells = String::new();
        for (down, (row, values)) in self.names.iter().zip(&self.values).enumerate() {
            for (right, (column, &value)) in self.names.iter().zip(values).enumerate().filter(|(_, (_, of))| **of > 0.0)
            {
                let tip = escape(&format!("{row} → {column}: {} {}", figure(value), self.unit));
                let shade = value / most;
                let _ = write!(
                    cells,
                    "<path class=\"cell\" d=\"M{right} {down}h1v1h-1z\" fill-opacity=\"{shade:.2}\"><title>{tip}</title></path>"
                );
            }
        }
        let named: Vec<(f64, String)> =
            self.names.iter().cloned().enumerate().map(|(at, name)| (at as f64, name)).collect();
        let mut texts = String::new();
        let middle = |at: f64| (at + 0.5) / side as f64;
        labels(&mut texts, "up", "bottom", &named, |at| 1.0 - middle(at));
        labels(&mut texts, "across turned", "left", &named, middle);
        let drawing = format!(
            "<div class=\"area grid\" style=\"height:{:.1}rem;--left:{}ch;--below:{}ch\"><svg role=\"img\" aria-label=\"{}\" \
             viewBox=\"0 0 {side} {side}\" preserveAspectRatio=\"none\">{cells}</svg><div class=\"texts\" aria-hidden=\"true\">{texts}</div></div>",
            2.0 + 1.3 * side as f64,
            longest(&named),
            longest(&named),
            escape(&(says.to_owned() + &self.words())),
        );
        let scale = format!("<div class=\"scale\">0<i></i>{} {}</div>", figure(most), self.unit);
        let [row, column] = self.titles;
        format!("{scale}{}", titled(row, column, &drawing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_as_dark_as_its_part_of_the_most() {
        let names = vec!["a<b".to_owned(), "c".to_owned()];
        let grid = Grid { titles: ["who", "for"], names, values: vec![vec![0.0, 4.0], vec![1.0, 2.0]], unit: "ms" };
        let html = grid.to_html("");
        assert_eq!(html.matches("class=\"cell\"").count(), 3);
        assert!(html.contains("d=\"M1 0h1v1h-1z\" fill-opacity=\"1.00\"><title>a&lt;b → c: 4.00 ms"), "{html}");
        assert!(html.contains("fill-opacity=\"0.25\"") && html.contains("0<i></i>4.00 ms"));
    }
}
