//! A bottleneck between senders and receivers: a rate, a FIFO buffer, a delay, and mishaps to packets.
//!
//! It is the path over which the kernel's figures were recorded (`kernel/src/run.rs`).

mod link;

use std::{cmp::Reverse, collections::BinaryHeap, env};

use dovetail_sched::Nanos;
use dovetail_tcp::{Config, Connection, Flags, Segment, State};

pub use link::Path;
use link::{Link, Queued};

/// Bytes of an unlimited flow.
pub const UNLIMITED: u64 = u64::MAX / 4;
/// Bytes per write, as in `kernel`.
const WRITE_BYTES: u64 = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begin(usize),
    Sent,
    /// A packet, by its index.
    Arrive(usize),
    /// The receiver reads again.
    Resume(usize),
    Wake(usize, bool),
}

/// A flow with its bytes, which begins at a given time.
#[derive(Debug, Clone)]
pub struct Flow {
    pub begins: Nanos,
    pub bytes: u64,
    /// How long the receiver does not read.
    pub pauses: Nanos,
    pub config: Config,
}

/// What happens to packets of the flows, in addition to the path's effects.
#[derive(Debug, Clone, Default)]
pub struct Mishaps {
    /// Number of SYNs and SYN-ACKs lost.
    pub syns: u32,
    pub syn_acks: u32,
    /// Data segments, from 1, and how often each is lost.
    pub lost: Vec<(u32, u32)>,
    /// Data segments, from 1, whose first transmission arrives after the three packets behind them.
    pub late: Vec<u32>,
}

/// Results of a flow.
#[derive(Debug, Clone, Default)]
pub struct Got {
    /// Bytes in each tenth of a second.
    pub tenths: Vec<u64>,
    /// From its beginning until everything was read.
    pub took: Option<Nanos>,
    pub drops: u64,
    /// Retransmissions, including SYNs.
    pub retransmissions: u64,
    pub timeouts: u64,
    /// The largest window advertised by the receiver.
    pub window_bytes: u64,
}

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
struct Packet {
    flow: usize,
    is_forward: bool,
    segment: Segment,
}

struct Run<'a> {
    path: &'a Path,
    flows: &'a [Flow],
    mishaps: Mishaps,
    ends: Vec<[Connection; 2]>,
    // The next wake-up of each end.
    wakes: Vec<[Nanos; 2]>,
    // Bytes to be written, bytes read, and the highest number sent.
    left: Vec<u64>,
    read: Vec<u64>,
    sent: Vec<u64>,
    // Scale of receivers' windows.
    shifts: Vec<u8>,
    heap: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    order: u64,
    link: Link,
    packets: Vec<Packet>,
    // Delayed packets, and how many others have still to pass each.
    held: Vec<(u32, Packet)>,
    got: Vec<Got>,
    traces: bool,
}

/// Sends the flows over the path until `until`.
pub fn run(path: &Path, mishaps: &Mishaps, flows: &[Flow], until: Nanos) -> Vec<Got> {
    let ends = flows.iter().enumerate().map(|(at, flow)| {
        let number = first_number(at);
        [Connection::open(&flow.config, number), Connection::listen(&flow.config, !number)]
    });
    let mut run = Run {
        path,
        flows,
        mishaps: mishaps.clone(),
        ends: ends.collect(),
        wakes: vec![[Nanos::MAX; 2]; flows.len()],
        left: flows.iter().map(|flow| flow.bytes).collect(),
        read: vec![0; flows.len()],
        sent: vec![0; flows.len()],
        shifts: vec![0; flows.len()],
        heap: BinaryHeap::new(),
        order: 0,
        link: Link::new(*path),
        packets: Vec::new(),
        held: Vec::new(),
        got: vec![Got::default(); flows.len()],
        traces: env::var_os("TRACE").is_some(),
    };
    for (at, flow) in flows.iter().enumerate() {
        run.plan(flow.begins, Event::Begin(at));
        if flow.pauses > Nanos::ZERO {
            run.plan(flow.begins + flow.pauses, Event::Resume(at));
        }
    }
    while let Some(Reverse((now, _, event))) = run.heap.pop() {
        if now >= until {
            break;
        }
        run.happens(event, now);
        if let Some(at) = run.link.begin(now) {
            run.plan(at, Event::Sent);
        }
    }
    for (got, ends) in run.got.iter_mut().zip(&run.ends) {
        got.timeouts = ends[0].counts().timeouts;
    }
    run.got
}

