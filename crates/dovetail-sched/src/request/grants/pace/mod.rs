//! The pace at which units are elicited.
//!
//! A token bucket of units. A turn may happen while there are tokens, and takes its charge even if that is more than there are;
//! if its server is known to be farther away than `d*`, then once what the turn lets in is due (`due.rs`). Tokens arrive at the
//! *pace*, and the bucket holds at most what it brings in the time `d*`, or a turn's worth. What is refunded beyond that is lost,
//! and a `C` that is learnt makes up for it; if nothing is learnt, turns that wait have all of it at once.
//!
//! With `d` the far queue's delay and `C` the link's estimated capacity,
//!
//! ```text
//! e     = (d - d*)/d*, between -1 and 1
//! pace  = C·(1 - g·e)                        g = 0.15
//! dC/dt = -k·e·C while candidates wait for tokens, and while e > 0 and windows are what holds senders back     k = 0.035/s
//! C               stays otherwise, and is always between 1/64 and 64 of what was given
//! pace  = 0.95·C, and C stays                while d is not known, or was told more than 2 s ago
//! ```
//!
//! `d*` is the configured delay, or half of the queue's room if that was seen to be less: a queue that drops before it is `d*`
//! long would never seem long. It is less if many responses are stalled, as below. A queue in equilibrium has `d = d*`: short,
//! and never empty, so the link is full. The first term keeps it there, the second finds `C` if the given value is wrong. A
//! short queue shows that the link carries more only while candidates wait for tokens: at other times there is little to carry.
//! A long queue shows that it carries less also while no request waits but senders use all of their windows: if the given rate
//! is far too high, windows fill the far queue.
//!
//! # Arrivals
//!
//! A probe goes both ways. Its wait may be due to the uplink, and then says nothing about the downlink's capacity. But a
//! downlink that carries less delivers less. With `A` the units received in the last second and `P` what the pace would have
//! let in,
//!
//! ```text
//! A <  0.7·P and d > 2d* for a second:       C <- A, and no turns for d - d*: the link is slower now, and its queue has to go
//! A >= 0.95·P and d > 2d*:                   k/4: the delay is hardly what was let in
//! A >= 0.9·P and d < d*/4 for a second:      4·k: the link carried all that was let in, and has room
//! the uplink is busy:                        as if d were not known while d > d*, and C does not grow beyond L
//! ```
//!
//! While the uplink is busy, a long queue does not lower `C`. If a short one always raised it, `C` would ratchet up until the
//! queue were seldom short, at a pace that fills it. So it grows only up to `L`, the rate of arrivals over several seconds: the
//! link has carried that much. A second would not prove it, since what waits unread in many windows can be read in one. A short
//! queue has a pace of up to `C·(1 + g)`, so there is room to grow while the link carries what is let in.
//!
//! A lost segment hides what arrives after it until it has been sent again, for a round trip or two. So where `T`, as below, is a
//! quarter of a second or more, there is no jump while `L >= 0.7·C`.
//!
//! A link that brings nothing at all is interrupted rather than slow: a radio link that changes its cell, a satellite that sets.
//! There is no jump while nothing has arrived for as long as a turn takes at the slowest rate that a jump leaves, and at least a
//! quarter of a second; nor in the second after that, since the one before it proves nothing.
//!
//! A jump leaves at least a sixteenth of the given rate. So a link that slows down to a quarter is detected in a second or two,
//! its recovery in `ln 4/4k` = 10 s, and a wrong given rate is corrected in `ln 2/k` = 20 s for each factor of 2.
//!
//! `e` is constant between reports, so `C` changes by exactly `exp(-k·e·t)`. Tokens are added at the mean of the paces before
//! and after: a `t` of 10 ms leaves an error of 10^-8 of them.
//!
//! # Distant servers
//!
//! Units that a turn lets in reach the far queue a round trip later. The queue fills at `pace - C`, and a gain of `g/d*` =
//! 2.5/s stabilises it only if the effect is seen within `π/2` of 1/2.5 s: from 0.6 s on it swings between empty and full for
//! ever. With `T` the mean round trip of what is let in, 0 for responses whose round trip is not reported,
//!
//! ```text
//! g' = g·min(1, d*/2gT)          k' = k·g'/g          so that g'/d* · T is at most 1/2
//! ```
//!
//! # Probes of stalled senders
//!
//! A sender that has more to send than its window permits probes the window, with no more than a header (RFC 9293, section
//! 3.8.6.1), and Linux does so 0.2 s, 0.4 s, 0.8 s and so on after the window was filled. Two hundred tunnels with a turn each
//! in five seconds send a hundred probes a second, many at once. They are hardly any bytes, but they fill a far queue that
//! counts packets as much as whole segments do, and what it drops are others' segments too: a single connection beside them
//! stalls. So, with `n` responses stalled and turns of `q` units,
//!
//! ```text
//! d* <- d*·min(1, m/n), at least d*/4         m = 25·C·a/q, a being what was asked for
//! e  <= min(max(1, n/m), 4)                    for the pace, where it was at most 1
//! ```
//!
//! With 60 ms and 2 Mbit/s, `m` is 123; on faster links the queue has room for more packets. A queue that is full nevertheless
//! drops segments, which are sent again beside what is let in, and `1 - g` would hardly drain it: `e` grows with the
//! queue's excess over `d*`, up to the same excess as without stalled responses.

