//! Encodes text as a single word, for lines of the log and for URLs.

use std::fmt::{self, Display, Write};

/// Text in which everything but ASCII's visible characters is percent-encoded (RFC 3986, section 2.1).
pub(crate) struct OneWord<'a>(pub(crate) &'a str);

impl Display for OneWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |byte: u8| byte.is_ascii_graphic();
        if self.0.bytes().all(is_plain) {
            return f.write_str(self.0);
        }
        self.0
            .bytes()
            .try_for_each(|byte| if is_plain(byte) { f.write_char(byte.into()) } else { write!(f, "%{byte:02X}") })
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
