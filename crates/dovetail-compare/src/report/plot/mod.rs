//! Charts as HTML and inline SVG, embedded in a page: nothing is loaded, and no chart library is needed.
//!
//! Lines, dots, areas and bars are SVG that is stretched to the available space, with strokes that keep their width; labels
//! are HTML, positioned by percentages. A chart therefore fits a phone, a desktop and paper without being drawn for each, its
//! text is never scaled, and all its colours are the page's, light or dark. A few lines of script show what is under the
//! pointer (`page.js`); without them the chart is complete.
//!
//! A chart has two [`Axis`] and some [`Series`]. If the horizontal axis has names, bars are vertical, side by side; if the
//! vertical axis has names, they are horizontal and stacked.

mod axis;
mod draw;
mod grid;
mod series;
mod words;

pub use axis::Axis;
pub use grid::Grid;
pub use series::{Along, Plot, Series};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_escapes_names_and_leaves_out_what_is_no_point() {
        let mut plot = Plot::new(Axis::log("x < 1"), Axis::linear("y"));
        plot.add(Series::line("</svg><b>", vec![0.0, 1.0, f64::NAN, 10.0], vec![1.0, 2.0, 3.0, 4.0]));
        let html = plot.to_html("says \"so\"");
        assert!(!html.contains("</svg><b>") && html.contains("&lt;/svg&gt;&lt;b&gt;") && html.contains("x &lt; 1"));
        assert!(html.contains("aria-label=\"says &quot;so&quot; ") && !html.contains("NaN"));
        assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
        assert!(!html.contains("class=\"legend\""), "a single line needs none");
        // Two points remain: one at each end of the axis, with the margins.
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
    fn a_legend_has_a_piece_of_each_line_but_none_of_what_is_no_line() {
        let mut plot = Plot::new(Axis::linear("x"), Axis::linear("y"));
        let ends = || (vec![0.0, 1.0], vec![1.0, 2.0]);
        plot.add(Series::line("one", ends().0, ends().1));
        plot.add(Series::dots("dots", ends().0, ends().1));
        plot.add(Series::dashed("bound", ends().0, ends().1));
        let html = plot.to_html("");
        let (legend, _) = html.split_once("</ul>").expect("a legend");
        let pieces: Vec<_> = legend.split("<li ").skip(1).map(|entry| entry.contains("<path")).collect();
        assert_eq!(pieces, [true, false, true]);
        for class in ["line c0", "line dashed c2"] {
            assert_eq!(
                html.matches(&format!("class=\"{class}\"")).count(),
                2,
                "the piece looks as the line does: {class}"
            );
        }
    }

    #[test]
    fn a_chart_without_points_is_drawn_empty() {
        let html = Plot::new(Axis::log("x"), Axis::linear("y")).to_html("nothing");
        assert!(html.contains("<svg") && !html.contains("NaN"));
        assert!(Plot::new(Axis::names("", Vec::new()), Axis::linear("y")).to_html("").contains("<svg"));
    }
}
