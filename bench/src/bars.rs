//! Bar charts as SVG for the book: simulators side by side, and where a packet's time goes.

use std::fmt::Write;

use crate::{chart::escape, parts, row::Row};

const WIDTH: f64 = 820.0;
const LEFT: f64 = 130.0;
// Long names extend below 0.
const BEFORE: f64 = 30.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 40.0;
const BAR: f64 = 20.0;
const STEP: f64 = 28.0;
const OURS: &str = "#0072b2";
const THEIRS: &str = "#b0b0b0";

/// A bar: its name, its parts one after the other, and the label at its end.
struct Bar {
    name: String,
    parts: Vec<(f64, &'static str)>,
    end: String,
}

fn median<'a>(rows: &'a [Row], benchmark: &str, subject: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.benchmark == benchmark && row.subject == subject)
}

/// Packets per second over one link, ours next to each peer's; on a logarithmic axis, as otherwise theirs would be
/// invisible next to ours. `None` without peers.
pub fn peers(rows: &[Row], machine: &str) -> Option<String> {
    const DECADES: [(f64, &str); 4] = [(1e4, "10,000"), (1e5, "100,000"), (1e6, "1 million"), (1e7, "10 million")];
    let link: Vec<&Row> = rows.iter().filter(|row| row.benchmark == "simulator, link").collect();
    let is_ours = |row: &Row| !row.subject.contains(' ');
    if link.iter().all(|row| is_ours(row)) {
        return None;
    }
    let most = link.iter().map(|row| row.spread.median).fold(1e7, f64::max).log10();
    let length = |rate: f64| (rate.log10() - 3.5).max(0.0) / (most - 3.5);
    let bar = |row: &&Row| {
        let name =
            if row.flows == 1000 { row.subject.clone() } else { format!("{}, {} flows", row.subject, row.flows) };
        let colour = if is_ours(row) { OURS } else { THEIRS };
        let rate = row.spread.median / 1e6;
        let end = if rate < 0.1 { format!("{rate:.3} million/s") } else { format!("{rate:.2} million/s") };
        Bar { name, parts: vec![(length(row.spread.median), colour)], end }
    };
    let bars: Vec<Bar> = link.iter().map(bar).collect();
    let title = format!("Packets a second of whole simulators over one link, 1,000 flows; {machine}");
    let ticks = DECADES.map(|(rate, text)| (length(rate), text.to_owned()));
    Some(draw(&title, &[], &bars, &ticks))
}

/// How a packet's time is spent, in nanoseconds. `None` if that was not measured.
pub fn parts(rows: &[Row], machine: &str) -> Option<String> {
    const COLOURS: [(&str, &str); 4] = [
        ("arrivals", "#56b4e9"),
        ("pipeline, queues, events", "#0072b2"),
        ("the policy, over fifo", "#d55e00"),
        ("meters", "#009e73"),
    ];
    let nanos = |benchmark, subject| Some(median(rows, benchmark, subject)?.spread.median);
    let arrivals = nanos(parts::ARRIVALS, parts::DRAWN)?;
    let plain = nanos(parts::WITHOUT_METERS, parts::POLICIES[0])?;
    let measured =
        |policy: &&'static str| Some((*policy, nanos(parts::WITHOUT_METERS, policy)?, nanos(parts::WHOLE, policy)?));
    let all: Vec<(&str, f64, f64)> = parts::POLICIES.iter().filter_map(measured).collect();
    let most = all.iter().map(|(.., whole)| *whole).fold(1.0, f64::max);
    let bar = |&(policy, without, whole): &(&str, f64, f64)| {
        let each = [arrivals, plain - arrivals, without - plain, whole - without];
        let parts = each.iter().zip(COLOURS).map(|(nanos, (_, colour))| (nanos.max(0.0) / most, colour)).collect();
        Bar { name: policy.into(), parts, end: format!("{whole:.0} ns") }
    };
    let bars: Vec<Bar> = all.iter().map(bar).collect();
    let ticks: Vec<(f64, String)> = (0..)
        .map(|tick| 50.0 * f64::from(tick))
        .take_while(|&nanos| nanos <= most)
        .map(|nanos| (nanos / most, format!("{nanos}")))
        .collect();
    let title = format!("Where the time of a packet of the whole simulator goes, 1,000 flows; {machine}");
    Some(draw(&title, &COLOURS, &bars, &ticks))
}

fn draw(title: &str, legend: &[(&str, &str)], bars: &[Bar], ticks: &[(f64, String)]) -> String {
    let top = if legend.is_empty() { TOP } else { TOP + STEP };
    let bottom = top + STEP * bars.len() as f64;
    let height = bottom + 30.0;
    let across = WIDTH - LEFT - RIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-{BEFORE} 0 {} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect x=\"-{BEFORE}\" width=\"{}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"-20\" y=\"20\" font-size=\"14\">{}</text>\n",
        WIDTH + BEFORE,
        WIDTH + BEFORE,
        escape(title)
    );
    for (at, (name, colour)) in legend.iter().enumerate() {
        let x = LEFT + at as f64 * 160.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            TOP - 6.0,
            x + 17.0,
            TOP + 4.0,
            escape(name)
        );
    }
    for (at, text) in ticks {
        let x = LEFT + at * across;
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"#ddd\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 16.0
        );
    }
    for (at, bar) in bars.iter().enumerate() {
        let y = top + STEP * at as f64 + (STEP - BAR) / 2.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + BAR - 6.0,
            escape(&bar.name)
        );
        let mut x = LEFT;
        for (part, colour) in &bar.parts {
            let width = part * across;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>"
            );
            x += width;
        }
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 6.0, y + BAR - 6.0, escape(&bar.end));
    }
    svg.push_str("</svg>\n");
    svg
}
