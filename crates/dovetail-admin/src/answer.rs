//! Bodies of responses.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderValue, Method, Response, header::CONTENT_TYPE};
use http_body_util::Full;
use serde::Serialize;

use crate::{Answer, Fault};

/// How long an answer is reused for later requests.
const FRESH: Duration = Duration::from_millis(500);

/// The media type of JSON.
pub const JSON: &str = "application/json";
/// The media type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// An answer with a body of this media type.
#[must_use]
pub fn typed(content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A value as JSON. `name` is the program's name.
///
/// # Errors
/// If JSON cannot represent the value.
pub fn json(name: &str, value: &impl Serialize) -> Result<Bytes, Fault> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| Fault::failed(name, &error))
}

/// The answer to a read-only request.
///
/// # Errors
/// Those of `answer`, and if the method is not GET or HEAD.
pub fn read_only(method: &Method, answer: impl FnOnce() -> Answer) -> Answer {
    if [Method::GET, Method::HEAD].contains(method) { answer() } else { Err(Fault::method("GET, HEAD")) }
}

/// A body that is reused for a moment, so that many viewers cost no more than one.
#[derive(Debug, Default)]
pub struct Fresh(RefCell<Option<(Instant, Bytes)>>);

impl Fresh {
    /// Returns the body created within the last half second, or creates one.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get(&self, make: impl FnOnce() -> Result<Bytes, Fault>) -> Result<Bytes, Fault> {
        let now = Instant::now();
        if let Some((made, bytes)) = &*self.0.borrow()
            && now - *made < FRESH
        {
            return Ok(bytes.clone());
        }
        let bytes = make()?;
        *self.0.borrow_mut() = Some((now, bytes.clone()));
        Ok(bytes)
    }

    /// Discards the body, so that the next call creates it anew.
    pub fn forget(&self) {
        self.0.take();
    }
}
