//! Traffic between hosts: transfers, unlimited connections, datagrams, and interactive sessions.

use std::net::SocketAddrV4;

use dovetail_sched::Nanos;

use super::{
    addresses::{SERVICE, port},
    agenda::Event,
    connections::Opening,
    error::NetworkError,
    net::{Net, Turned},
    outcome::{Stream, Transfer},
    packets::{EndId, Of, Side},
    party::{Application, Party},
    sessions::Session,
    sources::{Act, Source},
    spec::{Interactive, Kind, Network},
    watch::Watch,
};

/// All traffic between hosts.
pub(super) struct Hosts {
    sources: Vec<Source>,
    // UDP state, for each traffic that sends UDP.
    datagrams: Vec<Option<Udp>>,
    // The session, for each interactive traffic once it is open.
    sessions: Vec<Option<Session>>,
    transfers: Vec<Transfer>,
    // Bytes that each transfer's receiver has not received yet.
    missing: Vec<u64>,
    streams: Vec<Stream>,
    /// Transfers that have not begun or not ended.
    pub(super) pending: u64,
}

/// UDP traffic in flight: its stream, and the source and destination of its packets.
#[derive(Debug, Clone, Copy)]
struct Udp {
    stream: usize,
    nodes: [usize; 2],
    sockets: [SocketAddrV4; 2],
}

impl Hosts {
    /// Schedules the first action of each traffic.
    pub(super) fn begin<E: Copy, P: Copy>(net: &mut Net<'_, E, P>) -> Self {
        let spec = net.spec;
        let watched = spec.links[spec.watched].rate;
        let source = |(at, traffic)| Source::new(traffic, at, spec.seed, &spec.transport, watched);
        let mut hosts = Self {
            sources: spec.traffic.iter().enumerate().map(source).collect(),
            datagrams: Vec::new(),
            sessions: spec.traffic.iter().map(|_| None).collect(),
            transfers: Vec::new(),
            missing: Vec::new(),
            streams: Vec::new(),
            pending: spec.transfers(),
        };
        for (at, traffic) in spec.traffic.iter().enumerate() {
            if matches!(traffic.kind, Kind::Requests(_)) {
                hosts.datagrams.push(None);
                continue;
            }
            net.agenda.add(traffic.start, Event::Traffic { at });
            let udp = matches!(traffic.kind, Kind::Datagrams(_)).then(|| hosts.udp(at, net));
            hosts.datagrams.push(udp);
        }
        hosts
    }

    fn udp<E: Copy, P: Copy>(&mut self, traffic: usize, net: &mut Net<'_, E, P>) -> Udp {
        let nodes = self.nodes(traffic, net.spec);
        let sockets = [net.addresses.dynamic(nodes[0]), port(nodes[1], SERVICE)];
        Udp { stream: self.stream(traffic), nodes, sockets }
    }

    fn nodes(&mut self, traffic: usize, spec: &Network) -> [usize; 2] {
        self.sources[traffic].places(&spec.traffic[traffic]).into()
    }

    fn stream(&mut self, traffic: usize) -> usize {
        self.streams.push(Stream { traffic, ..Stream::default() });
        self.streams.len() - 1
    }

    /// Performs a traffic's next action.
    pub(super) fn act<E: Copy, P: Copy>(&mut self, at: usize, net: &mut Net<'_, E, P>) -> Result<(), NetworkError> {
        let now = net.now;
        let stop = net.spec.traffic[at].stop;
        if now >= stop {
            // Transfers that would begin only now never do.
            self.pending -= u64::from(self.sources[at].transfers_left());
            return Ok(());
        }
        let (act, again) = self.sources[at].act(now);
        if let Some(again) = again {
            // Transfers that will never begin are not waited for.
            let again = if self.sources[at].transfers_left() > 0 { again.min(stop) } else { again };
            net.agenda.add(again, Event::Traffic { at });
        }
        match act {
            Act::Nothing => Ok(()),
            Act::Datagram(bytes) => self.datagram(at, bytes, net),
            Act::Session => match net.spec.traffic[at].kind {
                Kind::Interactive(what) => self.begin_session(at, what, net),
                _ => Ok(()),
            },
            Act::Keystroke => {
                let typed = self.sessions[at].as_mut().map(|session| (session.user, session.types(now)));
                let Some((user, bytes)) = typed.filter(|&(_, bytes)| bytes > 0) else { return Ok(()) };
                self.write(user, bytes, net)
            }
            Act::Transfer(bytes) => {
                let of = Of::Transfer(self.transfers.len());
                let begun = now;
                self.transfers.push(Transfer { traffic: at, bytes, begun, ended: None, packets: 0, dropped: 0 });
                self.missing.push(bytes);
                net.watch.begins(self.missing.len() - 1, at, now);
                self.connect(at, of, bytes, Nanos::MAX, net)
            }
            Act::LongLived => {
                let of = Of::Stream(self.stream(at));
                self.connect(at, of, u64::MAX, stop, net)
            }
        }
    }

