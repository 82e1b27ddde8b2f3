//! Sends a message to a server; returns its response or what remains of the message.

use http::{Request, Response, request::Parts};
use hyper::body::Incoming;
use tokio::select;

use crate::{upload::Upload, upstream::Idle, watch::Progress};

/// Why there is no response.
pub(super) enum Unanswered {
    Stopped,
    Failed {
        error: hyper::Error,
        /// The message, if none of it was sent.
        message: Option<Box<Request<Upload>>>,
    },
}

pub(super) async fn ask(
    connection: &mut Idle,
    request: Request<Upload>,
    progress: &Progress,
) -> Result<Response<Incoming>, Unanswered> {
    if let Err(error) = connection.sender.ready().await {
        return Err(Unanswered::Failed { error, message: Some(Box::new(request)) });
    }
    select! {
        answered = connection.sender.try_send_request(request) => answered.map_err(|mut error| {
            let message = error.take_message().map(Box::new);
            Unanswered::Failed { error: error.into_error(), message }
        }),
        () = progress.stopped() => Err(Unanswered::Stopped),
    }
}

/// A copy without extensions, which cannot be cloned.
pub(super) fn clone(head: &Parts) -> Parts {
    let mut copy = Request::new(()).into_parts().0;
    (copy.method, copy.uri, copy.version) = (head.method.clone(), head.uri.clone(), head.version);
    copy.headers = head.headers.clone();
    copy
}

/// An error and its sources, separated by colons.
pub(super) fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(behind) = source {
        text.push_str(": ");
        text.push_str(&behind.to_string());
        source = behind.source();
    }
    text
}
