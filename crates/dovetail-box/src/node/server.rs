//! The two servers and their events.

mod many;

use dovetail_sched::{Admission, Backlog, FlowId, Nanos, Packet, Scheduler, Stage};

use super::{
    between::{Between, Room},
    figures::Figures,
    link::{Link, Pace},
    passing::{Action, Outcome, Passage, Passing, Work},
    schedulers::Schedulers,
    waits::{Cause, MAX_CLASSES, Moves, Waited, Waits},
    workers::Workers,
};

/// How far servers may lag behind the caller's time without losing any of it: longer than a busy machine takes to resume a
/// thread, and short enough that the burst sent afterwards is a few milliseconds of link.
pub const CREDIT: Nanos = Nanos::from_millis(5);

/// Handles below this may be of any class; those beyond count as class 0. More packets than a node may hold.
const MAX_HANDLES: u64 = 1 << 24;

const CPU: u8 = 0;
const LINK: u8 = 1;

/// A policy in front of a CPU and a link.
///
/// ```
/// use dovetail_box::node::{Action, Link, Node, Outcome, Pace, Room};
/// use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, units::Rate};
///
/// let scheduler = "drfq".parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
/// let link = Link { rate: Rate::from_bps(8e6)?, overhead_bytes: 0, pace: Pace::Own };
/// let mut node = Node::new(scheduler, link, Room::DEFAULT);
///
/// let demand = Demand::new(&[Nanos::from_micros(10), link.time(1000)])?;
/// let packet = Packet { flow: FlowId(0), bytes: 1000, arrival: Nanos::ZERO, handle: 7, demand };
/// assert!(node.enqueue(&packet, 0, Nanos::ZERO).is_queued());
///
/// let Some(Action::Work(work)) = node.poll(Nanos::ZERO) else { panic!("the CPU is free") };
/// node.worked(Nanos::from_micros(12), Outcome::Forward { bytes: 1000 });
/// assert_eq!((node.poll(Nanos::ZERO), node.poll_at()), (None, Some(Nanos::from_micros(12))));
///
/// let Some(Action::Send(passage)) = node.poll(Nanos::from_micros(12)) else { panic!("the link is free") };
/// assert_eq!((passage.handle, passage.link_end), (work.handle, Nanos::from_micros(1012)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Node {
    schedulers: Schedulers,
    link: Link,
    room: Room,
    cpu: Cpu,
    /// Set if the CPU consists of several workers: then `cpu` stays free.
    workers: Option<Workers>,
    wire: Wire,
    between: Between,
    /// The time of the last event: time never runs backwards for schedulers.
    at: Nanos,
    /// Events due before this are late: the caller's time less the credit.
    credit_from: Nanos,
    /// The scheduler chose no packet, and there was neither an arrival nor feedback since.
    is_holding: bool,
    figures: Figures,
    waits: Waits,
    /// The class of each queued packet, by its handle.
    classes: Vec<u16>,
}

#[derive(Debug, Clone, Copy)]
enum Cpu {
    Free,
    /// The caller is processing it.
    Working(Passing),
    /// Processed; occupies the server until the end recorded in its passage.
    Busy(Passing, Outcome),
    /// Processed, but there is no room for it.
    Blocked(Passing),
}

#[derive(Debug, Clone, Copy)]
enum Wire {
    Free,
    Taken(Passing),
}

/// The next event. Simultaneous events are handled in this order, in which packets make room for one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    LinkEnds,
    WorkEnds,
    Choice,
}

impl Node {
    /// An idle node at instant zero.
    #[must_use]
    pub fn new(scheduler: Box<dyn Scheduler>, link: Link, room: Room) -> Self {
        Self {
            schedulers: Schedulers::new(scheduler),
            link,
            room,
            cpu: Cpu::Free,
            workers: None,
            wire: Wire::Free,
            between: Between::default(),
            at: Nanos::ZERO,
            credit_from: Nanos::ZERO,
            is_holding: false,
            figures: Figures::default(),
            waits: Waits::default(),
            classes: Vec::new(),
        }
    }

    /// An idle node at instant zero whose CPU consists of this many workers. The caller hands work to them, and may report
    /// results with [`worked_by`](Self::worked_by) at any time. With one worker it is the same as [`new`](Self::new).
    #[must_use]
    pub fn with_workers(scheduler: Box<dyn Scheduler>, link: Link, room: Room, workers: u16) -> Self {
        let node = Self::new(scheduler, link, room);
        if workers <= 1 {
            return node;
        }
        Self { workers: Some(Workers::new(workers)), waits: Waits::new(workers.into()), ..node }
    }

