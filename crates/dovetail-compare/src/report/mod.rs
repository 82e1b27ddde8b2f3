//! One self-contained HTML page: tables, and charts that a reader can zoom and read values off.
//!
//! The chart script comes embedded in the plotly crate; the page loads nothing from anywhere.

pub mod charts;

use plotly::Plot;

use crate::{html::escape, table::Table};

/// A page from top to bottom.
#[derive(Default)]
pub struct Page {
    /// Of the window and at the top.
    pub title: String,
    /// What stands under it.
    pub blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Clone)]
pub enum Block {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Words and what they mean.
    Terms(Vec<(&'static str, &'static str)>),
    /// A table.
    Table(Table),
    /// A chart under its title.
    Chart {
        /// What it shows.
        title: String,
        /// How to read it.
        note: String,
        /// The chart.
        plot: Box<Plot>,
    },
    /// Folded away until it is asked for.
    More {
        /// What is folded away.
        title: String,
        /// The table.
        table: Table,
    },
}

impl Block {
    /// A chart under its title.
    pub fn chart(title: impl Into<String>, note: impl Into<String>, plot: Plot) -> Self {
        Self::Chart { title: title.into(), note: note.into(), plot: Box::new(plot) }
    }
}

impl Page {
    /// The page as one file that loads nothing from anywhere.
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        let mut charts = Vec::new();
        for block in &self.blocks {
            body += &match block {
                Block::Heading(text) => format!("<h2>{}</h2>\n", escape(text)),
                Block::Text(text) => format!("<p>{}</p>\n", escape(text)),
                Block::Terms(terms) => {
                    let term = |(term, meaning): &(&str, &str)| {
                        format!("<dt>{}</dt><dd>{}</dd>", escape(term), escape(meaning))
                    };
                    format!("<dl>{}</dl>\n", terms.iter().map(term).collect::<String>())
                }
                Block::Table(table) => table.to_html(),
                Block::More { title, table } => {
                    format!("<details><summary>{}</summary>{}</details>\n", escape(title), table.to_html())
                }
                Block::Chart { title, note, plot } => {
                    charts.push(plot.to_json());
                    format!(
                        "<figure><figcaption><b>{}</b> {}</figcaption><div class=\"chart\" id=\"chart{}\"></div></figure>\n",
                        escape(title),
                        escape(note),
                        charts.len() - 1
                    )
                }
            };
        }
        // "</" would end the script element, whatever JSON string it stands in.
        let charts = format!("[{}]", charts.join(",")).replace("</", "<\\/");
        include_str!("page.html")
            .replace("{{title}}", &escape(&self.title))
            .replace("{{style}}", include_str!("page.css"))
            .replace("{{body}}", &body)
            .replace("{{charts}}", &charts)
            .replace("{{script}}", include_str!("page.js"))
            .replace("{{plotly}}", &chart_script())
    }
}

/// The chart library. The crate hands it out together with a formula renderer that no chart here needs.
fn chart_script() -> String {
    const OPEN: &str = "<script type=\"text/javascript\">";
    let sources = Plot::offline_js_sources();
    let from = sources.find(OPEN).unwrap_or(0);
    let next = sources[from + OPEN.len()..].find(OPEN).map_or(sources.len(), |at| from + OPEN.len() + at);
    sources[from..next].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stands_alone() {
        let mut plot = Plot::new();
        plot.add_trace(plotly::Scatter::new(vec![0], vec![0]).name("</script><b>"));
        let chart = Block::Chart { title: "<i>".into(), note: String::new(), plot: Box::new(plot) };
        let page = Page { title: "a & b".into(), blocks: vec![chart] }.to_html();
        assert!(page.contains("<title>a &amp; b</title>"));
        assert!(page.contains("&lt;i&gt;"));
        let ours = page.replace(&chart_script(), "");
        assert!(!ours.contains("{{"), "a placeholder was left");
        assert_eq!(ours.matches("<script").count(), ours.matches("</script>").count());
        assert!(page.contains("<\\/script>"));
        for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
            assert!(!ours.contains(outside), "the page loads {outside}");
        }
    }
}
