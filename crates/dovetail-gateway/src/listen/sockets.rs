//! Listening sockets and their sources.
//!
//! A socket is bound here, passed by a service manager (sd_listen_fds(3)), or taken over from a running gateway (`takeover`).
//! In the latter two cases another process has the same socket with the same queue.

use std::{
    cell::Cell,
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener as StdListener},
    rc::Rc,
    thread::sleep,
    time::{Duration, Instant},
};

use tracing::warn;

use crate::{
    config::Config,
    error::GatewayError,
    sys,
    takeover::{self, Taken},
};

/// How long to wait for a gateway that has only just taken over.
const SUCCESSION: Duration = Duration::from_secs(5);

/// How connections arrive at a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Proxy,
    Tls,
    Redirect,
    Tproxy,
}

/// A listening socket, and whether another process shares it.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(super) socket: StdListener,
    pub(super) is_shared: Rc<Cell<bool>>,
}

impl Listener {
    /// Duplicates the socket.
    pub(crate) fn try_clone(&self) -> io::Result<StdListener> {
        self.socket.try_clone()
    }
}

/// Sources of sockets besides binding them.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    passed: Vec<StdListener>,
    takes_over: bool,
    offers: bool,
}

impl Sources {
    /// For the only gateway of this process: the service manager and a running gateway.
    pub(crate) fn of_process(takes_over: bool) -> Self {
        Self { passed: sys::passed_listeners(), takes_over, offers: true }
    }
}

/// All sockets of a gateway.
#[derive(Debug)]
pub(crate) struct Listeners {
    pub(super) clients: Vec<(Listener, How)>,
    pub(crate) admin: Option<Listener>,
    pub(super) taken: Vec<Taken>,
    // Whether they are offered to other processes.
    pub(super) offers: bool,
}

impl Listeners {
    pub(crate) fn open(config: &Config, mut sources: Sources) -> Result<Self, GatewayError> {
        let places = [
            (&*config.proxy.listen, How::Proxy),
            (config.proxy.tls_listen(), How::Tls),
            (&config.proxy.redirect, How::Redirect),
            (&config.proxy.tproxy, How::Tproxy),
        ];
        let all: Vec<_> = places.iter().flat_map(|(addresses, _)| addresses.iter().copied()).collect();
        let all: Vec<_> = all.into_iter().chain(config.admin.as_ref().map(|admin| admin.listen)).collect();
        let kind = |address: SocketAddr, is_transparent| {
            let is_like = |other: &SocketAddr| other.is_ipv4() && other.port() == address.port();
            let is_apart = address.is_ipv6() && address.ip().is_unspecified() && all.iter().any(is_like);
            Kind { is_transparent, is_apart }
        };
        let (mut clients, mut taken) = (Vec::new(), Vec::new());
        for (addresses, how) in places {
            for &address in addresses {
                clients.push((open(address, kind(address, how == How::Tproxy), &mut sources, &mut taken)?, how));
            }
        }
        let admin = match &config.admin {
            Some(admin) => Some(open(admin.listen, kind(admin.listen, false), &mut sources, &mut taken)?),
            None => None,
        };
        for left in sources.passed {
            let at = left.local_addr().map_or_else(|error| error.to_string(), |address| address.to_string());
            warn!("a socket at {at} was passed, but no key of the configuration names it: it is closed");
        }
        Ok(Self { clients, admin, taken, offers: sources.offers })
    }
}

/// Options of a socket.
#[derive(Debug, Clone, Copy)]
struct Kind {
    is_transparent: bool,
    // IPv6 only, since IPv4 has a socket of its own.
    is_apart: bool,
}

fn open(
    address: SocketAddr,
    kind: Kind,
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
    let until = Instant::now() + SUCCESSION;
    loop {
        if sources.takes_over
            && let Some((socket, from)) = takeover::ask(address).map_err(failed)?
        {
            taken.push(from);
            return Ok(Listener { socket, is_shared: Rc::default() });
        }
        match listen(address, kind.is_transparent, kind.is_apart) {
            Ok(socket) => return Ok(Listener { socket, is_shared: Rc::default() }),
            // A gateway that has just taken over cannot be asked until its predecessor releases the name.
            Err(error) if sources.takes_over && error.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                sleep(takeover::RETRY);
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

fn listen(address: SocketAddr, is_transparent: bool, is_apart: bool) -> io::Result<StdListener> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    if is_apart {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    if is_transparent {
        if address.is_ipv4() { socket.set_ip_transparent_v4(true)? } else { socket.set_ip_transparent_v6(true)? }
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}
