//! Request bodies.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::Fault;

/// Maximum time for a body to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a body.
const MAX_BODY_BYTES: usize = 64_000;

/// A request's body, of at most 64 kB and within ten seconds.
///
/// # Errors
/// If it is too long, incomplete or too slow.
pub async fn body(body: Incoming) -> Result<bytes::Bytes, Fault> {
    let whole = timeout(READ_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect()).await;
    match whole {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            let what = format!("The body is incomplete, or longer than {MAX_BODY_BYTES} bytes.");
            Err(Fault::new(http::StatusCode::PAYLOAD_TOO_LARGE, what))
        }
        Err(_) => Err(Fault::new(http::StatusCode::REQUEST_TIMEOUT, "The body took too long.")),
    }
}
