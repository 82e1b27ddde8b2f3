//! The event loop: packets from node to node, and everybody's turn.

use std::mem;

use dovetail_sched::{Admission, Nanos, Packet, PolicySpec, flow::FiveTuple};
use slab::Slab;

use super::{
    Kind, Link, Network, NetworkError, NetworkOptions, NetworkOutcome, NetworkProgress, Stream, Transfer,
    addresses::Addresses,
    capture::Capture,
    datagrams::{self, UDP},
    end::{End, Place, Role, TCP, five_tuple},
    events::{Agenda, Event},
    packets::{Datagram, EndId, Of, Packets, Side},
    queue::{Queue, Sending},
    routes::Routes,
    sources::{Act, Source},
    spec::MOST_OPEN,
    wire::Wire,
};
use crate::{Observer, Passage, Profile};

/// How often progress is told, in events.
const PROGRESS_EVERY: u64 = 1 << 16;

/// A network at work.
pub(super) struct World<'a, O> {
    network: &'a Network,
    observer: &'a mut O,
    progress: Option<&'a mut dyn FnMut(NetworkProgress)>,
    capture: Option<Capture<'a>>,
    now: Nanos,
    agenda: Agenda,
    wire: Wire,
    routes: Routes,
    queues: Vec<Queue>,
    // Links that may begin to send now.
    asked: Vec<usize>,
    packets: Packets,
    connections: Slab<Connection>,
    connections_made: u64,
    sources: Vec<Source>,
    addresses: Addresses,
    // Of each traffic that sends UDP, the stream it is and where its packets come from.
    datagrams: Vec<Option<Udp>>,
    // Transfers that have not begun or not ended.
    pending: u64,
    outcome: NetworkOutcome,
}

/// A TCP connection.
struct Connection {
    made: u64,
    traffic: usize,
    of: Of,
    sender: Connected,
    receiver: Connected,
    /// Bytes that the receiver is still to get.
    missing: u64,
}

/// An end of a connection, and what the network knows of it.
struct Connected {
    end: End,
    node: usize,
    // What the packets that it sends say of themselves.
    tuple: FiveTuple,
}

impl Connection {
    fn side(&mut self, side: Side) -> &mut Connected {
        match side {
            Side::Sender => &mut self.sender,
            Side::Receiver => &mut self.receiver,
        }
    }
}

/// UDP traffic under way.
#[derive(Debug, Clone, Copy)]
struct Udp {
    stream: usize,
    from: usize,
    to: usize,
    here: Place,
    there: Place,
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn new(
        network: &'a Network,
        policy: &PolicySpec,
        observer: &'a mut O,
        options: NetworkOptions<'a>,
    ) -> Result<Self, NetworkError> {
        let queue = |(at, link): (usize, &Link)| {
            let watched = at == network.watched;
            let policy = if watched { policy } else { &link.policy };
            Queue::new(link, policy, watched, network.hash_key())
        };
        let watched = network.links[network.watched].rate;
        let source = |(at, traffic)| Source::new(traffic, at, network.seed, &network.transport, watched);
        let mut world = Self {
            network,
            observer,
            progress: options.progress,
            capture: options.capture.map(Capture::begin).transpose()?,
            now: Nanos::ZERO,
            agenda: Agenda::default(),
            wire: Wire::new(network.transport.mtu_bytes),
            routes: Routes::new(network.nodes.len(), &network.links),
            queues: network.links.iter().enumerate().map(queue).collect::<Result<_, _>>()?,
            asked: Vec::new(),
            packets: Packets::new(),
            connections: Slab::new(),
            connections_made: 0,
            sources: network.traffic.iter().enumerate().map(source).collect(),
            addresses: Addresses::new(network.nodes.len()),
            datagrams: Vec::new(),
            pending: network.transfers(),
            outcome: NetworkOutcome::default(),
        };
        for (at, traffic) in network.traffic.iter().enumerate() {
            world.agenda.add(traffic.start, Event::Traffic { at });
            let udp = matches!(traffic.kind, Kind::Datagrams(_)).then(|| world.udp(at));
            world.datagrams.push(udp);
        }
        Ok(world)
    }

