//! Encodes text as a single word, for lines of the log and for URLs.

use std::fmt::{self, Display};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// Text in which everything but ASCII's visible characters is percent-encoded (RFC 3986, section 2.1).
pub(crate) struct OneWord<'a>(pub(crate) &'a str);

impl Display for OneWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ENCODED: &AsciiSet = &CONTROLS.add(b' ');
        utf8_percent_encode(self.0, ENCODED).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_controls_and_what_is_beyond_ascii_are_encoded() {
        for (text, word) in [("a/b?c=%20", "a/b?c=%20"), ("a b\n", "a%20b%0A"), ("/ü", "/%C3%BC"), ("", "")] {
            assert_eq!(OneWord(text).to_string(), word);
        }
    }
}
