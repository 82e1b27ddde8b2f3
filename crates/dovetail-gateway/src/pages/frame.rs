//! The HTML around a page, and values in its texts.

use std::fmt::Write as _;

use dovetail_admin::page;

use super::answer::Page;
use crate::language::{Language, escaped, fill};

/// What all pages look like.
const STYLE: &str = "\
:root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:0 auto;padding:1rem;overflow-wrap:anywhere}\
h1{font-size:1.5rem;line-height:1.2}small{opacity:.75}";

/// A page's parts: plain text, and HTML where named so.
pub(super) struct Frame<'p> {
    pub(super) language: Language,
    pub(super) title: &'p str,
    pub(super) style: &'p str,
    /// The time until browsers load it again, in seconds.
    pub(super) refreshes_after_s: Option<u64>,
    pub(super) body_html: &'p str,
}

impl Frame<'_> {
    /// The page. Styles have their nonce, without which browsers do not apply them.
    pub(super) fn page(&self) -> Page {
        let mut refresh = String::new();
        if let Some(seconds) = self.refreshes_after_s {
            let _ = write!(refresh, "<meta http-equiv=\"refresh\" content=\"{seconds}\">");
        }
        let (title, style) = (escaped(self.title), self.style);
        let mut page = page::answer(
            "gateway",
            &format!(
                "<!doctype html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
                 content=\"width=device-width, initial-scale=1\">{refresh}<title>{title}</title>\
                 <style nonce=\"NONCE\">{STYLE}{style}</style></head>\n<body>\n<h1>{title}</h1>\n{}\n</body></html>\n",
                self.language.tag(),
                self.body_html
            ),
        )?;
        self.language.declare(page.headers_mut());
        Ok(page)
    }
}

/// A text with values in its places, all of it escaped.
pub(super) fn filled(text: &str, values: &[(&str, &str)]) -> String {
    escaped(&fill(text, values))
}

/// A text, escaped, with HTML in its places.
pub(super) fn filled_with_html(text: &str, values: &[(&str, &str)]) -> String {
    fill(&escaped(text), values)
}
