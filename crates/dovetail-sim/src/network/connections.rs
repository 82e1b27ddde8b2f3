//! Open connections.

use std::ops::{Index, IndexMut};

use dovetail_sched::{Nanos, flow::FiveTuple};
use slab::Slab;

use super::{
    addresses::{Addresses, port},
    check::{MAX_OPEN, MAX_OPEN_QUIC},
    end::{End, Maker, Place},
    error::NetworkError,
    headers::five_tuple,
    packets::{EndId, Of, Side},
    party::Party,
    transport::{Protocol, Transport},
};

/// A connection.
pub(super) struct Connection<P> {
    made: u64,
    pub(super) traffic: usize,
    pub(super) of: Of<P>,
    /// When sending stops.
    pub(super) stop: Nanos,
    /// Whether to count the payload of its opener's segments.
    pub(super) counts_sent: bool,
    pub(super) opener: Connected,
    pub(super) listener: Connected,
}

/// An end of a connection, and the network's state for it.
pub(super) struct Connected {
    pub(super) end: End,
    pub(super) node: usize,
    /// Addresses and ports of the packets that it sends.
    pub(super) tuple: FiveTuple,
    /// When the last packet it sent leaves its host, if packets are delayed there.
    pub(super) leaves: Nanos,
}

impl<P> Connection<P> {
    pub(super) fn side(&mut self, side: Side) -> &mut Connected {
        match side {
            Side::Opener => &mut self.opener,
            Side::Listener => &mut self.listener,
        }
    }
}

/// A connection to be opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening<P> {
    /// The nodes that open it and listen.
    pub(super) nodes: [usize; 2],
    /// The parties at both ends.
    pub(super) parties: [Party; 2],
    /// Random seeds of the ends, for TCP's initial sequence numbers among others.
    pub(super) seeds: [u64; 2],
    pub(super) traffic: usize,
    pub(super) of: Of<P>,
    pub(super) stop: Nanos,
}

/// All open connections.
pub(super) struct Connections<P> {
    open: Slab<Connection<P>>,
    made: u64,
    maker: Maker,
    most_open: usize,
}

impl<P: Copy> Connections<P> {
    pub(super) fn new(transport: &Transport) -> Result<Self, NetworkError> {
        let most_open = match transport.protocol {
            Protocol::Tcp => MAX_OPEN,
            Protocol::Quic => MAX_OPEN_QUIC,
        };
        let maker = Maker::new(transport).ok_or(NetworkError::LeftOutQuic)?;
        Ok(Self { open: Slab::new(), made: 0, maker, most_open })
    }

    /// Opens a connection; returns its opener, whose first turn sends the opening packet.
    pub(super) fn open(
        &mut self,
        opening: &Opening<P>,
        addresses: &mut Addresses,
        now: Nanos,
    ) -> Result<EndId, NetworkError> {
        if self.open.len() >= self.most_open {
            let most = self.most_open;
            return Err(NetworkError::Network(format!(
                "at {now} over {most} connections are open at once: lower the load, or the number of transfers"
            )));
        }
        let Opening { nodes: [from, to], parties: [opener, listener], seeds, traffic, of, stop } = opening;
        let (protocol, service) = self.maker.names();
        let (here, there) = (addresses.dynamic(*from), port(*to, service));
        let opens = Place { opens: true, sockets: [here, there], seed: seeds[0] };
        let listens = Place { opens: false, sockets: [there, here], seed: seeds[1] };
        let (opener, listener) = (self.maker.end(opener, opens, now), self.maker.end(listener, listens, now));
        let made = self.made;
        self.made += 1;
        let place = self.open.insert(Connection {
            made,
            traffic: *traffic,
            of: *of,
            stop: *stop,
            counts_sent: false,
            opener: Connected { end: opener, node: *from, tuple: five_tuple(protocol, [here, there]), leaves: now },
            listener: Connected { end: listener, node: *to, tuple: five_tuple(protocol, [there, here]), leaves: now },
        });
        Ok(EndId { place, made, side: Side::Opener })
    }

    /// A connection's end, if the connection still exists.
    pub(super) fn end(&mut self, id: EndId) -> Option<&mut Connected> {
        let connection = self.open.get_mut(id.place).filter(|connection| connection.made == id.made)?;
        Some(connection.side(id.side))
    }

    pub(super) fn remove(&mut self, id: EndId) {
        self.open.remove(id.place);
    }
}

/// The connection of an end that is known to exist.
impl<P> Index<EndId> for Connections<P> {
    type Output = Connection<P>;

    fn index(&self, id: EndId) -> &Connection<P> {
        &self.open[id.place]
    }
}

impl<P> IndexMut<EndId> for Connections<P> {
    fn index_mut(&mut self, id: EndId) -> &mut Connection<P> {
        &mut self.open[id.place]
    }
}
