//! A CPU of several workers: assigns packets to them.
//!
//! The policy chooses packets one by one, as for a single CPU, and each goes to a worker's queue, which it leaves in order.
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
//! The caller processes packets elsewhere, and reports each worker's results in the order in which the worker got the
//! packets, at any time. Each worker has its own timeline: its packet starts when the one before has left the worker, even
//! if that is learnt only later.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos};

use super::passing::{Outcome, Passing};

/// Amount of work that a worker may have in addition to the packet in progress: longer than the caller takes to return to it.
const AHEAD: Nanos = Nanos::from_micros(200);

/// The same while another worker is idle: some packets of a flow in a row, and too short to be noticed.
const AHEAD_OF_IDLE: Nanos = Nanos::from_millis(2);

/// Minimum time between two flows' moves to another worker. A move costs up to [`AHEAD`] of all workers.
const BETWEEN_MOVES: Nanos = Nanos::from_millis(5);

/// Maximum number of packets at a worker.
pub const MAX_JOBS: usize = 64;

/// Flows below this stay where their packets are; those beyond count as one flow. More than a node may know.
const MAX_FLOWS: usize = 1 << 24;

/// Weight of the newest measurement.
const GAIN: f64 = 1.0 / 16.0;

/// The workers and their queues.
#[derive(Debug)]
pub(super) struct Workers {
    workers: Vec<Worker>,
    /// The worker of each flow's packets, by flow id.
    pins: Vec<Pin>,
    /// A chosen packet whose worker has no room.
    pub(super) kept: Option<Passing>,
    /// Whether it waits until its flow's packets, or all others, have left its worker.
    kept_moves: bool,
    /// When another flow may move.
    moves_from: Nanos,
    /// Workers whose packet finds no room before the link, in order.
    pub(super) blocked: VecDeque<usize>,
}

#[derive(Debug, Default)]
struct Worker {
    /// The first is in progress, or blocked.
    jobs: VecDeque<Job>,
    /// How many of them have been answered, counted from the first.
    answered: usize,
    is_blocked: bool,
    /// When the last packet left it.
    free_at: Nanos,
    /// Recent processing time per packet, in nanoseconds.
    usual: Option<f64>,
}

/// Until a packet starts, `cpu_start` is when it was handed out.
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

/// A packet that a worker starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub packet: Passing,
    pub handed_out: Nanos,
}

impl Worker {
    fn has_room(&self, ahead: Nanos) -> bool {
        let ahead = match self.usual {
            Some(usual) => (ahead.as_f64() / usual).clamp(1.0, (MAX_JOBS - 1) as f64) as usize,
            None => 1,
        };
        self.jobs.len() <= ahead
    }

    /// Expected duration of its queue.
    fn expected(&self) -> f64 {
        self.jobs.len() as f64 * self.usual.unwrap_or(1.0).max(1.0)
    }

    /// Starts its first packet.
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
    /// This many workers, all idle.
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

    /// The workers without packets.
    pub(super) fn idle(&self) -> impl Iterator<Item = usize> {
        (0..self.workers.len()).filter(|&at| self.workers[at].jobs.is_empty())
    }

    /// Whether a packet may be chosen, or the kept one handed out.
    pub(super) fn may_choose(&self) -> bool {
        match &self.kept {
            Some(packet) => self.place(packet.passage.flow).is_some(),
            None => self.workers.iter().any(|worker| worker.has_room(AHEAD)),
        }
    }

    /// The worker for the next packet of this flow; `None` if there is no room for it.
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

    /// Whether the worker also has packets of other flows.
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

    /// Gives a packet to a worker at `now`; returns the packet that it starts with, if it was idle.
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

    /// The first packet of a worker that has not been answered yet.
    pub(super) fn unanswered(&mut self, of: usize) -> Option<&mut Passing> {
        let worker = self.workers.get_mut(of)?;
        worker.jobs.get_mut(worker.answered).map(|job| &mut job.packet)
    }

    /// Answers the first unanswered packet of a worker: processing took this long.
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

    /// The worker whose packet ends next, and when, as far as known.
    pub(super) fn next_end(&self) -> Option<(Nanos, usize)> {
        let ends = |(at, worker): (usize, &Worker)| {
            let job = worker.jobs.front().filter(|job| job.answer.is_some() && !worker.is_blocked)?;
            Some((job.packet.passage.cpu_end, at))
        };
        self.workers.iter().enumerate().filter_map(ends).min()
    }

    /// The first packet of a worker and the result of its processing, once answered.
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

    /// The first packet of a worker leaves it, which is free from then on; returns the packet that it starts next.
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
    flow.index().min(MAX_FLOWS)
}
