//! Connections as they arrive at a socket.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    select,
    sync::watch::Receiver,
    time::sleep,
};

use crate::state::Room;

/// After a failure the next is accepted in so long.
const PAUSE: Duration = Duration::from_millis(20);

/// Hands each on, until the gateway begins nothing new.
pub(crate) async fn each(
    listener: &TcpListener,
    mut stops: Receiver<bool>,
    room: &Room,
    welcome: impl Fn(TcpStream, SocketAddr),
) {
    loop {
        let accepted = select! {
            biased;
            _ = stops.wait_for(|stops| *stops) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => welcome(stream, from),
            // Out of descriptors, or the client is gone already: others may come.
            Err(error) => {
                room.could_not_accept(&error);
                sleep(PAUSE).await;
            }
        }
    }
}
