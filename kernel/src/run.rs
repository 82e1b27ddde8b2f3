//! Connections through the kernel, and the path that their packets take.
//!
//! There is one tunnel device and one address. What the kernel sends to the other address of the device's network comes back
//! with the two addresses exchanged, later, so that the kernel is both ends: checksums stay right, and ports tell which end a
//! packet is of. Time in here is virtual: it stands still while anything runs, so packets leave and arrive at exact times.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write as _},
    net::SocketAddrV4,
    os::fd::OwnedFd,
    thread,
    time::Duration,
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, EventData, EventFlags},
    io::Errno,
    net::{
        RecvFlags, SendFlags, Shutdown, SocketFlags, acceptfrom_with, connect, getsockname, recv, send, shutdown,
        sockopt,
    },
    stdio::stdin,
    time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime},
};

use crate::{
    host::{RECEIVERS, SECOND_NS, clock, counters, prepare, socket},
    link::{Link, Path, Queued},
    packet::{Headers, Traced},
};

/// Runs begin at multiples of this, when connections of the one before are forgotten.
const EVERY_NS: u64 = 100_000_000_000;
const TENTH_NS: u64 = SECOND_NS / 10;
/// What a full segment carries.
pub const SEGMENT_BYTES: u64 = 1460;

/// A transfer.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    pub begins_us: u64,
    /// `None`: as much as goes.
    pub segments: Option<u64>,
    /// How long the receiver reads nothing.
    pub pauses_us: u64,
}

/// What happens to packets of the flows, beside what the path does.
#[derive(Debug, Clone, Default)]
pub struct Mishaps {
    /// SYNs and answers to them that are lost.
    pub syns: u32,
    pub syn_acks: u32,
    /// Data segments, from 1 on, and how often each is lost.
    pub lost: Vec<(u32, u32)>,
    /// Data segments, from 1 on, that arrive after the three packets behind them when they are sent first.
    pub late: Vec<u32>,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Case {
    pub congestion: &'static str,
    pub ecn: bool,
    /// What senders set as their buffer; `None`: it grows as installed.
    pub send_buffer_bytes: Option<u64>,
    /// What receivers set as their buffer when they have a connection; `None`: it grows as the kernel sees fit.
    pub receive_buffer_bytes: Option<u64>,
    pub path: Path,
    pub flows: Vec<Flow>,
    pub mishaps: Mishaps,
    pub seconds: u64,
}

/// What became of a flow.
#[derive(Debug, Clone, Default)]
pub struct Got {
    /// Bytes that the receiver read in each tenth of a second of the run.
    pub tenths: Vec<u64>,
    /// How long it took from its beginning until all was read.
    pub took_us: Option<u64>,
    pub drops: u64,
    pub retransmissions: u64,
    /// The largest window that its receiver offered.
    pub window_bytes: u64,
}

/// What became of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub flows: Vec<Got>,
    /// The kernel's counters of all flows together, by their names in `/proc/net/netstat`.
    pub counters: BTreeMap<String, u64>,
}

enum Event {
    Begin(usize),
    Sent,
    Arrive(usize, bool, Vec<u8>),
    Resume(usize),
}

#[derive(Default)]
struct State {
    sender: Option<OwnedFd>,
    receiver: Option<OwnedFd>,
    left: u64,
    read: u64,
    // The first number of each end, the highest that was sent, and the shift of the receiver's windows.
    first: u32,
    their_first: u32,
    sent: u64,
    shift: u8,
}

struct Run<'a> {
    case: &'a Case,
    began: u64,
    epoll: OwnedFd,
    listener: OwnedFd,
    events: BTreeMap<(u64, u64), Event>,
    order: u64,
    link: Link,
    states: Vec<State>,
    ports: HashMap<u16, usize>,
    mishaps: Mishaps,
    // Packets held back, and how many have still to pass them.
    held: Vec<(u32, Queued)>,
    got: Vec<Got>,
    traces: bool,
}

const TUNNEL: u64 = 0;
const LISTENER: u64 = 1;
const TIMER: u64 = 2;
/// From here on: a sender and a receiver of each flow.
const ENDS: u64 = 4;