    fn udp(&mut self, traffic: usize) -> Udp {
        let (from, to) = self.sources[traffic].places(&self.network.traffic[traffic]);
        let (here, there) = (self.addresses.dynamic(from), self.addresses.service(to));
        Udp { stream: self.stream(traffic), from, to, here, there }
    }

    fn stream(&mut self, traffic: usize) -> usize {
        self.outcome.streams.push(Stream { traffic, ..Stream::default() });
        self.outcome.streams.len() - 1
    }

    pub(super) fn run(mut self) -> Result<NetworkOutcome, NetworkError> {
        let stop_at = self.network.over_at();
        // Who names an end wants all of it, unless nothing is left to happen.
        let to_the_end = self.network.stop_at.is_some() && self.network.is_endless();
        let mut events = 0u64;
        while self.pending > 0 || to_the_end {
            if self.agenda.next_at() > self.now && !self.asked.is_empty() {
                self.begin_asked()?;
                continue;
            }
            let Some((at, event)) = self.agenda.pop() else { break };
            if at >= stop_at {
                self.now = stop_at;
                break;
            }
            self.now = at;
            self.happen(event)?;
            events += 1;
            if events.is_multiple_of(PROGRESS_EVERY) {
                self.tell_progress();
            }
        }
        self.tell_progress();
        let watched = &self.queues[self.network.watched];
        self.outcome.link.left = watched.scheduler.backlog().packets;
        self.outcome.evicted_flows = watched.evictions();
        let counters = &mut self.outcome.counters;
        watched.scheduler.counters(&mut |name, value| counters.push((name, value)));
        self.outcome.ended = self.now;
        Ok(self.outcome)
    }

