//! The contents of a port.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::Fault;

/// A request to a port.
pub type Asked = Request<Incoming>;
/// Its answer.
pub type Answer = Result<Response<Full<Bytes>>, Fault>;

/// Answers the requests to a port. Requests under a foreign host name are refused earlier.
pub trait Site: 'static {
    /// The answer to a request.
    fn answer(&self, request: Asked) -> impl Future<Output = Answer>;

    /// Called every second.
    fn second(&self) {}
}