/// Runs a case to its end.
pub fn run(case: &Case) -> io::Result<Outcome> {
    let now = clock();
    let began = (now / EVERY_NS + 1) * EVERY_NS;
    // Sleep is less exact than the timer that the first flow begins with.
    thread::sleep(Duration::from_nanos(began - now).saturating_sub(Duration::from_secs(1)));
    let listener = prepare(case.ecn)?;
    let before = counters()?;
    let mut run = Run {
        case,
        began,
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        listener,
        events: BTreeMap::new(),
        order: 0,
        link: Link::new(case.path, began),
        states: case.flows.iter().map(|_| State::default()).collect(),
        ports: HashMap::new(),
        mishaps: case.mishaps.clone(),
        held: Vec::new(),
        got: vec![Got::default(); case.flows.len()],
        traces: std::env::var_os("TRACE").is_some(),
    };
    run.goes()?;
    let mut counters = counters()?;
    for (name, count) in &mut counters {
        *count -= before.get(name).copied().unwrap_or(0);
    }
    let flows = run.got;
    // Connections break off, and what they say of it goes nowhere.
    for state in run.states {
        for end in [state.sender, state.receiver].into_iter().flatten() {
            sockopt::set_socket_linger(&end, Some(Duration::ZERO))?;
        }
    }
    let mut packet = vec![0; 1 << 11];
    while let Ok(1..) = rustix::io::read(stdin(), &mut packet) {}
    Ok(Outcome { flows, counters })
}

