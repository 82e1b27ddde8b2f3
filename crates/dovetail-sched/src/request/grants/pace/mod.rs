//! How fast units are elicited.
//!
//! A token bucket of units. A turn may happen while there are tokens, and takes what it is charged even if that is more than
//! there are. Tokens come at the *pace*, and no more are kept than it brings in the time `d*`, or a turn's. With `d` the far
//! queue's delay and `C` what the link is thought to carry,
//!
//! ```text
//! e     = (d - d*)/d*, between -1 and 1
//! pace  = C·(1 - g·e)                        g = 0.15
//! dC/dt = -k·e·C while candidates wait for tokens, and while e > 0 and windows are what holds senders back     k = 0.035/s
//! C               stays otherwise, and is always between 1/64 and 64 of what was given
//! pace  = 0.95·C, and C stays                while d is not known, or was told more than 2 s ago
//! ```
//!
//! `d*` is what was asked for, or half of the queue's room where that was seen to be less: a
//! queue that drops before it is `d*` long would never seem long. It is less where many responses are stalled, as below. A queue at rest has `d = d*`: short, and never empty, so the link is full. The first term
//! keeps it there, the second finds `C` where what was given is wrong. A short queue says that the link carries more only
//! while candidates wait for tokens: at other times there is little to carry. A long queue says that it carries less also
//! where no request waits but senders use all of their windows: where far too much is given, windows fill the far queue.
//!
//! # What came
//!
//! A probe goes both ways. What it waits may be the uplink's doing, and then says nothing of what the downlink carries. But a
//! downlink that carries less brings less. With `A` what came in the last second and `P` what the pace would have let in,
//!
//! ```text
//! A <  0.7·P and d > 2d* for a second:       C <- A, and no turns for d - d*: the link is slower now, and its queue has to go
//! A >= 0.95·P and d > 2d*:                   k/4: the delay is hardly what was let in
//! A >= 0.9·P and d < d*/4 for a second:      4·k: the link carried all that was let in, and has room
//! unpaced bytes are sent up:                 as if d were not known while d > d*
//! ```
//!
//! A jump leaves at least a sixteenth of what was given. So a link that slows down to a quarter is found in a second or two,
//! one that is as fast again in `ln 4/4k` = 10 s, and one that is another than was said in `ln 2/k` = 20 s for each factor of 2.
//!
//! `e` is constant between reports, so `C` changes by `exp(-k·e·t)`, to the last place. Tokens are added at the mean of the
//! paces before and after: a `t` of 10 ms leaves an error of 10^-8 of them.
//!
//! # What comes from far away
//!
//! What a turn lets in reaches the far queue a round trip later. The queue fills at `pace - C`, and a gain of `g/d*` = 2.5/s holds it
//! only where that is seen within `π/2` of 1/2.5 s: from 0.6 s on it swings between empty and full for ever. With `T` the mean
//! round trip of what is let in, 0 for responses whose round trip is not told,
//!
//! ```text
//! g' = g·min(1, d*/2gT)          k' = k·g'/g          so that g'/d* · T is at most 1/2
//! ```
//!
//! # What stalled senders send
//!
//! A sender that has more to send than its window lets it probes the window, with no more than a header (RFC 9293, section
//! 3.8.6.1), and Linux does so after 0.2 s, 0.4 s, 0.8 s and so on since the window was filled. Two hundred tunnels of which each
//! has a turn in five seconds send a hundred probes a second, many at once. They are hardly any bytes, but a far queue that
//! counts packets is as full with them as with whole segments, and what it drops are others' segments too: a single connection
//! beside them does not come through. So, with `n` responses stalled and turns of `q` units,
//!
//! ```text
//! d* <- d*·min(1, m/n), at least d*/4         m = 25·C·a/q, a being what was asked for
//! e  <= min(max(1, n/m), 4)                    for the pace, where it was at most 1
//! ```
//!
//! With 60 ms and 2 Mbit/s, `m` is 123; on faster links the queue has room for more packets. A queue that is full all the same
//! drops segments, which are sent again beside what is let in, and `1 - g` would hardly let it go: `e` says by how much it is longer
//! than `d*` up to where it would without stalled responses.

mod aim;
mod exp;

use self::{aim::Aim, exp::exp};
use super::meter::Meter;
use crate::{Nanos, request::FarDelay};

