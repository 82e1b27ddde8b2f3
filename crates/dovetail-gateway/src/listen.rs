//! Listening sockets, and connections that arrive at them.
//!
//! A socket is bound here, passed by a service manager (sd_listen_fds(3)), or taken over from a gateway that runs
//! (`takeover`). Of the latter two another process has the same socket with the same queue: at the end it is left as it is.
//! What waits in the queue of one that is this process's alone is accepted before it is closed.

use std::{
    cell::Cell,
    io,
    net::{IpAddr, SocketAddr, TcpListener as StdListener},
    rc::Rc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    select,
    sync::watch,
    task::{JoinHandle, spawn_local},
    time::{sleep, timeout},
};

use crate::{
    config::Config,
    counters::add,
    gateway::{Gateway, GatewayError},
    refusal::Refusal,
    serve::serve,
    sys,
    takeover::{self, Taken},
    wanted::Asked,
};

/// How connections come to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Proxy,
    Redirect,
    Tproxy,
}

/// A socket that listens, and whether another process has it too.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: StdListener,
    is_shared: Rc<Cell<bool>>,
}

/// Where sockets may come from, besides being bound here.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    passed: Vec<StdListener>,
    takes_over: bool,
    offers: bool,
}

impl Sources {
    /// For the one gateway of this process: what a service manager passed, and a gateway that runs.
    pub(crate) fn of_process(takes_over: bool) -> Self {
        Self { passed: sys::passed_listeners(), takes_over, offers: true }
    }
}

/// All of a gateway's sockets.
#[derive(Debug)]
pub(crate) struct Listeners {
    clients: Vec<(Listener, How)>,
    pub(crate) admin: Option<Listener>,
    taken: Vec<Taken>,
    offers: bool,
}

impl Listeners {
    pub(crate) fn open(config: &Config, mut sources: Sources) -> Result<Self, GatewayError> {
        let places = [
            (&config.proxy.listen, How::Proxy),
            (&config.proxy.redirect, How::Redirect),
            (&config.proxy.tproxy, How::Tproxy),
        ];
        let (mut clients, mut taken) = (Vec::new(), Vec::new());
        for (addresses, how) in places {
            for &address in addresses {
                clients.push((open(address, how == How::Tproxy, &mut sources, &mut taken)?, how));
            }
        }
        let admin = match &config.admin {
            Some(admin) => Some(open(admin.listen, false, &mut sources, &mut taken)?),
            None => None,
        };
        for left in sources.passed {
            let at = left.local_addr().map_or_else(|error| error.to_string(), |address| address.to_string());
            eprintln!("dovetail: a socket at {at} was passed, and no key of the configuration says so: it is closed");
        }
        Ok(Self { clients, admin, taken, offers: sources.offers })
    }

    /// Accepts from now on; the addresses, and the tasks that end when the gateway begins nothing new.
    pub(crate) fn accept(self, gateway: &Rc<Gateway>) -> io::Result<(Vec<SocketAddr>, Accepting)> {
        let mut addresses = Vec::new();
        let mut tasks = Vec::new();
        let mut offers = Vec::new();
        let mut offer = |listener: &Listener| -> io::Result<()> {
            let address = listener.socket.local_addr()?;
            offers.push((address, listener.socket.try_clone()?, Rc::clone(&listener.is_shared)));
            Ok(())
        };
        if let Some(admin) = &self.admin {
            offer(admin)?;
        }
        for (listener, how) in self.clients {
            addresses.push(listener.socket.local_addr()?);
            offer(&listener)?;
            let (socket, is_shared) = listener.into_tokio()?;
            tasks.push(spawn_local(accept(Rc::clone(gateway), socket, is_shared, how)));
        }
        let offers = if self.offers { offers } else { Vec::new() };
        Ok((addresses, Accepting { tasks, offers, offering: Vec::new(), taken: self.taken }))
    }
}

/// Tasks that accept, and that hand over.
#[derive(Debug)]
pub(crate) struct Accepting {
    tasks: Vec<JoinHandle<()>>,
    offers: Vec<takeover::Offer>,
    offering: Vec<JoinHandle<()>>,
    taken: Vec<Taken>,
}

impl Accepting {
    /// The gateway serves: whoever served before may end, and whoever comes after may take over.
    pub(crate) fn confirm(&mut self, gateway: &Rc<Gateway>) {
        self.taken.drain(..).for_each(Taken::confirm);
        self.offering.extend(self.offers.drain(..).map(|offer| takeover::offer(gateway, offer)));
    }

