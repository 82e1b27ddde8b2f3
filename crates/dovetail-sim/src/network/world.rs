//! The event loop: packets from node to node, and everybody's turn.

use std::mem;

use dovetail_sched::{Nanos, Packet, PolicySpec, flow::FiveTuple, request::RequestSpec};
use slab::Slab;

use super::{
    Access, Kind, Link, Network, NetworkError, NetworkOptions, NetworkOutcome, NetworkProgress, Stream, Transfer,
    access::{Gateway, Upstream},
    addresses::Addresses,
    capture::Capture,
    datagrams::{self, UDP},
    end::{self, Application, End, Party, Place, TCP, UNUSED_BYTES, five_tuple},
    events::{Agenda, Event},
    packets::{Datagram, EndId, Of, Packets, Side},
    queue::{Queue, Sending, Tells},
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
    pub(super) network: &'a Network,
    observer: &'a mut O,
    progress: Option<&'a mut dyn FnMut(NetworkProgress)>,
    capture: Option<Capture<'a>>,
    pub(super) now: Nanos,
    pub(super) agenda: Agenda,
    pub(super) wire: Wire,
    routes: Routes,
    queues: Vec<Queue>,
    // Links that may begin to send now.
    asked: Vec<usize>,
    pub(super) packets: Packets,
    pub(super) connections: Slab<Connection>,
    connections_made: u64,
    sources: Vec<Source>,
    pub(super) addresses: Addresses,
    // Of each traffic that sends UDP, the stream it is and where its packets come from.
    datagrams: Vec<Option<Udp>>,
    // Transfers that have not begun or not ended.
    pending: u64,
    pub(super) gateway: Option<Gateway<'a>>,
    pub(super) outcome: NetworkOutcome,
}

/// A TCP connection.
pub(super) struct Connection {
    made: u64,
    pub(super) traffic: usize,
    pub(super) of: Of,
    pub(super) sender: Connected,
    pub(super) receiver: Connected,
    /// Bytes that the receiver is still to get.
    missing: u64,
    /// What it does, if it is the gateway's.
    pub(super) upstream: Option<Upstream>,
}

/// An end of a connection, and what the network knows of it.
pub(super) struct Connected {
    pub(super) end: End,
    node: usize,
    // What the packets that it sends say of themselves.
    tuple: FiveTuple,
}