/// Proportional gain: the prototype's 2.5/s times 60 ms.
const GAIN: f64 = 0.15;
/// The most that `g/d*` times the round trip is: a third of `π/2`, where the queue begins to swing.
const MOST_LATE: f64 = 0.5;
/// Integral gain, in 1/s.
const LEARNING_PER_S: f64 = 0.035;
/// How far from what was given the link may turn out to be, either way.
const RANGE: f64 = 64.0;
/// How long a report of the far queue holds.
const FRESH: Nanos = Nanos::from_secs(2);
/// The most that may be owed, at the pace now: no event, however absurd, stops all turns for longer.
const LONGEST_DEBT_S: f64 = 60.0;
/// The pace over `C` without a report.
const BLIND: f64 = 0.95;
/// How much faster `C` grows while the queue is short and all that is let in comes.
const CLIMBS: f64 = 4.0;
/// The part of what was let in that has to come for that.
const CLIMBS_AT: f64 = 0.9;
/// How much more slowly `C` falls while nearly all that is let in comes.
const DOUBTS: f64 = 0.25;
/// The part of what was let in that has to come for that.
const DOUBTS_AT: f64 = 0.95;
/// If less than this part of what was let in comes, the link is another.
const JUMPS_AT: f64 = 0.7;
/// The least part of what was given that a jump leaves.
const LEAST_JUMP: f64 = 1.0 / 16.0;
/// For so long the queue has to have been short or long: as long as what came is remembered.
const STEADY: Nanos = Nanos::from_secs(1);

/// The bucket and what fills it. Rates in units a second.
#[derive(Debug)]
pub(super) struct Pace {
    // d*
    aim: Aim,
    learns: bool,
    // The least that the bucket holds, in units.
    turn: f64,
    given: f64,
    capacity: f64,
    told: Option<(Nanos, Nanos)>,
    tokens: f64,
    at: Nanos,
    demand: Demand,
    meter: Meter,
    // T, in seconds.
    trip_s: f64,
    // Since when the far queue has been under a quarter of `d*`, and over twice.
    short_since: Option<Nanos>,
    long_since: Option<Nanos>,
    // Bytes are sent up that nobody paces.
    uplink_is_busy: bool,
}

/// What there is to be let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// Nothing, and nothing is on its way.
    None,
    /// Nothing that waits for tokens, but responses are outstanding.
    Met,
    /// The same, and windows are what holds their senders back.
    Fills,
    /// Candidates wait for tokens.
    Waits,
}

impl Pace {
    /// A full bucket. `rate` in units a second, `turn` in units; `aim` is `d*`.
    pub(super) fn new(rate: f64, turn: u64, aim: Nanos, learns: bool) -> Self {
        let mut pace = Self {
            aim: Aim::new(aim),
            learns,
            turn: turn as f64,
            given: rate,
            capacity: rate,
            told: None,
            tokens: 0.0,
            at: Nanos::ZERO,
            demand: Demand::None,
            meter: Meter::default(),
            trip_s: 0.0,
            short_since: None,
            long_since: None,
            uplink_is_busy: false,
        };
        pace.tokens = pace.depth();
        pace
    }

    /// The link is said to carry `rate` units a second. Nothing is done if it cannot be.
    pub(super) fn set_rate(&mut self, rate: f64, now: Nanos) {
        self.advance(now);
        if rate.is_finite() && rate > 0.0 {
            self.given = rate.clamp(1e-3, 1e15);
            self.capacity = self.given;
            self.add(0.0);
        }
    }

    /// The far queue shall be so long, or half of its room again where that is less.
    pub(super) fn set_aim(&mut self, aim: Nanos, now: Nanos) {
        self.advance(now);
        self.aim.ask(aim);
        self.add(0.0);
    }

    /// Of so many responses units wait for turns.
    pub(super) fn set_stalled(&mut self, responses: usize) {
        if self.aim.leave_room(responses, self.capacity, self.turn) {
            self.add(0.0);
        }
    }

    /// Whether it learns what the link carries.
    pub(super) const fn learns(&self) -> bool {
        self.learns
    }

    /// What is known of the far queue.
    pub(super) fn tell(&mut self, seen: Option<FarDelay>, now: Nanos) {
        self.advance(now);
        if let Some(FarDelay { room, .. }) = seen {
            self.aim.fit(room);
        }
        self.told = seen.map(|seen| (seen.delay, self.at));
        let since = |holds: bool, before: Option<Nanos>| holds.then(|| before.unwrap_or(now));
        let is = |test: &dyn Fn(f64) -> bool| seen.is_some_and(|seen| test(seen.delay.as_f64()));
        self.short_since = since(is(&|delay| delay < self.aim.target().as_f64() / 4.0), self.short_since);
        // A queue that is kept shorter beside stalled senders is not long for that.
        self.long_since = since(is(&|delay| delay > 2.0 * self.aim.free().as_f64()), self.long_since);
        self.jump();
        self.add(0.0);
    }

    /// This many units came.
    pub(super) fn came(&mut self, units: u64) {
        self.meter.came(units);
    }

    /// So many units were let in, whose round trip is this, or 0 where it was not told.
    pub(super) fn lets_in(&mut self, units: u64, trip: Nanos) {
        let units = units as f64;
        let part = units / (units + self.capacity);
        self.trip_s += (trip.as_secs_f64() - self.trip_s) * part;
    }

    /// Whether unpaced bytes are sent up.
    pub(super) fn set_uplink(&mut self, is_busy: bool, now: Nanos) {
        self.advance(now);
        self.uplink_is_busy = is_busy;
    }