const fn first_number(flow: usize) -> u32 {
    1_000_003 * flow as u32
}

impl Run<'_> {
    fn plan(&mut self, at: Nanos, event: Event) {
        self.heap.push(Reverse((at, self.order, event)));
        self.order += 1;
    }

    /// Schedules a wake-up of an end; a stale one reschedules itself.
    fn wake(&mut self, flow: usize, is_sender: bool, at: Nanos) {
        let wake = &mut self.wakes[flow][usize::from(!is_sender)];
        if at < *wake {
            *wake = at;
            self.plan(at, Event::Wake(flow, is_sender));
        }
    }

    fn arrive(&mut self, packet: Packet, at: Nanos) {
        self.packets.push(packet);
        self.plan(at, Event::Arrive(self.packets.len() - 1));
    }

    fn happens(&mut self, event: Event, now: Nanos) {
        match event {
            Event::Begin(flow) => self.send(flow, now),
            Event::Resume(flow) => self.receive(flow, now),
            Event::Wake(flow, is_sender) => {
                let wake = &mut self.wakes[flow][usize::from(!is_sender)];
                // It may have been moved forward.
                if *wake != now {
                    return;
                }
                *wake = Nanos::MAX;
                if is_sender { self.send(flow, now) } else { self.receive(flow, now) }
            }
            Event::Arrive(packet) => {
                let Packet { flow, is_forward, segment } = self.packets[packet];
                self.ends[flow][usize::from(is_forward)].receive(&segment, now);
                if is_forward { self.receive(flow, now) } else { self.send(flow, now) }
            }
            Event::Sent => {
                let Queued { packet, first } = self.link.end();
                self.leaves(packet, first, now + self.path.delay);
            }
        }
    }

    /// A packet has left the link.
    fn leaves(&mut self, packet: Packet, first: Option<u32>, arrives: Nanos) {
        if first.is_some_and(|number| self.mishaps.late.contains(&number)) {
            self.held.push((3, packet));
            return;
        }
        self.arrive(packet, arrives);
        for (passes, _) in &mut self.held {
            *passes -= 1;
        }
        while let Some(at) = self.held.iter().position(|(passes, _)| *passes == 0) {
            let (_, packet) = self.held.remove(at);
            self.arrive(packet, arrives);
        }
    }

    /// The sender writes and sends what it can. It closes when that is done: everything it could send has been sent by then,
    /// as when a program writes to a socket and closes it.
    fn send(&mut self, flow: usize, now: Nanos) {
        // Like a program that is notified when a third of its buffer is free (`sk_stream_write_space`).
        let room = self.flows[flow].config.send_bytes;
        let is_open = self.ends[flow][0].state() == State::Established;
        if is_open && self.ends[flow][0].unacknowledged_bytes() <= room / 3 * 2 {
            while self.left[flow] > 0 {
                let wrote = self.ends[flow][0].write(self.left[flow].min(WRITE_BYTES));
                self.left[flow] -= wrote;
                if wrote < WRITE_BYTES {
                    break;
                }
            }
        }
        self.transmit(flow, now);
        if self.left[flow] == 0 && self.ends[flow][0].state() == State::Established {
            self.ends[flow][0].close();
            self.transmit(flow, now);
        }
        if let Some(when) = self.ends[flow][0].poll_at(now) {
            self.wake(flow, true, when.max(now + Nanos(1)));
        }
    }

    fn transmit(&mut self, flow: usize, now: Nanos) {
        while let Some(segment) = self.ends[flow][0].poll_transmit(now) {
            self.forward(Packet { flow, is_forward: true, segment }, now);
        }
    }

    fn forward(&mut self, packet: Packet, now: Nanos) {
        let Packet { flow, segment, .. } = packet;
        let is_syn = segment.flags.has(Flags::SYN);
        let from = u64::from(segment.sequence.wrapping_sub(first_number(flow)));
        let length = u64::from(segment.payload_bytes) + u64::from(is_syn);
        let is_again = length > 0 && from < self.sent[flow];
        self.sent[flow] = self.sent[flow].max(from + length);
        self.got[flow].retransmissions += u64::from(is_again);
        let segment_bytes = u64::from(self.flows[flow].config.segment_bytes);
        let number = (segment.payload_bytes > 0).then(|| ((from - 1) / segment_bytes) as u32 + 1);
        let is_lost = if is_syn {
            take_one(&mut self.mishaps.syns)
        } else {
            let lost = &mut self.mishaps.lost;
            lost.iter_mut().find(|(lost, _)| Some(*lost) == number).is_some_and(|(_, times)| take_one(times))
        };
        let is_dropped = !is_lost && !self.link.enqueue(Queued { packet, first: number.filter(|_| !is_again) });
        self.got[flow].drops += u64::from(is_dropped);
        // The link may be idle: anything else sent now queues behind this packet.
        if let Some(at) = self.link.begin(now) {
            self.plan(at, Event::Sent);
        }
        self.trace(
            &packet,
            if is_lost {
                " lost"
            } else if is_dropped {
                " dropped"
            } else {
                ""
            },
            now,
        );
    }

    /// The receiver reads everything available and responds.
    fn receive(&mut self, flow: usize, now: Nanos) {
        let Flow { begins, bytes, pauses, .. } = self.flows[flow];
        let end = &mut self.ends[flow][1];
        if now >= begins + pauses {
            let read = end.read(u64::MAX, now);
            let tenth = (now.0 / 100_000_000) as usize;
            let got = &mut self.got[flow];
            got.tenths.resize(got.tenths.len().max(tenth + 1), 0);
            got.tenths[tenth] += read;
            self.read[flow] += read;
            if self.read[flow] == bytes {
                got.took.get_or_insert(now - begins);
                end.close();
            }
        }
        while let Some(segment) = self.ends[flow][1].poll_transmit(now) {
            let is_syn = segment.flags.has(Flags::SYN);
            if is_syn {
                self.shifts[flow] = segment.options.window_scale.unwrap_or(0);
            } else {
                let largest = &mut self.got[flow].window_bytes;
                *largest = (*largest).max(u64::from(segment.window) << self.shifts[flow]);
            }
            let is_lost = is_syn && take_one(&mut self.mishaps.syn_acks);
            let packet = Packet { flow, is_forward: false, segment };
            if !is_lost {
                self.arrive(packet, now + self.path.delay);
            }
            self.trace(&packet, if is_lost { " lost" } else { "" }, now);
        }
        if let Some(when) = self.ends[flow][1].poll_at(now) {
            self.wake(flow, false, when.max(now + Nanos(1)));
        }
    }

    /// Prints a packet in the format of `kernel`.
    fn trace(&self, packet: &Packet, what: &str, now: Nanos) {
        if !self.traces {
            return;
        }
        let Packet { flow, is_forward, segment } = packet;
        let (ours, theirs) = (first_number(*flow), !first_number(*flow));
        let (ours, theirs) = if *is_forward { (ours, theirs) } else { (theirs, ours) };
        let flags: String = [(Flags::SYN, 'S'), (Flags::FIN, 'F'), (Flags::RST, 'R'), (Flags::ACK, '.')]
            .iter()
            .filter(|(flag, _)| segment.flags.has(*flag))
            .map(|(_, name)| *name)
            .collect();
        let way = if *is_forward { '>' } else { '<' };
        let blocks: String = segment
            .options
            .sack
            .as_slice()
            .iter()
            .map(|(from, to)| format!(" [{},{})", from.wrapping_sub(theirs), to.wrapping_sub(theirs)))
            .collect();
        println!(
            "# {:.3} {flow} {way} {flags} {}+{} ack {} win {}{blocks}{what}",
            now.as_secs_f64() * 1e3,
            segment.sequence.wrapping_sub(ours),
            segment.payload_bytes,
            segment.acknowledgement.wrapping_sub(theirs),
            segment.window,
        );
    }
}

fn take_one(count: &mut u32) -> bool {
    let is_some = *count > 0;
    *count = count.saturating_sub(1);
    is_some
}