impl Connection {
    fn side(&mut self, side: Side) -> &mut Connected {
        match side {
            Side::Opener => &mut self.sender,
            Side::Listener => &mut self.receiver,
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
    /// `requests`: what the gateway runs, if there is one. Links in `by_traffic` tell packets apart by what traffic they
    /// are of.
    pub(super) fn new(
        network: &'a Network,
        policy: &PolicySpec,
        gateway: Option<(&'a Access, &RequestSpec)>,
        by_traffic: &[usize],
        observer: &'a mut O,
        options: NetworkOptions<'a>,
    ) -> Result<Self, NetworkError> {
        let queue = |(at, link): (usize, &Link)| {
            let watched = at == network.watched;
            let policy = if watched { policy } else { &link.policy };
            let tells = match by_traffic.contains(&at) {
                true => Tells::Traffic,
                false if watched => Tells::Flows,
                false => Tells::AsNeeded,
            };
            Queue::new(link, policy, tells, network.hash_key())
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
            gateway: None,
            outcome: NetworkOutcome::default(),
        };
        if let Some((access, policy)) = gateway {
            let gateway = Gateway::new(network, access, policy, &mut world.addresses)?;
            world.open_gateway(gateway);
        }
        for (at, traffic) in network.traffic.iter().enumerate() {
            if matches!(traffic.kind, Kind::Requests(_)) {
                world.datagrams.push(None);
                continue;
            }
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
            if self.agenda.next_at() > self.now {
                if self.gateway.as_ref().is_some_and(|gateway| gateway.is_asked) {
                    self.serve()?;
                    continue;
                }
                if !self.asked.is_empty() {
                    self.begin_asked()?;
                    continue;
                }
                if self.pending == 0 && self.is_satisfied() {
                    break;
                }
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
        watched.scheduler.figures(&mut |name, value| counters.push((name, value)));
        self.outcome.ended = self.now;
        self.outcome.access = self.gateway.map(Gateway::finish);
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
            Event::Gateway(told) => self.told(told),
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
        let source = &mut self.sources[traffic];
        let (from, to) = source.places(&self.network.traffic[traffic]);
        let seeds = [source.seed(), source.seed()];
        let window = self.network.transport.window_bytes as usize;
        // The end that receives needs room for segments only, and the one that sends for acknowledgements.
        let opener = Party {
            receive_bytes: UNUSED_BYTES,
            send_bytes: window.min(usize::try_from(bytes).unwrap_or(window)).max(1),
            application: Application { to_send: bytes, to_read: u64::MAX, closes: true },
        };
        let listener = Party {
            receive_bytes: window,
            send_bytes: UNUSED_BYTES,
            application: Application { to_send: 0, to_read: u64::MAX, closes: false },
        };
        let id = self.open(from, to, traffic, of, &[opener, listener], seeds)?;
        self.connections[id.place].missing = bytes;
        self.turn(id)
    }

    /// A new connection, and its opener, whose first turn opens it.
    pub(super) fn open(
        &mut self,
        from: usize,
        to: usize,
        traffic: usize,
        of: Of,
        [opener, listener]: &[Party; 2],
        [here_seed, there_seed]: [u64; 2],
    ) -> Result<EndId, NetworkError> {
        if self.connections.len() >= MOST_OPEN {
            return Err(NetworkError::Network(format!(
                "at {} over {MOST_OPEN} connections are open at once: lower the load, or the number of transfers",
                self.now
            )));
        }
        let (here, there) = (self.addresses.dynamic(from), self.addresses.service(to));
        let (transport, now, wire) = (&self.network.transport, self.now, &mut self.wire);
        let sender = End::new(true, opener, [here, there], here_seed, transport, wire, now);
        let receiver = End::new(false, listener, [there, here], there_seed, transport, wire, now);
        let made = self.connections_made;
        self.connections_made += 1;
        let place = self.connections.insert(Connection {
            made,
            traffic,
            of,
            sender: Connected { end: sender, node: from, tuple: five_tuple(TCP, here, there) },
            receiver: Connected { end: receiver, node: to, tuple: five_tuple(TCP, there, here) },
            missing: 0,
            upstream: None,
        });
        Ok(EndId { place, made, side: Side::Opener })
    }

    /// An end takes what is on the wire, and what it sends goes on its way.
    pub(super) fn turn(&mut self, id: EndId) -> Result<(), NetworkError> {
        let connection = &mut self.connections[id.place];
        let (traffic, of, is_upstream) = (connection.traffic, connection.of, connection.upstream.is_some());
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
        let is_over = id.side == Side::Opener && connected.end.is_closed();
        if is_over {
            self.connections.remove(id.place);
        } else if read > 0 && !is_upstream {
            connection.missing -= read;
            let done = connection.missing == 0;
            self.received(of, read, done);
        }
        let taker = Some(EndId { side: id.side.other(), ..id });
        let mut payload = 0;
        while let Some(bytes) = self.wire.next_leaving() {
            payload += end::payload_bytes(&bytes);
            self.send(from, Datagram { bytes, tuple, to, taker, traffic, of, number: 0 })?;
        }
        if !is_upstream || is_over {
            return Ok(());
        }
        if id.side == Side::Opener && payload > 0 {
            self.sent_up(id, payload);
        }
        self.upstream_read(id, read)
    }

    fn received(&mut self, of: Of, bytes: u64, done: bool) {
        match of {
            Of::Transfer(at) if done => {
                self.outcome.transfers[at].ended = Some(self.now);
                self.pending -= 1;
            }
            Of::Transfer(_) => {}
            Of::Stream(at) => self.outcome.streams[at].received(bytes, self.now),
            Of::Exchange(_) | Of::Asks(_) | Of::Answers { .. } | Of::Probe(_) => {}
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

    pub(super) fn send(&mut self, from: usize, datagram: Datagram) -> Result<(), NetworkError> {
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
                let length = bytes.len() as u64;
                self.wire.recycle(bytes);
                match of {
                    Of::Asks(exchange) => self.asked(exchange),
                    Of::Answers { exchange, payload } => self.answered(exchange, payload),
                    Of::Probe(number) => return self.probed(at, number),
                    _ => {
                        self.received(of, length, false);
                        self.strayed(at, length);
                    }
                }
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
            if let Some((packets, _)) = self.outcome.counts(datagram.of) {
                *packets += 1;
            }
        }
        let class = self.network.class_of(datagram.traffic);
        let Some(found) = queue.flow_of(&datagram.tuple, class, self.now) else {
            let Datagram { bytes, of, .. } = self.packets.remove(place);
            self.wire.recycle(bytes);
            if watched {
                self.outcome.unknown += 1;
                self.dropped(of);
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
        if admission.evicted {
            while let Some(evicted) = self.queues[link].scheduler.poll_evicted() {
                self.drop(watched, &evicted);
            }
        }
        if !admission.is_queued() {
            self.drop(watched, &packet);
        }
        self.ask(link);
        Ok(())
    }

    fn drop(&mut self, watched: bool, packet: &Packet) {
        let Datagram { bytes, of, number, .. } = self.packets.remove(packet.handle as usize);
        self.wire.recycle(bytes);
        if let (Of::Asks(_) | Of::Answers { .. }, Some(gateway)) = (of, &mut self.gateway) {
            gateway.lost_among_users();
        }
        if watched {
            self.dropped(of);
            self.observer.dropped(&Packet { handle: number, ..*packet }, self.now);
        }
    }

    /// The watched link dropped a packet.
    fn dropped(&mut self, of: Of) {
        self.outcome.link.dropped += 1;
        if let Some((_, dropped)) = self.outcome.counts(of) {
            *dropped += 1;
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
