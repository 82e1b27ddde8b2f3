//! One end of a TCP connection: an interface of its own with a single socket, so that a packet costs the same however
//! many connections a host has.

use std::net::SocketAddrV4;

use dovetail_sched::Nanos;
use smoltcp::{
    iface::{Config, Interface, SocketHandle, SocketSet},
    socket::tcp::{CongestionControl, Socket, SocketBuffer, State},
    time::{Duration, Instant},
    wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint},
};

use super::{
    spec::{Congestion, Transport},
    window::Window,
    wire::Wire,
};

/// What the application at an end is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Application {
    /// Bytes that are still to be handed to the socket.
    pub(super) to_send: u64,
    /// Bytes that may still be read.
    pub(super) to_read: u64,
    /// Whether it closes when all is sent and acknowledged.
    pub(super) closes: bool,
}

/// What an end has and does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Party {
    /// Room for what is received and what is to be sent.
    pub(super) receive_bytes: usize,
    pub(super) send_bytes: usize,
    pub(super) application: Application,
}

/// One end of a connection.
pub(super) struct End {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    pub(super) application: Application,
    receive_bytes: usize,
    // How far the window that is told may reach, where that is less than there is room for.
    window: Option<Window>,
    // The first time for which a wake-up is on the agenda.
    woken_at: Nanos,
}

impl End {
    /// An end at the first place; `random` seeds its sequence numbers. One that `opens` opens the connection in its first
    /// turn, the other waits for it.
    pub(super) fn new(
        opens: bool,
        party: &Party,
        [here, there]: [SocketAddrV4; 2],
        random: u64,
        transport: &Transport,
        wire: &mut Wire,
        now: Nanos,
    ) -> Self {
        let Party { receive_bytes, send_bytes, application } = *party;
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = random;
        let mut interface = Interface::new(config, wire, instant(now));
        // Everybody is on one net, as far as the ends know: routers are the simulator's.
        interface.update_ip_addrs(|own| {
            let pushed = own.push(IpCidr::new(IpAddress::Ipv4(*here.ip()), 0));
            debug_assert!(pushed.is_ok(), "there is room for one address");
        });
        let mut socket = Socket::new(SocketBuffer::new(vec![0; receive_bytes]), SocketBuffer::new(vec![0; send_bytes]));
        socket.set_congestion_control(match transport.congestion {
            Congestion::Reno => CongestionControl::Reno,
            Congestion::Cubic => CongestionControl::Cubic,
        });
        socket.set_ack_delay(transport.delayed_ack.map(|delay| Duration::from_micros(delay.0 / 1000)));
        let opened = if opens {
            let opened = socket.connect(interface.context(), endpoint(there), endpoint(here));
            opened.map_err(|error| error.to_string())
        } else {
            socket.listen(endpoint(here)).map_err(|error| error.to_string())
        };
        debug_assert_eq!(opened, Ok(()), "a new socket with two ports can be opened");
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let socket = sockets.add(socket);
        Self { interface, sockets, socket, application, receive_bytes, window: None, woken_at: Nanos::MAX }
    }

    /// Lets the other end send up to this byte of its stream and no further; never less than before.
    pub(super) fn reach(&mut self, edge: u64) {
        self.window.get_or_insert_with(|| Window::new(self.receive_bytes)).reach(edge);
    }

    /// The furthest byte of its stream that the other end was ever let send by [`reach`](Self::reach).
    pub(super) fn edge(&self) -> u64 {
        self.window.as_ref().map_or(0, Window::edge)
    }

    /// Takes what arrived on the wire, lets the application read and write, and puts on the wire what is to be sent at
    /// `now`. The bytes that the application read.
    pub(super) fn turn(&mut self, wire: &mut Wire, now: Nanos) -> u64 {
        let now = instant(now);
        self.interface.poll_ingress_single(now, wire, &mut self.sockets);
        // Before anything is sent: an acknowledgement should state the window as the application leaves it, or the next
        // duplicate would look like news of the window and not be counted.
        let read = self.apply();
        while self.interface.poll_egress(now, wire, &mut self.sockets) != smoltcp::iface::PollResult::None {}
        if let Some(window) = &mut self.window {
            window.narrow(wire);
        }
        read
    }

    /// The application's part.
    fn apply(&mut self) -> u64 {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        let Application { to_send, to_read, closes } = &mut self.application;
        while *to_send > 0 && socket.can_send() {
            // The contents do not matter: what is in the buffer is sent.
            let most = usize::try_from(*to_send).unwrap_or(usize::MAX);
            let sent = socket.send(|room| {
                let bytes = room.len().min(most);
                (bytes, bytes)
            });
            *to_send -= sent.unwrap_or(0) as u64;
        }
        let mut read = 0;
        while *to_read > 0 && socket.can_recv() {
            let most = usize::try_from(*to_read).unwrap_or(usize::MAX);
            let bytes = socket.recv(|data| (data.len().min(most), data.len().min(most))).unwrap_or(0) as u64;
            *to_read -= if *to_read == u64::MAX { 0 } else { bytes };
            read += bytes;
        }
        // Closing with data to send would make smoltcp cut segments at the congestion window.
        let all_sent = *to_send == 0 && socket.may_send() && socket.send_queue() == 0;
        if *closes && all_sent && socket.state() != State::SynSent || socket.state() == State::CloseWait {
            socket.close();
        }
        read
    }

    /// Sends every segment at once, however small: no Nagle's algorithm.
    pub(super) fn sends_at_once(&mut self) {
        self.sockets.get_mut::<Socket<'_>>(self.socket).set_nagle_enabled(false);
    }

    /// Whether something waits to be read.
    pub(super) fn is_readable(&self) -> bool {
        self.sockets.get::<Socket<'_>>(self.socket).can_recv()
    }

    /// The application has no more to write; the connection ends when what the socket holds is acknowledged.
    pub(super) fn writes_no_more(&mut self) {
        self.application.to_send = 0;
        self.application.closes = true;
    }

    /// Breaks the connection off; the other end learns it in the next turn.
    pub(super) fn abort(&mut self) {
        self.sockets.get_mut::<Socket<'_>>(self.socket).abort();
    }

    /// When it wants its next turn, if that is to be put on the agenda: `None` where an earlier one is on it.
    pub(super) fn wake_at(&mut self, now: Nanos) -> Option<Nanos> {
        let at = self.interface.poll_at(instant(now), &self.sockets)?;
        let at = Nanos::from_micros(u64::try_from(at.total_micros()).unwrap_or(0)).max(now + Nanos(1000));
        (at < self.woken_at).then(|| {
            self.woken_at = at;
            at
        })
    }

    /// The wake-up for `now` has come; false if it was for a time that is no longer the first.
    pub(super) fn woken(&mut self, now: Nanos) -> bool {
        let due = self.woken_at == now;
        if due {
            self.woken_at = Nanos::MAX;
        }
        due
    }

    /// Whether the connection is closed and forgotten on this end.
    pub(super) fn is_closed(&self) -> bool {
        self.sockets.get::<Socket<'_>>(self.socket).state() == State::Closed
    }
}

/// Room in a buffer that stays empty.
pub(super) const UNUSED_BYTES: usize = 64;

fn endpoint(socket: SocketAddrV4) -> IpEndpoint {
    IpEndpoint::new(IpAddress::Ipv4(*socket.ip()), socket.port())
}

/// smoltcp's clock has whole microseconds.
fn instant(now: Nanos) -> Instant {
    Instant::from_micros(i64::try_from(now.0 / 1000).unwrap_or(i64::MAX))
}
