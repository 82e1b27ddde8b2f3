//! The HTML around a page, and values in its texts.

use dovetail_admin::{Answer, page};

use crate::language::{Language, escaped, fill};

/// What all pages look like.
const STYLE: &str = "\
:root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:0 auto;padding:1rem;overflow-wrap:anywhere}\
h1{font-size:1.5rem;line-height:1.2}small{opacity:.75}";

/// A page's parts: plain text, and HTML where named so.
pub(crate) struct Frame<'p> {
    pub(crate) language: Language,
    pub(crate) title: &'p str,
    pub(crate) style: &'p str,
    pub(crate) head_html: &'p str,
    pub(crate) main_html: &'p str,
    /// What follows the main part: a footer, scripts.
    pub(crate) end_html: &'p str,
}

impl<'p> Frame<'p> {
    /// A page that consists of its main part.
    pub(crate) const fn new(language: Language, title: &'p str, main_html: &'p str) -> Self {
        Self { language, title, style: "", head_html: "", main_html, end_html: "" }
    }

    /// The page. Where they say `nonce="NONCE"`, styles and scripts have their nonce, without which browsers do not apply them.
    pub(crate) fn page(&self) -> Answer {
        let mut page = page::answer("gateway", &self.html(" nonce=\"NONCE\""))?;
        self.language.declare(page.headers_mut());
        Ok(page)
    }

    /// Its text, with these attributes of the style.
    pub(crate) fn html(&self, of_style: &str) -> String {
        let Self { style, head_html, main_html, end_html, .. } = *self;
        let title = escaped(self.title);
        format!(
            "<!doctype html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">{head_html}<title>{title}</title>\
             <style{of_style}>{STYLE}{style}</style></head>\n<body>\n<main>\n<h1>{title}</h1>\n{main_html}</main>\n\
             {end_html}</body></html>\n",
            self.language.tag()
        )
    }
}

/// A text with values in its places, all of it escaped.
pub(crate) fn filled(text: &str, values: &[(&str, &str)]) -> String {
    escaped(&fill(text, values))
}

/// A text, escaped, with HTML in its places.
pub(crate) fn filled_with_html(text: &str, values: &[(&str, &str)]) -> String {
    fill(&escaped(text), values)
}