mod aim;
mod due;

use self::{
    aim::Aim,
    due::{Bucket, Due},
};
use super::{exp::exp, meter::Meter};
use crate::{Nanos, request::FarDelay};

/// Proportional gain: the prototype's 2.5/s times 60 ms.
const GAIN: f64 = 0.15;
/// The maximum of `g/d*` times the round trip: a third of `π/2`, at which the queue begins to swing.
const MAX_LATENESS: f64 = 0.5;
/// Integral gain, in 1/s.
const LEARNING_PER_S: f64 = 0.035;
/// How far the link's capacity may differ from the given rate, either way.
const RANGE: f64 = 64.0;
/// How long a report of the far queue is valid.
const FRESH: Nanos = Nanos::from_secs(2);
/// The maximum debt, at the current pace: no event, however absurd, stops all turns for longer.
const MAX_DEBT_S: f64 = 60.0;
/// The pace over `C` without a report.
const BLIND: f64 = 0.95;
/// How much faster `C` grows while the queue is short and everything let in arrives.
const CLIMBS: f64 = 4.0;
/// The fraction of what was let in that has to arrive for that.
const CLIMBS_AT: f64 = 0.9;
/// How much more slowly `C` falls while nearly everything let in arrives.
const DOUBTS: f64 = 0.25;
/// The fraction of what was let in that has to arrive for that.
const DOUBTS_AT: f64 = 0.95;
/// If less than this fraction of what was let in arrives, the link's capacity has changed.
const JUMPS_AT: f64 = 0.7;
/// A jump leaves at least this fraction of the given rate.
const MIN_JUMP: f64 = 1.0 / 16.0;
/// From this mean round trip on, in seconds, a lost segment may hide a part of a second's arrivals that is as much as a jump.
const HIDES_S: f64 = 0.25;
/// A shorter silence is no interruption: what arrives comes in bursts.
const MIN_GAP: Nanos = Nanos::from_millis(250);
/// How long the queue must have been short or long: as long as arrivals are remembered.
const STEADY: Nanos = Nanos::from_secs(1);

/// The bucket and its controller. Rates are in units per second.
#[derive(Debug)]
pub(super) struct Pace {
    // d*
    aim: Aim,
    learns: bool,
    // The minimum size of the bucket, in units.
    turn: f64,
    given: f64,
    capacity: f64,
    told: Option<(Nanos, Nanos)>,
    tokens: f64,
    due: Due,
    at: Nanos,
    demand: Demand,
    meter: Meter,
    // When units last arrived.
    came: Nanos,
    // T, in seconds.
    trip_s: f64,
    // Since when the far queue has been below a quarter of `d*`, and above twice its value.
    short_since: Option<Nanos>,
    long_since: Option<Nanos>,
    // Unpaced bytes are sent up the link.
    uplink_is_busy: bool,
}

/// What there is to let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// Nothing, and nothing is in flight.
    None,
    /// Nothing waits for tokens, but responses are outstanding.
    Met,
    /// Same as `Met`, but windows are what limits senders.
    Fills,
    /// Candidates wait for tokens.
    Waits,
}

