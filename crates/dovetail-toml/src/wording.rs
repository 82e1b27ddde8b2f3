//! The deserialiser's messages name types of Rust; a file's author knows those of TOML.

use std::borrow::Cow;

/// The message with types as TOML calls them, and numbers by their range.
pub(crate) fn in_terms_of_toml(message: &str) -> Cow<'_, str> {
    // What was found may be a text of the file, so the last comma counts.
    let parts = message.strip_prefix("invalid ").and_then(|_| message.rsplit_once(", expected "));
    let Some((found, expected)) = parts else { return message.into() };
    let found = match found {
        "invalid type: map" => "invalid type: table",
        "invalid type: sequence" => "invalid type: array",
        found => found.strip_suffix(" as i128").unwrap_or(found),
    };
    format!("{found}, expected {}", type_of_toml(expected)).into()
}

fn type_of_toml(expected: &str) -> Cow<'_, str> {
    let up_to = |most: u64| format!("a whole number from 0 to {most}").into();
    match expected {
        "u8" => up_to(u8::MAX.into()),
        "u16" => up_to(u16::MAX.into()),
        "u32" => up_to(u32::MAX.into()),
        "u64" | "usize" => up_to(u64::MAX),
        "f64" => "a number".into(),
        "a sequence" => "an array".into(),
        "a map" => "a table".into(),
        _ if expected.starts_with("struct ") => "a table".into(),
        _ => match expected.strip_prefix("a tuple of size ") {
            Some(size) => format!("an array of {size}").into(),
            None => expected.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use crate::read;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Form {
        level: Option<u8>,
        most: Option<u32>,
        seed: Option<u64>,
        share: Option<f64>,
        list: Option<Vec<u8>>,
        costs: Option<BTreeMap<String, String>>,
        part: Option<Part>,
        pair: Option<(f64, f64)>,
        name: Option<String>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Part {
        name: String,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Listed {
        #[serde(default)]
        link: Vec<toml::Spanned<Part>>,
        costs: Option<BTreeMap<String, String>>,
    }

    #[test]
    fn a_heading_with_too_few_or_too_many_brackets_is_told_how_to_be_written() {
        let several = "link: write [[link]], with two brackets";
        let twice = "there is a [link] before: for several, write [[link]] for each, with two brackets";
        let costs = "costs: write [costs], with one bracket: it is one table";
        for (text, line, what) in [
            ("#\n[link]\nname = \"a\"", 2, several),
            ("costs = {}\n\n  [link] # the first\nname = \"a\"", 3, several),
            ("[link]\nname = \"a\"\n[link]\nname = \"b\"", 3, twice),
            ("[[link]]\nname = \"a\"\n[link]\nname = \"b\"", 3, twice),
            ("[link]\nname = \"a\"\n[[link]]\nname = \"b\"", 3, twice),
            ("#\n[[costs]]\ncpu = \"1us\"", 2, costs),
            ("link = { name = \"a\" }", 1, "invalid type: table, expected an array"),
        ] {
            let wrong = read::<Listed>(text).unwrap_err();
            assert_eq!((wrong.line(text), wrong.what.as_str()), (Some(line), what), "{text}");
        }
    }

    #[test]
    fn types_have_the_names_of_toml_and_numbers_their_range() {
        for (text, what) in [
            ("level = 256", "invalid value: integer `256`, expected a whole number from 0 to 255"),
            ("most = -1", "invalid value: integer `-1`, expected a whole number from 0 to 4294967295"),
            ("most = 1.5", "invalid type: floating point `1.5`, expected a whole number from 0 to 4294967295"),
            (
                "seed = 18446744073709551616",
                "invalid type: integer `18446744073709551616`, expected a whole number from 0 to 18446744073709551615",
            ),
            ("share = \"9, expected u8\"", "invalid type: string \"9, expected u8\", expected a number"),
            ("list = {}", "invalid type: table, expected an array"),
            ("costs = []", "invalid type: array, expected a table"),
            ("part = 5", "invalid type: integer `5`, expected a table"),
            ("pair = 5", "invalid type: integer `5`, expected an array of 2"),
            ("name = 5", "invalid type: integer `5`, expected a string"),
        ] {
            assert_eq!(read::<Form>(text).unwrap_err().what, what, "{text}");
        }
    }
}
