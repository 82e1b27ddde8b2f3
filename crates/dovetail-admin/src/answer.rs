//! Bodies of answers.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderValue, Method, Response, header::CONTENT_TYPE};
use http_body_util::Full;
use serde::Serialize;

use crate::{Answer, Fault};

/// For this long an answer is reused for later requests.
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

/// A value as JSON. The program that has it is called `name`.
///
/// # Errors
/// A value that JSON has no form for.
pub fn json(name: &str, value: &impl Serialize) -> Result<Bytes, Fault> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| Fault::failed(name, &error))
}

/// An answer for who only reads.
///
/// # Errors
/// The answer's, and that there are no other methods here.
pub fn read_only(method: &Method, answer: impl FnOnce() -> Answer) -> Answer {
    if [Method::GET, Method::HEAD].contains(method) { answer() } else { Err(Fault::method("GET, HEAD")) }
}

/// A body that was made a moment ago, so that many who look cost no more than one.
#[derive(Debug, Default)]
pub struct Fresh(RefCell<Option<(Instant, Bytes)>>);

impl Fresh {
    /// What was made within the last half second, or what is made now.
    ///
    /// # Errors
    /// Those of making it.
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

    /// It is to be made anew.
    pub fn forget(&self) {
        self.0.take();
    }
}