    /// Opens a connection for `bytes` bytes.
    fn connect<E: Copy, P: Copy>(
        &mut self,
        traffic: usize,
        of: Of<P>,
        bytes: u64,
        stop: Nanos,
        net: &mut Net<'_, E, P>,
    ) -> Result<(), NetworkError> {
        let nodes = self.nodes(traffic, net.spec);
        let source = &mut self.sources[traffic];
        let seeds = [source.seed(), source.seed()];
        let window = net.spec.transport.tcp.receive_bytes;
        let (receive_bytes, send_bytes) = (window, u64::from(window));
        let opener = Party {
            receive_bytes,
            send_bytes,
            application: Application { to_send: bytes, to_read: u64::MAX, closes: true },
        };
        let listener = Party {
            receive_bytes,
            send_bytes,
            application: Application { to_send: 0, to_read: u64::MAX, closes: false },
        };
        let id = net.open(&Opening { nodes, parties: [opener, listener], seeds, traffic, of, stop })?;
        self.turn(id, net)
    }

    /// Opens the connection of an interactive session, which stays open.
    fn begin_session<E: Copy, P: Copy>(
        &mut self,
        traffic: usize,
        what: Interactive,
        net: &mut Net<'_, E, P>,
    ) -> Result<(), NetworkError> {
        let nodes = self.nodes(traffic, net.spec);
        let source = &mut self.sources[traffic];
        let seeds = [source.seed(), source.seed()];
        let room = net.spec.transport.tcp.receive_bytes;
        let application = Application { to_send: 0, to_read: u64::MAX, closes: false };
        let party = Party { receive_bytes: room, send_bytes: room.into(), application };
        let of = Of::Stream(self.stream(traffic));
        let user = net.open(&Opening { nodes, parties: [party; 2], seeds, traffic, of, stop: Nanos::MAX })?;
        let connection = &mut net.connections[user];
        connection.opener.end.sends_at_once();
        connection.listener.end.sends_at_once();
        self.sessions[traffic] = Some(Session::new(user, what));
        self.turn(user, net)
    }

    /// The application at an end writes `bytes` more bytes.
    fn write<E: Copy, P: Copy>(&mut self, id: EndId, bytes: u64, net: &mut Net<'_, E, P>) -> Result<(), NetworkError> {
        let Some(connected) = net.connections.end(id) else { return Ok(()) };
        connected.end.application.to_send += bytes;
        self.turn(id, net)
    }

    fn turn<E: Copy, P: Copy>(&mut self, id: EndId, net: &mut Net<'_, E, P>) -> Result<(), NetworkError> {
        match net.turn(id)? {
            Some(turned) => self.turned(id, &turned, net),
            None => Ok(()),
        }
    }

    /// A connection's end had its turn, in which its application may have read.
    pub(super) fn turned<E: Copy, P: Copy>(
        &mut self,
        id: EndId,
        turned: &Turned<P>,
        net: &mut Net<'_, E, P>,
    ) -> Result<(), NetworkError> {
        let Turned { of, read, .. } = *turned;
        let session = match of {
            Of::Stream(at) if read > 0 => self.sessions[self.streams[at].traffic].as_mut(),
            _ => None,
        };
        let echo = match (session, id.side) {
            (Some(session), Side::Opener) => {
                session.user_read(read, net.now);
                return Ok(());
            }
            (Some(session), Side::Listener) => session.host_read(read),
            (None, _) => 0,
        };
        self.received(of, read, net);
        if echo > 0 { self.write(id, echo, net) } else { Ok(()) }
    }

    fn datagram<E: Copy, P: Copy>(
        &mut self,
        traffic: usize,
        bytes: u32,
        net: &mut Net<'_, E, P>,
    ) -> Result<(), NetworkError> {
        let Some(Udp { stream, nodes, sockets: [here, there] }) = self.datagrams[traffic] else { return Ok(()) };
        let here = if self.sources[traffic].is_flow_each() { net.addresses.forged() } else { here };
        net.send_alone(nodes, [here, there], bytes, Of::Stream(stream), traffic)
    }

    /// A receiver received this many bytes.
    pub(super) fn received<E: Copy, P: Copy>(&mut self, of: Of<P>, bytes: u64, net: &mut Net<'_, E, P>) {
        let now = net.now;
        match of {
            Of::Transfer(at) if bytes > 0 => {
                self.missing[at] -= bytes;
                if self.missing[at] == 0 {
                    self.transfers[at].ended = Some(now);
                    net.watch.ends(at, now);
                    self.pending -= 1;
                }
            }
            Of::Stream(at) if bytes > 0 => self.streams[at].received(bytes, now),
            Of::Transfer(_) | Of::Stream(_) | Of::Access(_) => {}
        }
    }

    /// The results of transfers and streams.
    pub(super) fn finish(mut self, watch: &Watch<'_>, run_ended: Nanos) -> (Vec<Transfer>, Vec<Stream>) {
        for (at, transfer) in self.transfers.iter_mut().enumerate() {
            let tally = watch.of_transfer(at);
            (transfer.packets, transfer.dropped) = (tally.packets, tally.dropped);
        }
        for (at, stream) in self.streams.iter_mut().enumerate() {
            let (tally, at_link) = watch.of_stream(at);
            (stream.packets, stream.dropped, stream.at_link) = (tally.packets, tally.dropped, at_link);
            stream.echoes = self.sessions[stream.traffic].take().map(|session| session.finish(run_ended));
        }
        (self.transfers, self.streams)
    }
}
