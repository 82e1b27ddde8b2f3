//! Makes connections with a known receive window.
//!
//! The kernel offers half of a buffer as window, and `SO_RCVBUF` doubles what it is given. So a socket that is given `R` offers
//! about `R`, and at most 65,535 bytes before it is connected. The buffer at that time also fixes the scale of all windows that
//! it may offer later (RFC 7323, section 2.3), if the buffer is locked. So it is locked (`SO_BUF_LOCK`) only after connecting,
//! and the window can grow from any length to any other. (Before Linux 5.15 one under 64 KiB stays under that.)
//!
//! The scale would then be that of the longest buffer that the kernel may create: with 32 MiB, windows of whole KiB. A window
//! that is not a multiple of a segment makes senders fill it with partial segments, and far queues count packets: a twentieth
//! more of these doubled the drops of a short queue. So the longest window is set before connecting (`TCP_WINDOW_CLAMP`), and
//! the scale is no coarser than that needs.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::fd::AsFd,
    time::Duration,
};

use tokio::{
    net::{TcpSocket, TcpStream},
    select,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{offered::Offered, window::Window};
use crate::{segment::first_buffer, sys};

/// Delay between the start of one attempt and the next (RFC 8305, section 8).
const APART: Duration = Duration::from_millis(250);

/// An established connection.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) stream: TcpStream,
    /// The server's address, if known.
    pub(crate) server: Option<IpAddr>,
    pub(crate) offered: Offered,
}

impl Upstream {
    /// Connects to the first of these addresses that answers (RFC 8305): each attempt starts a quarter of a second after the
    /// one before, or as soon as that has failed. It runs in parallel with a silent one if `beside` returns a place for it;
    /// otherwise it replaces the silent one once that has had its share of the time.
    pub(crate) async fn connect<P: 'static>(
        (addresses, port): (&[IpAddr], u16),
        window: Option<Window>,
        within: Duration,
        beside: impl Fn() -> Option<P>,
    ) -> Result<Self, Failure> {
        match timeout(within, race((addresses, port), window, within, beside)).await {
            Ok(Ok((stream, is_free))) => {
                let server = stream.peer_addr().ok().map(|address| address.ip());
                Ok(Self { server, offered: Offered::new(&stream, window, is_free), stream })
            }
            Ok(Err(error)) => Err(Failure::Error(error)),
            Err(_) => Err(Failure::Timeout),
        }
    }
}

async fn race<P: 'static>(
    (addresses, port): (&[IpAddr], u16),
    window: Option<Window>,
    within: Duration,
    beside: impl Fn() -> Option<P>,
) -> io::Result<(TcpStream, bool)> {
    let part = within / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut left = alternating(addresses).into_iter();
    // Dropping the set aborts the attempts that are late.
    let mut attempts = JoinSet::new();
    let mut began = Instant::now();
    let mut last = io::ErrorKind::AddrNotAvailable.into();
    loop {
        if left.len() > 0 {
            let place = if attempts.is_empty() { None } else { beside() };
            if place.is_none() && began.elapsed() >= part {
                attempts = JoinSet::new();
            }
            if (attempts.is_empty() || place.is_some())
                && let Some(address) = left.next()
            {
                began = Instant::now();
                attempts.spawn_local(async move {
                    let _place = place;
                    to(SocketAddr::new(address, port), window).await
                });
            }
        }
        select! {
            biased;
            done = attempts.join_next() => match done {
                None => return Err(last),
                Some(Ok(Ok(made))) => return Ok(made),
                Some(Ok(Err(error))) => last = error,
                Some(Err(error)) => last = error.into(),
            },
            () = sleep(APART.min(part.saturating_sub(began.elapsed()))), if left.len() > 0 => {}
        }
    }
}

/// Alternates between families, IPv6 first (RFC 8305, section 4).
pub(crate) fn alternating(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let (mut six, mut four): (Vec<_>, Vec<_>) = addresses.iter().copied().partition(IpAddr::is_ipv6);
    six.reverse();
    four.reverse();
    let next = |turn: usize| {
        if turn.is_multiple_of(2) { six.pop().or_else(|| four.pop()) } else { four.pop().or_else(|| six.pop()) }
    };
    (0..).map_while(next).collect()
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Failure {
    Error(io::Error),
    Timeout,
}

/// A connection, and whether the kernel resizes its buffer, since it would not grant one as long as the window needs.
async fn to(address: SocketAddr, window: Option<Window>) -> io::Result<(TcpStream, bool)> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_nodelay(true)?;
    let Some(window) = window else { return Ok((socket.connect(address).await?, false)) };
    socket.set_recv_buffer_size(u32::try_from(first_buffer(window.begins)).unwrap_or(u32::MAX))?;
    // `net.core.rmem_max` limits what can be requested; the kernel itself may go further as more is read.
    let is_short = u64::from(socket.recv_buffer_size()?) < window.begins.saturating_mul(2);
    let can_be_free = sys::fix_receive_buffer(socket.as_fd(), false).is_ok();
    if can_be_free {
        sys::set_window_clamp(socket.as_fd(), window.longest)?;
    }
    let stream = socket.connect(address).await?;
    if can_be_free {
        sys::fix_receive_buffer(stream.as_fd(), !is_short)?;
        sys::set_window_clamp(stream.as_fd(), window.begins)?;
    }
    Ok((stream, can_be_free && is_short))
}

