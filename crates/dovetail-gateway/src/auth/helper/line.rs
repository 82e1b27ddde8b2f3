//! The lines of Squid's protocol, and the names in them.

use std::{fmt::Display, sync::Arc};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Maximum length of a name in bytes.
pub(super) const MAX_NAME: usize = 64;

/// The first word of a line, and the rest without blanks around it.
pub(super) fn word(text: &str) -> (&str, &str) {
    let text = text.trim_ascii();
    let (word, rest) = text.split_once(|letter: char| letter.is_ascii_whitespace()).unwrap_or((text, ""));
    (word, rest.trim_ascii())
}

/// The value of a key in `key=value` pairs: percent-decoded, or in quotes.
pub(super) fn value(mut rest: &str, key: &str) -> Option<String> {
    while !rest.is_empty() {
        let end = rest.find(|letter: char| letter == '=' || letter.is_ascii_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix('=') else {
            rest = after.trim_ascii_start();
            continue;
        };
        let (found, left) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let (encoded, left) =
                    after.split_at(after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len()));
                (unescaped(encoded), left)
            }
        };
        if name == key {
            return Some(found);
        }
        rest = left.trim_ascii_start();
    }
    None
}

/// Text up to a closing quote, and what follows it.
fn unquoted(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => out.extend(letters.next()),
            _ => out.push(letter),
        }
    }
    (out, letters.as_str())
}

/// Percent-decodes text. What is not UTF-8 is replaced, and so makes no name.
fn unescaped(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// A user's name as it is known here; `None` if it cannot be one.
pub(super) fn canonical(name: &str) -> Option<Arc<str>> {
    let name = name.trim().to_lowercase();
    let is_odd = |letter: char| letter.is_control() || letter == char::REPLACEMENT_CHARACTER;
    (!name.is_empty() && name.len() <= MAX_NAME && !name.contains(is_odd)).then(|| name.into())
}

/// Percent-encodes all but letters, digits, '-', '.' and '_', so that there are no blanks or line ends.
pub(super) fn escaped(text: &str) -> impl Display {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');
    utf8_percent_encode(text, ENCODED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_one_line_of_two_words() {
        assert_eq!(escaped("a b%\n\u{fc}:").to_string(), "a%20b%25%0A%C3%BC%3A");
        assert_eq!(escaped("Ann-1._").to_string(), "Ann-1._");
    }

    #[test]
    fn answers_have_keys_and_values() {
        let line = r#"tag=a%20b clt="user=no \"x\\" user=%C3%9cb%20er message="it's down" last"#;
        let of = |key| value(line, key);
        assert_eq!(of("tag").as_deref(), Some("a b"));
        assert_eq!(of("clt").as_deref(), Some("user=no \"x\\"));
        assert_eq!(of("user").as_deref(), Some("\u{dc}b er"));
        assert_eq!(of("message").as_deref(), Some("it's down"));
        assert_eq!((of("last"), of("other"), value("", "user")), (None, None, None));
        assert_eq!(value("user=\"open", "user").as_deref(), Some("open"));
        assert_eq!(value("user=100%", "user").as_deref(), Some("100%"));
        assert_eq!(word(" 7\tOK  user=x \n"), ("7", "OK  user=x"));
    }

    #[test]
    fn a_name_that_a_helper_gives_is_one_like_any_other() {
        assert_eq!(canonical(" Ann ").as_deref(), Some("ann"));
        for wrong in ["", "  ", &unescaped("%ff"), &"x".repeat(65)] {
            assert!(canonical(wrong).is_none(), "{wrong}");
        }
    }
}
