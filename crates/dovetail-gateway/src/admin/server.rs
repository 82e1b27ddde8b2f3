//! The admin's port: HTTP/1.1, with limits of its own.

use std::{convert::Infallible, rc::Rc, time::Duration};

use http_body_util::{BodyExt, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    select,
    task::spawn_local,
    time::{sleep, timeout},
};

use super::{Admin, fault::Fault};

/// Connections at once. More are closed.
const MOST_CONNECTIONS: usize = 64;
/// A request's header has to be there after so long, and then its body.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The most that a request's body has.
const MOST_BODY_BYTES: usize = 64_000;
/// A connection is not kept for longer: one whose client takes nothing would keep its place.
const LONGEST: Duration = Duration::from_secs(600);
/// The last answer on it may take so long.
const LAST_ANSWER: Duration = Duration::from_secs(10);

/// Serves until the gateway begins nothing new: then the address is free for the next one.
pub(super) async fn accept(admin: Rc<Admin>, listener: TcpListener) {
    let seats = Rc::new(());
    let mut stops = admin.gateway.stops();
    loop {
        let accepted = select! {
            _ = stops.wait_for(|stops| *stops) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let seat = Rc::clone(&seats);
                // The count has the listener's own in it.
                if Rc::strong_count(&seat) <= MOST_CONNECTIONS + 1 {
                    let admin = Rc::clone(&admin);
                    spawn_local(async move {
                        serve(admin, stream).await;
                        drop(seat);
                    });
                }
            }
            // Out of descriptors, or the client is gone already: others may come.
            Err(error) => {
                admin.gateway.could_not_accept(&error);
                sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

async fn serve(admin: Rc<Admin>, stream: TcpStream) {
    let service = service_fn(move |request| {
        let admin = Rc::clone(&admin);
        async move { Ok::<_, Infallible>(admin.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(READ_TIMEOUT).max_buf_size(16 * 1024);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // How a client's connection ends is the client's affair.
    select! {
        done = &mut connection => drop(done),
        () = sleep(LONGEST) => {
            connection.as_mut().graceful_shutdown();
            drop(timeout(LAST_ANSWER, connection).await);
        }
    }
}

/// A request's body.
pub(super) async fn body(body: Incoming) -> Result<bytes::Bytes, Fault> {
    let whole = timeout(READ_TIMEOUT, Limited::new(body, MOST_BODY_BYTES).collect()).await;
    match whole {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            let what = format!("The body broke off, or is longer than {MOST_BODY_BYTES} bytes.");
            Err(Fault::new(http::StatusCode::PAYLOAD_TOO_LARGE, what))
        }
        Err(_) => Err(Fault::new(http::StatusCode::REQUEST_TIMEOUT, "The body took too long.")),
    }
}
