//! TCP connections that are open.

use std::ops::{Index, IndexMut};

use dovetail_sched::{Nanos, flow::FiveTuple};
use slab::Slab;

use super::{
    addresses::{Addresses, SERVICE, port},
    check::MOST_OPEN,
    end::{End, Party},
    error::NetworkError,
    headers::{TCP, five_tuple},
    packets::{EndId, Of, Side},
    transport::Transport,
};

/// A TCP connection.
pub(super) struct Connection<P> {
    made: u64,
    pub(super) traffic: usize,
    pub(super) of: Of<P>,
    /// When nothing more is sent.
    pub(super) stop: Nanos,
    /// Whether to count what its opener's segments carry.
    pub(super) counts_sent: bool,
    pub(super) opener: Connected,
    pub(super) listener: Connected,
}

/// An end of a connection, and what the network knows of it.
pub(super) struct Connected {
    pub(super) end: End,
    pub(super) node: usize,
    /// What the packets that it sends say of themselves.
    pub(super) tuple: FiveTuple,
}

impl<P> Connection<P> {
    pub(super) fn side(&mut self, side: Side) -> &mut Connected {
        match side {
            Side::Opener => &mut self.opener,
            Side::Listener => &mut self.listener,
        }
    }
}

/// A connection that is to be opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening<P> {
    /// The nodes that open it and listen.
    pub(super) nodes: [usize; 2],
    /// What they have and do.
    pub(super) parties: [Party; 2],
    /// Of the ends' first sequence numbers.
    pub(super) seeds: [u64; 2],
    pub(super) traffic: usize,
    pub(super) of: Of<P>,
    pub(super) stop: Nanos,
}

/// All connections that are open.
pub(super) struct Connections<P> {
    open: Slab<Connection<P>>,
    made: u64,
}

impl<P: Copy> Connections<P> {
    pub(super) fn new() -> Self {
        Self { open: Slab::new(), made: 0 }
    }

    /// A new connection, and its opener, whose first turn opens it.
    pub(super) fn open(
        &mut self,
        opening: &Opening<P>,
        transport: &Transport,
        addresses: &mut Addresses,
        now: Nanos,
    ) -> Result<EndId, NetworkError> {
        if self.open.len() >= MOST_OPEN {
            return Err(NetworkError::Network(format!(
                "at {now} over {MOST_OPEN} connections are open at once: lower the load, or the number of transfers"
            )));
        }
        let Opening { nodes: [from, to], parties: [opener, listener], seeds, traffic, of, stop } = opening;
        let (here, there) = (addresses.dynamic(*from), port(*to, SERVICE));
        let opener = End::new(true, opener, seeds[0] as u32, transport);
        let listener = End::new(false, listener, seeds[1] as u32, transport);
        let made = self.made;
        self.made += 1;
        let place = self.open.insert(Connection {
            made,
            traffic: *traffic,
            of: *of,
            stop: *stop,
            counts_sent: false,
            opener: Connected { end: opener, node: *from, tuple: five_tuple(TCP, [here, there]) },
            listener: Connected { end: listener, node: *to, tuple: five_tuple(TCP, [there, here]) },
        });
        Ok(EndId { place, made, side: Side::Opener })
    }

    /// A connection's end, if the connection is still there.
    pub(super) fn end(&mut self, id: EndId) -> Option<&mut Connected> {
        let connection = self.open.get_mut(id.place).filter(|connection| connection.made == id.made)?;
        Some(connection.side(id.side))
    }

    pub(super) fn remove(&mut self, id: EndId) {
        self.open.remove(id.place);
    }
}

/// The connection of an end that is known to be there.
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