impl Pace {
    /// A full bucket. `rate` is in units per second, `turn` in units; `aim` is `d*`.
    pub(super) fn new(rate: f64, turn: u64, aim: Nanos, learns: bool) -> Self {
        let mut pace = Self {
            aim: Aim::new(aim),
            learns,
            turn: turn as f64,
            given: rate,
            capacity: rate,
            told: None,
            tokens: 0.0,
            due: Due::new(),
            at: Nanos::ZERO,
            demand: Demand::None,
            meter: Meter::default(),
            came: Nanos::ZERO,
            trip_s: 0.0,
            short_since: None,
            long_since: None,
            uplink_is_busy: false,
        };
        pace.tokens = pace.depth();
        pace
    }

    /// Sets the given rate of the link, in units per second. Does nothing if it is not a positive number.
    pub(super) fn set_rate(&mut self, rate: f64, now: Nanos) {
        self.advance(now);
        (self.given, self.capacity) = (rate, rate);
        self.add(0.0);
    }

    /// Sets the configured delay; half of the queue's room still applies if that is less.
    pub(super) fn set_aim(&mut self, aim: Nanos, now: Nanos) {
        self.advance(now);
        self.aim.ask(aim);
        self.add(0.0);
    }

    /// Sets the number of responses with units waiting for turns.
    pub(super) fn set_stalled(&mut self, responses: usize) {
        if self.aim.leave_room(responses, self.capacity, self.turn) {
            self.add(0.0);
        }
    }

    /// Whether it learns the link's capacity.
    pub(super) const fn learns(&self) -> bool {
        self.learns
    }

    /// Reports the state of the far queue, if known.
    pub(super) fn tell(&mut self, seen: Option<FarDelay>, now: Nanos) {
        self.advance(now);
        if let Some(FarDelay { room, .. }) = seen {
            self.aim.fit(room);
        }
        self.told = seen.map(|seen| (seen.delay, self.at));
        let since = |holds: bool, before: Option<Nanos>| holds.then(|| before.unwrap_or(now));
        let is = |test: &dyn Fn(f64) -> bool| seen.is_some_and(|seen| test(seen.delay.as_f64()));
        self.short_since = since(is(&|delay| delay < self.aim.target().as_f64() / 4.0), self.short_since);
        // A queue that is kept shorter because of stalled senders does not count as long earlier.
        self.long_since = since(is(&|delay| delay > 2.0 * self.aim.free().as_f64()), self.long_since);
        self.jump();
        self.add(0.0);
    }

    /// This many units were received.
    pub(super) fn came(&mut self, units: u64) {
        if units == 0 {
            return;
        }
        // What the interruption has delayed proves nothing.
        if self.long_since.is_some() && self.is_interrupted() {
            self.long_since = Some(self.at);
        }
        self.came = self.at;
        self.meter.came(units);
    }

    /// This many units were let in; `trip` is their round trip, or 0 if not reported.
    pub(super) fn lets_in(&mut self, units: u64, trip: Nanos) {
        let units = units as f64;
        let part = units / (units + self.capacity);
        self.trip_s += (trip.as_secs_f64() - self.trip_s) * part;
    }

    /// Sets whether the uplink is busy.
    pub(super) fn set_uplink(&mut self, is_busy: bool, now: Nanos) {
        self.advance(now);
        self.uplink_is_busy = is_busy;
    }

    /// Jumps to the measured rate if the link carries far less than is let in.
    fn jump(&mut self) {
        let is_full = matches!(self.demand, Demand::Waits | Demand::Fills);
        let is_steady = self.has_lasted(self.long_since, STEADY);
        let Some((delay, _)) = self.told.filter(|_| is_full && is_steady && self.learns && !self.uplink_is_busy) else {
            return;
        };
        if self.is_interrupted() || self.may_be_hidden() || self.meter.part().is_none_or(|part| part >= JUMPS_AT) {
            return;
        }
        self.capacity = self.meter.per_s().clamp(self.given * MIN_JUMP, self.capacity.max(self.given * MIN_JUMP));
        let excess_s = (delay - self.aim.target()).as_secs_f64();
        self.tokens = self.tokens.min(-excess_s * self.pace());
        // Only arrivals from now on count.
        self.long_since = Some(self.at);
    }