    /// Offers a packet of a class that arrived at `now`. Call [`poll`](Self::poll) first to settle what was due before.
    /// Handles are small numbers, such as table indices; those of queued packets are distinct. Costs as much as the
    /// policy's enqueue.
    pub fn enqueue(&mut self, packet: &Packet, class: u16, now: Nanos) -> Admission {
        self.at = self.at.max(now);
        self.goes_on();
        let admission = self.schedulers.enqueue(packet, self.at);
        if admission.refused.is_none() {
            let class = self.classify(packet.handle, class);
            self.waits.cpu.begins(class, packet.arrival, self.at);
        }
        admission
    }

    /// The next packet that was evicted for a later one; `None` if there are no more.
    pub fn poll_evicted(&mut self) -> Option<Packet> {
        let packet = self.schedulers.poll_evicted()?;
        self.waits.cpu.ends(self.class(packet.handle), self.at);
        Some(packet)
    }

    /// The next action due at `now`, the earliest first; `None` if nothing is due until [`poll_at`](Self::poll_at), or, with one
    /// worker, while the result of an [`Action::Work`] is outstanding. Costs as much as the policy's dequeue, plus O(workers).
    pub fn poll(&mut self, now: Nanos) -> Option<Action> {
        loop {
            let (due, event) = self.next()?;
            if due > now {
                return None;
            }
            self.pass_to(due, now);
            let action = match event {
                Event::LinkEnds => self.link_ends(),
                Event::WorkEnds => self.work_ends(),
                Event::Choice => self.choose(),
            };
            if action.is_some() {
                return action;
            }
        }
    }

    /// When to call [`poll`](Self::poll) again, unless something arrives first.
    #[must_use]
    pub fn poll_at(&self) -> Option<Nanos> {
        self.next().map(|(due, _)| due)
    }

    /// Reports that the requested work took the CPU this long.
    pub fn worked(&mut self, took: Nanos, outcome: Outcome) {
        let Cpu::Working(mut packet) = self.cpu else { return };
        packet.passage.cpu_end = packet.passage.cpu_start + took;
        if let Outcome::Forward { bytes } = outcome {
            packet.passage.bytes = bytes;
            packet.link_time = self.link.time(bytes);
        }
        self.waits.cpu.lasts(packet.passage.cpu_end);
        self.cpu = Cpu::Busy(packet, outcome);
    }

    /// Same as for [`worked`](Self::worked), for the oldest work of one of several workers that has not been reported yet.
    pub fn worked_by(&mut self, worker: u16, took: Nanos, outcome: Outcome) {
        match self.workers {
            None => self.worked(took, outcome),
            Some(_) => self.worked_by_one_of_many(worker, took, outcome),
        }
    }

    /// Reports that the interface has room for another packet, with [`Pace::Device`].
    pub fn link_freed(&mut self, now: Nanos) {
        if let Wire::Taken(packet) = &mut self.wire
            && self.link.pace == Pace::Device
        {
            packet.passage.link_end = packet.passage.link_start.max(now);
            self.waits.link.lasts(packet.passage.link_end);
        }
    }

    /// The policy, to change its parameters and weights.
    pub fn scheduler(&mut self) -> &mut dyn Scheduler {
        self.goes_on();
        self.schedulers.in_force()
    }

    /// Puts another policy in force. Queued packets leave first, in the order of the old one. Weights and programs of flows
    /// must be set on the new one again.
    pub fn replace(&mut self, scheduler: Box<dyn Scheduler>) {
        self.goes_on();
        self.schedulers.replace(scheduler);
    }

    /// Renumbers classes: packets of class `c` become class `to[c]`, and class `n` continues the sums of `from[n]`, if it
    /// existed before. `to` must have an entry for every class that packets have been of so far.
    pub fn change_classes(&mut self, to: &[u16], from: &[Option<u16>]) {
        let known = self.waits.classes();
        let from = &from[..from.len().min(MAX_CLASSES.into())];
        let Some(last) = from.len().checked_sub(1) else { return };
        let new = |class: u16| to.get(usize::from(class)).map_or(last, |&new| usize::from(new).min(last)) as u16;
        let to: Vec<_> = (0..known).map(new).collect();
        let from: Vec<_> = from.iter().map(|old| old.filter(|&old| old < known)).collect();
        self.waits.change(&Moves { to: &to, from: &from }, self.at);
        let on_cpu = match &mut self.cpu {
            Cpu::Working(packet) | Cpu::Busy(packet, _) | Cpu::Blocked(packet) => Some(&mut packet.class),
            Cpu::Free => None,
        };
        let on_link = match &mut self.wire {
            Wire::Taken(packet) => Some(&mut packet.class),
            Wire::Free => None,
        };
        let between = self.between.packets_mut().map(|packet| &mut packet.class);
        let at_work = self.workers.iter_mut().flat_map(Workers::packets_mut).map(|packet| &mut packet.class);
        for class in self.classes.iter_mut().chain(on_cpu).chain(on_link).chain(between).chain(at_work) {
            *class = to.get(usize::from(*class)).copied().unwrap_or(0);
        }
    }