    fn tell_progress(&mut self) {
        if let Some(progress) = &mut self.progress {
            let transfers = self.network.transfers();
            progress(NetworkProgress { done: transfers - self.pending, transfers, now: self.now });
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), NetworkError> {
        match event {
            Event::Sent { link } => {
                if let Some(packet) = self.queues[link].end(self.now) {
                    let link = &self.network.links[link];
                    let arrives = Event::Arrives { at: link.to, packet: packet.handle as usize };
                    self.agenda.add(self.now + link.delay, arrives);
                }
                self.ask(link);
                Ok(())
            }
            Event::Ask { link } => {
                self.ask(link);
                Ok(())
            }
            Event::Arrives { at, packet } => self.forward(at, packet),
            Event::Wake { end } => {
                let now = self.now;
                let due = self.connected(end).is_some_and(|connected| connected.end.woken(now));
                if due { self.turn(end) } else { Ok(()) }
            }
            Event::Traffic { at } => self.act(at),
        }
    }

    fn connected(&mut self, id: EndId) -> Option<&mut Connected> {
        let connection = self.connections.get_mut(id.place).filter(|connection| connection.made == id.made)?;
        Some(connection.side(id.side))
    }

    /// Traffic does what it does next.
    fn act(&mut self, at: usize) -> Result<(), NetworkError> {
        let stop = self.network.traffic[at].stop;
        if self.now >= stop {
            // Transfers that would begin only now never do.
            self.pending -= u64::from(self.sources[at].transfers_left());
            return Ok(());
        }
        let (act, again) = self.sources[at].act(self.now);
        if let Some(again) = again {
            self.agenda.add(again, Event::Traffic { at });
        }
        match act {
            Act::Nothing => Ok(()),
            Act::Datagram(bytes) => self.datagram(at, bytes),
            Act::Transfer(bytes) => {
                let of = Of::Transfer(self.outcome.transfers.len());
                let begun = self.now;
                self.outcome.transfers.push(Transfer {
                    traffic: at,
                    bytes,
                    begun,
                    ended: None,
                    packets: 0,
                    dropped: 0,
                });
                self.connect(at, of, bytes)
            }
            Act::LongLived => {
                let of = Of::Stream(self.stream(at));
                self.connect(at, of, u64::MAX)
            }
        }
    }

    /// Opens a connection for `bytes` bytes.
    fn connect(&mut self, traffic: usize, of: Of, bytes: u64) -> Result<(), NetworkError> {
        if self.connections.len() >= MOST_OPEN {
            return Err(NetworkError::Network(format!(
                "at {} over {MOST_OPEN} connections are open at once: lower the load, or the number of transfers",
                self.now
            )));
        }
        let source = &mut self.sources[traffic];
        let (from, to) = source.places(&self.network.traffic[traffic]);
        let (here_seed, there_seed) = (source.seed(), source.seed());
        let (here, there) = (self.addresses.dynamic(from), self.addresses.service(to));
        let (transport, now, wire) = (&self.network.transport, self.now, &mut self.wire);
        let sender = End::new(Role::Sender { left: bytes }, here, there, transport, here_seed, wire, now);
        let receiver = End::new(Role::Receiver, there, here, transport, there_seed, wire, now);
        let made = self.connections_made;
        self.connections_made += 1;
        let place = self.connections.insert(Connection {
            made,
            traffic,
            of,
            sender: Connected { end: sender, node: from, tuple: five_tuple(TCP, here, there) },
            receiver: Connected { end: receiver, node: to, tuple: five_tuple(TCP, there, here) },
            missing: bytes,
        });
        self.turn(EndId { place, made, side: Side::Sender })
    }

    /// An end takes what is on the wire, and what it sends goes on its way.
    fn turn(&mut self, id: EndId) -> Result<(), NetworkError> {
        let connection = &mut self.connections[id.place];
        let (traffic, of) = (connection.traffic, connection.of);
        let to = connection.side(id.side.other()).node;
        let connected = connection.side(id.side);
        if matches!(of, Of::Stream(_)) && self.now >= self.network.traffic[traffic].stop {
            connected.end.writes_no_more();
        }
        let (from, tuple) = (connected.node, connected.tuple);
        let read = connected.end.turn(&mut self.wire, self.now);
        if let Some(at) = connected.end.wake_at(self.now) {
            self.agenda.add(at, Event::Wake { end: id });
        }
        // The side that closed first waits for stragglers (TIME-WAIT); after it nobody is left who would answer.
        if id.side == Side::Sender && connected.end.is_closed() {
            self.connections.remove(id.place);
        } else if read > 0 {
            connection.missing -= read;
            let done = connection.missing == 0;
            self.received(of, read, done);
        }
        let taker = Some(EndId { side: id.side.other(), ..id });
        while let Some(bytes) = self.wire.next_leaving() {
            self.send(from, Datagram { bytes, tuple, to, taker, traffic, of, number: 0 })?;
        }
        Ok(())
    }

    fn received(&mut self, of: Of, bytes: u64, done: bool) {
        match of {
            Of::Transfer(at) if done => {
                self.outcome.transfers[at].ended = Some(self.now);
                self.pending -= 1;
            }
            Of::Transfer(_) => {}
            Of::Stream(at) => self.outcome.streams[at].received(bytes, self.now),
        }
    }

    fn datagram(&mut self, traffic: usize, bytes: u32) -> Result<(), NetworkError> {
        let Some(Udp { stream, from, to, here, there }) = self.datagrams[traffic] else { return Ok(()) };
        let here = if self.sources[traffic].is_flow_each() { self.addresses.forged() } else { here };
        let mut buffer = self.wire.buffer();
        datagrams::write(&mut buffer, bytes, here, there);
        let (tuple, of) = (five_tuple(UDP, here, there), Of::Stream(stream));
        self.send(from, Datagram { bytes: buffer, tuple, to, taker: None, traffic, of, number: 0 })
    }

    fn send(&mut self, from: usize, datagram: Datagram) -> Result<(), NetworkError> {
        let packet = self.packets.insert(datagram);
        self.forward(from, packet)
    }

    /// A packet is at a node: it is taken there or goes on.
    fn forward(&mut self, at: usize, packet: usize) -> Result<(), NetworkError> {
        let to = self.packets[packet].to;
        if at != to {
            return match self.routes.next(at, to) {
                Some(link) => self.offer(link, packet),
                None => Err(NetworkError::no_way(self.network, at, to)),
            };
        }
        let Datagram { bytes, taker, of, .. } = self.packets.remove(packet);
        match taker {
            None => {
                self.received(of, bytes.len() as u64, false);
                self.wire.recycle(bytes);
            }
            Some(end) if self.connected(end).is_some() => {
                self.wire.arrives(bytes);
                return self.turn(end);
            }
            // A straggler.
            Some(_) => self.wire.recycle(bytes),
        }
        Ok(())
    }

    /// A packet joins the queue before a link.
    fn offer(&mut self, link: usize, place: usize) -> Result<(), NetworkError> {
        let watched = link == self.network.watched;
        let queue = &mut self.queues[link];
        let datagram = &mut self.packets[place];
        if watched {
            datagram.number = self.outcome.link.arrived;
            self.outcome.link.arrived += 1;
            *self.outcome.packets(datagram.of) += 1;
        }
        let Some(found) = queue.flow_of(&datagram.tuple, self.now) else {
            let Datagram { bytes, of, .. } = self.packets.remove(place);
            self.wire.recycle(bytes);
            if watched {
                self.outcome.link.dropped += 1;
                self.outcome.unknown += 1;
                *self.outcome.dropped(of) += 1;
            }
            return Ok(());
        };
        if found.new {
            let traffic = &self.network.traffic[datagram.traffic];
            queue.scheduler.set_weight(found.flow, traffic.weight);
            if watched {
                let label = super::label(&datagram.tuple);
                let profile = Profile { weight: traffic.weight, label: &label, class: Some(&traffic.name) };
                self.observer.appeared(found.flow, &profile);
            }
        }
        let packet = queue.packet(found.flow, datagram.bytes.len(), place as u64, self.now);
        if watched {
            self.observer.arrived(&Packet { handle: datagram.number, ..packet });
        }
        let admission = queue.scheduler.enqueue(&packet, self.now);
        if admission != Admission::Queued {
            while let Some(evicted) = self.queues[link].scheduler.poll_evicted() {
                self.drop(watched, &evicted);
            }
            if matches!(admission, Admission::Refused(_)) {
                self.drop(watched, &packet);
            }
        }
        self.ask(link);
        Ok(())
    }

    fn drop(&mut self, watched: bool, packet: &Packet) {
        let Datagram { bytes, of, number, .. } = self.packets.remove(packet.handle as usize);
        self.wire.recycle(bytes);
        if watched {
            self.outcome.link.dropped += 1;
            *self.outcome.dropped(of) += 1;
            self.observer.dropped(&Packet { handle: number, ..*packet }, self.now);
        }
    }

    /// A link may have a packet to send: it is asked before time goes on, when all that happens now has happened.
    fn ask(&mut self, link: usize) {
        if !mem::replace(&mut self.queues[link].is_asked, true) {
            self.asked.push(link);
        }
    }

    fn begin_asked(&mut self) -> Result<(), NetworkError> {
        let mut asked = mem::take(&mut self.asked);
        for link in asked.drain(..) {
            self.queues[link].is_asked = false;
            self.begin(link)?;
        }
        // Its room is kept.
        self.asked = asked;
        Ok(())
    }

    /// A link sends its next packet, if it is idle and has one.
    fn begin(&mut self, link: usize) -> Result<(), NetworkError> {
        let queue = &mut self.queues[link];
        let Some(Sending { packet, begun, ends, .. }) = queue.begin(self.now) else {
            if let Some(at) = queue.ask_at(self.now) {
                self.agenda.add(at, Event::Ask { link });
            }
            return Ok(());
        };
        self.agenda.add(ends, Event::Sent { link });
        if link == self.network.watched {
            self.outcome.link.sent += 1;
            let datagram = &self.packets[packet.handle as usize];
            let mut passage = Passage::new(1);
            passage.takes(0, begun, ends);
            self.observer.sent(&Packet { handle: datagram.number, ..packet }, &passage);
            if let Some(capture) = &mut self.capture {
                capture.packet(&datagram.bytes, self.now)?;
            }
        }
        Ok(())
    }
}
