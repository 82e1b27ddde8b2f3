//! Selects a page's language by `Accept-Language` (RFC 9110, section 12.5.4).

use super::texts::{ALL, Texts};

/// Maximum number of languages read from a header: those after that hardly matter.
const MAX_RANGES: usize = 32;

/// The texts in the most preferred of the known languages, or in English.
pub(super) fn wanted(accept: Option<&str>) -> &'static Texts {
    let ranges = accept.unwrap_or_default().split(',').take(MAX_RANGES);
    let mut best: (f64, &'static Texts) = (0.0, &ALL[0]);
    for range in ranges {
        let (tag, rest) = range.split_once(';').unwrap_or((range, ""));
        let primary = tag.trim().split('-').next().unwrap_or_default();
        let known = ALL.iter().find(|texts| texts.tag.eq_ignore_ascii_case(primary));
        // Of equal preferences the first counts.
        if let Some(texts) = known.filter(|_| quality(rest) > best.0) {
            best = (quality(rest), texts);
        }
    }
    best.1
}

fn quality(parameters: &str) -> f64 {
    let written = parameters.split(';').find_map(|one| one.trim().strip_prefix("q="));
    written.map_or(1.0, |q| q.trim().parse().ok().filter(|q| (0.0..=1.0).contains(q)).unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(wanted(Some(accept)).tag, tag, "{accept}");
        }
        assert_eq!(wanted(None).tag, "en");
        let long = format!("{}de", "x,".repeat(100));
        assert_eq!(wanted(Some(&long)).tag, "en");
    }
}
