//! Suggestions for misspelt names.

use alloc::{format, string::String, vec::Vec};
use core::cmp::Reverse;

/// The name that `word` most likely misspells: one of `known` that is few changes away, a change being a letter that is
/// missing, superfluous, wrong, or transposed with its neighbour (Damerau 1964). At most one in three letters may be wrong; of
/// equally near names, the one that begins alike is chosen. O(letters² · names); words longer than any name by more than that
/// cost nothing.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let candidates = known.into_iter().filter_map(|name| {
        let letters: Vec<char> = name.chars().collect();
        let most = (letters.len().max(3)) / 3;
        if word.is_empty() || letters.len().abs_diff(word.len()) > most {
            return None;
        }
        let begin = word.iter().zip(&letters).take_while(|(a, b)| a == b).count();
        let changes = changes(&word, &letters);
        (changes <= most).then_some((changes, Reverse(begin), name))
    });
    candidates.min_by_key(|&(changes, begin, _)| (changes, begin)).map(|(.., name)| name)
}

/// A suggestion, to append to a name that is not known: ` (did you mean drfq?)`, or nothing.
#[must_use]
pub fn or_meant(meant: Option<&str>) -> String {
    meant.map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default()
}

/// The number of changes that turn one into the other.
fn changes(a: &[char], b: &[char]) -> usize {
    // The last three rows of the usual table.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = core::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_other_words() {
        let known = ["fifo", "drr", "drfq", "wf2q+", "tradeoff", "atfq", "drr-sff", "delay-pools"];
        for (word, meant) in [
            ("fifi", Some("fifo")),
            ("ffio", Some("fifo")),
            ("drf", Some("drfq")),
            ("wf2q", Some("wf2q+")),
            ("Tradeof", Some("tradeoff")),
            ("drrsff", Some("drr-sff")),
            ("delaypool", Some("delay-pools")),
            ("", None),
            ("fastest", None),
            ("x", None),
            ("sfqqqqqqqqqqqqqqqqqqqqqqqqqqqq", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
    }

    #[test]
    fn a_suggestion_follows_the_name_or_nothing_does() {
        assert_eq!(or_meant(nearest("drqf", ["fifo", "drfq"])), " (did you mean drfq?)");
        assert_eq!(or_meant(nearest("fastest", ["fifo", "drfq"])), "");
    }

    #[test]
    fn changes_by_hand() {
        let of = |a: &str, b: &str| changes(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!([of("", ""), of("abc", ""), of("abc", "acb"), of("kitten", "sitting")], [0, 3, 1, 3]);
    }
}
