//! Tables, for a terminal and for a page.

use comfy_table::{Cell, CellAlignment, ContentArrangement, presets};

use crate::html::escape;

/// Rows of text under a header; the first column is left-aligned, the others are figures.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Headings of the columns.
    pub header: Vec<String>,
    /// One text per column.
    pub rows: Vec<Vec<String>>,
    /// Number of columns from the left that contain words rather than figures.
    pub words: usize,
}

impl Table {
    /// An empty table.
    pub fn new(header: &[&str], words: usize) -> Self {
        Self { header: header.iter().map(ToString::to_string).collect(), rows: Vec::new(), words }
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Aligned text for a terminal.
    pub fn to_terminal(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let align = |column: usize| if column < self.words { CellAlignment::Left } else { CellAlignment::Right };
        let cells = |row: &[String]| -> Vec<Cell> {
            row.iter().enumerate().map(|(column, text)| Cell::new(text).set_alignment(align(column))).collect()
        };
        table.set_header(cells(&self.header));
        for row in &self.rows {
            table.add_row(cells(row));
        }
        let text = table.to_string();
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    /// The table as HTML. `name` says what it is of where it is reached by keyboard, to be scrolled.
    pub fn to_html(&self, name: &str) -> String {
        let class = |column: usize| if column < self.words { "" } else { " class=\"figure\"" };
        let head = |(column, text): (usize, &String)| match &**text {
            "" => "<td></td>".to_owned(),
            text => format!("<th scope=\"col\"{}>{}</th>", class(column), escape(text)),
        };
        let cell = |(column, text): (usize, &String)| match column {
            0 => format!("<th scope=\"row\"{}>{}</th>", class(0), escape(text)),
            _ => format!("<td{}>{}</td>", class(column), escape(text)),
        };
        let row = |row: &Vec<String>| format!("<tr>{}</tr>", row.iter().enumerate().map(cell).collect::<String>());
        format!(
            "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{}\"><table><thead><tr>{}</tr></thead>\
             <tbody>{}</tbody></table></div>",
            escape(name),
            self.header.iter().enumerate().map(head).collect::<String>(),
            self.rows.iter().map(row).collect::<String>()
        )
    }
}

/// A number with useful precision: three digits, or the whole integer part.
pub fn figure(value: f64) -> String {
    let digits = match value.abs() {
        size if !size.is_finite() => return "–".to_owned(),
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        0.0 => 0,
        _ => 3,
    };
    thousands(&format!("{value:.digits$}"))
}

/// A rate in Mbit/s like a [`figure`], with two digits where that would round to one or to none: a link may carry a bit a second.
pub fn megabits(mbps: f64) -> String {
    // Nothing is measured in less than a thousandth of a bit a second.
    if !(1e-9..1e-3).contains(&mbps) {
        return figure(mbps);
    }
    let digits = 1 - mbps.log10().floor() as i32;
    format!("{mbps:.*}", digits.unsigned_abs() as usize).trim_end_matches('0').to_owned()
}

/// A count with separated thousands.
pub fn count(value: u64) -> String {
    thousands(&value.to_string())
}

/// A count and what is counted, a word whose plural ends in s.
pub(crate) fn counted(value: u64, one: &str) -> String {
    format!("{} {one}{}", count(value), if value == 1 { "" } else { "s" })
}

pub(crate) fn thousands(number: &str) -> String {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut grouped = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

/// A figure, preceded by `≥` if it is a lower bound; a dash if there is none.
pub fn bounded(value: Option<f64>, at_least: bool) -> String {
    let sign = if at_least { "≥ " } else { "" };
    value.map_or_else(|| "–".to_owned(), |value| format!("{sign}{}", figure(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_what_matters() {
        let shown: Vec<_> = [0.0, 0.1234, 1.239, 45.67, 1234.5, 1_234_567.0, -9876.0].map(figure).into();
        assert_eq!(shown, ["0", "0.123", "1.24", "45.7", "1,234", "1,234,567", "-9,876"]);
        assert_eq!(count(1_000_000), "1,000,000");
    }

    #[test]
    fn slow_rates_are_not_shown_as_none() {
        let shown: Vec<_> =
            [1e-6, 1e-5, 9.5e-5, 9.99e-4, 1e-3, 0.0096, 0.064, 2.0, 400.0, 0.0, 1e-12].map(megabits).into();
        let as_figures = ["0.001", "0.010", "0.064", "2.00", "400", "0", "0.000"];
        assert_eq!(shown, [&["0.000001", "0.00001", "0.000095", "0.001"][..], &as_figures].concat());
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["policy", "sent"], 1);
        table.push(["fifo".to_owned(), "1".to_owned()]);
        table.push(["atfq:batch=20".to_owned(), "1,000".to_owned()]);
        let lines: Vec<_> = table.to_terminal().lines().map(str::to_owned).collect();
        assert_eq!(lines[1].chars().count(), lines[2].chars().count());
        assert!(lines[1].ends_with(" 1"));
    }

    #[test]
    fn header_cells_say_of_what_they_are_and_a_table_is_scrolled_by_keyboard() {
        let mut table = Table::new(&["policy", "", "sent"], 1);
        table.push(["<fifo>", "a", "1"].map(str::to_owned));
        let html = table.to_html("a & b");
        assert!(html.contains("tabindex=\"0\" aria-label=\"a &amp; b\"><table>"), "{html}");
        let head = "<th scope=\"col\">policy</th><td></td><th scope=\"col\" class=\"figure\">sent</th>";
        assert!(html.contains(head), "{html}");
        assert!(html.contains("<th scope=\"row\">&lt;fifo&gt;</th><td class=\"figure\">a</td>"), "{html}");
    }
}