    /// Whether what did not arrive in the last second may have crossed the link all the same.
    fn may_be_hidden(&self) -> bool {
        self.trip_s >= HIDES_S && self.meter.long_per_s() >= JUMPS_AT * self.capacity
    }

    /// Advances to `now`.
    pub(super) fn advance(&mut self, now: Nanos) {
        if let Some(stale) = self.told.map(|(_, at)| at + FRESH)
            && stale <= now
        {
            self.run_through(stale);
            self.told = None;
        }
        self.run_through(now);
    }

    /// Advances, and spends what is due until then.
    fn run_through(&mut self, until: Nanos) {
        while let Some((at, units)) = self.due.next(until) {
            self.run(at);
            self.take(units);
        }
        self.run(until);
    }

    /// Charges a turn, or an unrequested arrival, of this many units.
    pub(super) fn spend(&mut self, units: u64) {
        self.take(units as f64);
    }

    /// Charges a turn of this many units, which come `takes` from now.
    pub(super) fn book(&mut self, units: u64, takes: Nanos) {
        let late = self.late(takes);
        // No booking, however absurd, delays others for longer than a debt would.
        if !self.due.book((units as f64).min(self.max_debt()), late, self.at) {
            self.spend(units);
        }
    }

    fn take(&mut self, units: f64) {
        self.tokens = (self.tokens - units).max(-self.max_debt());
    }

    /// Refunds units that will not arrive after all. If `others_wait` and nothing is learnt, those beyond a full bucket are
    /// kept for turns at this time.
    pub(super) fn refund(&mut self, units: u64, others_wait: bool) {
        let left = self.due.cancel(units as f64);
        if others_wait && !self.learns {
            self.tokens += left;
        } else {
            self.add(left);
        }
    }

    /// Whether a turn may happen whose units come `takes` from now.
    pub(super) fn is_open(&self, takes: Nanos) -> bool {
        self.opens(takes) <= self.at
    }

    /// Whether the link has spare capacity for units that come `takes` from now: the far queue is shorter than a quarter of its
    /// target, and half a bucket will be free then or less than `enough` is in flight.
    pub(super) fn has_room(&self, takes: Nanos, in_flight: u128, enough: f64) -> bool {
        let is_short = self.believed().is_none_or(|delay| delay.as_f64() < self.aim.target().as_f64() / 4.0);
        let free = || self.due.free(self.bucket(self.depth()), self.late(takes), self.at);
        is_short && ((in_flight as f64) < enough || free() >= self.depth() / 2.0)
    }

    /// Whether a round trip has passed since a window was changed, and the far queue has been short for as long, as far as
    /// known.
    pub(super) fn is_settled(&self, trip: Nanos, changed: Nanos) -> bool {
        let is_short = self.believed().is_none() || self.has_lasted(self.short_since, trip);
        is_short && self.has_lasted(Some(changed), trip)
    }

    /// Same as [`has_room`](Self::has_room) for responses from far away, whose bursts are queues while they pass: a link that
    /// brings `brings` in a round trip is idle between them, whatever the queue, while less than half of that is in flight. Up
    /// to `enough` the queue may be as long as its target.
    pub(super) fn has_far_room(&self, in_flight: u128, brings: f64, enough: f64) -> bool {
        let in_flight = in_flight as f64;
        let is_short = || self.believed().is_none_or(|delay| delay < self.aim.target());
        in_flight < brings / 2.0 || in_flight < enough && is_short()
    }

    /// Sets what there is to let in from now on.
    pub(super) fn set_demand(&mut self, demand: Demand) {
        self.demand = demand;
    }

    /// The time of the last event.
    pub(super) const fn now(&self) -> Nanos {
        self.at
    }

    /// When a turn may happen whose units come `takes` later, as far as known; not before now.
    pub(super) fn opens(&self, takes: Nanos) -> Nanos {
        // Nearer senders will have spent the rest by then.
        let left = self.turn.max(self.depth() / 2.0);
        self.due.opens(self.bucket(left), self.late(takes), self.at)
    }

    /// How much later than at the turn tokens are spent for units that come after `takes`: the far queue bridges `d*`.
    fn late(&self, takes: Nanos) -> Nanos {
        takes - self.aim.free()
    }

    fn bucket(&self, depth: f64) -> Bucket {
        Bucket { tokens: self.tokens, depth, per_s: self.pace() }
    }

