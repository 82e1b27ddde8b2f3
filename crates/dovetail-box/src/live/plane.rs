//! What a frame passes through, from one interface to the other: entrance, policy, work, link.

use std::{os::fd::BorrowedFd, sync::Arc};

use dovetail_sched::{FlowId, Nanos, Scheduler, units::Rate};
use dovetail_stats::Histogram;

use super::{
    LiveError,
    answers::Answers,
    busiest::Busiest,
    classes::{By, Classes, Worked},
    clock,
    counters::{ClassCounters, Oddities, WorkerCounters},
    entrance::{Entrance, whole},
    flows::Flows,
    frames::Frames,
    inbound::Inbound,
    port::{MOST_OUTGOING, Port},
    start,
    status::Status,
    sys::Received,
    watch::Watch,
    workers::{Answer, Job, Tools, Workers},
};
use crate::{
    config::{self, Config, Segments},
    functions::{
        Reason,
        frame::{ETHERNET, Version},
    },
    node::{Action, Link, Node, Outcome, Pace, Passage, Room, Work},
    wire::{
        self,
        icmp_error::{self, Message},
        offload::Offload,
    },
};

/// Frames of an interface, and actions of the node, that one round takes: few enough that no interface waits long, many
/// enough that a system call is shared.
const ROUND: usize = 64;

/// How long packets are worked on before frames are taken in again: where packets take long, others wait for that in the ring,
/// and the switch waits to be told that the box is alive.
const MOST_WORK: Nanos = Nanos::from_micros(200);
/// How many rounds' frames are taken in at once after packets that took longer.
const MOST_ROUNDS: u64 = 16;

/// How far the node may be behind what arrives: more than a round takes where packets are many.
const MOST_BEHIND: Nanos = Nanos::from_micros(250);
/// In how many rounds at most it catches up before frames are taken in: enough for its credit on a link of some 500 Mbit/s.
const CATCHING_UP: usize = 16;
/// For how long, where packets are really worked on meanwhile.
const MOST_CATCHING_UP: Nanos = Nanos::from_millis(1);

/// The longest time in the box that is told from longer ones, in nanoseconds.
const MOST_LATENCY: u64 = 100_000_000_000;

/// What a frame passes through.
pub(super) struct Plane {
    ports: [Port; 2],
    pub(super) node: Node,
    flows: Flows,
    pub(super) classes: Classes,
    /// Who does the work, where it is not this thread.
    workers: Option<Workers>,
    by_worker: Vec<WorkerCounters>,
    frames: Frames,
    counters: Vec<ClassCounters>,
    latencies: Vec<Histogram>,
    busiest: Arc<Busiest>,
    pub(super) names: Vec<Arc<str>>,
    started: Nanos,
    oddities: Oddities,
    toward: usize,
    segments: Segments,
    /// By how much functions may make a packet longer.
    growth_bytes: u32,
    /// Tunnels whose packets come the other way.
    inbound: Inbound,
    watchers: Vec<Box<dyn Watch>>,
    /// Packets that were offered to the policy so far.
    offered: u64,
    /// When frames were last taken in.
    received_at: Nanos,
    /// Whether packets have been worked on for as long as they may since then.
    works_long: bool,
    answers: Answers,
}

impl Plane {
    /// One without packets.
    pub(super) fn new(
        config: &Config,
        mut ports: [Port; 2],
        classes: Classes,
        workers: Option<Workers>,
    ) -> Result<Self, LiveError> {
        ports.iter_mut().for_each(|port| port.set_delay(config.delay));
        Ok(Self {
            ports,
            node: start::node(config, &classes)?,
            flows: Flows::new(&config.queues, clock::now())?,
            workers,
            by_worker: vec![WorkerCounters::default(); config.cpu.workers.max(1).into()],
            frames: Frames::default(),
            counters: vec![ClassCounters::default(); config.classes.len()],
            latencies: vec![Histogram::fixed(MOST_LATENCY); config.classes.len()],
            busiest: Arc::default(),
            started: clock::now(),
            names: names(config),
            oddities: Oddities::default(),
            toward: config.toward.index(),
            segments: config.segments,
            growth_bytes: classes.growth_bytes(),
            inbound: Inbound::build(config),
            watchers: Vec::new(),
            offered: 0,
            received_at: Nanos::ZERO,
            works_long: false,
            answers: Answers::default(),
            classes,
        })
    }

