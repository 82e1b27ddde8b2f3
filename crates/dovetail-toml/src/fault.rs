//! A fault at a place in a text.

use serde::de::DeserializeOwned;

use super::located::Located;

/// Something wrong at a byte of a text, or with all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The byte, if it is one place.
    pub at: Option<usize>,
    /// What, and what to do.
    pub what: String,
}

/// Reads a text as a form.
///
/// # Errors
/// Where the text is not TOML, or not of that form.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    toml::from_str(text).map_err(|wrong| Fault::of_toml(&wrong, text))
}

impl Fault {
    /// At a byte of the text.
    #[must_use]
    pub fn at(at: usize, what: impl Into<String>) -> Self {
        Self { at: Some(at), what: what.into() }
    }

    /// With the text as a whole.
    #[must_use]
    pub fn whole(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into() }
    }

    /// Names what it is about, and the place where none is known yet.
    #[must_use]
    pub fn about(self, at: usize, about: &str) -> Self {
        Self { at: self.at.or(Some(at)), what: format!("{about}: {}", self.what) }
    }

    /// What is wrong with a text as TOML.
    #[must_use]
    pub fn of_toml(wrong: &toml::de::Error, text: &str) -> Self {
        let at = wrong.span().map(|span| span.start);
        let message = wrong.message().trim();
        // Words of the parser's for something that is not in quotes, and looks like a number, a date or `true`.
        let is_bare = message.starts_with("string values must be quoted")
            || ["float", "integer", "boolean", "time", "date"]
                .iter()
                .any(|kind| message.contains(&format!("invalid {kind}")));
        let bare = at.filter(|_| is_bare).map(|at| bare_value(text, at)).filter(|bare| !bare.is_empty());
        let what = match bare {
            Some(bare) => {
                let bare = clip(bare).escape_debug().to_string();
                format!("{bare} is not a value: addresses, rates, times and words go in quotes, such as \"{bare}\"")
            }
            None => message.replace('\n', "; "),
        };
        Self { at, what }
    }

    /// Its line in the text, counted from 1. O(bytes before it).
    #[must_use]
    pub fn line(&self, text: &str) -> Option<usize> {
        let before = &text.as_bytes()[..self.at?.min(text.len())];
        Some(before.iter().filter(|&&byte| byte == b'\n').count() + 1)
    }

    /// With the line, and the file's name.
    #[must_use]
    pub fn located(self, text: &str, file: &str) -> Located {
        Located { file: file.into(), line: self.line(text), what: self.what }
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self::whole(what)
    }
}

/// As much of what a file says as a message repeats.
fn clip(text: &str) -> String {
    const MOST: usize = 60;
    let mut clipped: String = text.chars().take(MOST).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// What is around a byte of a text up to what ends a value. O(bytes of the line).
fn bare_value(text: &str, at: usize) -> &str {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"=,[]{}#\"'".contains(byte);
    let bytes = text.as_bytes();
    let at = at.min(bytes.len());
    let begin = bytes[..at].iter().rposition(ends).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |after| at + after);
    // What ends a value is ASCII, so these are between characters.
    text.get(begin..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one_and_end_with_the_text() {
        let text = "a\nb\n";
        for (at, line) in [(0, 1), (1, 1), (2, 2), (4, 3), (99, 3)] {
            assert_eq!(Fault::at(at, "").line(text), Some(line), "byte {at}");
        }
        assert_eq!(Fault::whole("").line(text), None);
    }

    #[test]
    fn the_more_precise_place_is_kept() {
        assert_eq!(Fault::at(3, "no").about(1, "link"), Fault::at(3, "link: no"));
        assert_eq!(Fault::whole("no").about(1, "link"), Fault::at(1, "link: no"));
    }
}
