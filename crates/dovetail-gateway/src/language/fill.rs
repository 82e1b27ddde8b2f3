//! Values in texts, and texts in HTML.

/// A text with values for its `{places}`. A value is never taken for a place.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, rest) = part.split_once('}').unwrap_or((part, ""));
        filled.push_str(values.iter().find(|(name, _)| *name == place).map_or("", |(_, value)| value));
        filled.push_str(rest);
    }
    filled
}

/// Escapes text for HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_places() {
        assert_eq!(fill("{a}, {b}: {c}.", &[("a", "{b}"), ("b", "2 }{a}")]), "{b}, 2 }{a}: .");
    }
}
