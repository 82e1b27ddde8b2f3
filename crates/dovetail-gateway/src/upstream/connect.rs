//! Makes connections with a receive window that is known.
//!
//! The kernel offers half of a buffer as window, and `SO_RCVBUF` takes what it is given twice. So a socket that is given `R`
//! offers about `R`. What is set before the connection is made also fixes the scale of all windows that it may offer later
//! (RFC 7323, section 2.3): under 64 KiB the scale is 1, and the window never grows beyond. A window of 64 KiB or more is
//! made in two steps: the handshake offers 65,535 bytes at most whatever the buffer is, so the buffer may be as long as the
//! window may ever be, and the clamp is set before anything came.

use std::{
    cell::Cell,
    io,
    net::{IpAddr, SocketAddr},
    os::fd::AsFd,
    time::Duration,
};

use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::sys;

/// The most that a window without a scale can be (RFC 9293, section 3.1).
const UNSCALED: u64 = 65_535;

/// Four segments of Ethernet's size, and what a read takes.
const LEAST_BATCH: u64 = 4 * 1_448;
const MOST_BATCH: u64 = 64 * 1_024;

/// What windows connections have, if the policy holds responses back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// At first, in bytes.
    pub(crate) first: u64,
    /// The most that it may grow to.
    pub(crate) longest: u64,
}

/// A connection that was made.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) stream: TcpStream,
    pub(crate) window: Option<Window>,
}

impl Upstream {
    /// Connects to the first of these addresses that answers.
    pub(crate) async fn connect(
        addresses: &[IpAddr],
        port: u16,
        window: Option<Window>,
        within: Duration,
    ) -> Result<Self, Failure> {
        let mut last = Failure::Timeout;
        let share = within / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
        for &address in addresses {
            match timeout(share, to(SocketAddr::new(address, port), window)).await {
                Ok(Ok(stream)) => return Ok(Self { stream, window }),
                Ok(Err(error)) => last = Failure::Error(error),
                Err(_) => last = Failure::Timeout,
            }
        }
        Err(last)
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Failure {
    Error(io::Error),
    Timeout,
}

async fn to(address: SocketAddr, window: Option<Window>) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_nodelay(true)?;
    let is_scaled = window.is_some_and(|window| window.first > UNSCALED);
    if let Some(window) = window {
        let bytes = if is_scaled { window.longest } else { window.first };
        socket.set_recv_buffer_size(u32::try_from(bytes).unwrap_or(u32::MAX))?;
    }
    let stream = socket.connect(address).await?;
    if let Some(window) = window.filter(|_| is_scaled) {
        sys::set_window_clamp(stream.as_fd(), u32::try_from(window.first).unwrap_or(u32::MAX))?;
    }
    Ok(stream)
}

/// The window that a connection offers.
#[derive(Debug)]
pub(crate) struct Offered {
    window: Option<Window>,
    bytes: Cell<u64>,
}

impl Offered {
    /// As it is at first.
    pub(crate) fn new(window: Option<Window>) -> Self {
        Self { window, bytes: Cell::new(window.map_or(u64::MAX, |window| window.first)) }
    }

    /// The window as it is.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// What may be waited for at once: a quarter of the window, and four segments. More than half would stop the sender.
    pub(super) fn batch(&self) -> u64 {
        let window = self.bytes.get();
        (window / 4).clamp(LEAST_BATCH, MOST_BATCH).min(window / 2)
    }

    /// Offers at least so many bytes from now on, and no more than the longest.
    pub(crate) fn widen(&self, stream: &TcpStream, bytes: u64) {
        let Some(Window { longest, .. }) = self.window else { return };
        let bytes = bytes.min(longest);
        // A window that cannot be set stays as it is: slower, and nothing worse.
        if bytes > self.bytes.get() && set(stream, bytes).is_ok() {
            self.bytes.set(bytes);
        }
    }

    /// Whether it is much longer than at first. It cannot be taken back: the next response would come with it.
    pub(crate) fn is_grown(&self) -> bool {
        self.window.is_some_and(|window| self.bytes.get() >= 3 * window.first)
    }
}

fn set(stream: &TcpStream, bytes: u64) -> io::Result<()> {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    socket2::SockRef::from(stream).set_recv_buffer_size(bytes as usize)?;
    sys::set_window_clamp(stream.as_fd(), bytes)
}
