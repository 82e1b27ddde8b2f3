//! Responses of the gateway's own: why a request was not forwarded or not answered.

use std::{net::IpAddr, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use jiff::ZonedDateTime;

use crate::config::{Every, Quota};

/// Why a request was not answered by a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("Your address, {0}, is not in any of the networks that this gateway serves.")]
    NotAClient(IpAddr),
    #[error("This gateway requires authentication: please enter your user name and password.")]
    WhoAreYou,
    #[error("The user name or password is wrong.")]
    NotKnown,
    #[error(
        "Passwords cannot be examined at the moment. Try again shortly, and tell the gateway's operator if that does not help."
    )]
    NoHelper,
    #[error(
        "Requests such as this one, in the class '{class}', are let through only {hours}. Try again from {opens} on. This gateway's \
         operator has set these hours so that the link is free for other things until then."
    )]
    OutOfHours { class: Arc<str>, hours: String, opens: String, after_s: u64 },
    #[error("You have {0} requests in progress, the limit for a user of this gateway. Wait until some have finished.")]
    TooManyRequests(usize),
    #[error(
        "The quota {quota}, {size} {every}, is used up. Requests are served again from {until} on; what is in progress has been \
         broken off."
    )]
    Quota { quota: Arc<str>, size: String, every: &'static str, until: String, wait_s: u64 },
    #[error("A proxy cannot serve this request: {0}.")]
    BadRequest(&'static str),
    #[error("The request's target is longer than this gateway accepts.")]
    TargetTooLong,
    #[error(
        "The request's header is too long: this gateway accepts {bytes} bytes and {fields} fields. Cookies may be the cause."
    )]
    HeaderTooLong { bytes: usize, fields: usize },
    #[error("The rest of the request's body did not arrive in time.")]
    BodyTimeout,
    #[error("The request's body cannot be read: {0}.")]
    Body(String),
    #[error("The gateway does not support the scheme '{0}'. For https, have the client use CONNECT.")]
    Scheme(String),
    #[error("CONNECT to port {0} is not allowed here.")]
    ConnectPort(u16),
    #[error("Requests to port {0} are not allowed here.")]
    Port(u16),
    #[error("'{host}' is at {address}, which clients of this gateway may not reach: {why}.")]
    Destination { host: Arc<str>, address: IpAddr, why: &'static str },
    #[error("The request has passed this gateway before: its proxies form a loop.")]
    Loop,
    #[error("There is no address for '{host}': {why}.")]
    NoName { host: Arc<str>, why: String },
    #[error("The name servers did not resolve '{0}' in time.")]
    NameTimeout(Arc<str>),
    #[error("No connection to '{host}': {why}.")]
    Connect { host: Arc<str>, why: String },
    #[error("'{0}' did not accept a connection in time.")]
    ConnectTimeout(Arc<str>),
    #[error("'{host}' closed the connection before it responded: {why}.")]
    BrokeOff { host: Arc<str>, why: String },
    #[error("'{0}' did not begin to respond in time.")]
    ResponseTimeout(Arc<str>),
    #[error("No connection to the parent proxy '{parent}': {why}.")]
    Parent { parent: Arc<str>, why: String },
    #[error("The parent proxy '{0}' did not accept a connection in time.")]
    ParentTimeout(Arc<str>),
    #[error(
        "The parent proxy '{0}' asks for a user and a password that this gateway does not have. Tell its operator."
    )]
    ParentAsks(Arc<str>),
    #[error(
        "'{0}' demands a proxy's password (407), which only a proxy may do: it has been asked for none, and yours is not for it. \
         Tell its operator."
    )]
    ServerAsks(Arc<str>),
    #[error("The parent proxy '{parent}' did not connect to '{host}': it answered with status {status}.")]
    ParentStatus { parent: Arc<str>, host: Arc<str>, status: u16 },
    #[error(
        "'{0}' means the gateway's own network to the proxy that resolves it, which clients of this gateway may not reach."
    )]
    OwnName(Arc<str>),
    #[error("The gateway is at its limit of connections. Try again in a moment.")]
    Full,
    #[error("The gateway failed: {0}.")]
    Internal(String),
}

