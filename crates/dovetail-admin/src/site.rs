//! What a port serves.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::Fault;

/// What is asked of a port.
pub type Asked = Request<Incoming>;
/// What it answers.
pub type Answer = Result<Response<Full<Bytes>>, Fault>;

/// What is answered at each path. Requests under a foreign name are refused before.
pub trait Site: 'static {
    /// What a request is answered.
    fn answer(&self, request: Asked) -> impl Future<Output = Answer>;

    /// A second is over.
    fn second(&self) {}
}