    /// Has everybody know that nothing new begins, and waits until nothing is accepted any more.
    pub(crate) async fn end(self, stops: &watch::Sender<bool>) {
        self.offering.iter().for_each(JoinHandle::abort);
        // These have the sockets too: while they do, queues go on to be filled. One that panicked has nothing.
        for task in self.offering {
            drop(task.await);
        }
        stops.send_replace(true);
        for task in self.tasks {
            drop(task.await);
        }
    }
}

impl Listener {
    /// The same socket once more.
    pub(crate) fn try_clone(&self) -> io::Result<StdListener> {
        self.socket.try_clone()
    }

    fn into_tokio(self) -> io::Result<(TcpListener, Rc<Cell<bool>>)> {
        Ok((TcpListener::from_std(self.socket)?, self.is_shared))
    }
}

fn open(
    address: SocketAddr,
    is_transparent: bool,
    sources: &mut Sources,
    taken: &mut Vec<Taken>,
) -> Result<Listener, GatewayError> {
    let is_it = |socket: &StdListener| socket.local_addr().is_ok_and(|found| found == address);
    let failed = |error| GatewayError::Listen(address, error);
    if let Some(at) = sources.passed.iter().position(is_it) {
        let socket = sources.passed.swap_remove(at);
        socket.set_nonblocking(true).map_err(failed)?;
        return Ok(Listener { socket, is_shared: Rc::new(Cell::new(true)) });
    }
    if sources.takes_over
        && let Some((socket, from)) = takeover::ask(address).map_err(failed)?
    {
        taken.push(from);
        return Ok(Listener { socket, is_shared: Rc::default() });
    }
    let socket = listen(address, is_transparent).map_err(failed)?;
    Ok(Listener { socket, is_shared: Rc::default() })
}

fn listen(address: SocketAddr, is_transparent: bool) -> io::Result<StdListener> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    if is_transparent {
        if address.is_ipv4() { socket.set_ip_transparent_v4(true)? } else { socket.set_ip_transparent_v6(true)? }
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

async fn accept(gateway: Rc<Gateway>, listener: TcpListener, is_shared: Rc<Cell<bool>>, how: How) {
    let mut stops = gateway.stops();
    loop {
        let accepted = select! {
            biased;
            _ = stops.wait_for(|stops| *stops) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => welcome(&gateway, stream, from.ip().to_canonical(), how),
            // Out of descriptors, or the client is gone already: others may come.
            Err(error) => {
                gateway.could_not_accept(&error);
                sleep(Duration::from_millis(20)).await;
            }
        }
    }
    if is_shared.get() {
        return;
    }
    // Those in the queue are connected already, as far as they know.
    if let Ok(listener) = listener.into_std() {
        while let Ok((stream, from)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                welcome(&gateway, stream, from.ip().to_canonical(), how);
            }
        }
    }
}

/// Serves a connection, or says why not.
fn welcome(gateway: &Rc<Gateway>, stream: TcpStream, client: IpAddr, how: How) {
    add(&gateway.counters().accepted, 1);
    let config = gateway.config();
    if !config.access.clients.contains(client) {
        add(&gateway.counters().refused_clients, 1);
        return turn_away(gateway, stream, &Refusal::NotAClient(client));
    }
    let limits = &config.limits;
    let most = limits.connections.min(gateway.descriptors().clients());
    let seat = gateway.seats().take(client, most, limits.connections_per_user).filter(|_| gateway.has_room());
    let Some(seat) = seat else {
        add(&gateway.counters().refused_full, 1);
        return turn_away(gateway, stream, &Refusal::Full);
    };
    if stream.set_nodelay(true).is_err() {
        return;
    }
    match how {
        How::Proxy => drop(spawn_local(serve(Rc::clone(gateway), stream, client, Asked::Proxy, seat))),
        How::Redirect | How::Tproxy => {
            drop(spawn_local(crate::intercept::serve(Rc::clone(gateway), stream, client, how == How::Tproxy, seat)));
        }
    }
}

/// The most that are told why they are turned away at once. Of more the connection is closed.
const MOST_TURNED_AWAY: usize = 64;

/// Says why not.
fn turn_away(gateway: &Rc<Gateway>, mut stream: TcpStream, refusal: &Refusal) {
    let Some(guard) = Some(Rc::clone(gateway.turned_away())).filter(|all| Rc::strong_count(all) < MOST_TURNED_AWAY)
    else {
        return;
    };
    let page = refusal.raw_page(&gateway.config().proxy.name);
    spawn_local(async move {
        let told = async {
            // A connection that is closed with something unread is reset, and the page with it.
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await?;
            stream.write_all(page.as_bytes()).await?;
            stream.shutdown().await
        };
        // A client that takes nothing of it has what it asked for.
        drop(timeout(Duration::from_secs(2), told).await);
        drop(guard);
    });
}
