//! Which flows a node can promise rates and delays, requested in the order of a file.
//!
//! The rules are those of [`dovetail_sched::cost::admission`]. A file is processed in three steps: [`form`] is its TOML,
//! [`parse`] converts texts with units to numbers in a resource's own unit, and [`request`] validates it as a whole.

mod answer;
mod form;
mod json;
mod parse;
mod request;
mod show;

use std::{io::Write, path::Path};

use crate::{
    builtin::text_of,
    error::Error,
    kind::Kind,
    options::AdmitOptions,
    output::{print, print_json},
    supply::read_text,
};
use answer::Answers;
use request::Request;

/// Requests reservations in the order of a file, and writes to `out` which are admitted.
///
/// # Errors
/// If the file cannot be read, is invalid or is for another command, or writing to `out` fails.
pub fn admit(options: &AdmitOptions, out: &mut dyn Write) -> Result<(), Error> {
    let name = options.file.display().to_string();
    let text = options.text.clone().map_or_else(|| read(&options.file), Ok)?;
    let request = Request::parse(&text, &name).map_err(|wrong| match Kind::of(&text) {
        Some(other) if other != Kind::Reservations => other.instead_of("a list of reservations", &options.file),
        _ => Error::Reservations(wrong),
    })?;
    let answers = Answers::of(&request, options.bound);
    if options.json { print_json(out, &json::json(&answers, &name)) } else { print(out, &show::text(&answers, &name)) }
}

/// The text of a file, or that of the scenario with this name, so that it is called one.
fn read(path: &Path) -> Result<String, Error> {
    read_text(path).or_else(|error| path.to_str().and_then(text_of).map(str::to_owned).ok_or(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_sched::cost::admission::Bound;
    use proptest::prelude::*;

    const EXAMPLES: [&str; 2] =
        [include_str!("../../scenarios/admit/cbcs-table2.toml"), include_str!("../../scenarios/admit/refusals.toml")];

    /// Whether the text was valid; in any case there must be an answer, and every figure must be printable.
    fn answered(text: &str) -> bool {
        match Request::parse(text, "hostile") {
            Ok(request) => {
                for by in [Bound::Composite, Bound::Separate] {
                    let answers = Answers::of(&request, by);
                    assert!(!show::text(&answers, "hostile").is_empty());
                    assert!(serde_json::to_string(&json::json(&answers, "hostile")).is_ok());
                }
                true
            }
            Err(error) => {
                assert!(error.starts_with("hostile"), "{error}");
                false
            }
        }
    }

    /// What a hostile file might contain instead of a valid value.
    fn piece() -> impl Strategy<Value = String> {
        let known = [
            "0",
            "1e18",
            "1e-9",
            "-1",
            "nan",
            "inf",
            "1e999",
            "%",
            "cycles",
            "/s",
            "s/s",
            "bps",
            "ns",
            "",
            "\"",
            "[",
            "]",
            "{",
            "}",
            "=",
            "\n",
            "[[resource]]\n",
            "[[reservation]]\n",
            "4294967295",
            "255",
            "18446744073709551615",
            "\u{0}",
            "µs",
            "\u{202e}",
        ];
        prop_oneof![3 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,3}"]
    }

    #[test]
    fn the_examples_are_understood_and_deep_nesting_is_not() {
        assert!(EXAMPLES.iter().all(|text| answered(text)));
        assert!(!answered(&format!("resource = {}", "[".repeat(100_000))));
        assert!(!answered(&format!("resource{} = 1", ".a".repeat(100_000))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_changed_file_never_panics(
            which in 0..EXAMPLES.len(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..8usize, piece()), 1..6),
        ) {
            let mut text: Vec<char> = EXAMPLES[which].chars().collect();
            for (at, length, piece) in changes {
                let at = at.index(text.len() + 1);
                let end = (at + length).min(text.len());
                text.splice(at..end, piece.chars());
            }
            answered(&text.into_iter().collect::<String>());
        }

        /// Only numbers are changed, so that most files are valid and the arithmetic is exercised at its extremes.
        #[test]
        fn changed_numbers_never_panic(
            which in 0..EXAMPLES.len(),
            changes in prop::collection::vec(
                (any::<prop::sample::Index>(), prop::sample::select(vec!["0", "1", "100", "1e18", "1e-9", "9e17", "0.3", "123456789"])),
                1..8,
            ),
        ) {
            let mut parts: Vec<String> = EXAMPLES[which].split_inclusive('"').map(str::to_owned).collect();
            let numbers: Vec<_> = (0..parts.len()).filter(|&at| parts[at].starts_with(|c: char| c.is_ascii_digit())).collect();
            for (at, number) in changes {
                let part = &mut parts[numbers[at.index(numbers.len())]];
                let unit = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
                *part = format!("{number}{unit}");
            }
            answered(&parts.concat());
        }
    }
}
