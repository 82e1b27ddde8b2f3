//! The page that explains a refusal.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;

use super::{Refusal, texts::TEXTS};
use crate::{
    frame::Frame,
    language::{Language, escaped, fill},
    own_request::Addressed,
};

/// Browsers count the page as the requested server's: it loads nothing, runs nothing and sends nothing in that one's name.
const NOTHING_BUT_STYLE: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

impl Refusal {
    pub(super) fn body(&self, gateway: &str, language: Language, how: Addressed) -> String {
        let text = escaped(&self.sentence(language));
        let status = self.status_to(how);
        let origin = escaped(&fill(TEXTS.of(language).origin, &[("status", status.as_str()), ("gateway", gateway)]));
        // What comes from elsewhere is in English.
        let detail = self.detail(language).map(escaped);
        let detail = detail.map_or_else(String::new, |detail| format!("<br><span lang=\"en\">{detail}</span>"));
        let main = format!("<p>{text}</p>\n<p><small>{origin}{detail}</small></p>\n");
        Frame::new(language, self.heading(language), &main).html("")
    }

    /// The page in a language, for a client that addressed the gateway in this way.
    pub(crate) fn page(&self, gateway: &str, language: Language, how: Addressed) -> Response<Full<Bytes>> {
        let body = self.body(gateway, language, how);
        self.head(gateway, language, how).map(|()| Full::new(Bytes::from(body)))
    }

    fn head(&self, gateway: &str, language: Language, how: Addressed) -> Response<()> {
        let mut response = Response::new(());
        *response.status_mut() = self.status_to(how);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(NOTHING_BUT_STYLE));
        language.declare(headers);
        if let Ok(value) = HeaderValue::try_from(format!("{}; error={}", token(gateway), self.proxy_error())) {
            headers.insert("proxy-status", value);
        }
        if self.is_challenge() {
            headers.insert(how.challenge().1, HeaderValue::from_static("Basic realm=\"gateway\", charset=\"UTF-8\""));
        }
        if matches!(self, Self::Full | Self::NoHelper | Self::TooManyRequests(_)) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        if let Self::Quota { wait_s, .. } = self {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(*wait_s));
        }
        if let Self::OutOfHours { after_s, .. } = self {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(*after_s));
        }
        if self.closes() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// The status for a client that addressed the gateway in this way.
    fn status_to(&self, how: Addressed) -> StatusCode {
        if self.is_challenge() { how.challenge().0 } else { self.status() }
    }

    const fn is_challenge(&self) -> bool {
        matches!(self, Self::WhoAreYou | Self::NotKnown)
    }

    /// The page in English with its header, for a connection that nothing was read from.
    pub(crate) fn raw_page(&self, gateway: &str) -> String {
        let (language, how) = (Language::English, Addressed::ThroughProxy);
        let (head, body) = (self.head(gateway, language, how), self.body(gateway, language, how));
        let mut text = format!("HTTP/1.1 {}\r\nContent-Length: {}\r\n", head.status(), body.len());
        for (name, value) in head.headers() {
            text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
        }
        text + "\r\n" + &body
    }
}

/// A name as a structured field (RFC 8941, sections 3.3.3 and 3.3.4): a token if it starts like one, otherwise a string.
fn token(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("\"{name}\"") }
}
