//! The data plane: a frame's path from one interface to the other. A round settles what is due at the node, receives
//! frames, and sends.
//!
//! | file | what |
//! |---|---|
//! | `work` | what comes of the work that the policy has chosen |
//! | `early` | packets that find the box idle |
//! | `back` | what leaves on the other side: frames that are passed on at once, and answers |
//! | `changes` | another configuration, another beginning, the end; and what is told meanwhile |

mod back;
mod changes;
mod early;
mod work;

use std::{os::fd::BorrowedFd, sync::Arc};

use dovetail_sched::Nanos;
use dovetail_stats::Histogram;

use super::{
    LiveError,
    answers::Answers,
    busiest::Busiest,
    classes::Classes,
    clock,
    counters::{ClassCounters, Oddities, WorkerCounters},
    entrance::Entrance,
    flows::Flows,
    frames::Frames,
    inbound::Inbound,
    intake::{Intake, ROUND},
    lone::Early,
    port::Port,
    start,
    watch::Watch,
    workers::{Tools, Workers},
};
use crate::{
    config::{Config, Segments},
    functions::frame::Version,
    node::{Action, Node, Pace, Passage},
    wire,
};

/// How long packets are processed before frames are received again: meanwhile other frames wait in the ring, and the switch
/// waits for a sign that the box is alive.
const MAX_WORK: Nanos = Nanos::from_micros(200);

/// How far the node may lag behind arrivals: more than a round takes at high packet rates.
const MAX_LAG: Nanos = Nanos::from_micros(250);
/// Maximum rounds of catching up before frames are received: enough for its credit on a link of some 500 Mbit/s.
const CATCHING_UP: usize = 16;
/// Time limit of catching up, for when packets are really processed meanwhile.
const MAX_CATCH_UP: Nanos = Nanos::from_millis(1);

/// Maximum time in the box that is distinguished from longer ones, in nanoseconds.
const MAX_LATENCY: u64 = 100_000_000_000;

/// The data plane.
pub(super) struct Plane {
    ports: [Port; 2],
    pub(super) node: Node,
    flows: Flows,
    pub(super) classes: Classes,
    /// The workers, if this thread does not do the work.
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
    /// Maximum growth of a packet by its functions.
    growth_bytes: u32,
    /// Tunnels that are decrypted, opposite to the scheduled direction.
    inbound: Inbound,
    watchers: Vec<Box<dyn Watch>>,
    /// Number of packets offered to the policy so far.
    offered: u64,
    intake: Intake,
    answers: Answers,
    early: Option<Early>,
}

