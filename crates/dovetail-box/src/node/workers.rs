//! A CPU of several workers: who does which packet's work.
//!
//! The policy chooses packets one after the other, as before, and each goes to a worker's queue, which it leaves in order.
//!
//! - **Order.** A flow that has packets with a worker goes on there. So its packets end in the order in which they were
//!   chosen, whatever each of them takes. A flow that has none goes to the worker that is likely to be free first.
//! - **Ahead.** While a worker is busy it may be given what is likely to keep it for another [`AHEAD`], and a packet at
//!   least: it begins the next one without asking. More would be ordered by when it was chosen, not by who is due.
//! - **Kept.** A chosen packet whose worker has no room is kept, and no other is chosen until it has: policies do not take
//!   packets back. While a worker is idle for that, there is more room for packets in a row of one flow ([`AHEAD_OF_IDLE`]),
//!   so that policies that choose so keep all workers busy. For others that would be a trap: flows whose packets are never
//!   all done never leave a worker that has too many of them.
//! - **Moved.** Such flows part all the same: now and then ([`BETWEEN_MOVES`]) a kept packet whose worker has other flows
//!   too, while another worker is idle, waits until one or the other have left, and so they part.
//!
//! The caller does the work elsewhere, and answers each worker's packets in the order in which it got them, at any time. A
//! worker's time is its own: its packet begins when the one before has left it, be that known only later.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos};

use super::passing::{Outcome, Passing};

/// How much work a worker may have beside the packet that it works on: longer than the caller takes to come back to it.
const AHEAD: Nanos = Nanos::from_micros(200);

/// The same while another one is idle: some packets in a row of a flow, and short beside what anyone notices.
const AHEAD_OF_IDLE: Nanos = Nanos::from_millis(2);

/// The least time between two flows' moves to another worker. A move costs up to [`AHEAD`] of all of them.
const BETWEEN_MOVES: Nanos = Nanos::from_millis(5);

/// The most packets that a worker has.
pub const MOST_JOBS: usize = 64;

/// Flows below this go on where their packets are; those beyond count as one flow. More than a node may know.
const MOST_FLOWS: usize = 1 << 24;

/// Weight of the newest time.
const GAIN: f64 = 1.0 / 16.0;

/// The workers and what they have to do.
#[derive(Debug)]
pub(super) struct Workers {
    workers: Vec<Worker>,
    /// Where the packets of a flow are, by its id.
    pins: Vec<Pin>,
    /// Chosen, and its worker has no room.
    pub(super) kept: Option<Passing>,
    /// It waits until its flow's packets have left its worker, or all others.
    kept_moves: bool,
    /// When another flow may move.
    moves_from: Nanos,
    /// Whose packet finds no room before the link, the first first.
    pub(super) blocked: VecDeque<usize>,
}

#[derive(Debug, Default)]
struct Worker {
    /// The first is worked on, or blocked.
    jobs: VecDeque<Job>,
    /// How many of them are answered, from the first on.
    answered: usize,
    is_blocked: bool,
    /// When the last that left it did.
    free_at: Nanos,
    /// What packets took lately, in nanoseconds.
    usual: Option<f64>,
}

/// Of a packet that has not begun, `cpu_start` is when it was handed out.
#[derive(Debug)]
struct Job {
    packet: Passing,
    answer: Option<(Nanos, Outcome)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Pin {
    worker: u16,
    packets: u16,
}

/// A packet that a worker begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub packet: Passing,
    pub handed_out: Nanos,
}

impl Worker {
    fn has_room(&self, ahead: Nanos) -> bool {
        let ahead = match self.usual {
            Some(usual) => (ahead.as_f64() / usual).clamp(1.0, (MOST_JOBS - 1) as f64) as usize,
            None => 1,
        };
        self.jobs.len() <= ahead
    }

    /// How long it is likely to have work.
    fn expected(&self) -> f64 {
        self.jobs.len() as f64 * self.usual.unwrap_or(1.0).max(1.0)
    }

    /// Begins the first of its packets.
    fn begin(&mut self) -> Option<Begun> {
        let Job { packet, answer } = self.jobs.front_mut()?;
        let handed_out = packet.passage.cpu_start;
        packet.passage.cpu_start = handed_out.max(self.free_at);
        if let Some((took, _)) = answer {
            packet.passage.cpu_end = packet.passage.cpu_start + *took;
        }
        Some(Begun { packet: *packet, handed_out })
    }
}