    /// The link carries far less than is let in.
    fn jump(&mut self) {
        let is_full = matches!(self.demand, Demand::Waits | Demand::Fills);
        let is_steady = self.has_lasted(self.long_since, STEADY);
        let Some((delay, _)) = self.told.filter(|_| is_full && is_steady && self.learns && !self.uplink_is_busy) else {
            return;
        };
        if self.meter.part().is_none_or(|part| part >= JUMPS_AT) {
            return;
        }
        self.capacity = self.meter.per_s().clamp(self.given * LEAST_JUMP, self.capacity.max(self.given * LEAST_JUMP));
        let excess_s = (delay - self.aim.target()).as_secs_f64();
        self.tokens = self.tokens.min(-excess_s * self.pace());
        // What comes from now on counts.
        self.long_since = Some(self.at);
    }

    /// It is `now`.
    pub(super) fn advance(&mut self, now: Nanos) {
        if let Some(stale) = self.told.map(|(_, at)| at + FRESH)
            && stale <= now
        {
            self.run(stale);
            self.told = None;
        }
        self.run(now);
    }

    /// A turn or an unasked-for arrival of this many units.
    pub(super) fn spend(&mut self, units: u64) {
        self.add(-(units as f64));
    }

    /// This many units will not come after all.
    pub(super) fn refund(&mut self, units: u64) {
        self.add(units as f64);
    }

    /// Whether a turn may happen.
    pub(super) fn is_open(&self) -> bool {
        self.tokens > 0.0
    }

    /// Whether the link carries less than it could: the far queue is not a quarter of what it may be, and at least half of
    /// what the bucket holds is in it, or what is in flight is less than `enough`.
    pub(super) fn has_room(&self, in_flight: u128, enough: f64) -> bool {
        let is_short = self.believed().is_none_or(|delay| delay.as_f64() < self.aim.target().as_f64() / 4.0);
        is_short && (self.tokens >= self.depth() / 2.0 || (in_flight as f64) < enough)
    }

    /// Whether what a window that changed at this time lets in has come, a round trip of which is this, and the far queue was
    /// short for so long, as far as it is known.
    pub(super) fn is_settled(&self, trip: Nanos, changed: Nanos) -> bool {
        let is_short = self.believed().is_none() || self.has_lasted(self.short_since, trip);
        is_short && self.has_lasted(Some(changed), trip)
    }

    /// The same for responses that come from far away in bursts, which are queues while they pass: a link that brings so much
    /// in a round trip is idle between them, whatever the queue, while less than half of that is in flight. Up to `enough` the
    /// queue may be as long as it shall be.
    pub(super) fn has_far_room(&self, in_flight: u128, brings: f64, enough: f64) -> bool {
        let in_flight = in_flight as f64;
        let is_short = || self.believed().is_none_or(|delay| delay < self.aim.target());
        in_flight < brings / 2.0 || in_flight < enough && is_short()
    }

    /// What there is to be let in from now on.
    pub(super) fn set_demand(&mut self, demand: Demand) {
        self.demand = demand;
    }

    /// The time that it was told last.
    pub(super) const fn now(&self) -> Nanos {
        self.at
    }

    /// When the next turn may happen, as far as is known: not before now.
    pub(super) fn opens(&self) -> Nanos {
        if self.is_open() {
            return self.at;
        }
        self.at + Nanos::from_f64(-self.tokens / self.pace() * 1e9) + Nanos(1)
    }

    /// Units a second that are let in now.
    pub(super) fn pace(&self) -> f64 {
        self.capacity * self.believed().map_or(BLIND, |delay| 1.0 - GAIN * self.haste() * self.error(delay))
    }

    /// g'/g: the part of the gains that is left where what is let in comes late.
    fn haste(&self) -> f64 {
        let (late, most) = (GAIN * self.trip_s, MOST_LATE * self.aim.target().as_secs_f64());
        if late <= most { 1.0 } else { most / late }
    }

    /// Units a second that the link is thought to carry.
    pub(super) const fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Units that may be elicited at once; negative if too many were.
    pub(super) const fn tokens(&self) -> f64 {
        self.tokens
    }

    /// The far queue's delay, as last told and if that is not too long ago.
    pub(super) fn delay(&self) -> Option<Nanos> {
        self.told.map(|(delay, _)| delay)
    }

    /// The far queue's delay, if it is known and can be the downlink's.
    fn believed(&self) -> Option<Nanos> {
        self.delay().filter(|&delay| !self.uplink_is_busy || delay <= self.aim.target())
    }

    /// Whether what began then, if it did, has gone on for so long.
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
            let grown = self.capacity * exp(-self.falls_by(delay) * span.as_secs_f64());
            self.capacity = grown.clamp(self.given / RANGE, self.given * RANGE);
        }
        let tokens = (before + self.pace()) / 2.0 * span.as_f64() / 1e9;
        self.meter.let_in(tokens);
        self.add(tokens);
    }

    /// How fast `C` falls, or grows where that is negative, in parts a second.
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

    /// So many more tokens, between the longest debt and a full bucket.
    fn add(&mut self, units: f64) {
        let debt = self.pace() * LONGEST_DEBT_S + self.turn;
        self.tokens = (self.tokens + units).clamp(-debt, self.depth());
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
