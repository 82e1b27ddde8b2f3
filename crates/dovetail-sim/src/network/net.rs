//! A running network: time, scheduled events, links, connections, and packets in flight.
//!
//! This is what any model of a network needs, independent of the senders: they learn the fate of their packets and the
//! results of their connections' turns from return values. `E` are the events of a model of users' access, and `P` is what
//! its packets belong to.

use std::{mem, net::SocketAddrV4};

use dovetail_sched::{Nanos, Packet, PolicySpec};

use super::{
    addresses::Addresses,
    agenda::{Agenda, Event},
    connections::{Connections, Opening},
    end::Leaving,
    error::NetworkError,
    headers::{UDP, five_tuple, flow_label},
    packets::{Body, Datagram, EndId, Of, Packets, Side},
    queue::{Queue, Tells},
    routes::Routes,
    spec::{Link, Network},
    transport::UDP_HEADERS_BYTES,
    watch::Watch,
};
use crate::{Profile, workload::mix};

/// Separates the random numbers of jitter from those of sources with the same seed: any number.
const JITTER: u64 = 0x6a69_7474_6572;

/// A running network.
pub(super) struct Net<'a, E, P> {
    pub(super) spec: &'a Network,
    pub(super) now: Nanos,
    pub(super) agenda: Agenda<E>,
    pub(super) addresses: Addresses,
    pub(super) connections: Connections<P>,
    pub(super) watch: Watch<'a>,
    /// Packets of users' access that links dropped and that have not been reported yet.
    pub(super) lost: Vec<P>,
    routes: Routes,
    queues: Vec<Queue>,
    // Links that may start to send now.
    asked: Vec<usize>,
    packets: Packets<P>,
    // Number of packets delayed in their hosts.
    delayed: u64,
}

/// The result of a turn of a connection's end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turned<P> {
    pub(super) of: Of<P>,
    /// Bytes read by the application.
    pub(super) read: u64,
    /// Payload of the TCP segments sent, including retransmissions, if counted.
    pub(super) sent: u64,
}

/// A packet that reached its destination.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arrival<P> {
    /// This end has received it, and its turn is due.
    Segment(EndId),
    /// It belongs to no connection.
    Alone { of: Of<P>, bytes: u64 },
}

impl<'a, E: Copy, P: Copy> Net<'a, E, P> {
    /// `policy` is in front of the watched link. Links in `by_traffic` distinguish packets by traffic.
    pub(super) fn new(
        spec: &'a Network,
        policy: &PolicySpec,
        by_traffic: &[usize],
        watch: Watch<'a>,
    ) -> Result<Self, NetworkError> {
        let queue = |(at, link): (usize, &Link)| {
            let watched = at == spec.watched;
            let policy = if watched { policy } else { &link.policy };
            let tells = match by_traffic.contains(&at) {
                true => Tells::Traffic,
                false if watched => Tells::Flows,
                false => Tells::AsNeeded,
            };
            Queue::new(link, policy, tells, spec.hash_key())
        };
        Ok(Self {
            spec,
            now: Nanos::ZERO,
            agenda: Agenda::new(),
            addresses: Addresses::new(spec.nodes.len()),
            connections: Connections::new(&spec.transport)?,
            watch,
            lost: Vec::new(),
            routes: Routes::new(spec.nodes.len(), &spec.links),
            queues: spec.links.iter().enumerate().map(queue).collect::<Result<_, _>>()?,
            asked: Vec::new(),
            packets: Packets::new(),
            delayed: 0,
        })
    }

    /// The watched link's queue.
    pub(super) fn watched(&self) -> &Queue {
        &self.queues[self.spec.watched]
    }

    /// Opens a connection; returns its opener, whose first turn sends the opening packet.
    pub(super) fn open(&mut self, opening: &Opening<P>) -> Result<EndId, NetworkError> {
        self.connections.open(opening, &mut self.addresses, self.now)
    }

    /// An end's wake-up has occurred; false if an earlier one has replaced it.
    pub(super) fn is_woken(&mut self, id: EndId) -> bool {
        let now = self.now;
        self.connections.end(id).is_some_and(|connected| connected.end.woken(now))
    }