    /// Changes the link that packets leave on.
    pub fn set_link(&mut self, link: Link, room: Room) {
        (self.link, self.room) = (link, room);
        // With a link paced by the node, no one reports any more when the device has room.
        if let Wire::Taken(packet) = &mut self.wire
            && link.pace == Pace::Own
            && packet.passage.link_end == Nanos::MAX
        {
            packet.passage.link_end = packet.passage.link_start + packet.link_time;
            self.waits.link.lasts(packet.passage.link_end);
        }
    }

    /// The current link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.link
    }

    /// Forgets a flow that has nothing queued; returns `false` if it has.
    pub fn forget(&mut self, flow: FlowId) -> bool {
        self.schedulers.forget(flow)
    }

    /// What the policy holds.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.schedulers.backlog()
    }

    /// Whether there is no packet in the node: neither queued, nor being processed, nor before the link.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.cpu, Cpu::Free)
            && self.workers.as_ref().is_none_or(Workers::is_empty)
            && self.between.is_empty()
            && self.schedulers.is_empty()
    }

    /// Whether the outcome of a packet offered now is known in advance: the CPU processes it at once, and then it leaves at
    /// once. The caller may do both before it offers the packet. O(1).
    #[must_use]
    pub fn passes_at_once(&self) -> bool {
        matches!(self.wire, Wire::Free) && self.workers.is_none() && self.schedulers.let_lone_pass() && self.is_empty()
    }

    /// Its counters so far.
    #[must_use]
    pub fn figures(&self) -> Figures {
        self.figures
    }

    /// Waiting times of packets, up to the last event. O(classes²).
    pub fn waited(&mut self) -> Waited {
        self.waits.waited(self.at)
    }

    /// Continues the sums of an earlier node, whose packets are lost.
    pub fn carry_on(&mut self, before: &mut Self) {
        self.figures = before.figures;
        self.waits.carry_on(before.waited());
    }

    /// The policy will be asked again: from here on, an idle CPU is not attributed to the policy.
    fn goes_on(&mut self) {
        if self.is_holding {
            self.is_holding = false;
            if self.workers.is_some() {
                self.idle_become(Cause::Late, Nanos::MAX);
            } else if matches!(self.cpu, Cpu::Free) {
                self.waits.cpu.becomes(0, Cause::Late, self.at, Nanos::MAX);
            }
        }
    }

    fn class(&self, handle: u64) -> u16 {
        self.classes.get(handle as usize).copied().unwrap_or(0)
    }

    /// Records a packet's class; returns the class that it counts as.
    fn classify(&mut self, handle: u64, class: u16) -> u16 {
        if handle >= MAX_HANDLES {
            return self.waits.class(0, self.at);
        }
        let class = self.waits.class(class, self.at);
        let at = handle as usize;
        if self.classes.len() <= at {
            self.classes.resize(at + 1, 0);
        }
        self.classes[at] = class;
        class
    }

    fn next(&self) -> Option<(Nanos, Event)> {
        let link = match &self.wire {
            Wire::Taken(packet) => Some((packet.passage.link_end, Event::LinkEnds)),
            Wire::Free => None,
        };
        let cpu = match &self.cpu {
            Cpu::Busy(packet, _) => Some((packet.passage.cpu_end, Event::WorkEnds)),
            Cpu::Free => match &self.workers {
                Some(workers) => self.next_of(workers),
                None => self.choice_at().map(|at| (at, Event::Choice)),
            },
            Cpu::Working(_) | Cpu::Blocked(_) => None,
        };
        // Nothing happens while the caller works: its result may be due before.
        if matches!(self.cpu, Cpu::Working(_)) {
            return None;
        }
        let next = match (link, cpu) {
            (Some(link), Some(cpu)) => Some(link.min(cpu)),
            (link, cpu) => link.or(cpu),
        };
        next.filter(|&(due, _)| due != Nanos::MAX)
    }

    fn choice_at(&self) -> Option<Nanos> {
        if self.schedulers.is_empty() {
            None
        } else if self.is_holding {
            self.schedulers.poll_at()
        } else {
            Some(self.at)
        }
    }

    /// Advances the time to `due`, or to `now` less the credit if that is later.
    fn pass_to(&mut self, due: Nanos, now: Nanos) {
        let due = self.at.max(due);
        let earliest = now - CREDIT;
        self.credit_from = earliest;
        if due < earliest {
            self.figures.late += earliest - due;
        }
        self.at = due.max(earliest);
    }

    fn link_ends(&mut self) -> Option<Action> {
        if let Wire::Taken(packet) = std::mem::replace(&mut self.wire, Wire::Free) {
            let took = packet.passage.link_end - packet.passage.link_start;
            self.figures.link_busy += took;
            self.waits.link.served(packet.class, took);
            self.waits.link.becomes(0, Cause::Late, self.at, Nanos::MAX);
            self.tell(&packet, LINK, Stage::Finished, took);
            self.schedulers.ended(&packet);
        }
        let next = self.between.pop();
        if self.workers.is_some() {
            let instead = self.unblock(next.as_ref());
            return Some(self.send_on(instead.or(next)?));
        }
        if let Cpu::Blocked(blocked) = self.cpu
            && (self.between.has(self.room) || next.is_none())
        {
            self.figures.cpu_blocked += self.at - blocked.passage.cpu_end;
            self.cpu_is_free();
            match next {
                Some(_) => self.between.push(blocked),
                None => return Some(self.send_on(blocked)),
            }
        }
        Some(self.send_on(next?))
    }

    fn work_ends(&mut self) -> Option<Action> {
        if self.workers.is_some() {
            return self.work_of_worker_ends();
        }
        let Cpu::Busy(packet, outcome) = std::mem::replace(&mut self.cpu, Cpu::Free) else { return None };
        let took = packet.passage.cpu_end - packet.passage.cpu_start;
        self.figures.worked += 1;
        self.figures.cpu_busy += took;
        self.waits.cpu.served(packet.class, took);
        self.cpu_is_free();
        self.tell(&packet, CPU, Stage::Finished, took);
        match outcome {
            Outcome::Drop => {
                self.figures.dropped += 1;
                self.tell(&packet, LINK, Stage::Dropped, Nanos::ZERO);
                self.schedulers.ended(&packet);
                None
            }
            Outcome::Forward { .. } => {
                self.waits.link.begins(packet.class, packet.passage.cpu_end, self.at);
                match self.wire {
                    Wire::Free => return Some(self.send_on(packet)),
                    Wire::Taken(_) if self.between.has(self.room) => self.between.push(packet),
                    Wire::Taken(_) => {
                        self.cpu = Cpu::Blocked(packet);
                        self.waits.cpu.becomes(0, Cause::Stalled, self.at, Nanos::MAX);
                    }
                }
                None
            }
        }
    }

    fn cpu_is_free(&mut self) {
        self.cpu = Cpu::Free;
        self.waits.cpu.becomes(0, Cause::Late, self.at, Nanos::MAX);
    }

    fn choose(&mut self) -> Option<Action> {
        if self.workers.is_some() {
            return self.choose_for_workers();
        }
        let Some(packet) = self.chosen() else {
            self.is_holding = true;
            let until = self.schedulers.poll_at().unwrap_or(Nanos::MAX);
            self.waits.cpu.becomes(0, Cause::Held, self.at, until);
            return None;
        };
        let (class, passage) = (packet.class, packet.passage);
        self.waits.cpu.ends(class, self.at);
        self.waits.cpu.becomes(0, Cause::Class(class), self.at, Nanos::MAX);
        self.cpu = Cpu::Working(packet);
        self.tell(&packet, CPU, Stage::Started, Nanos::ZERO);
        Some(Action::Work(Work { flow: passage.flow, handle: passage.handle, start: self.at, worker: 0 }))
    }

    /// The packet that the policy chooses next.
    #[inline]
    fn chosen(&mut self) -> Option<Passing> {
        let (dispatch, generation) = self.schedulers.dequeue(self.at)?;
        let packet = dispatch.packet;
        let class = self.class(packet.handle);
        let passage = Passage {
            flow: packet.flow,
            handle: packet.handle,
            bytes: packet.bytes,
            arrival: packet.arrival,
            cpu_start: self.at,
            cpu_end: Nanos::MAX,
            link_start: Nanos::MAX,
            link_end: Nanos::MAX,
        };
        let link_time = self.link.time(packet.bytes);
        Some(Passing { passage, class, ticket: dispatch.ticket, generation, link_time })
    }

    /// Sends a packet that waits for the link.
    fn send_on(&mut self, mut packet: Passing) -> Action {
        self.waits.link.ends(packet.class, self.at);
        packet.passage.link_start = self.at;
        let passage = Passage { link_end: self.at + packet.link_time, ..packet.passage };
        packet.passage.link_end = if self.link.pace == Pace::Own { passage.link_end } else { Nanos::MAX };
        self.waits.link.becomes(0, Cause::Class(packet.class), self.at, packet.passage.link_end);
        self.wire = Wire::Taken(packet);
        self.figures.sent += 1;
        self.figures.sent_bytes += u64::from(passage.bytes);
        self.tell(&packet, LINK, Stage::Started, Nanos::ZERO);
        Action::Send(passage)
    }

    fn tell(&mut self, packet: &Passing, resource: u8, stage: Stage, took: Nanos) {
        self.goes_on();
        self.schedulers.tell(packet, resource, stage, took, self.at);
    }
}
