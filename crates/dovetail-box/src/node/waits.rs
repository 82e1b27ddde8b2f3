//! Attribution of waiting times, by class.
//!
//! While packets of class `h` wait before a server that is in state `g`, the waiting time of each is attributed to `g`.
//! With `W_h` of them waiting
//!
//! ```text
//! owed[g][h] += W_h · dt
//! ```
//!
//! A server is in the state of the class that it serves, or in one of three states without a packet ([`Cause`]). All rows are
//! brought up to date when the state changes, as if each `W_h` had been constant since it began; the row of a packet that came
//! or went in between is corrected at that time. So a packet costs O(1) when it comes and when it goes and O(classes) for each
//! state change that it causes, and needs no memory of its own: there is one matrix for the CPU and one for the link.
//!
//! The sums cover all packets that were queued, whether they have left, still wait, or were evicted.
//!
//! A CPU of several workers consists of several units, each in a state of its own. The waiting time of a packet is
//! attributed to all of them in equal parts, so sums are kept in fractions: with `n` units, an `n`-th of a nanosecond.

use dovetail_sched::Nanos;

/// Maximum number of classes that are distinguished. Further ones count as the last of these.
pub const MAX_CLASSES: u16 = 64;

/// The cause of a packet's waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A packet of this class is being served, possibly of the same class or flow.
    Class(u16),
    /// The CPU, or the worker, is blocked by a packet that finds no room before the link.
    Stalled,
    /// The CPU is free, and the policy chose none; or a worker is free, and the packet that the policy chose belongs to a
    /// flow that is with another worker.
    Held,
    /// The server is free and a packet could proceed, but the caller is late, or has no room for more.
    Late,
}

impl Cause {
    const WITHOUT_CLASS: usize = 3;

    const fn column(self) -> usize {
        match self {
            Self::Stalled => 0,
            Self::Held => 1,
            Self::Late => 2,
            Self::Class(class) => Self::WITHOUT_CLASS + class as usize,
        }
    }
}

/// Waiting times of the packets of each class so far. Sums of nanoseconds over packets: ten packets that wait for a second
/// have waited for ten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waited {
    cpu: Owed,
    link: Owed,
}

impl Waited {
    /// All classes that packets have been of are below this.
    #[must_use]
    pub fn classes(&self) -> u16 {
        self.cpu.waiting.len() as u16
    }

    /// How long packets of a class waited for the CPU because of `cause`, in nanoseconds.
    #[must_use]
    pub fn before_cpu(&self, class: u16, cause: Cause) -> u128 {
        self.cpu.at(cause, class)
    }

    /// The same for the link, which a packet waits for from the end of its processing, even while it blocks the CPU. Always
    /// zero for [`Cause::Stalled`] and [`Cause::Held`].
    #[must_use]
    pub fn before_link(&self, class: u16, cause: Cause) -> u128 {
        self.link.at(cause, class)
    }

    /// How long the CPU processed packets of a class; no part of their waiting times.
    #[must_use]
    pub fn on_cpu(&self, class: u16) -> Nanos {
        self.cpu.served.get(usize::from(class)).copied().unwrap_or_default()
    }

    /// How long the link was occupied by packets of a class.
    #[must_use]
    pub fn on_link(&self, class: u16) -> Nanos {
        self.link.served.get(usize::from(class)).copied().unwrap_or_default()
    }

    /// Number of packets of a class that currently wait for the CPU.
    #[must_use]
    pub fn waiting_before_cpu(&self, class: u16) -> u64 {
        self.cpu.waiting.get(usize::from(class)).copied().unwrap_or_default()
    }

    /// Number of packets of a class that currently wait for the link.
    #[must_use]
    pub fn waiting_before_link(&self, class: u16) -> u64 {
        self.link.waiting.get(usize::from(class)).copied().unwrap_or_default()
    }
}

/// The sums of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Owed {
    /// By class: number of waiting packets, and total service time.
    waiting: Vec<u64>,
    served: Vec<Nanos>,
    /// By column, then by class, in fractions of a nanosecond. Negative only while its column's state lasts.
    sums: Vec<i128>,
}

impl Owed {
    fn at(&self, cause: Cause, class: u16) -> u128 {
        let classes = self.waiting.len();
        let is_there = usize::from(class) < classes && cause.column() < Cause::WITHOUT_CLASS + classes;
        let at = cause.column() * classes + usize::from(class);
        if is_there { u128::try_from(self.sums[at]).unwrap_or_default() } else { 0 }
    }