    /// Gives an end and its application a turn, and sends the resulting packets. `None` if the connection is over.
    pub(super) fn turn(&mut self, id: EndId) -> Result<Option<Turned<P>>, NetworkError> {
        let connection = &mut self.connections[id];
        let (traffic, of) = (connection.traffic, connection.of);
        let (is_stopped, counts_sent) = (self.now >= connection.stop, connection.counts_sent);
        let to = connection.side(id.side.other()).node;
        let connected = connection.side(id.side);
        if is_stopped {
            connected.end.writes_no_more();
        }
        let (from, tuple) = (connected.node, connected.tuple);
        let read = connected.end.apply(self.now);
        let taker = Some(EndId { side: id.side.other(), ..id });
        let mut sent = 0;
        while let Some(leaving) = self.connections[id].side(id.side).end.next(self.now) {
            let Leaving { body, bytes, payload_bytes } = leaving;
            if counts_sent && id.side == Side::Opener {
                sent += u64::from(payload_bytes);
            }
            self.leave(id, from, Datagram { body, bytes, tuple, to, taker, traffic, of, number: 0 })?;
        }
        let connection = &mut self.connections[id];
        if let Some(at) = connection.side(id.side).end.wake_at(self.now) {
            if connection.side(id.side).end.is_stalled(at, self.now) {
                let why = "a QUIC connection stalled after losses, which its library does not recover from: make buffers longer";
                return Err(NetworkError::Network(format!("at {}: {why}", self.now)));
            }
            self.agenda.add(at, Event::Wake { end: id });
        }
        // The end that closed first would stay in TIME-WAIT; once neither end needs the other, no stray segment matters.
        let is_over = connection.opener.end.is_closed()
            || (connection.opener.end.is_content() && connection.listener.end.is_content());
        if is_over {
            self.connections.remove(id);
        }
        Ok((!is_over).then_some(Turned { of, read, sent }))
    }

    /// Sends a packet without a connection from one node to another.
    pub(super) fn send_alone(
        &mut self,
        [from, to]: [usize; 2],
        sockets: [SocketAddrV4; 2],
        bytes: u32,
        of: Of<P>,
        traffic: usize,
    ) -> Result<(), NetworkError> {
        let tuple = five_tuple(UDP, sockets);
        let bytes = bytes.max(UDP_HEADERS_BYTES);
        self.send(from, Datagram { body: Body::Udp, bytes, tuple, to, taker: None, traffic, of, number: 0 })
    }

    /// A connection's end has sent a packet, which leaves its host now or, with jitter, a little later.
    fn leave(&mut self, id: EndId, from: usize, datagram: Datagram<P>) -> Result<(), NetworkError> {
        let most = self.spec.transport.jitter;
        if most == Nanos::ZERO {
            return self.send(from, datagram);
        }
        self.delayed += 1;
        let drawn = mix(self.spec.seed ^ JITTER, self.delayed);
        let late = (u128::from(drawn) * u128::from(most.0 + 1)) >> 64;
        let leaves = &mut self.connections[id].side(id.side).leaves;
        *leaves = (self.now + Nanos(late as u64)).max(*leaves);
        let packet = self.packets.insert(datagram);
        self.agenda.add(*leaves, Event::Arrives { at: from, packet });
        Ok(())
    }

    fn send(&mut self, from: usize, datagram: Datagram<P>) -> Result<(), NetworkError> {
        let packet = self.packets.insert(datagram);
        self.pass_on(from, packet)
    }

    /// A packet arrived at a node; it is forwarded unless this is its destination.
    pub(super) fn arrive(&mut self, at: usize, packet: usize) -> Result<Option<Arrival<P>>, NetworkError> {
        if at != self.packets[packet].to {
            self.pass_on(at, packet)?;
            return Ok(None);
        }
        let Datagram { body, bytes, taker, of, .. } = self.packets.remove(packet);
        // A packet for a connection that no longer exists is a stray.
        let Some(end) = taker else { return Ok(Some(Arrival::Alone { of, bytes: bytes.into() })) };
        let Some(connected) = self.connections.end(end) else { return Ok(None) };
        connected.end.receive(body, self.now);
        Ok(Some(Arrival::Segment(end)))
    }