#[cfg(test)]
mod tests {
    use std::{
        net::{Ipv4Addr, TcpListener},
        time::Instant,
    };

    use tokio::runtime::{Builder, LocalOptions};

    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .expect("a runtime")
            .block_on(future)
    }

    #[test]
    fn families_take_turns() {
        let parse =
            |texts: &[&str]| -> Vec<IpAddr> { texts.iter().map(|text| text.parse().expect("an address")).collect() };
        assert_eq!(
            alternating(&parse(&["10.0.0.1", "10.0.0.2", "10.0.0.3", "::1", "::2"])),
            parse(&["::1", "10.0.0.1", "::2", "10.0.0.2", "10.0.0.3"])
        );
        assert_eq!(alternating(&parse(&["::1", "::2"])), parse(&["::1", "::2"]));
        assert_eq!(alternating(&[]), parse(&[]));
    }

    /// An address where connections are neither accepted nor refused, and the sockets that keep it so.
    fn silent(address: Ipv4Addr, port: u16) -> impl Sized {
        let socket = |address: SocketAddr| {
            let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None);
            socket.expect("a socket")
        };
        let at = SocketAddr::new(address.into(), port);
        let listener = socket(at);
        listener.bind(&at.into()).expect("a port");
        listener.listen(0).expect("a listener");
        // Once the backlog is full, the kernel does not answer.
        let full: Vec<_> = (0..4)
            .map(|_| {
                let client = socket(at);
                client.set_nonblocking(true).expect("a mode");
                drop(client.connect(&at.into()));
                client
            })
            .collect();
        (listener, full)
    }

    #[test]
    fn silent_addresses_delay_the_next_for_a_moment() {
        let live = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let port = live.local_addr().expect("an address").port();
        let dead = [2, 3, 4].map(|last| Ipv4Addr::new(127, 0, 0, last));
        let _kept = dead.map(|address| silent(address, port));
        let mut addresses = dead.map(IpAddr::from).to_vec();
        let connect =
            |addresses: &[IpAddr], within| run(Upstream::connect((addresses, port), None, within, || Some(())));
        let timed_out = connect(&addresses, Duration::from_millis(300));
        assert!(matches!(timed_out, Err(Failure::Timeout)), "{timed_out:?}");
        addresses.push(Ipv4Addr::LOCALHOST.into());
        let began = Instant::now();
        let made = connect(&addresses, Duration::from_secs(60)).expect("a connection");
        assert_eq!(made.server, Some(Ipv4Addr::LOCALHOST.into()));
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn without_a_place_beside_it_a_silent_address_gives_way_after_its_part_of_the_time() {
        let live = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let port = live.local_addr().expect("an address").port();
        let dead = Ipv4Addr::new(127, 0, 0, 5);
        let _kept = silent(dead, port);
        let addresses = [dead.into(), Ipv4Addr::LOCALHOST.into()];
        let (began, within) = (Instant::now(), 16 * APART);
        let made = run(Upstream::connect((&addresses, port), None, within, || None::<()>)).expect("a connection");
        assert_eq!(made.server, Some(Ipv4Addr::LOCALHOST.into()));
        assert!(began.elapsed() >= within / 2, "{:?}", began.elapsed());
    }

    #[test]
    fn addresses_that_refuse_delay_nothing() {
        let live = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
        let port = live.local_addr().expect("an address").port();
        let refusing = Ipv4Addr::new(127, 0, 0, 2).into();
        let room_for_one = || None::<()>;
        let connect = |addresses: &[IpAddr]| {
            run(Upstream::connect((addresses, port), None, Duration::from_secs(60), room_for_one))
        };
        assert!(connect(&[refusing, refusing, Ipv4Addr::LOCALHOST.into()]).is_ok());
        let failed = connect(&[refusing, refusing]);
        assert!(matches!(&failed, Err(Failure::Error(error)) if error.kind() == io::ErrorKind::ConnectionRefused));
        assert!(matches!(connect(&[]), Err(Failure::Error(_))));
    }
}
