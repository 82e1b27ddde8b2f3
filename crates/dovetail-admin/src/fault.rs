//! Why an admin port refuses a request.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;

/// A status and a sentence that says what to do.
#[derive(Debug, Clone)]
pub struct Fault {
    status: StatusCode,
    what: Cow<'static, str>,
    header: Option<(HeaderName, &'static str)>,
}

impl Fault {
    /// A fault with this status and this advice.
    #[must_use]
    pub fn new(status: StatusCode, what: impl Into<Cow<'static, str>>) -> Self {
        // RFC 9110, section 15.5.2.
        let header = (status == StatusCode::UNAUTHORIZED).then_some((header::WWW_AUTHENTICATE, "Bearer"));
        Self { status, what: what.into(), header }
    }

    /// The path exists, but not for this method.
    #[must_use]
    pub fn method(allowed: &'static str) -> Self {
        let what = format!("Allowed here: {allowed}.");
        let header = Some((header::ALLOW, allowed));
        Self { status: StatusCode::METHOD_NOT_ALLOWED, what: what.into(), header }
    }

    /// The program itself, called `name`, has failed.
    #[must_use]
    pub fn failed(name: &str, error: &dyn std::error::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("The {name} failed: {error}."))
    }

    /// The status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Converts it into a response.
    #[must_use]
    pub fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::from(format!("{}\n", self.what)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some((name, value)) = self.header {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
