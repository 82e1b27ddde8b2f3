//! Accepts connections until the gateway drains, and hands sockets over to its successor.
//!
//! At the end, a socket shared with another process is left as it is. If it belongs to this process alone, its queue is
//! accepted before it is closed.

use std::{cell::Cell, io, net::SocketAddr, rc::Rc};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch::Sender},
    task::{JoinHandle, spawn_local},
};

use super::{
    admission::Door,
    sockets::{How, Listeners},
};
use crate::{
    accept,
    takeover::{self, Taken},
};

/// Tasks that accept connections, and that hand sockets over.
#[derive(Debug)]
pub(crate) struct Accepting {
    tasks: Vec<JoinHandle<()>>,
    offers: Vec<takeover::Offer>,
    offering: Vec<JoinHandle<()>>,
    taken: Vec<Taken>,
}

impl Accepting {
    /// Starts to accept. Returns the addresses, and the tasks, which end when the gateway drains.
    pub(crate) fn start(listeners: Listeners, door: &Rc<Door>) -> io::Result<(Vec<SocketAddr>, Self)> {
        let Listeners { clients, admin, taken, offers: is_offered } = listeners;
        let (mut addresses, mut tasks, mut offers) = (Vec::new(), Vec::new(), Vec::new());
        for listener in admin.iter().chain(clients.iter().map(|(listener, _)| listener)).filter(|_| is_offered) {
            offers.push((listener.socket.local_addr()?, listener.try_clone()?, Rc::clone(&listener.is_shared)));
        }
        for (listener, how) in clients {
            addresses.push(listener.socket.local_addr()?);
            let socket = TcpListener::from_std(listener.socket)?;
            tasks.push(spawn_local(accept(Rc::clone(door), socket, listener.is_shared, how)));
        }
        Ok((addresses, Self { tasks, offers, offering: Vec::new(), taken }))
    }

    /// Confirms that the gateway serves: its predecessor may end, and a successor may take over, which notifies `taken_over`.
    pub(crate) fn confirm(&mut self, taken_over: &Rc<Notify>) {
        self.taken.drain(..).for_each(Taken::confirm);
        self.offering.extend(self.offers.drain(..).map(|offer| takeover::offer(taken_over, offer)));
    }

    /// Announces that the gateway drains, and waits until nothing more is accepted.
    pub(crate) async fn end(self, stops: &Sender<bool>) {
        self.offering.iter().for_each(JoinHandle::abort);
        // These hold the sockets too, so the queues would continue to fill. A task that panicked holds nothing.
        for task in self.offering {
            drop(task.await);
        }
        stops.send_replace(true);
        for task in self.tasks {
            drop(task.await);
        }
    }
}

async fn accept(door: Rc<Door>, listener: TcpListener, is_shared: Rc<Cell<bool>>, how: How) {
    let welcome = |stream, from: SocketAddr| door.welcome(stream, from.ip().to_canonical(), how);
    accept::each(&listener, door.stops(), door.room(), welcome).await;
    if is_shared.get() {
        return;
    }
    // Clients in the queue consider themselves connected.
    if let Ok(listener) = listener.into_std() {
        while let Ok((stream, from)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                welcome(stream, from);
            }
        }
    }
}
