//! The admin's port: HTTP/1.1, with limits of its own.

use std::{convert::Infallible, io, rc::Rc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    select,
    sync::watch::Receiver,
    task::spawn_local,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use super::{answer::Admin, seen::Seen};
use crate::{accept, state::Room};

/// Connections at once. More are closed.
const MOST_CONNECTIONS: usize = 64;
/// A request's header has to be there after so long.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection is not kept for longer: one whose client takes nothing would keep its place.
const LONGEST: Duration = Duration::from_secs(600);
/// The last answer on it may take so long.
const LAST_ANSWER: Duration = Duration::from_secs(10);

/// Serves those who connect here until the gateway begins nothing new: then the address is free for the next one.
pub(crate) fn start(
    seen: Seen,
    room: &Rc<Room>,
    stops: Receiver<bool>,
    listener: std::net::TcpListener,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let admin = Rc::new(Admin::new(seen));
    let (served, room) = (Rc::clone(&admin), Rc::clone(room));
    spawn_local(async move {
        let seats = Rc::new(());
        accept::each(&listener, stops, &room, |stream, _| welcome(&served, &seats, stream)).await;
    });
    spawn_local(async move {
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            seconds.tick().await;
            admin.sample();
        }
    });
    Ok(())
}

fn welcome(admin: &Rc<Admin>, seats: &Rc<()>, stream: TcpStream) {
    let seat = Rc::clone(seats);
    // The count has the listener's own in it.
    if Rc::strong_count(&seat) <= MOST_CONNECTIONS + 1 {
        let admin = Rc::clone(admin);
        spawn_local(async move {
            serve(admin, stream).await;
            drop(seat);
        });
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
