//! Accepts connections.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    select,
    sync::watch::Receiver,
    time::sleep,
};

use crate::state::Room;

/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(20);

/// Hands each connection on until the gateway drains.
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
            // Out of descriptors, or the client has already gone: others may connect later.
            Err(error) => {
                room.could_not_accept(&error);
                sleep(PAUSE).await;
            }
        }
    }
}
