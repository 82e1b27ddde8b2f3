//! Headings of tables with one bracket where two are needed, and with two instead of one.

use std::ops::Range;

/// What to write for tables of which a file may have several.
pub(crate) fn several(name: &str) -> String {
    format!("{name}: write [[{name}]], with two brackets")
}

/// What to write for a table that a file has once.
pub(crate) fn single(name: &str) -> String {
    format!("{name}: write [{name}], with one bracket: it is one table")
}

/// The heading of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heading<'t> {
    pub(crate) name: &'t str,
    /// Whether it is one of several: `[[name]]`.
    pub(crate) is_double: bool,
}

impl<'t> Heading<'t> {
    /// The heading in the line of this byte, if it is one. O(bytes of the line).
    pub(crate) fn at(text: &'t str, at: usize) -> Option<Self> {
        let line = text.get(line(text, at))?;
        let line = line.split_once('#').map_or(line, |(before, _)| before).trim();
        let inside = line.strip_prefix('[')?.strip_suffix(']')?;
        let twice = inside.strip_prefix('[').and_then(|inside| inside.strip_suffix(']'));
        let name = twice.unwrap_or(inside).trim();
        let is_key = |key: &str| {
            !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        name.split('.').all(is_key).then_some(Self { name, is_double: twice.is_some() })
    }
}

fn line(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let at = at.min(bytes.len());
    let begin = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |after| at + after);
    begin..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_heading_or_none() {
        for (text, at, found) in [
            ("[link]", 0, Some(("link", false))),
            ("a = 1\n  [[link]] # first\nb = 2", 12, Some(("link", true))),
            ("[ class.cost ]\n", 3, Some(("class.cost", false))),
            ("a = 1\n[link]", 2, None),
            ("a = [1]", 4, None),
            ("[1, 2],", 0, None),
            ("[]", 0, None),
            ("[[link]", 0, None),
            ("[link]", 99, Some(("link", false))),
            ("", 0, None),
        ] {
            let found = found.map(|(name, is_double)| Heading { name, is_double });
            assert_eq!(Heading::at(text, at), found, "{text}");
        }
    }
}
