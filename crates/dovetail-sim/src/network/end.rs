//! One end of a TCP connection: an interface of its own with a single socket, so that a packet costs the same however
//! many connections a host has.

use dovetail_sched::{Nanos, flow::FiveTuple};
use smoltcp::{
    iface::{Config, Interface, SocketHandle, SocketSet},
    socket::tcp::{CongestionControl, Socket, SocketBuffer, State},
    time::{Duration, Instant},
    wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint, Ipv4Address},
};

use super::{Congestion, Transport, wire::Wire};

/// TCP and IP headers without options.
pub(super) const HEADERS_BYTES: u32 = 40;
/// IP's protocol number of TCP.
pub(super) const TCP: u8 = 6;

/// Where an end is, and the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) address: Ipv4Address,
    pub(super) port: u16,
}

impl Place {
    fn endpoint(self) -> IpEndpoint {
        IpEndpoint::new(IpAddress::Ipv4(self.address), self.port)
    }
}

/// What packets from one place to another say of themselves.
pub(super) fn five_tuple(protocol: u8, from: Place, to: Place) -> FiveTuple {
    FiveTuple {
        protocol,
        source: from.address.to_ipv6_mapped().octets(),
        destination: to.address.to_ipv6_mapped().octets(),
        source_port: from.port,
        destination_port: to.port,
    }
}

/// What an end does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Opens the connection and sends; so many bytes are still to be handed to the socket.
    Sender { left: u64 },
    /// Receives.
    Receiver,
}

/// One end of a connection.
pub(super) struct End {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    role: Role,
    // The first time for which a wake-up is on the agenda.
    woken_at: Nanos,
}

impl End {
    /// An end at `here`; `random` seeds its sequence numbers. A sender opens the connection in its first turn.
    pub(super) fn new(
        role: Role,
        here: Place,
        there: Place,
        transport: &Transport,
        random: u64,
        wire: &mut Wire,
        now: Nanos,
    ) -> Self {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = random;
        let mut interface = Interface::new(config, wire, instant(now));
        // Everybody is on one net, as far as the ends know: routers are the simulator's.
        interface.update_ip_addrs(|own| {
            let pushed = own.push(IpCidr::new(IpAddress::Ipv4(here.address), 0));
            debug_assert!(pushed.is_ok(), "there is room for one address");
        });
        // The end that receives needs room for segments only, and the one that sends for acknowledgements.
        let window = transport.window_bytes as usize;
        let (receive, send) = match role {
            Role::Sender { left } => (UNUSED_BYTES, window.min(usize::try_from(left).unwrap_or(window)).max(1)),
            Role::Receiver => (window, UNUSED_BYTES),
        };
        let mut socket = Socket::new(SocketBuffer::new(vec![0; receive]), SocketBuffer::new(vec![0; send]));
        socket.set_congestion_control(match transport.congestion {
            Congestion::Reno => CongestionControl::Reno,
            Congestion::Cubic => CongestionControl::Cubic,
        });
        socket.set_ack_delay(transport.delayed_ack.map(|delay| Duration::from_micros(delay.0 / 1000)));
        let opened = match role {
            Role::Sender { .. } => socket
                .connect(interface.context(), there.endpoint(), here.endpoint())
                .map_err(|error| error.to_string()),
            Role::Receiver => socket.listen(here.endpoint()).map_err(|error| error.to_string()),
        };
        debug_assert_eq!(opened, Ok(()), "a new socket with two ports can be opened");
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let socket = sockets.add(socket);
        Self { interface, sockets, socket, role, woken_at: Nanos::MAX }
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
        read
    }

    /// The application's part.
    fn apply(&mut self) -> u64 {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        match &mut self.role {
            Role::Sender { left } => {
                while *left > 0 && socket.can_send() {
                    // The contents do not matter: what is in the buffer is sent.
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    let sent = socket.send(|room| {
                        let bytes = room.len().min(most);
                        (bytes, bytes)
                    });
                    *left -= sent.unwrap_or(0) as u64;
                }
                // Closing with data to send would make smoltcp cut segments at the congestion window.
                if *left == 0 && socket.may_send() && socket.send_queue() == 0 && socket.state() != State::SynSent {
                    socket.close();
                }
                0
            }
            Role::Receiver => {
                let mut read = 0;
                while socket.can_recv() {
                    read += socket.recv(|data| (data.len(), data.len())).unwrap_or(0) as u64;
                }
                if socket.state() == State::CloseWait {
                    socket.close();
                }
                read
            }
        }
    }

    /// The application has no more to write; the connection ends when what the socket holds is acknowledged.
    pub(super) fn writes_no_more(&mut self) {
        if let Role::Sender { left } = &mut self.role {
            *left = 0;
        }
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
const UNUSED_BYTES: usize = 64;

/// smoltcp's clock has whole microseconds.
fn instant(now: Nanos) -> Instant {
    Instant::from_micros(i64::try_from(now.0 / 1000).unwrap_or(i64::MAX))
}
