//! One end of a QUIC connection: an endpoint with one connection, with one stream from the opener to the listener.

use std::net::{SocketAddr, SocketAddrV4};

use bytes::{Bytes, BytesMut};
use dovetail_sched::Nanos;
use quinn_proto::{
    Connection, ConnectionEvent, ConnectionHandle, DatagramEvent, Dir, Endpoint, Event, StreamEvent, StreamId, VarInt,
};

use super::{clock::Clock, settings::Settings};
use crate::network::party::Application;

/// Server name that openers request; listeners ignore it.
const NAME: &str = "host";

/// One end of a connection.
pub(in crate::network) struct End {
    endpoint: Endpoint,
    // `None` on a listener before the first packet.
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    opens: bool,
    stream: Option<StreamId>,
    // Whether nothing more is written to the stream, and whether all of it is acknowledged.
    has_finished: bool,
    is_acknowledged: bool,
    zeros: Bytes,
    leaving: Vec<u8>,
    clock: Clock,
}

impl End {
    /// An end between these sockets, its own first; if `opens`, it begins in its first turn. `seed` determines all of its
    /// random choices.
    pub(in crate::network) fn new(
        opens: bool,
        settings: &Settings,
        [_, there]: [SocketAddrV4; 2],
        seed: u64,
        now: Nanos,
    ) -> Box<Self> {
        let (clock, peer) = (settings.clock(), SocketAddr::V4(there));
        let server = (!opens).then(|| settings.server());
        let mut endpoint = Endpoint::new(settings.endpoint(seed), server, true, None);
        let begin = |endpoint: &mut Endpoint| endpoint.connect(clock.at(now), settings.client(), peer, NAME).ok();
        let connection = if opens { begin(&mut endpoint) } else { None };
        Box::new(Self {
            endpoint,
            connection,
            peer,
            opens,
            stream: None,
            has_finished: false,
            is_acknowledged: false,
            zeros: settings.zeros(),
            leaving: Vec::new(),
            clock,
        })
    }

    /// A packet arrived; the end's turn follows.
    pub(in crate::network) fn receive(&mut self, payload: BytesMut, now: Nanos) {
        let now = self.clock.at(now);
        self.leaving.clear();
        match self.endpoint.handle(now, self.peer, None, None, payload, &mut self.leaving) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.handle(event),
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                self.leaving.clear();
                self.connection = self.endpoint.accept(incoming, now, &mut self.leaving, None).ok();
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            // Resets and refusals of packets that none of its connections sent: strays.
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    fn handle(&mut self, event: ConnectionEvent) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_event(event);
        }
    }

    /// Lets the application read and write; returns the number of bytes read. Then call [`next`](Self::next) for packets to
    /// send.
    pub(in crate::network) fn apply(&mut self, application: &mut Application, now: Nanos) -> u64 {
        let now = self.clock.at(now);
        let Some((_, connection)) = &mut self.connection else { return 0 };
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        self.tell_endpoint();
        self.hear();
        self.write(application);
        let read = self.read(application);
        let Some((_, connection)) = &mut self.connection else { return 0 };
        if self.is_acknowledged && !connection.is_closed() {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
        }
        self.tell_endpoint();
        read
    }

    /// Passes events about connection ids between endpoint and connection.
    fn tell_endpoint(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
    }

    /// Processes the connection's events.
    fn hear(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.opens => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir }) => self.stream = connection.streams().accept(dir),
                Event::Stream(StreamEvent::Finished { .. }) => self.is_acknowledged = true,
                _ => {}
            }
        }
    }

    fn write(&mut self, application: &mut Application) {
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream) else { return };
        if !self.opens || self.has_finished {
            return;
        }
        let mut stream = connection.send_stream(stream);
        while application.to_send > 0 {
            let bytes = usize::try_from(application.to_send).unwrap_or(usize::MAX).min(self.zeros.len());
            match stream.write_chunks(&mut [self.zeros.slice(..bytes)]) {
                Ok(written) if written.bytes > 0 => application.to_send -= written.bytes as u64,
                // Blocked, or the connection is over.
                _ => return,
            }
        }
        if application.closes {
            self.has_finished = stream.finish().is_ok();
        }
    }

    fn read(&mut self, application: &mut Application) -> u64 {
        let (Some((_, connection)), Some(id)) = (&mut self.connection, self.stream) else { return 0 };
        if self.opens || self.has_finished {
            return 0;
        }
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return 0 };
        let mut read = 0;
        while read < application.to_read {
            match chunks.next(usize::try_from(application.to_read - read).unwrap_or(usize::MAX)) {
                Ok(Some(chunk)) => read += chunk.bytes.len() as u64,
                Ok(None) => {
                    self.has_finished = true;
                    break;
                }
                Err(_) => break,
            }
        }
        // Packets that this calls for are sent in this turn anyway.
        let _ = chunks.finalize();
        application.has_read(read);
        read
    }

    /// The next packet to send.
    pub(in crate::network) fn next(&mut self, now: Nanos) -> Option<BytesMut> {
        let (_, connection) = self.connection.as_mut()?;
        self.leaving.clear();
        let packet = connection.poll_transmit(self.clock.at(now), 1, &mut self.leaving)?;
        Some(BytesMut::from(&self.leaving[..packet.size]))
    }

    /// When it needs its next turn.
    pub(in crate::network) fn poll_at(&mut self) -> Option<Nanos> {
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_timeout().map(|due| self.clock.time_of(due))
    }

    /// Whether the connection is closed at this end.
    pub(in crate::network) fn is_closed(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.is_drained())
    }

    /// Whether this end no longer needs the other: it is closed, or only waits for stray packets.
    pub(in crate::network) fn is_content(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.is_closed())
    }
}
