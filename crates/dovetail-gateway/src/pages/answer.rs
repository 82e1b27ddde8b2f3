//! How pages are sent.

use bytes::Bytes;
use dovetail_admin::{Answer, Fault};
use http::{HeaderName, HeaderValue, Response, header};
use http_body_util::Full;
use hyper::body::Body;

/// The page as sent: it is not cached, and no other site can read, frame or learn of it.
pub(super) fn strict(page: Answer, hides_body: bool) -> Response<Full<Bytes>> {
    let mut response = page.unwrap_or_else(Fault::response);
    let length = response.body().size_hint().exact().unwrap_or(0);
    let headers = response.headers_mut();
    for (name, value) in [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_LENGTH, length.into());
    if hides_body {
        *response.body_mut() = Full::default();
    }
    response
}