    fn pass_on(&mut self, at: usize, packet: usize) -> Result<(), NetworkError> {
        let to = self.packets[packet].to;
        let Some(link) = self.routes.next(at, to) else {
            let name = |node: usize| self.spec.nodes.get(node).map_or("?", |node| node.name.as_str());
            let why = format!("there is no path from '{}' to '{}': add a link", name(at), name(to));
            return Err(NetworkError::Network(why));
        };
        self.offer(link, packet);
        Ok(())
    }

    /// Offers a packet to a link's queue.
    fn offer(&mut self, link: usize, place: usize) {
        let watched = link == self.spec.watched;
        let queue = &mut self.queues[link];
        let datagram = &mut self.packets[place];
        if watched {
            datagram.number = self.watch.comes(datagram.of);
        }
        let class = self.spec.class_of(datagram.traffic);
        let Some(found) = queue.flow_of(&datagram.tuple, class, self.now) else {
            let datagram = self.packets.remove(place);
            self.lost.extend(datagram.of.access());
            if watched {
                self.watch.is_unknown(&datagram, self.now);
            }
            return;
        };
        if found.new {
            let (weight, name) = self.spec.named(datagram.traffic);
            queue.scheduler.set_weight(found.flow, weight);
            if watched {
                let label = flow_label(&datagram.tuple);
                let profile = Profile { weight, label: &label, class: Some(name) };
                self.watch.appeared(found.flow, &profile);
            }
        }
        let packet = queue.packet(found.flow, datagram.bytes, place as u64, self.now);
        if watched {
            self.watch.arrived(&packet, datagram);
        }
        let is_marked = queue.marks() && datagram.body.mark();
        let admission = queue.scheduler.enqueue(&packet, self.now);
        if admission.evicted {
            while let Some(evicted) = self.queues[link].scheduler.poll_evicted() {
                self.drop(watched, &evicted);
            }
        }
        if !admission.is_queued() {
            self.drop(watched, &packet);
        } else if watched && is_marked {
            self.watch.marked += 1;
        }
        self.ask(link);
    }

    fn drop(&mut self, watched: bool, packet: &Packet) {
        let datagram = self.packets.remove(packet.handle as usize);
        self.lost.extend(datagram.of.access());
        if watched {
            self.watch.dropped(packet, &datagram, self.now);
        }
    }

    /// A link has finished sending its packet.
    pub(super) fn sent(&mut self, link: usize) {
        if let Some(packet) = self.queues[link].end(self.now) {
            if link == self.spec.watched {
                self.watch.left(&self.packets[packet.handle as usize], self.now);
            }
            let link = &self.spec.links[link];
            let arrives = Event::Arrives { at: link.to, packet: packet.handle as usize };
            self.agenda.add(self.now + link.delay, arrives);
        }
        self.ask(link);
    }

    /// A link may have a packet to send: it is polled before time advances, after all other events of this time.
    pub(super) fn ask(&mut self, link: usize) {
        if !mem::replace(&mut self.queues[link].is_asked, true) {
            self.asked.push(link);
        }
    }

    /// Whether any link is to be polled before time advances.
    pub(super) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Polls these links.
    pub(super) fn begin_asked(&mut self) -> Result<(), NetworkError> {
        let mut asked = mem::take(&mut self.asked);
        for link in asked.drain(..) {
            self.queues[link].is_asked = false;
            self.begin(link)?;
        }
        // Keep its capacity.
        self.asked = asked;
        Ok(())
    }

    /// A link starts to send its next packet, if it is idle and has one.
    fn begin(&mut self, link: usize) -> Result<(), NetworkError> {
        let queue = &mut self.queues[link];
        let Some(sending) = queue.begin(self.now) else {
            if let Some(at) = queue.ask_at(self.now) {
                self.agenda.add(at, Event::Ask { link });
            }
            return Ok(());
        };
        self.agenda.add(sending.ends, Event::Sent { link });
        if link == self.spec.watched {
            self.watch.sent(&sending, &self.packets[sending.packet.handle as usize])?;
        }
        Ok(())
    }
}
