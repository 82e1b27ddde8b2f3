//! Colours of the pages that the workspace draws are told apart from their background, in light and dark, by the formula of
//! WCAG 2.1: texts by 4.5 (1.4.3), edges of fields and the colours of charts by 3 (1.4.11).

use std::collections::BTreeMap;

use dovetail_house::repository::{read, root};

/// A style sheet with the names of its colours.
type Sheet = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// The backgrounds of each, its texts, and what else has to be seen.
const SHEETS: [Sheet; 2] = [
    ("crates/dovetail-admin/src/page/style.css", &["page", "card"], &["text", "soft", "mark"], &["edge"]),
    ("crates/dovetail-compare/src/report/page.css", &["paper", "band"], &["ink", "faint", "accent"], &[]),
];
/// The colours of charts, which each sheet has as well.
const PALETTE: &str = "crates/dovetail-admin/src/page/palette.css";
const COLOURS: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

#[test]
fn texts_and_charts_are_told_apart_from_their_background_in_light_and_dark() {
    let mut faint = Vec::new();
    for (sheet, backgrounds, texts, marks) in SHEETS {
        for ((theme, mut colours), (_, palette)) in themes(sheet).into_iter().zip(themes(PALETTE)) {
            colours.extend(palette);
            let texts = texts.iter().map(|name| (*name, 4.5));
            let marks = marks.iter().chain(&COLOURS).map(|name| (*name, 3.0));
            for (name, least) in texts.chain(marks) {
                for background in backgrounds {
                    let is = contrast(colours[name], colours[*background]);
                    if is < least {
                        faint.push(format!("{sheet}, {theme}: {name} on {background}: {is:.2} of {least}"));
                    }
                }
            }
            if let Some(bad) = colours.get("bad") {
                assert!(contrast(*bad, colours["bad-page"]) >= 4.5, "{sheet}, {theme}: what is bad");
            }
        }
    }
    assert!(faint.is_empty(), "{}", faint.join("\n"));
}

#[test]
fn charts_are_read_by_those_who_see_no_red_or_no_green() {
    let mut alike = Vec::new();
    for (theme, colours) in themes(PALETTE) {
        for (sight, matrix) in [("no green", NO_GREEN), ("no red", NO_RED)] {
            let seen = COLOURS.map(|name| lab(seen(matrix, colours[name])));
            for (at, one) in seen.iter().enumerate() {
                for (before, other) in seen[..at].iter().enumerate() {
                    let distance = one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    if distance < MIN_DISTANCE {
                        alike.push(format!("{theme}, {sight}: c{before} and c{at}: {distance:.1}"));
                    }
                }
            }
        }
    }
    assert!(alike.is_empty(), "{}", alike.join("\n"));
}

/// In CIE L*a*b*, where a distance of 2.3 is just noticed side by side: lines and swatches are thin and apart.
const MIN_DISTANCE: f64 = 20.0;

/// What linear red, green and blue become to those who lack one kind of cone (Machado, Oliveira and Fernandes, 2009).
const NO_GREEN: [[f64; 3]; 3] =
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]];
const NO_RED: [[f64; 3]; 3] =
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]];

fn seen(matrix: [[f64; 3]; 3], colour: [u8; 3]) -> [f64; 3] {
    let linear = colour.map(linear);
    matrix.map(|row| row.iter().zip(linear).map(|(of, part)| of * part).sum::<f64>().clamp(0.0, 1.0))
}

/// Linear red, green and blue in CIE L*a*b* under D65.
fn lab([red, green, blue]: [f64; 3]) -> [f64; 3] {
    let x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505;
    let y = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    let z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089;
    let [x, y, z] = [x, y, z].map(|t| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[test]
fn the_contrast_of_black_and_white_is_the_largest() {
    assert!((contrast([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
    assert!((contrast([0x76; 3], [255; 3]) - 4.54).abs() < 0.01, "the lightest grey that is a text on white");
}

/// The colours of a sheet in each theme.
fn themes(sheet: &str) -> [(&'static str, BTreeMap<String, [u8; 3]>); 2] {
    let text = read(&root().join(sheet));
    let (light, dark) = text.split_once("@media (prefers-color-scheme: dark)").expect("both themes");
    [("light", colours(light)), ("dark", colours(dark))]
}

/// The first value of each property that is a colour.
fn colours(css: &str) -> BTreeMap<String, [u8; 3]> {
    let mut colours = BTreeMap::new();
    for declaration in css.split(['{', ';', '}']) {
        let known = declaration.trim().strip_prefix("--").and_then(|rest| rest.split_once(": #"));
        if let Some((name, digits)) = known {
            colours.entry(name.to_owned()).or_insert_with(|| colour(digits));
        }
    }
    colours
}

fn colour(digits: &str) -> [u8; 3] {
    let long =
        if digits.len() == 3 { digits.chars().flat_map(|digit| [digit; 2]).collect() } else { digits.to_owned() };
    [0, 2, 4].map(|at| u8::from_str_radix(&long[at..at + 2], 16).expect("a colour"))
}

fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(colour: [u8; 3]) -> f64 {
    colour.map(linear).iter().zip([0.2126, 0.7152, 0.0722]).map(|(part, weight)| part * weight).sum()
}

fn linear(part: u8) -> f64 {
    let part = f64::from(part) / 255.0;
    if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
}