    fn add(&mut self, column: usize, class: usize, packets: u64, time: Nanos) {
        self.sums[column * self.waiting.len() + class] += (u128::from(packets) * u128::from(time.0)) as i128;
    }

    /// Accounts for a packet that comes or goes while a unit's cause lasts.
    #[inline]
    fn correct(&mut self, unit: &Unit, class: u16, now: Nanos, sign: impl Fn(i128) -> i128) {
        let (in_time, late) = unit.split(now);
        let (classes, class) = (self.waiting.len(), usize::from(class));
        self.sums[unit.cause.column() * classes + class] += sign(in_time.0.into());
        self.sums[Cause::Late.column() * classes + class] += sign(late.0.into());
    }

    /// Converts sums in fractions of a nanosecond, `parts` to one, to whole nanoseconds: the total of a class over all
    /// causes is exact, and each cause to a nanosecond.
    fn whole(&self, parts: i128) -> Self {
        let mut whole = self.clone();
        let classes = self.waiting.len();
        for class in 0..classes {
            let mut before = 0;
            for sum in whole.sums.iter_mut().skip(class).step_by(classes) {
                let until = before + *sum;
                *sum = until.div_euclid(parts) - before.div_euclid(parts);
                before = until;
            }
        }
        whole
    }

    /// The sums after a renumbering of classes.
    fn moved(&self, moves: &Moves<'_>) -> Self {
        let (before, classes) = (self.waiting.len(), moves.from.len());
        let mut next = Self {
            waiting: vec![0; classes],
            served: moves.from.iter().map(|old| old.map_or(Nanos::ZERO, |old| self.served[usize::from(old)])).collect(),
            sums: vec![0; (Cause::WITHOUT_CLASS + classes) * classes],
        };
        for (&waiting, &new) in self.waiting.iter().zip(moves.to) {
            next.waiting[usize::from(new)] += waiting;
        }
        let own = (0..Cause::WITHOUT_CLASS).map(|column| (column, column));
        let column = |class: u16| Cause::Class(class).column();
        let kept = || moves.from.iter().enumerate().filter_map(|(new, old)| Some((new as u16, (*old)?)));
        for (to, from) in own.chain(kept().map(|(new, old)| (column(new), column(old)))) {
            for (new, old) in kept() {
                next.sums[to * classes + usize::from(new)] = self.sums[from * before + usize::from(old)];
            }
        }
        next
    }
}

/// A renumbering of classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moves<'a> {
    /// The new class of each class's packets.
    pub to: &'a [u16],
    /// The old class of each class, if it existed: it continues that one's sums.
    pub from: &'a [Option<u16>],
}

/// A server and the waiting times that it causes.
#[derive(Debug)]
pub(super) struct Server {
    owed: Owed,
    /// The first of its units, the only one of most servers, and the others.
    unit: Unit,
    others: Vec<Unit>,
    /// Total number of waiting packets.
    waiting: u64,
}

/// State of a unit of a server.
#[derive(Debug, Clone, Copy)]
struct Unit {
    cause: Cause,
    /// Start and end of the cause; after the end, the node was late.
    since: Nanos,
    until: Nanos,
}

impl Unit {
    const NEW: Self = Self { cause: Cause::Late, since: Nanos::ZERO, until: Nanos::MAX };

    /// Splits the time since the cause began: as long as it lasted, and after that.
    fn split(&self, now: Nanos) -> (Nanos, Nanos) {
        let ended = self.until.min(now).max(self.since);
        (ended - self.since, now - ended)
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::of(1)
    }
}

impl Server {
    fn of(units: usize) -> Self {
        Self { owed: Owed::default(), unit: Unit::NEW, others: vec![Unit::NEW; units.saturating_sub(1)], waiting: 0 }
    }

    /// Makes a unit the `cause` of waiting from `now` on, until the next change, but not beyond `until`. O(classes) if
    /// packets wait.
    pub(super) fn becomes(&mut self, unit: usize, cause: Cause, now: Nanos, until: Nanos) {
        let Self { owed, unit: first, others, waiting } = self;
        let unit = if unit == 0 { Some(first) } else { others.get_mut(unit - 1) };
        let Some(unit) = unit else { return };
        if *waiting > 0 && now > unit.since {
            let (in_time, late) = unit.split(now);
            let (column, late_column) = (unit.cause.column(), Cause::Late.column());
            for class in 0..owed.waiting.len() {
                let packets = owed.waiting[class];
                owed.add(column, class, packets, in_time);
                if late > Nanos::ZERO {
                    owed.add(late_column, class, packets, late);
                }
            }
        }
        *unit = Unit { cause, since: now, until };
    }