    /// Has every packet shown to `watch` as well.
    pub(super) fn watch(&mut self, watch: Box<dyn Watch>) {
        self.watchers.push(watch);
    }

    /// Begins to receive.
    pub(super) fn bind(&self) -> Result<(), LiveError> {
        self.ports.iter().try_for_each(Port::bind)
    }

    pub(super) fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    /// Goes by what the interfaces are now.
    ///
    /// # Errors
    /// That one is gone, or a worker.
    pub(super) fn look(&mut self) -> Result<(), LiveError> {
        self.workers.as_ref().map_or(Ok(()), Workers::look)?;
        self.ports.iter_mut().try_for_each(Port::look)
    }

    /// Readable when a worker has woken the box.
    pub(super) fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.workers.as_ref().map(Workers::bell)
    }

    /// Whether nothing has come from workers, which wake the box from now on.
    pub(super) fn may_sleep(&mut self) -> Result<bool, LiveError> {
        let Some(workers) = &self.workers else { return Ok(true) };
        workers.set_bell();
        let is_quiet = !self.collect()?;
        if !is_quiet {
            self.is_awake();
        }
        Ok(is_quiet)
    }

    pub(super) fn is_awake(&mut self) {
        if let Some(workers) = &self.workers {
            workers.still_bell();
        }
    }

    /// From their next frame on, workers go by these.
    pub(super) fn change_workers(&mut self, tools: Vec<Tools>) -> Result<(), LiveError> {
        self.workers.as_mut().map_or(Ok(()), |workers| workers.become_like(tools))
    }

    /// When something is due, if it is not a frame that arrives.
    pub(super) fn poll_at(&self) -> Option<Nanos> {
        // Frames that wait for room keep the node from going on.
        let node = if self.is_blocked() { None } else { self.node.poll_at() };
        self.ports.iter().filter_map(Port::due).chain(node).min()
    }

    /// Forgets what it holds, which is older than what the bridge has forwarded meanwhile.
    pub(super) fn start_over(&mut self, config: &Config) -> Result<(), LiveError> {
        for port in &mut self.ports {
            port.empty();
        }
        self.oddities.lapses += 1;
        if let Some(workers) = &mut self.workers {
            workers.start_over();
        }
        let Self { frames, counters, watchers, .. } = self;
        frames.clear(|class, number| {
            counters[usize::from(class)].lapsed += 1;
            watchers.dropped(number);
        });
        self.flows = Flows::new(&config.queues, clock::now())?;
        let mut node = start::node(config, &self.classes)?;
        node.carry_on(&mut self.node);
        self.node = node;
        Ok(())
    }

    /// Settles, receives, sends; whether there was anything to do.
    ///
    /// # Errors
    /// That a worker is gone.
    pub(super) fn round(&mut self, now: Nanos) -> Result<bool, LiveError> {
        let answered = self.collect()?;
        let (settled, now) = self.catch_up(now)?;
        let settled = settled || answered;
        // What has arrived counts from the instant that all is settled until: what is due after it is not to be late for it.
        let scheduled = self.receive(1 - self.toward, now);
        let received = scheduled + self.pass_on(self.toward);
        let settled = self.collect()? || settled;
        // The clock is read no more where nothing happened: a packet that arrives meanwhile would wait for that.
        let is_busy = settled || received > 0;
        let at = if scheduled > 0 || !is_busy { now } else { clock::now() };
        let settled = is_busy && self.settle(at)?.0 || settled;
        self.ports.iter_mut().for_each(|port| port.release(clock::now));
        let had_outgoing = self.ports.iter().any(Port::has_outgoing);
        for port in &mut self.ports {
            port.flush(&mut self.frames);
        }
        if self.node.link().pace == Pace::Device && !self.ports[self.toward].has_outgoing() {
            self.node.link_freed(clock::now());
        }
        let has_sent = had_outgoing && !self.ports.iter().any(Port::has_outgoing);
        Ok(settled || received > 0 || has_sent)
    }

    fn is_blocked(&self) -> bool {
        self.ports[self.toward].is_full()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.node.is_empty() && self.ports.iter().all(Port::is_empty)
    }

    /// Does what is due at the node before frames are taken in, which would end its credit; whether there was anything, and
    /// until when. All of it, where the box has overslept.
    fn catch_up(&mut self, now: Nanos) -> Result<(bool, Nanos), LiveError> {
        let until = now + MOST_CATCHING_UP;
        let (settled, mut now) = self.settle(now)?;
        let is_behind = |due: Option<Nanos>, by: Nanos, now: Nanos| due.is_some_and(|due| due + by < now);
        if !is_behind(self.node.poll_at(), MOST_BEHIND, now) {
            return Ok((settled, now));
        }
        for _ in 0..CATCHING_UP {
            for port in &mut self.ports {
                port.flush(&mut self.frames);
            }
            if now > until || self.is_blocked() || !is_behind(self.node.poll_at(), Nanos::ZERO, now) {
                break;
            }
            (_, now) = self.settle(now)?;
        }
        Ok((true, now))
    }

    /// Does what is due at the node; whether there was anything, and until when.
    fn settle(&mut self, mut now: Nanos) -> Result<(bool, Nanos), LiveError> {
        let until = now + MOST_WORK;
        for done in 0..ROUND {
            if self.is_blocked() {
                return Ok((done > 0, now));
            }
            match self.node.poll(now) {
                None => return Ok((done > 0, now)),
                Some(Action::Work(work)) if self.workers.is_some() => self.hand_out(&work)?,
                Some(Action::Work(work)) => {
                    let (took, outcome, ended) = self.work(&work);
                    self.node.worked(took, outcome);
                    now = ended.unwrap_or_else(clock::now);
                    if now > until {
                        self.works_long = true;
                        return Ok((true, now));
                    }
                }
                Some(Action::Send(passage)) => self.send(&passage),
            }
        }
        Ok((true, now))
    }

    /// Keeps a frame as it came if its work may make it too long. That of a stream is not: its hosts were told smaller segments.
    fn keep(&mut self, handle: u64) {
        let Some(frame) = self.frames.get_mut(handle) else { return };
        let growth_bytes = self.classes.grows_by(frame.class);
        let most = self.ports[self.toward].mtu_bytes as usize + ETHERNET;
        if growth_bytes > 0 && frame.bytes.len() + growth_bytes as usize > most {
            self.frames.keep(handle);
        }
    }

    /// Gives a worker what the policy has chosen.
    fn hand_out(&mut self, work: &Work) -> Result<(), LiveError> {
        self.keep(work.handle);
        let Some(workers) = &mut self.workers else { return Ok(()) };
        // Whatever is handed out is answered in its turn, be it of a frame that is not there.
        let (class, bytes) = match self.frames.get_mut(work.handle) {
            Some(frame) => (frame.class, std::mem::take(&mut frame.bytes)),
            None => (0, Vec::new()),
        };
        workers.hand_out(work.worker, Job { flow: work.flow, handle: work.handle, class, bytes })
    }

    /// Takes back what workers have done; whether there was anything.
    fn collect(&mut self) -> Result<bool, LiveError> {
        let mut had_any = false;
        while let Some(workers) = &mut self.workers
            && let Some(answer) = workers.next()?
        {
            had_any = true;
            let Answer { worker, job, worked, programs, .. } = answer;
            if let Some(counters) = self.by_worker.get_mut(usize::from(worker)) {
                counters.worked += 1;
                counters.cpu += worked.took;
                counters.preempted += u64::from(worked.is_preempted);
            }
            let (took, outcome) = match self.frames.get_mut(job.handle) {
                Some(frame) => {
                    frame.bytes = job.bytes;
                    self.counters[usize::from(frame.class)].programs.add(&programs);
                    self.worked(job.flow, job.handle, worked)
                }
                None => (Nanos::ZERO, Outcome::Drop),
            };
            self.node.worked_by(worker, took, outcome);
        }
        Ok(had_any)
    }

    /// Does a packet's work: how long that takes, what comes of it, and when it had been done, if the clock was read.
    fn work(&mut self, work: &Work) -> (Nanos, Outcome, Option<Nanos>) {
        let handle = work.handle;
        self.keep(handle);
        let Some(frame) = self.frames.get_mut(handle) else { return (Nanos::ZERO, Outcome::Drop, None) };
        let counters = &mut self.counters[usize::from(frame.class)];
        let worked = self.classes.work(frame.class, &mut frame.bytes, &mut counters.programs);
        let (took, outcome) = self.worked(work.flow, handle, worked);
        (took, outcome, worked.ended)
    }

    /// What the work on a frame comes to.
    fn worked(&mut self, flow: FlowId, handle: u64, worked: Worked) -> (Nanos, Outcome) {
        let Some(frame) = self.frames.get_mut(handle) else { return (Nanos::ZERO, Outcome::Drop) };
        let counters = &mut self.counters[usize::from(frame.class)];
        let had = self.flows.had(flow);
        had.cpu += worked.took;
        counters.cpu += worked.took;
        counters.preempted += u64::from(worked.is_preempted);
        let mtu = self.ports[self.toward].mtu_bytes;
        let is_too_long = worked.ended_by.is_none()
            && frame.offload.segmented.is_none()
            && !wire::fits::socket_takes(&frame.bytes, mtu);
        if worked.ended_by.is_none() && !is_too_long {
            let bytes = frame.bytes.len() as u32;
            self.frames.let_go(handle);
            return (worked.took, Outcome::Forward { bytes });
        }
        let (count, message) = match worked.ended_by {
            None => (&mut counters.too_long, Some(Message::TooBig { mtu: mtu.saturating_sub(self.growth_bytes) })),
            Some(By::Function(ended)) => {
                let (count, message) = match ended.reason {
                    Reason::HopLimit => (&mut counters.hop_limit, Some(Message::HopLimit)),
                    Reason::NoRoute => (&mut counters.no_route, Some(Message::NoRoute)),
                    _ => (&mut counters.ended_by_function, None),
                };
                // Of a packet that was changed, the sender knows nothing: an answer would go to a tunnel's end.
                (count, message.filter(|_| ended.is_as_it_came))
            }
            Some(By::Program) => (&mut counters.ended_by_program, None),
        };
        *count += 1;
        had.dropped += 1;
        self.watchers.dropped(frame.number);
        if let Some(mut frame) = self.frames.take(handle) {
            if !frame.as_it_came.is_empty() {
                std::mem::swap(&mut frame.bytes, &mut frame.as_it_came);
                self.frames.give_back(frame.as_it_came);
            }
            if let Some(message) = message {
                self.tell(&frame.bytes, message);
            }
            self.frames.give_back(frame.bytes);
        }
        (worked.took, Outcome::Drop)
    }

    /// Tells the sender of a packet what became of it, where that may be told.
    fn tell(&mut self, frame: &[u8], message: Message) {
        let port = &mut self.ports[1 - self.toward];
        // Where nothing leaves, answers are not to pile up.
        if port.is_full() {
            return;
        }
        let now = clock::now();
        let make = |into: &mut Vec<u8>| match message {
            Message::TooBig { mtu } => wire::too_big::answer(frame, mtu, into),
            message => icmp_error::answer(frame, message, into),
        };
        if let Some(answer) = self.answers.answer(message, now, make) {
            let mut bytes = self.frames.buffer(answer.len());
            bytes.extend_from_slice(answer);
            port.push(Offload::NONE, bytes, now);
        }
    }

    fn send(&mut self, passage: &Passage) {
        let Some(frame) = self.frames.take(passage.handle) else { return };
        let (class, bytes) = (usize::from(frame.class), frame.bytes.len() as u64);
        self.watchers.left(frame.number, passage, &frame.bytes);
        let port = &mut self.ports[self.toward];
        port.push(frame.offload, frame.bytes, passage.link_start);
        // No other can leave in the same call: what is still to be noted of this one can be noted when it is gone.
        if self.node.is_empty() {
            port.flush(&mut self.frames);
        }
        let counters = &mut self.counters[class];
        counters.sent += 1;
        counters.sent_bytes += bytes;
        counters.waited += passage.link_start - passage.arrival;
        let latency = passage.link_end - passage.arrival;
        counters.latency_nanos += u128::from(latency.0);
        self.latencies[class].record(latency.0);
        let had = self.flows.had(passage.flow);
        had.sent += 1;
        had.sent_bytes += bytes;
        had.link += passage.link_end - passage.link_start;
    }

    /// Takes in what has arrived by `now` on the side from which packets are scheduled; how many.
    fn receive(&mut self, from: usize, now: Nanos) -> usize {
        let Self {
            ports,
            node,
            flows,
            classes,
            frames,
            counters,
            oddities,
            segments,
            growth_bytes,
            received_at,
            works_long,
            ..
        } = self;
        let mtu = ports[1 - from].mtu_bytes;
        let (names, watchers, offered) = (&self.names, &mut self.watchers, &mut self.offered);
        let mut entrance = Entrance {
            node,
            flows,
            classes,
            frames,
            counters,
            oddities,
            names,
            watchers,
            offered,
            segments: *segments,
            clamp: clamp(mtu, *growth_bytes),
            now,
        };
        let missed_rounds = if *works_long { (now - *received_at).0 / MOST_WORK.0 } else { 0 };
        let rounds = (1 + missed_rounds).min(MOST_ROUNDS);
        (*received_at, *works_long) = (now, false);
        let most = ROUND * rounds as usize;
        (0..most).take_while(|_| ports[from].receive(|received| entrance.take(received)).is_some()).count()
    }

    /// Passes on at once what arrived on the other side.
    fn pass_on(&mut self, from: usize) -> usize {
        let Self { ports, frames, oddities, growth_bytes, inbound, .. } = self;
        let clamp = clamp(ports[from].mtu_bytes, *growth_bytes);
        let [inside, outside] = ports;
        let (from, to) = if from == 0 { (inside, outside) } else { (outside, inside) };
        let room = if to.is_full() { 0 } else { MOST_OUTGOING.saturating_sub(to.outgoing()).min(ROUND) };
        // Asked for with the first frame: while there is none, the time would be what the next one waits.
        let mut now = None;
        let mut pass = |received: Received<'_>| {
            let mut bytes = frames.buffer(received.bytes.len());
            match whole(received, &mut bytes) {
                Ok(mut offload) => {
                    // What goes by a checksum needs one that is filled in.
                    if let (Some(partial), None) = (offload.partial, offload.segmented)
                        && (clamp.is_some() || !inbound.is_empty())
                        && wire::checksum::complete(&mut bytes, partial).is_ok()
                    {
                        offload = Offload::NONE;
                    }
                    // Frames of many packets are of TCP or UDP.
                    if !inbound.is_empty() && offload == Offload::NONE && !inbound.pass(&mut bytes) {
                        frames.give_back(bytes);
                        return;
                    }
                    if let Some((v4, v6)) = clamp {
                        wire::clamp::clamp_mss_to(&mut bytes, v4, v6);
                    }
                    to.push(offload, bytes, *now.get_or_insert_with(clock::now));
                }
                Err(_) => {
                    oddities.malformed += 1;
                    frames.give_back(bytes);
                }
            }
        };
        (0..room).take_while(|_| from.receive(&mut pass).is_some()).count()
    }

    /// From now on packets take no time but that of their work.
    pub(super) fn hurry(&mut self) {
        self.classes.hurry();
        if let Some(workers) = &mut self.workers {
            workers.hurry();
        }
        let link = self.node.link();
        let rate = Rate::from_bps(1e15).unwrap_or(link.rate);
        self.node.set_link(Link { rate, pace: Pace::Own, ..link }, Room::Packets(u32::MAX));
        self.ports.iter_mut().for_each(Port::hurry);
    }

    pub(super) fn change(
        &mut self,
        config: &Config,
        classes: Classes,
        mut inbound: Inbound,
        next: Option<Box<dyn Scheduler>>,
    ) {
        inbound.take_over(std::mem::take(&mut self.inbound));
        self.inbound = inbound;
        let last = config.classes.len() - 1;
        let new_class = |name: &Arc<str>| config.classes.iter().position(|class| class.name == *name).unwrap_or(last);
        let moved: Vec<_> = self.names.iter().map(|name| new_class(name) as u16).collect();
        self.frames.change_classes(&moved);
        self.flows.change_classes(&moved);
        let kept = |class: &config::Class| self.names.iter().position(|name| *name == class.name);
        let kept: Vec<_> = config.classes.iter().map(kept).collect();
        self.counters = kept.iter().map(|at| at.map_or_else(Default::default, |at| self.counters[at])).collect();
        let none = Histogram::fixed(MOST_LATENCY);
        self.latencies =
            kept.iter().map(|at| at.map_or_else(|| none.clone(), |at| self.latencies[at].clone())).collect();
        let kept: Vec<_> = kept.iter().map(|at| at.map(|at| at as u16)).collect();
        self.node.change_classes(&moved, &kept);
        self.names = names(config);
        self.growth_bytes = classes.growth_bytes();
        self.classes = classes;
        self.segments = config.segments;
        self.node.set_link(config.link, config.room);
        if config.link.pace == Pace::Device
            && let Err(wrong) = self.ports[self.toward].hold_little(config.link.rate)
        {
            tracing::warn!("{wrong}");
        }
        self.ports.iter_mut().for_each(|port| port.set_delay(config.delay));
        if let Some(next) = next {
            self.node.replace(next);
        }
        self.flows.introduce_all(&mut self.node, &self.classes);
    }

    fn by_worker(&self) -> Vec<WorkerCounters> {
        if self.workers.is_some() {
            return self.by_worker.clone();
        }
        let figures = self.node.figures();
        let preempted = self.counters.iter().map(|class| class.preempted).sum();
        vec![WorkerCounters { worked: figures.worked, cpu: figures.cpu_busy, preempted }]
    }

    pub(super) fn status(&mut self, at: Nanos, config: &Config) -> Status {
        for port in &mut self.ports {
            port.count_missed();
        }
        if let Some(busiest) = self.flows.busiest(at, config.cpu.workers, &self.names) {
            self.busiest = Arc::new(busiest);
        }
        Status {
            at,
            started: self.started,
            policy: config.policy.to_string(),
            interfaces: config.interfaces.each_ref().map(|interface| interface.to_string().into()),
            toward: Some(config.toward),
            cpu_share: config.cpu.share,
            workers: self.by_worker(),
            link_rate: Some(config.link.rate),
            figures: self.node.figures(),
            waited: self.node.waited(),
            backlog: self.node.backlog(),
            flows: self.flows.len(),
            ports: self.ports.each_ref().map(|port| port.counters),
            classes: self.names.iter().cloned().zip(self.counters.iter().copied()).collect(),
            weights: config.classes.iter().map(|class| class.weight).collect(),
            latencies: self.latencies.clone(),
            busiest: self.busiest.clone(),
            oddities: self.oddities,
            answers: self.answers.counters(),
            tunnels: self.inbound.counters(),
        }
    }
}

pub(super) fn names(config: &Config) -> Vec<Arc<str>> {
    config.classes.iter().map(|class| class.name.clone()).collect()
}

/// The MSS for IPv4 and IPv6, where functions make packets longer.
fn clamp(mtu: u32, growth_bytes: u32) -> Option<(u16, u16)> {
    let fits = |version| wire::clamp::mss_that_fits(version, mtu, growth_bytes);
    if growth_bytes == 0 { None } else { fits(Version::V4).zip(fits(Version::V6)) }
}
