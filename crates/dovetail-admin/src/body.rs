//! Request bodies.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use tokio::time::timeout;

use crate::Fault;

/// Maximum time for a body to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a body.
const MAX_BODY_BYTES: usize = 64_000;

/// A request's body, of at most 64 kB and within ten seconds.
///
/// # Errors
/// If it is too long (413), cannot be read to its end (400) or is too slow (408).
pub async fn body<B>(body: B) -> Result<Bytes, Fault>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match timeout(READ_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let what = format!("The body is longer than {MAX_BODY_BYTES} bytes.");
            Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, what))
        }
        Ok(Err(error)) => Err(Fault::new(StatusCode::BAD_REQUEST, format!("The body cannot be read: {error}."))),
        Err(_) => Err(Fault::new(StatusCode::REQUEST_TIMEOUT, "The body took too long.")),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        io::{Error, ErrorKind},
        pin::Pin,
        task::{Context, Poll},
    };

    use http_body_util::Full;
    use hyper::body::Frame;

    use super::*;

    /// Some bytes, and then the end of the connection, or nothing ever.
    struct Broken {
        bytes: Option<&'static [u8]>,
        ends: bool,
    }

    impl Body for Broken {
        type Data = Bytes;
        type Error = Error;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
            match self.bytes.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(bytes))))),
                None if self.ends => Poll::Ready(Some(Err(ErrorKind::UnexpectedEof.into()))),
                None => Poll::Pending,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_whole_or_the_reason_is_told() {
        let full = |bytes: usize| Full::<Bytes>::from(vec![b'a'; bytes]).map_err(|never: Infallible| match never {});
        assert_eq!(body(full(MAX_BODY_BYTES)).await.map(|bytes| bytes.len()).ok(), Some(MAX_BODY_BYTES));
        assert_eq!(
            body(full(MAX_BODY_BYTES + 1)).await.map_err(|fault| fault.status()),
            Err(StatusCode::PAYLOAD_TOO_LARGE)
        );
        for (ends, status) in [(true, StatusCode::BAD_REQUEST), (false, StatusCode::REQUEST_TIMEOUT)] {
            let found = body(Broken { bytes: Some(b"{\"a\":"), ends }).await;
            assert_eq!(found.map_err(|fault| fault.status()), Err(status));
        }
    }
}
