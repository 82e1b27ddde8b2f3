//! Accepts connections to the admin port.

use std::{io, rc::Rc};

use dovetail_admin::{Port, each_second};
use tokio::{net::TcpListener, sync::watch::Receiver, task::spawn_local};

use super::{answer::Admin, seen::Seen};
use crate::{accept, state::Room};

/// Serves clients until the gateway starts to drain: then the address is free for its successor.
pub(crate) fn start(
    seen: Seen,
    room: &Rc<Room>,
    stops: Receiver<bool>,
    listener: std::net::TcpListener,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let admin = Rc::new(Admin::new(seen));
    let (port, room) = (Port::new(Rc::clone(&admin)), Rc::clone(room));
    spawn_local(async move {
        accept::each(&listener, stops, &room, |stream, _| port.welcome(stream)).await;
    });
    spawn_local(each_second(admin));
    Ok(())
}