impl Run<'_> {
    fn goes(&mut self) -> io::Result<()> {
        epoll::add(&self.epoll, stdin(), EventData::new_u64(TUNNEL), EventFlags::IN)?;
        epoll::add(&self.epoll, &self.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        for (at, flow) in self.case.flows.iter().enumerate() {
            self.plan(self.began + flow.begins_us * 1000, Event::Begin(at));
        }
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        epoll::add(&self.epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        let mut armed = 0;
        let ends = self.began + self.case.seconds * SECOND_NS;
        let mut ready = Vec::with_capacity(64);
        let mut now = clock();
        while now < ends {
            self.catches_up(now)?;
            let next = self.next().min(ends);
            if next != armed {
                // Waiting itself counts in milliseconds.
                let it_value = Timespec { tv_sec: (next / SECOND_NS) as i64, tv_nsec: (next % SECOND_NS) as i64 };
                let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
                timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval, it_value })?;
                armed = next;
            }
            epoll::wait(&self.epoll, spare_capacity(&mut ready), None)?;
            let is_due = ready.len() == 1 && ready[0].data.u64() == TIMER;
            now = if is_due { next } else { clock() };
            self.catches_up(now)?;
            for event in ready.drain(..) {
                match event.data.u64() {
                    TIMER => {}
                    TUNNEL => self.drain(now)?,
                    LISTENER => self.accept(now)?,
                    end if end % 2 == 0 => self.write(((end - ENDS) / 2) as usize)?,
                    end => self.read(((end - ENDS) / 2) as usize, now)?,
                }
            }
        }
        Ok(())
    }

    /// Everything that was to happen until now.
    fn catches_up(&mut self, now: u64) -> io::Result<()> {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= now) {
            let at = entry.key().0;
            let event = entry.remove();
            self.happens(event, at)?;
        }
        Ok(())
    }

    /// When the kernel will notice something. Of a packet that leaves the link it does not before that arrives.
    fn next(&self) -> u64 {
        let delay = self.case.path.delay_us * 1000;
        let soon = |((at, _), event): (&(u64, u64), &Event)| at + if matches!(event, Event::Sent) { delay } else { 0 };
        // There is one such event at most, and the others are in order.
        self.events.iter().take(2).map(soon).min().unwrap_or(u64::MAX)
    }

    fn plan(&mut self, at: u64, event: Event) {
        self.events.insert((at, self.order), event);
        self.order += 1;
    }

    fn happens(&mut self, event: Event, at: u64) -> io::Result<()> {
        match event {
            Event::Begin(flow) => self.begin(flow),
            Event::Resume(flow) => self.read(flow, at),
            Event::Arrive(flow, is_forward, packet) => {
                rustix::io::write(stdin(), &packet)?;
                // What follows at once is there now: to look costs less than to be told.
                if is_forward {
                    self.read(flow, at)?;
                }
                self.drain(at)
            }
            Event::Sent => {
                if let Some(packet) = self.link.end() {
                    self.sent(packet, at);
                }
                self.turn(at);
                Ok(())
            }
        }
    }

    /// The link begins with a packet if it can.
    fn turn(&mut self, now: u64) {
        if let Some(at) = self.link.begin(now) {
            self.plan(at, Event::Sent);
        }
    }

    /// A packet has left the link.
    fn sent(&mut self, packet: Queued, now: u64) {
        let arrives = now + self.case.path.delay_us * 1000;
        if packet.first.is_some_and(|number| self.mishaps.late.contains(&number)) {
            self.held.push((3, packet));
            return;
        }
        self.plan(arrives, Event::Arrive(packet.flow, true, packet.bytes));
        for (passes, _) in &mut self.held {
            *passes -= 1;
        }
        while let Some(at) = self.held.iter().position(|(passes, _)| *passes == 0) {
            let (_, packet) = self.held.remove(at);
            self.plan(arrives, Event::Arrive(packet.flow, true, packet.bytes));
        }
    }

    fn begin(&mut self, flow: usize) -> io::Result<()> {
        let sender = socket()?;
        sockopt::set_tcp_congestion(&sender, self.case.congestion)?;
        if let Some(bytes) = self.case.send_buffer_bytes {
            sockopt::set_socket_send_buffer_size_force(&sender, (bytes / 2) as usize)?;
        }
        match connect(&sender, &RECEIVERS) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let port = SocketAddrV4::try_from(getsockname(&sender)?)?.port();
        self.ports.insert(port, flow);
        let wants = EventFlags::OUT | EventFlags::ET;
        epoll::add(&self.epoll, &sender, EventData::new_u64(ENDS + 2 * flow as u64), wants)?;
        self.states[flow].left = self.case.flows[flow].segments.map_or(u64::MAX, |segments| segments * SEGMENT_BYTES);
        self.states[flow].sender = Some(sender);
        Ok(())
    }

    fn accept(&mut self, now: u64) -> io::Result<()> {
        loop {
            let (receiver, address) =
                match acceptfrom_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                    Ok(accepted) => accepted,
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(error) => return Err(error.into()),
                };
            let port = address.map(SocketAddrV4::try_from).transpose()?.map_or(0, |address| address.port());
            let Some(&flow) = self.ports.get(&port) else { continue };
            if let Some(bytes) = self.case.receive_buffer_bytes {
                // The kernel doubles what it is told.
                sockopt::set_socket_recv_buffer_size_force(&receiver, (bytes / 2) as usize)?;
            }
            let wants = EventFlags::IN | EventFlags::ET;
            epoll::add(&self.epoll, &receiver, EventData::new_u64(ENDS + 2 * flow as u64 + 1), wants)?;
            self.states[flow].receiver = Some(receiver);
            let Flow { begins_us, pauses_us, .. } = self.case.flows[flow];
            if pauses_us > 0 {
                self.plan(self.began + (begins_us + pauses_us) * 1000, Event::Resume(flow));
            } else {
                self.read(flow, now)?;
            }
        }
    }

    fn write(&mut self, flow: usize) -> io::Result<()> {
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
        let state = &mut self.states[flow];
        let Some(sender) = &state.sender else { return Ok(()) };
        while state.left > 0 {
            let most = state.left.min(ZEROS.len() as u64) as usize;
            match send(sender, &ZEROS[..most], SendFlags::NOSIGNAL) {
                Ok(sent) => state.left -= sent as u64,
                Err(Errno::AGAIN | Errno::NOTCONN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            if state.left == 0 {
                shutdown(sender, Shutdown::Write)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, flow: usize, now: u64) -> io::Result<()> {
        let Flow { begins_us, segments, pauses_us } = self.case.flows[flow];
        let since = now - self.began;
        let state = &mut self.states[flow];
        let Some(receiver) = state.receiver.as_ref().filter(|_| since >= (begins_us + pauses_us) * 1000) else {
            return Ok(());
        };
        let mut buffer = [0; 1 << 16];
        loop {
            let bytes = match recv(receiver, &mut buffer, RecvFlags::empty()) {
                Ok((_, bytes)) => bytes,
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let got = &mut self.got[flow];
            let tenth = (since / TENTH_NS) as usize;
            got.tenths.resize(got.tenths.len().max(tenth + 1), 0);
            got.tenths[tenth] += bytes as u64;
            state.read += bytes as u64;
            if segments.is_some_and(|segments| segments * SEGMENT_BYTES == state.read) {
                got.took_us = Some(since / 1000 - begins_us);
                state.receiver = None;
                return Ok(());
            }
            if bytes < buffer.len() {
                return Ok(());
            }
        }
    }

    /// Takes what the kernel sends.
    fn drain(&mut self, now: u64) -> io::Result<()> {
        let mut buffer = [0; 1 << 11];
        loop {
            let length = match rustix::io::read(stdin(), &mut buffer) {
                Ok(length) => length,
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            };
            let mut packet = buffer[..length].to_vec();
            let Some(headers) = Headers::of(&packet) else { continue };
            let Some(&flow) = self.ports.get(&headers.port) else { continue };
            // The ends exchange their addresses.
            let (source, destination) = packet[12..20].split_at_mut(4);
            source.swap_with_slice(destination);
            if headers.is_forward {
                self.forward(flow, &headers, packet, now);
            } else {
                self.back(flow, &headers, packet, now);
            }
        }
        self.turn(now);
        Ok(())
    }

    fn forward(&mut self, flow: usize, headers: &Headers, bytes: Vec<u8>, now: u64) {
        let state = &mut self.states[flow];
        if headers.is_syn && state.sent == 0 {
            state.first = headers.sequence;
        }
        let from = u64::from(headers.sequence.wrapping_sub(state.first));
        // A run's flow sends less than 4 GiB.
        let length = u64::from(headers.payload_bytes) + u64::from(headers.is_syn);
        let is_again = length > 0 && from < state.sent;
        state.sent = state.sent.max(from + length);
        self.got[flow].retransmissions += u64::from(is_again);
        let number = (headers.payload_bytes > 0).then(|| ((from - 1) / SEGMENT_BYTES) as u32 + 1);
        let is_lost = if headers.is_syn {
            take_one(&mut self.mishaps.syns)
        } else {
            let lost = &mut self.mishaps.lost;
            lost.iter_mut().find(|(lost, _)| Some(*lost) == number).is_some_and(|(_, times)| take_one(times))
        };
        let first = number.filter(|_| !is_again);
        let is_dropped = !is_lost && !self.link.enqueue(Queued { flow, first, bytes });
        self.got[flow].drops += u64::from(is_dropped);
        let what = match (is_lost, is_dropped) {
            (true, _) => " lost",
            (_, true) => " dropped",
            _ => "",
        };
        self.trace(flow, headers, what, now);
    }

    fn back(&mut self, flow: usize, headers: &Headers, bytes: Vec<u8>, now: u64) {
        let state = &mut self.states[flow];
        if headers.is_syn {
            state.their_first = headers.sequence;
            state.shift = headers.shift.unwrap_or(0);
        } else {
            let largest = &mut self.got[flow].window_bytes;
            *largest = (*largest).max(u64::from(headers.window) << state.shift);
        }
        let is_lost = headers.is_syn && take_one(&mut self.mishaps.syn_acks);
        if !is_lost {
            self.plan(now + self.case.path.delay_us * 1000, Event::Arrive(flow, false, bytes));
        }
        self.trace(flow, headers, if is_lost { " lost" } else { "" }, now);
    }

    fn trace(&self, flow: usize, headers: &Headers, what: &str, now: u64) {
        if !self.traces {
            return;
        }
        let State { first, their_first, .. } = self.states[flow];
        let (ours, theirs) = if headers.is_forward { (first, their_first) } else { (their_first, first) };
        let at = (now - self.began) as f64 / 1e6;
        // A trace that cannot be written is not missed.
        let _ = writeln!(io::stdout(), "# {at:.3} {flow} {}{what}", Traced(headers, ours, theirs));
    }
}

fn take_one(count: &mut u32) -> bool {
    let is_some = *count > 0;
    *count = count.saturating_sub(1);
    is_some
}
