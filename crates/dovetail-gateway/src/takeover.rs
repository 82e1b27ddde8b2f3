//! Takes over from a running process without an interruption: it hands its listening sockets to its successor, which then
//! shares the same accept queues.
//!
//! For each of its addresses a gateway listens at an abstract Unix socket of the same network namespace (unix(7)). Both sides
//! require the other to run as the same user; the client is sent the listening socket (`SCM_RIGHTS`). Once the new gateway
//! serves, it confirms with a byte, and the old one drains; if it closes the connection before that, the old one continues as
//! if nothing had happened. Sharing an address by `SO_REUSEPORT` would give each process a queue of its own, and connections in
//! the old one's queue would be lost when it closes.

use std::{
    cell::Cell,
    io::{self, IoSlice, IoSliceMut, Write},
    mem::MaybeUninit,
    net::{SocketAddr, TcpListener},
    os::{
        fd::AsFd,
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddr, UnixListener, UnixStream},
    },
    rc::Rc,
    time::Duration,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg, sockopt::socket_peercred,
};
use tokio::{
    io::AsyncReadExt,
    net::{UnixListener as TokioListener, UnixStream as TokioStream},
    sync::Notify,
    task::{JoinHandle, spawn_local},
    time::{sleep, timeout},
};

/// Maximum time for each step of the other process.
const PATIENCE: Duration = Duration::from_secs(20);
/// The old process keeps the name until it drains.
pub(crate) const RETRY: Duration = Duration::from_millis(100);
/// Sent along with a socket, and as confirmation.
const BYTE: &[u8] = b"+";

/// A socket to hand over, its address, and whether another process shares it.
pub(crate) type Offer = (SocketAddr, TcpListener, Rc<Cell<bool>>);

/// A predecessor that waits for confirmation that this gateway serves.
#[derive(Debug)]
pub(crate) struct Taken(UnixStream);

impl Taken {
    /// Confirms that this gateway serves.
    pub(crate) fn confirm(mut self) {
        // A predecessor that is gone need not drain.
        drop(self.0.write_all(BYTE));
    }
}

fn name(address: SocketAddr) -> io::Result<UnixAddr> {
    UnixAddr::from_abstract_name(format!("dovetail-gateway/{address}"))
}

/// Asks the running gateway for its socket at an address; `None` if there is no gateway.
pub(crate) fn ask(address: SocketAddr) -> io::Result<Option<(TcpListener, Taken)>> {
    let stream = match UnixStream::connect_addr(&name(address)?) {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(None),
        Err(error) => return Err(error),
    };
    if socket_peercred(&stream)?.uid != rustix::process::geteuid() {
        return Err(io::Error::other("the running gateway belongs to another user: only the same user can take over"));
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(&stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let socket = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    let socket = socket.ok_or_else(|| io::Error::other("the running gateway passed no socket"))?;
    let socket = socket2::Socket::from(socket);
    if !socket.is_listener()? || socket.local_addr()?.as_socket() != Some(address) {
        return Err(io::Error::other("the running gateway passed a different socket"));
    }
    socket.set_nonblocking(true)?;
    Ok(Some((socket.into(), Taken(stream))))
}

/// Offers a socket to permitted successors until one of them serves with it, and then notifies `taken_over`.
pub(crate) fn offer(taken_over: &Rc<Notify>, (address, socket, is_shared): Offer) -> JoinHandle<()> {
    let taken_over = Rc::clone(taken_over);
    spawn_local(async move { hand_over(&taken_over, address, &socket, &is_shared).await })
}

async fn hand_over(taken_over: &Notify, address: SocketAddr, socket: &TcpListener, is_shared: &Cell<bool>) {
    let listener = loop {
        match bind(address) {
            Ok(listener) => break listener,
            Err(_) => sleep(RETRY).await,
        }
    };
    let was_shared = is_shared.get();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(RETRY).await;
            continue;
        };
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw()) {
            continue;
        }
        is_shared.set(true);
        if matches!(timeout(PATIENCE, hand_to(stream, socket)).await, Ok(Ok(()))) {
            taken_over.notify_one();
            return;
        }
        is_shared.set(was_shared);
    }
}

fn bind(address: SocketAddr) -> io::Result<TokioListener> {
    let listener = UnixListener::bind_addr(&name(address)?)?;
    listener.set_nonblocking(true)?;
    TokioListener::from_std(listener)
}

/// Hands the socket over, and waits until its new owner serves.
async fn hand_to(mut stream: TokioStream, socket: &TcpListener) -> io::Result<()> {
    stream.writable().await?;
    let sockets = [socket.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&sockets));
    sendmsg(&stream, &[IoSlice::new(BYTE)], &mut control, SendFlags::NOSIGNAL)?;
    stream.read_u8().await.map(drop)
}