impl Refusal {
    /// The refusal for a quota that is used up until then.
    pub(crate) fn quota(quota: &Quota, now: &ZonedDateTime, until: &ZonedDateTime) -> Self {
        let every = match quota.every {
            Every::Day => "a day",
            Every::Week(_) => "a week",
            Every::Month(_) => "a month",
        };
        let (quota, size) = (Arc::clone(&quota.name), quota.size());
        let wait_s = until.timestamp().duration_since(now.timestamp()).as_secs().max(1).unsigned_abs();
        Self::Quota { quota, size, every, until: until.strftime("%A %-d %B %Y, %H:%M").to_string(), wait_s }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            // Its own status, for what a client can do about it; but not its demand for a password, which is not the client's.
            Self::ParentStatus { status, .. } => StatusCode::from_u16(*status)
                .ok()
                .filter(|_| (400..600).contains(status))
                .unwrap_or(StatusCode::BAD_GATEWAY),
            Self::Parent { .. } | Self::ParentAsks(_) | Self::ServerAsks(_) => StatusCode::BAD_GATEWAY,
            Self::ParentTimeout(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::OwnName(_) => StatusCode::FORBIDDEN,
            Self::NotAClient(_) | Self::ConnectPort(_) | Self::Port(_) | Self::Destination { .. } => {
                StatusCode::FORBIDDEN
            }
            Self::WhoAreYou | Self::NotKnown => StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            Self::TooManyRequests(_) | Self::Quota { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::BadRequest(_) | Self::Scheme(_) | Self::Body(_) => StatusCode::BAD_REQUEST,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::HeaderTooLong { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Loop => StatusCode::LOOP_DETECTED,
            Self::NoName { .. } | Self::Connect { .. } | Self::BrokeOff { .. } => StatusCode::BAD_GATEWAY,
            Self::NameTimeout(_) | Self::ConnectTimeout(_) | Self::ResponseTimeout(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::Full | Self::NoHelper | Self::OutOfHours { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The error's type in `Proxy-Status` (RFC 9209, section 2.3).
    pub(crate) const fn proxy_error(&self) -> &'static str {
        match self {
            Self::NotAClient(_) | Self::WhoAreYou | Self::NotKnown | Self::TooManyRequests(_) => "http_request_denied",
            Self::ConnectPort(_) | Self::Port(_) | Self::Quota { .. } => "http_request_denied",
            Self::BadRequest(_) | Self::Scheme(_) | Self::TargetTooLong => "http_request_error",
            Self::HeaderTooLong { .. } | Self::Body(_) | Self::BodyTimeout => "http_request_error",
            Self::Destination { .. } => "destination_ip_prohibited",
            Self::Parent { .. } | Self::ParentAsks(_) | Self::ParentStatus { .. } => "destination_unavailable",
            Self::ServerAsks(_) => "http_protocol_error",
            Self::ParentTimeout(_) => "connection_timeout",
            Self::OwnName(_) => "destination_ip_prohibited",
            Self::Loop => "proxy_loop_detected",
            Self::NoName { .. } => "dns_error",
            Self::NameTimeout(_) => "dns_timeout",
            Self::Connect { .. } => "connection_refused",
            Self::ConnectTimeout(_) => "connection_timeout",
            Self::BrokeOff { .. } => "connection_terminated",
            Self::ResponseTimeout(_) => "connection_read_timeout",
            Self::OutOfHours { .. } => "http_request_denied",
            Self::Full => "connection_limit_reached",
            Self::NoHelper => "proxy_internal_error",
            Self::Internal(_) => "proxy_internal_error",
        }
    }

    /// Whether the client's connection cannot be used any more.
    pub(crate) const fn closes(&self) -> bool {
        // What follows an invalid request may be part of it.
        matches!(
            self,
            Self::BadRequest(_)
                | Self::TargetTooLong
                | Self::HeaderTooLong { .. }
                | Self::Body(_)
                | Self::BodyTimeout
                | Self::Full
                | Self::NotAClient(_)
        )
    }

    fn body(&self, gateway: &str) -> String {
        let status = self.status();
        let reason = status.canonical_reason().unwrap_or("Error");
        let text = escaped(&self.to_string());
        let name = escaped(gateway);
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
            content=\"width=device-width, initial-scale=1\"><title>{reason}</title>\
            <style>:root{{color-scheme:light dark}}body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:40rem;\
            margin:10vh auto;padding:0 1rem;overflow-wrap:anywhere}}small{{opacity:.8}}</style></head>\n\
            <body><h1>{reason}</h1>\n<p>{text}</p>\n<p><small>{code} from the gateway {name}, not from the site.</small></p>\
            </body></html>\n",
            code = status.as_u16(),
        )
    }

    /// The page that explains the refusal.
    pub(crate) fn page(&self, gateway: &str) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body(gateway))));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Ok(value) = HeaderValue::try_from(format!("{}; error={}", token(gateway), self.proxy_error())) {
            headers.insert("proxy-status", value);
        }
        if matches!(self, Self::WhoAreYou | Self::NotKnown) {
            headers.insert(header::PROXY_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"gateway\""));
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

    /// The page with its header, for a connection that nothing was read from.
    pub(crate) fn raw_page(&self, gateway: &str) -> String {
        let (head, body) = (self.page(gateway), self.body(gateway));
        let mut text = format!("HTTP/1.1 {}\r\nContent-Length: {}\r\n", head.status(), body.len());
        for (name, value) in head.headers() {
            text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
        }
        text + "\r\n" + &body
    }
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

/// A name as a structured field (RFC 8941, sections 3.3.3 and 3.3.4): a token if it starts like one, otherwise a string.
fn token(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("\"{name}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each with its status, its type in `Proxy-Status`, and a phrase that its page must contain.
    fn all() -> Vec<(Refusal, u16, &'static str, &'static str)> {
        let (host, address): (Arc<str>, IpAddr) = ("<host>".into(), [10, 0, 0, 1].into());
        let why = || "<why>".to_owned();
        vec![
            (Refusal::NotAClient(address), 403, "http_request_denied", "10.0.0.1"),
            (Refusal::WhoAreYou, 407, "http_request_denied", "authentication"),
            (Refusal::NotKnown, 407, "http_request_denied", "wrong"),
            (
                Refusal::OutOfHours {
                    class: host.clone(),
                    hours: "22:00-06:00".into(),
                    opens: "22:00 today".into(),
                    after_s: 90,
                },
                503,
                "http_request_denied",
                "Try again from 22:00 today on",
            ),
            (Refusal::NoHelper, 503, "proxy_internal_error", "Passwords cannot be examined"),
            (Refusal::TooManyRequests(7), 429, "http_request_denied", "7 requests"),
            (
                Refusal::Quota {
                    quota: "monthly".into(),
                    size: "5 GB".into(),
                    every: "a month",
                    until: "Tuesday".into(),
                    wait_s: 60,
                },
                429,
                "http_request_denied",
                "served again from Tuesday on",
            ),
            (Refusal::BadRequest("<why>"), 400, "http_request_error", "&lt;why&gt;"),
            (Refusal::TargetTooLong, 414, "http_request_error", "target is longer"),
            (Refusal::HeaderTooLong { bytes: 16, fields: 9 }, 431, "http_request_error", "16 bytes and 9 fields"),
            (Refusal::BodyTimeout, 408, "http_request_error", "in time"),
            (Refusal::Body(why()), 400, "http_request_error", "&lt;why&gt;"),
            (Refusal::Scheme("<ftp>".into()), 400, "http_request_error", "&lt;ftp&gt;"),
            (Refusal::ConnectPort(25), 403, "http_request_denied", "CONNECT to port 25"),
            (Refusal::Port(25), 403, "http_request_denied", "port 25"),
            (
                Refusal::Destination { host: host.clone(), address, why: "it is <private>" },
                403,
                "destination_ip_prohibited",
                "it is &lt;private&gt;",
            ),
            (Refusal::Loop, 508, "proxy_loop_detected", "loop"),
            (Refusal::NoName { host: host.clone(), why: why() }, 502, "dns_error", "&lt;why&gt;"),
            (Refusal::NameTimeout(host.clone()), 504, "dns_timeout", "&lt;host&gt;"),
            (Refusal::ServerAsks(host.clone()), 502, "http_protocol_error", "&lt;host&gt;' demands"),
            (Refusal::Connect { host: host.clone(), why: why() }, 502, "connection_refused", "&lt;why&gt;"),
            (Refusal::ConnectTimeout(host.clone()), 504, "connection_timeout", "&lt;host&gt;"),
            (Refusal::BrokeOff { host: host.clone(), why: why() }, 502, "connection_terminated", "&lt;why&gt;"),
            (Refusal::ResponseTimeout(host.clone()), 504, "connection_read_timeout", "&lt;host&gt;"),
            (Refusal::Parent { parent: host.clone(), why: why() }, 502, "destination_unavailable", "&lt;why&gt;"),
            (Refusal::ParentTimeout(host.clone()), 504, "connection_timeout", "&lt;host&gt;"),
            (Refusal::ParentAsks(host.clone()), 502, "destination_unavailable", "password"),
            (
                Refusal::ParentStatus { parent: host.clone(), host: host.clone(), status: 404 },
                404,
                "destination_unavailable",
                "status 404",
            ),
            (
                Refusal::ParentStatus { parent: host.clone(), host: host.clone(), status: 302 },
                502,
                "destination_unavailable",
                "status 302",
            ),
            (Refusal::OwnName(host.clone()), 403, "destination_ip_prohibited", "&lt;host&gt;"),
            (Refusal::Full, 503, "connection_limit_reached", "limit of connections"),
            (Refusal::Internal("<&\">".into()), 500, "proxy_internal_error", "&lt;&amp;&quot;&gt;"),
        ]
    }

    #[test]
    fn a_page_says_what_happened_and_has_no_markup_but_its_own() {
        for (refusal, status, error, says) in all() {
            let page = refusal.page("gw");
            assert_eq!(page.status(), status, "{refusal:?}");
            assert_eq!(page.headers()["proxy-status"], format!("gw; error={error}"), "{refusal:?}");
            assert_eq!(page.headers()["cache-control"], "no-store", "{refusal:?}");
            assert_eq!(page.headers().contains_key("proxy-authenticate"), status == 407, "{refusal:?}");
            assert_eq!(page.headers().contains_key("retry-after"), matches!(status, 429 | 503), "{refusal:?}");
            let body = refusal.body("gw");
            assert!(body.contains(says) && body.contains("the gateway gw"), "{refusal:?}: {body}");
            for markup in ["<host>", "<why>", "<ftp>", "<private>", "<&"] {
                assert!(!body.contains(markup), "{refusal:?}: {body}");
            }
            let raw = refusal.raw_page("gw");
            let (head, text) = raw.split_once("\r\n\r\n").expect("a header");
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
            assert!(head.contains(&format!("Content-Length: {}\r\n", text.len())) && text == body, "{head}");
        }
    }

    #[test]
    fn a_name_in_proxy_status_is_a_token_or_a_string() {
        for (name, said) in [("gw-1.example", "gw-1.example"), ("1gw", "\"1gw\""), ("-", "\"-\""), ("a b", "a_b")] {
            assert_eq!(
                Refusal::Loop.page(name).headers()["proxy-status"],
                format!("{said}; error=proxy_loop_detected")
            );
        }
    }
}