impl Workers {
    /// So many, all idle.
    pub(super) fn new(count: u16) -> Self {
        let workers = (0..count.max(1)).map(|_| Worker::default()).collect();
        Self {
            workers,
            pins: Vec::new(),
            kept: None,
            kept_moves: false,
            moves_from: Nanos::ZERO,
            blocked: VecDeque::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.workers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_none() && self.workers.iter().all(|worker| worker.jobs.is_empty())
    }

    /// Those without work.
    pub(super) fn idle(&self) -> impl Iterator<Item = usize> {
        (0..self.workers.len()).filter(|&at| self.workers[at].jobs.is_empty())
    }

    /// Whether a packet may be chosen, or the one that is kept handed out.
    pub(super) fn may_choose(&self) -> bool {
        match &self.kept {
            Some(packet) => self.place(packet.passage.flow).is_some(),
            None => self.workers.iter().any(|worker| worker.has_room(AHEAD)),
        }
    }

    /// The worker that a packet of this flow goes to next; `None` where there is no room for it.
    pub(super) fn place(&self, flow: FlowId) -> Option<usize> {
        let pin = self.pins.get(pin_of(flow)).filter(|pin| pin.packets > 0);
        if let Some(pin) = pin {
            let worker = usize::from(pin.worker);
            let last = self.workers[worker].jobs.back();
            let is_in_a_row = last.is_some_and(|job| job.packet.passage.flow == flow);
            if self.kept.is_some() && self.kept_moves && self.is_among_others(*pin) {
                return None;
            }
            let ahead = if is_in_a_row && self.idle().next().is_some() { AHEAD_OF_IDLE } else { AHEAD };
            return self.workers[worker].has_room(ahead).then_some(worker);
        }
        let free = (0..self.workers.len()).filter(|&at| self.workers[at].has_room(AHEAD));
        free.min_by(|&a, &b| self.workers[a].expected().total_cmp(&self.workers[b].expected()))
    }

    /// Whether the worker has packets of other flows, too.
    fn is_among_others(&self, pin: Pin) -> bool {
        usize::from(pin.packets) < self.workers[usize::from(pin.worker)].jobs.len()
    }

    /// Keeps a chosen packet that found no room at `now`.
    pub(super) fn keep(&mut self, packet: Passing, now: Nanos) {
        let pin = self.pins.get(pin_of(packet.passage.flow)).copied().unwrap_or_default();
        self.kept_moves = self.is_among_others(pin) && now >= self.moves_from && self.idle().next().is_some();
        if self.kept_moves {
            self.moves_from = now + BETWEEN_MOVES;
        }
        self.kept = Some(packet);
    }

    /// Gives a worker a packet at `now`; what it begins with, if it was idle.
    pub(super) fn hand_out(&mut self, to: usize, mut packet: Passing, now: Nanos) -> Option<Begun> {
        let at = pin_of(packet.passage.flow);
        if self.pins.len() <= at {
            self.pins.resize(at + 1, Pin::default());
        }
        let pin = &mut self.pins[at];
        *pin = Pin { worker: to as u16, packets: pin.packets + 1 };
        packet.passage.cpu_start = now;
        let worker = &mut self.workers[to];
        worker.jobs.push_back(Job { packet, answer: None });
        if worker.jobs.len() == 1 { worker.begin() } else { None }
    }

    /// The first packet of a worker that is not answered yet.
    pub(super) fn unanswered(&mut self, of: usize) -> Option<&mut Passing> {
        let worker = self.workers.get_mut(of)?;
        worker.jobs.get_mut(worker.answered).map(|job| &mut job.packet)
    }

    /// The first packet of a worker that was not answered took this long.
    pub(super) fn answer(&mut self, of: usize, took: Nanos, outcome: Outcome) {
        let Some(worker) = self.workers.get_mut(of) else { return };
        let Some(job) = worker.jobs.get_mut(worker.answered) else { return };
        job.answer = Some((took, outcome));
        if worker.answered == 0 {
            job.packet.passage.cpu_end = job.packet.passage.cpu_start + took;
        }
        worker.answered += 1;
        let took = took.as_f64();
        worker.usual = Some(worker.usual.map_or(took, |usual| usual + GAIN * (took - usual)));
    }

    /// Whose work ends next, and when, as far as it is known.
    pub(super) fn next_end(&self) -> Option<(Nanos, usize)> {
        let ends = |(at, worker): (usize, &Worker)| {
            let job = worker.jobs.front().filter(|job| job.answer.is_some() && !worker.is_blocked)?;
            Some((job.packet.passage.cpu_end, at))
        };
        self.workers.iter().enumerate().filter_map(ends).min()
    }

    /// The packet that a worker has first, and what its work came to, once it is answered.
    pub(super) fn first(&self, of: usize) -> Option<(Passing, Nanos, Outcome)> {
        let job = self.workers[of].jobs.front()?;
        let (took, outcome) = job.answer?;
        Some((job.packet, took, outcome))
    }

    /// The first packet of a worker finds no room before the link.
    pub(super) fn block(&mut self, worker: usize) {
        self.workers[worker].is_blocked = true;
        self.blocked.push_back(worker);
    }

    /// The first packet of a worker leaves it, which is free from then on; what it begins, if there is more.
    pub(super) fn leave(&mut self, worker: usize, free_at: Nanos) -> Option<Begun> {
        let worker = &mut self.workers[worker];
        let job = worker.jobs.pop_front()?;
        worker.answered = worker.answered.saturating_sub(1);
        (worker.is_blocked, worker.free_at) = (false, free_at);
        if let Some(pin) = self.pins.get_mut(pin_of(job.packet.passage.flow)) {
            pin.packets = pin.packets.saturating_sub(1);
        }
        worker.begin()
    }

    /// All packets that are with workers or kept.
    pub(super) fn packets_mut(&mut self) -> impl Iterator<Item = &mut Passing> {
        let jobs = self.workers.iter_mut().flat_map(|worker| worker.jobs.iter_mut().map(|job| &mut job.packet));
        jobs.chain(self.kept.as_mut())
    }
}

fn pin_of(flow: FlowId) -> usize {
    flow.index().min(MOST_FLOWS)
}
