//! Selects the language by `Accept-Language` (RFC 9110, section 12.5.4).

use http::{HeaderMap, header};

use super::Language;

/// Maximum number of languages read from a header: those after that hardly matter.
const MAX_RANGES: usize = 32;

impl Language {
    /// The most preferred of the known languages, or English.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        accept.map_or(Self::English, Self::wanted)
    }

    fn wanted(accept: &str) -> Self {
        let mut best = (0.0, Self::English);
        for range in accept.split(',').take(MAX_RANGES) {
            let (tag, rest) = range.split_once(';').unwrap_or((range, ""));
            let primary = tag.trim().split('-').next().unwrap_or_default();
            let known = Self::ALL.into_iter().find(|language| language.tag().eq_ignore_ascii_case(primary));
            // Of equal preferences the first counts.
            if let Some(language) = known.filter(|_| quality(rest) > best.0) {
                best = (quality(rest), language);
            }
        }
        best.1
    }
}

fn quality(parameters: &str) -> f64 {
    let written = parameters.split(';').find_map(|one| one.trim().strip_prefix("q="));
    written.map_or(1.0, |q| q.trim().parse().ok().filter(|q| (0.0..=1.0).contains(q)).unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(accept: &[u8]) -> &'static str {
        let value = HeaderValue::from_bytes(accept).expect("a value");
        Language::of(&HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, value)])).tag()
    }

    #[test]
    fn the_language_that_is_wanted_most_is_chosen() {
        for (accept, tag) in [
            ("", "en"),
            ("de", "de"),
            ("de-CH,de;q=0.9,en;q=0.8", "de"),
            ("nl, fr;q=0.4, es;q=0.7", "es"),
            ("FR-ca;q=0.9, en;q=0.1", "fr"),
            ("de;q=0, fr", "fr"),
            ("de;q=nan, fr;q=2, es;q=-1", "en"),
            ("*", "en"),
            ("es , en", "es"),
            (";;;,,,-,q=1", "en"),
        ] {
            assert_eq!(of(accept.as_bytes()), tag, "{accept}");
        }
        assert_eq!(Language::of(&HeaderMap::new()).tag(), "en");
        assert_eq!(of(b"de\xff, fr"), "en", "it is no text");
        let long = format!("{}de", "x,".repeat(100));
        assert_eq!(of(long.as_bytes()), "en");
    }
}