    /// The state of the only unit lasts until `until`.
    pub(super) fn lasts(&mut self, until: Nanos) {
        self.unit.until = until;
    }

    /// A packet that could have been served since `from` waits, as is known at `now`.
    pub(super) fn begins(&mut self, class: u16, from: Nanos, now: Nanos) {
        self.correct(class, now, |nanos| -nanos);
        self.owes(Cause::Late, class, now - from);
        self.owed.waiting[usize::from(class)] += 1;
        self.waiting += 1;
    }

    /// A packet stops waiting.
    pub(super) fn ends(&mut self, class: u16, now: Nanos) {
        self.correct(class, now, |nanos| nanos);
        // Cannot underflow: every packet that stops waiting has started.
        let waiting = &mut self.owed.waiting[usize::from(class)];
        *waiting = waiting.saturating_sub(1);
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Attributes additional waiting time of a packet to a cause.
    pub(super) fn owes(&mut self, cause: Cause, class: u16, time: Nanos) {
        self.owed.add(cause.column(), usize::from(class), self.units() as u64, time);
    }

    /// Records that a packet has been served.
    pub(super) fn served(&mut self, class: u16, took: Nanos) {
        self.owed.served[usize::from(class)] += took;
    }

    /// Accounts for a packet that comes or goes while causes last.
    fn correct(&mut self, class: u16, now: Nanos, sign: impl Fn(i128) -> i128 + Copy) {
        self.owed.correct(&self.unit, class, now, sign);
        for unit in &self.others {
            self.owed.correct(unit, class, now, sign);
        }
    }

    /// Brings the sums up to date. The causes continue.
    fn settle(&mut self, now: Nanos) {
        for at in 0..self.units() {
            let Unit { cause, until, .. } = if at == 0 { self.unit } else { self.others[at - 1] };
            self.becomes(at, cause, now, until);
        }
    }

    fn change(&mut self, moves: &Moves<'_>, now: Nanos) {
        self.settle(now);
        self.owed = self.owed.moved(moves);
        for unit in std::iter::once(&mut self.unit).chain(&mut self.others) {
            if let Cause::Class(class) = &mut unit.cause {
                *class = moves.to[usize::from(*class)];
            }
        }
    }

    fn units(&self) -> usize {
        1 + self.others.len()
    }

    /// The sums so far, in whole nanoseconds.
    fn owed(&self) -> Owed {
        if self.others.is_empty() { self.owed.clone() } else { self.owed.whole(self.units() as i128) }
    }

    /// Continues the sums of an earlier server, whose packets are lost.
    fn carry_on(&mut self, before: Owed) {
        let parts = self.units() as i128;
        let sums = before.sums.iter().map(|sum| sum * parts).collect();
        self.owed = Owed { waiting: vec![0; before.waiting.len()], sums, ..before };
        self.unit = Unit::NEW;
        self.others.fill(Unit::NEW);
        self.waiting = 0;
    }
}

/// Both servers.
#[derive(Debug, Default)]
pub(super) struct Waits {
    pub cpu: Server,
    pub link: Server,
    classes: u16,
}

impl Waits {
    /// For a CPU of this many workers.
    pub(super) fn new(workers: usize) -> Self {
        Self { cpu: Server::of(workers), ..Self::default() }
    }

    /// All classes that packets have been of are below this.
    pub(super) fn classes(&self) -> u16 {
        self.classes
    }

    /// The class that a class counts as; makes room for its sums.
    pub(super) fn class(&mut self, class: u16, now: Nanos) -> u16 {
        let class = class.min(MAX_CLASSES - 1);
        if class >= self.classes {
            let known: Vec<_> = (0..self.classes).collect();
            let from: Vec<_> = (0..=class).map(|class| known.get(usize::from(class)).copied()).collect();
            self.change(&Moves { to: &known, from: &from }, now);
        }
        class
    }

    pub(super) fn change(&mut self, moves: &Moves<'_>, now: Nanos) {
        self.cpu.change(moves, now);
        self.link.change(moves, now);
        self.classes = moves.from.len() as u16;
    }

    /// The waiting times up to `now`. O(classes²).
    pub(super) fn waited(&mut self, now: Nanos) -> Waited {
        self.cpu.settle(now);
        self.link.settle(now);
        Waited { cpu: self.cpu.owed(), link: self.link.owed() }
    }

    /// Continues the sums of a node whose packets are lost.
    pub(super) fn carry_on(&mut self, before: Waited) {
        self.classes = before.classes();
        self.cpu.carry_on(before.cpu);
        self.link.carry_on(before.link);
    }
}