    /// The current pace, in units per second.
    pub(super) fn pace(&self) -> f64 {
        self.capacity * self.believed().map_or(BLIND, |delay| 1.0 - GAIN * self.haste() * self.error(delay))
    }

    /// g'/g: the part of the gains that remains if arrivals are delayed.
    fn haste(&self) -> f64 {
        let (late, most) = (GAIN * self.trip_s, MAX_LATENESS * self.aim.target().as_secs_f64());
        if late <= most { 1.0 } else { most / late }
    }

    /// The link's estimated capacity, in units per second.
    pub(super) const fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Units that may be elicited at once; negative if too many were.
    pub(super) const fn tokens(&self) -> f64 {
        self.tokens
    }

    /// The far queue's delay as last reported, unless that is too long ago.
    pub(super) fn delay(&self) -> Option<Nanos> {
        self.told.map(|(delay, _)| delay)
    }

    /// The same, 0 if it is not known. Inlined, sums with an unknown delay were computed too, and dropped: nothing depends on
    /// them, but Valgrind reports them to users of the C library.
    #[inline(never)]
    pub(super) fn delay_or_zero(&self) -> Nanos {
        self.delay().unwrap_or(Nanos::ZERO)
    }

    /// The far queue's delay, if it is known and can be due to the downlink.
    fn believed(&self) -> Option<Nanos> {
        self.delay().filter(|&delay| !self.uplink_is_busy || delay <= self.aim.target())
    }

    /// Whether nothing has arrived for so long that the link carries nothing.
    pub(super) fn is_interrupted(&self) -> bool {
        let turn_ns = self.turn / (self.given * MIN_JUMP) * 1e9;
        self.at - self.came > Nanos::from_f64(turn_ns).max(MIN_GAP)
    }

    /// Whether a state that began at `since`, if it did, has lasted for `long`.
    fn has_lasted(&self, since: Option<Nanos>, long: Nanos) -> bool {
        since.is_some_and(|since| self.at - since >= long)
    }

    fn run(&mut self, until: Nanos) {
        let span = until - self.at;
        if span == Nanos::ZERO {
            return;
        }
        self.at = until;
        self.meter.advance(until);
        let before = self.pace();
        if let Some(delay) = self.believed()
            && self.learns
        {
            let next = self.capacity * exp(-self.falls_by(delay) * span.as_secs_f64());
            let most = if self.uplink_is_busy { self.capacity.max(self.meter.long_per_s()) } else { f64::INFINITY };
            self.capacity = next.min(most).clamp(self.given / RANGE, self.given * RANGE);
        }
        let tokens = (before + self.pace()) / 2.0 * span.as_f64() / 1e9;
        self.meter.let_in(tokens);
        self.add(tokens);
    }

    /// The relative rate at which `C` falls, per second; negative if it grows.
    fn falls_by(&self, delay: Nanos) -> f64 {
        let error = self.error(delay);
        let comes = |least: f64| self.meter.part().is_some_and(|part| part >= least);
        let is_short = self.has_lasted(self.short_since, STEADY);
        let gain = match self.demand {
            Demand::None | Demand::Met => 0.0,
            Demand::Fills if error < 0.0 => 0.0,
            _ if error < 0.0 && is_short && comes(CLIMBS_AT) => CLIMBS,
            _ if error >= 1.0 && comes(DOUBTS_AT) => DOUBTS,
            Demand::Fills | Demand::Waits => 1.0,
        };
        LEARNING_PER_S * self.haste() * gain * error.min(1.0)
    }

    /// Adds tokens, between the longest debt and a full bucket.
    fn add(&mut self, units: f64) {
        self.tokens = (self.tokens + units).clamp(-self.max_debt(), self.depth());
    }

    fn max_debt(&self) -> f64 {
        self.pace() * MAX_DEBT_S + self.turn
    }

    fn depth(&self) -> f64 {
        (self.pace() * self.aim.target().as_f64() / 1e9).max(self.turn)
    }

    fn error(&self, delay: Nanos) -> f64 {
        ((delay.as_f64() - self.aim.target().as_f64()) / self.aim.target().as_f64()).clamp(-1.0, 1.0 / self.aim.left())
    }
}

#[cfg(test)]
mod tests;
