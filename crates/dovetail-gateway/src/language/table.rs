//! Checks that tables of texts say the same in all languages.

use std::{collections::BTreeSet, fmt::Debug};

use super::{InEach, Language};

/// All texts of a table, each with its name.
fn texts(table: &dyn Debug) -> Vec<(String, String)> {
    let text = format!("{table:#?}");
    let fields = text.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(": \""));
    fields.map(|(name, text)| (name.to_owned(), text.replace("\\u{a0}", "\u{a0}"))).collect()
}

/// The names of a text's places.
pub(crate) fn places(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|part| part.split('}').next()).collect()
}

/// Checks that each language has all texts of English in its own words, with the same places except those that only English may
/// have. Returns the number of texts.
pub(crate) fn assert_same<T: Debug>(table: &InEach<T>, only_english: &[&str]) -> usize {
    let english = texts(table.of(Language::English));
    for language in Language::ALL.into_iter().skip(1) {
        let own = texts(table.of(language));
        assert_eq!(own.len(), english.len(), "{language:?}");
        for ((name, text), (_, original)) in own.iter().zip(&english) {
            assert!(!text.is_empty() && text != original, "{language:?}: {name} is not translated");
            let mut wanted = places(original);
            wanted.retain(|place| !only_english.contains(place));
            assert_eq!(places(text), wanted, "{language:?}: {name}: {text}");
            if language == Language::French {
                assert_french_spaces(name, text);
            }
        }
    }
    english.len()
}

/// Checks that no line ends before a colon and its like, or within quotation marks: French has spaces there.
fn assert_french_spaces(name: &str, text: &str) {
    let letters: Vec<_> = text.chars().collect();
    for pair in letters.windows(2) {
        let has_space = match pair {
            [before, ':' | ';' | '!' | '?' | '%' | '»'] => *before == '\u{a0}',
            ['«', after] => *after == '\u{a0}',
            _ => true,
        };
        assert!(has_space, "{name} has no no-break space at {pair:?}: {text}");
    }
}
