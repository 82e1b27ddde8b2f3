//! Self-contained HTML pages: one file each, with no external resources.
//!
//! A page is HTML in which each script and style has `nonce="NONCE"`, for a nonce that differs in each answer and without which
//! browsers neither run nor apply them. With its quotes it cannot be part of an escaped text. `/* style.css */` and
//! `/* script.js */` stand for what all pages share: light and dark colours, cards, tables and charts; elements, numbers with their
//! units, and chart axes.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, header::CONTENT_SECURITY_POLICY};

use crate::{Answer, Fault, typed};

/// The placeholder in a page for this answer's nonce.
const NONCE: &str = "nonce=\"NONCE\"";

/// The first one includes the second.
const SHARED: [(&str, &str); 3] = [
    ("/* style.css */\n", include_str!("style.css")),
    ("/* palette.css */\n", include_str!("palette.css")),
    ("/* script.js */\n", include_str!("script.js")),
];

/// A page with the shared parts inserted.
#[must_use]
pub fn whole(page: &str) -> String {
    SHARED.iter().fold(page.to_owned(), |page, (place, shared)| page.replace(place, shared))
}

/// A [whole](whole()) page with a fresh nonce. `name` is the name of the program that serves it.
///
/// # Errors
/// If the system has no random numbers.
pub fn answer(name: &str, page: &str) -> Answer {
    let mut number = [0; 18];
    getrandom::fill(&mut number).map_err(|error| Fault::failed(name, &error))?;
    let nonce = BASE64_STANDARD.encode(number);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let mut response = typed("text/html; charset=utf-8", with_nonce(page, &nonce));
    let policy = HeaderValue::try_from(policy).map_err(|error| Fault::failed(name, &error))?;
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

fn with_nonce(page: &str, nonce: &str) -> String {
    page.replace(NONCE, &format!("nonce=\"{nonce}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_says_is_no_placeholder() {
        let page = "<style nonce=\"NONCE\"></style><b>NONCE, nonce=&quot;NONCE&quot;</b>";
        assert_eq!(with_nonce(page, "abc"), page.replacen("NONCE", "abc", 1));
    }

    #[test]
    fn pages_share_a_style_and_a_script_and_each_answer_has_its_number() {
        let page = whole(
            "<style nonce=\"NONCE\">\n/* style.css */\n</style><script nonce=\"NONCE\">\n/* script.js */\nlook();",
        );
        assert!(
            page.contains("--page: #f6f7f8")
                && page.contains("--c0: #3086c2")
                && page.contains("const by = (id)")
                && page.ends_with("look();")
        );
        let policy = || {
            let response = answer("test", &page).expect("a page");
            response.headers()[CONTENT_SECURITY_POLICY].to_str().expect("text").to_owned()
        };
        let (one, other) = (policy(), policy());
        assert!(one.contains("script-src 'nonce-") && !one.contains("NONCE") && one != other, "{one}");
    }
}