impl Plane {
    /// A plane without packets.
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
            latencies: vec![Histogram::fixed(MAX_LATENCY); config.classes.len()],
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
            intake: Intake::default(),
            answers: Answers::default(),
            early: None,
            classes,
        })
    }

    /// Also reports every packet to `watch`.
    pub(super) fn watch(&mut self, watch: Box<dyn Watch>) {
        self.watchers.push(watch);
    }

    /// Starts receiving.
    pub(super) fn bind(&self) -> Result<(), LiveError> {
        self.ports.iter().try_for_each(Port::bind)
    }

    pub(super) fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    /// Updates what is known of the interfaces.
    ///
    /// # Errors
    /// When an interface or a worker is gone.
    pub(super) fn look(&mut self) -> Result<(), LiveError> {
        self.workers.as_ref().map_or(Ok(()), Workers::look)?;
        self.ports.iter_mut().try_for_each(Port::look)
    }

    /// Readable once a worker has woken the box.
    pub(super) fn wakeup(&self) -> Option<BorrowedFd<'_>> {
        self.workers.as_ref().map(Workers::wakeup)
    }

    /// Whether nothing has arrived from workers; from here on they wake the box.
    pub(super) fn prepare_sleep(&mut self) -> Result<bool, LiveError> {
        let Some(workers) = &self.workers else { return Ok(true) };
        workers.arm_wakeup();
        let is_quiet = !self.collect()?;
        if !is_quiet {
            self.disarm_wakeup();
        }
        Ok(is_quiet)
    }

    pub(super) fn disarm_wakeup(&mut self) {
        if let Some(workers) = &self.workers {
            workers.disarm_wakeup();
        }
    }

    /// Gives workers new tools, used from their next frame on.
    pub(super) fn change_workers(&mut self, tools: Vec<Tools>) -> Result<(), LiveError> {
        self.workers.as_mut().map_or(Ok(()), |workers| workers.reconfigure(tools))
    }

    /// When something is due, other than arriving frames.
    pub(super) fn poll_at(&self) -> Option<Nanos> {
        // Frames without room on the outgoing side keep the node from continuing.
        let node = if self.is_blocked() { None } else { self.node.poll_at() };
        self.ports.iter().filter_map(Port::due).chain(node).min()
    }

    /// Settles, receives, and sends unless frames have become stale; returns whether there was anything to do.
    ///
    /// # Errors
    /// When a worker is gone.
    pub(super) fn round(&mut self, now: Nanos, is_stale: impl Fn() -> bool) -> Result<bool, LiveError> {
        let answered = self.collect()?;
        let (settled, now) = self.catch_up(now, &is_stale)?;
        let settled = settled || answered;
        // Arrivals are timestamped with the instant up to which all is settled: what is due after it must not become late
        // because of them.
        let scheduled = self.receive(1 - self.toward, now);
        let received = scheduled + self.pass_on(self.toward);
        let settled = self.collect()? || settled;
        // The clock is not read again if nothing happened: a packet that arrives meanwhile would wait for that.
        let is_busy = settled || received > 0;
        let at = if scheduled > 0 || !is_busy { now } else { clock::now() };
        let settled = is_busy && self.settle(at)?.0 || settled;
        self.ports.iter_mut().for_each(|port| port.release(clock::now));
        let had_outgoing = self.ports.iter().any(Port::has_outgoing);
        if had_outgoing && is_stale() {
            return Ok(true);
        }
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

    /// Settles what is due at the node before frames are received, which would end its credit; returns whether there was
    /// anything, and until when. Settles everything if the box has overslept.
    fn catch_up(&mut self, now: Nanos, is_stale: &impl Fn() -> bool) -> Result<(bool, Nanos), LiveError> {
        let until = now + MAX_CATCH_UP;
        let (settled, mut now) = self.settle(now)?;
        let is_behind = |due: Option<Nanos>, by: Nanos, now: Nanos| due.is_some_and(|due| due + by < now);
        if !is_behind(self.node.poll_at(), MAX_LAG, now) {
            return Ok((settled, now));
        }
        for _ in 0..CATCHING_UP {
            if is_stale() {
                break;
            }
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

    /// Settles what is due at the node; returns whether there was anything, and until when.
    fn settle(&mut self, mut now: Nanos) -> Result<(bool, Nanos), LiveError> {
        let until = now + MAX_WORK;
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
                        return Ok((true, now));
                    }
                }
                Some(Action::Send(passage)) => self.send(&passage),
            }
        }
        Ok((true, now))
    }

    fn send(&mut self, passage: &Passage) {
        let Some(frame) = self.frames.take(passage.handle) else { return };
        let (class, bytes) = (usize::from(frame.class), frame.bytes.len() as u64);
        self.watchers.left(frame.number, passage, &frame.bytes);
        if self.has_left(frame.number) {
            self.frames.give_back(frame.bytes);
        } else {
            let port = &mut self.ports[self.toward];
            port.push(frame.offload, frame.bytes, passage.link_start);
            // Nothing else can leave in the same call: send it first, and do the bookkeeping afterwards.
            if self.node.is_empty() {
                port.flush(&mut self.frames);
            }
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

    /// Receives frames that arrived by `now` on the side from which packets are scheduled; returns how many.
    fn receive(&mut self, from: usize, now: Nanos) -> usize {
        let most = self.intake.most(now, self.frames.count());
        let (ports, mut entrance) = self.entrance(now);
        let mut taken = 0;
        while taken < most && entrance.lone.is_none() && ports[from].receive(|received| entrance.take(received)) {
            taken += 1;
        }
        if let Some(lone) = entrance.lone.take() {
            self.let_pass(lone, now);
        }
        taken
    }

    fn entrance(&mut self, now: Nanos) -> (&mut [Port; 2], Entrance<'_>) {
        let Self { ports, node, flows, classes, frames, counters, oddities, segments, growth_bytes, intake, .. } = self;
        let mtu = ports[self.toward].mtu_bytes;
        let (names, watchers, offered) = (&self.names, &mut self.watchers, &mut self.offered);
        let entrance = Entrance {
            intake,
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
            // Packets that may grow may need a copy as received.
            leaves_lone: *growth_bytes == 0,
            lone: None,
        };
        (ports, entrance)
    }
}

pub(super) fn names(config: &Config) -> Vec<Arc<str>> {
    config.classes.iter().map(|class| class.name.clone()).collect()
}

/// The maximum segment sizes for IPv4 and IPv6, if functions make packets longer.
fn clamp(mtu: u32, growth_bytes: u32) -> Option<(u16, u16)> {
    let fits = |version| wire::clamp::mss_that_fits(version, mtu, growth_bytes);
    if growth_bytes == 0 { None } else { fits(Version::V4).zip(fits(Version::V6)) }
}
