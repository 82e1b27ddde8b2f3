//! A self-contained HTML page of tables and charts from which values can be read. It loads nothing.

pub mod charts;
pub mod plot;

use plot::{Grid, Plot};

use crate::{html::escape, table::Table};

/// A page from top to bottom.
#[derive(Default)]
pub struct Page {
    /// Shown as the window's title and at the top.
    pub title: String,
    /// The contents below it.
    pub blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Clone)]
pub enum Block {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Terms and their meanings.
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
        drawn: Drawn,
    },
    /// A table that is collapsed initially.
    More {
        /// Its title.
        title: String,
        /// The table.
        table: Table,
    },
}

/// The form of a chart.
#[derive(Clone)]
pub enum Drawn {
    /// Series over two axes.
    Plot(Plot),
    /// A value for each pair of names.
    Grid(Grid),
}

impl From<Plot> for Drawn {
    fn from(plot: Plot) -> Self {
        Self::Plot(plot)
    }
}

impl From<Grid> for Drawn {
    fn from(grid: Grid) -> Self {
        Self::Grid(grid)
    }
}

impl Block {
    /// A chart under its title.
    pub fn chart(title: impl Into<String>, note: impl Into<String>, drawn: impl Into<Drawn>) -> Self {
        Self::Chart { title: title.into(), note: note.into(), drawn: drawn.into() }
    }
}

impl Page {
    /// The page as one file that loads nothing.
    pub fn to_html(&self) -> String {
        let (mut body, mut under) = (String::new(), &self.title);
        for block in &self.blocks {
            body += &match block {
                Block::Heading(text) => {
                    under = text;
                    format!("<h2>{}</h2>\n", escape(text))
                }
                Block::Text(text) => format!("<p>{}</p>\n", escape(text)),
                Block::Terms(terms) => {
                    let term = |(term, meaning): &(&str, &str)| {
                        format!("<dt>{}</dt><dd>{}</dd>", escape(term), escape(meaning))
                    };
                    format!("<dl>{}</dl>\n", terms.iter().map(term).collect::<String>())
                }
                Block::Table(table) => table.to_html(under),
                Block::More { title, table } => {
                    format!("<details><summary>{}</summary>{}</details>\n", escape(title), table.to_html(title))
                }
                Block::Chart { title, note, drawn } => {
                    let says = format!("{title}. {note}");
                    let chart = match drawn {
                        Drawn::Plot(plot) => plot.to_html(&says),
                        Drawn::Grid(grid) => grid.to_html(&says),
                    };
                    let caption = format!("<b>{}</b> {}", escape(title), escape(note));
                    format!("<figure><figcaption>{caption}</figcaption><div class=\"chart\">{chart}</div></figure>\n")
                }
            };
        }
        // The body is inserted last, so that nothing in it is taken for a placeholder.
        include_str!("page.html")
            .replace("{{title}}", &escape(&self.title))
            .replace("{{palette}}", include_str!("palette.css"))
            .replace("{{style}}", include_str!("page.css"))
            .replace("{{script}}", include_str!("page.js"))
            .replace("{{body}}", &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stands_alone() {
        let mut plot = Plot::new(plot::Axis::linear("x"), plot::Axis::linear("y"));
        plot.add(plot::Series::line("</script><b>", vec![0.0], vec![0.0]));
        plot.add(plot::Series::line("other", vec![0.0], vec![0.0]));
        let page = Page { title: "a & b".into(), blocks: vec![Block::chart("<i>", "", plot)] }.to_html();
        assert!(page.contains("<title>a &amp; b</title>"));
        assert!(page.contains("&lt;i&gt;") && page.contains("&lt;/script&gt;&lt;b&gt;"));
        assert!(!page.contains("{{"), "a placeholder was left");
        assert!(page.contains("--c0:") && page.contains(".c0 { --c: var(--c0); }"));
        assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
        for outside in ["src=", "href=", "@import", "url(", "fetch("] {
            assert!(!page.contains(outside), "the page loads something: {outside}");
        }
    }
}
