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

use super::meter::Meter;
use crate::{Nanos, request::FarDelay};

/// The least that the knob can ask for.
const LEAST_AIM: Nanos = Nanos::from_micros(1);
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
/// So many responses may be stalled for each turn that the far queue shall hold: a single connection kept its share beside 160 at a
/// queue of 25 packets that shall hold five turns, and not always beside 200.
const STALLED_PER_TURN: f64 = 25.0;
/// What is left of the far queue's target beside any number of stalled responses.
const LEAST_LEFT: f64 = 0.25;
/// For so long the queue has to have been short or long: as long as what came is remembered.
const STEADY: Nanos = Nanos::from_secs(1);

/// The bucket and what fills it. Rates in units a second.
#[derive(Debug)]
pub(super) struct Pace {
    // d*: what was asked for, and as it is.
    asked: Nanos,
    aim: Nanos,
    // Half of the far queue's room, as far as it is known.
    half_room: Nanos,
    // What part of either is left beside the probes of stalled senders.
    left: f64,
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
            asked: aim,
            aim,
            half_room: Nanos::MAX,
            left: 1.0,
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
        self.asked = aim;
        self.fit_aim();
        self.add(0.0);
    }

    /// What was asked for, or half of the room where that is less, and of that what is left.
    fn fit_aim(&mut self) {
        self.aim = Nanos::from_f64(self.free_aim().as_f64() * self.left).max(LEAST_AIM);
    }

    /// The same beside no stalled senders.
    fn free_aim(&self) -> Nanos {
        self.asked.min(self.half_room)
    }

    /// Of so many responses units wait for turns.
    pub(super) fn set_stalled(&mut self, responses: usize) {
        let few = STALLED_PER_TURN * self.capacity * self.asked.as_secs_f64() / self.turn;
        let left = (few / responses.max(1) as f64).clamp(LEAST_LEFT, 1.0);
        if left != self.left {
            self.left = left;
            self.fit_aim();
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
            self.half_room = room.map_or(Nanos::MAX, |room| Nanos(room.0 / 2));
            self.fit_aim();
        }
        self.told = seen.map(|seen| (seen.delay, self.at));
        let since = |holds: bool, before: Option<Nanos>| holds.then(|| before.unwrap_or(now));
        let is = |test: &dyn Fn(f64) -> bool| seen.is_some_and(|seen| test(seen.delay.as_f64()));
        self.short_since = since(is(&|delay| delay < self.aim.as_f64() / 4.0), self.short_since);
        // A queue that is kept shorter beside stalled senders is not long for that.
        self.long_since = since(is(&|delay| delay > 2.0 * self.free_aim().as_f64()), self.long_since);
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
        let excess_s = (delay - self.aim).as_secs_f64();
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
        let is_short = self.believed().is_none_or(|delay| delay.as_f64() < self.aim.as_f64() / 4.0);
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
        let is_short = || self.believed().is_none_or(|delay| delay < self.aim);
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
        let (late, most) = (GAIN * self.trip_s, MOST_LATE * self.aim.as_secs_f64());
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
        self.delay().filter(|&delay| !self.uplink_is_busy || delay <= self.aim)
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
        (self.pace() * self.aim.as_f64() / 1e9).max(self.turn)
    }

    fn error(&self, delay: Nanos) -> f64 {
        ((delay.as_f64() - self.aim.as_f64()) / self.aim.as_f64()).clamp(-1.0, 1.0 / self.left)
    }
}

/// e^x to 12 digits for `x` from -9 to 9, the widest range that `C` can cross, and of these for what is beyond: `core` has
/// no `exp`.
fn exp(x: f64) -> f64 {
    let x = x.clamp(-9.0, 9.0) / 1024.0;
    let mut power = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0))));
    for _ in 0..10 {
        power *= power;
    }
    power
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    const AIM: Nanos = Nanos::from_millis(60);

    fn near(a: f64, b: f64) {
        assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn the_exponential_is_the_exponential() {
        for x in [-9.0, -8.3, -1.0, -1e-9, 0.0, 1e-5, 0.35, 4.2, 9.0] {
            let error = exp(x) / f64::exp(x) - 1.0;
            assert!(error.abs() < 1e-12, "{x}: {error}");
        }
        assert!(exp(f64::MAX) > RANGE * RANGE && exp(f64::MIN) < 1.0 / (RANGE * RANGE));
    }

    #[test]
    fn the_pace_follows_the_far_queue() {
        let mut pace = Pace::new(1000.0, 1, AIM, true);
        near(pace.pace(), 950.0);
        for (delay_ms, expected) in [(0, 1150.0), (30, 1075.0), (60, 1000.0), (90, 925.0), (120, 850.0), (9999, 850.0)]
        {
            pace.tell(Some(FarDelay::of(Nanos::from_millis(delay_ms))), Nanos::ZERO);
            near(pace.pace(), expected);
        }
        pace.advance(Nanos::from_millis(1999));
        near(pace.pace(), 850.0);
        pace.advance(Nanos::from_secs(2));
        near(pace.pace(), 950.0);
        near(pace.capacity(), 1000.0);
    }

    #[test]
    fn a_queue_shall_be_shorter_beside_many_stalled_senders() {
        // 60 of 1,000 a second and turns of 3 are 20 turns, and 500 stalled responses.
        let mut pace = Pace::new(1000.0, 3, AIM, true);
        for (stalled, aim_ms) in [(0, 60), (500, 60), (1_000, 30), (1_999, 15), (usize::MAX, 15), (600, 50)] {
            pace.set_stalled(stalled);
            assert!(pace.aim.0.abs_diff(aim_ms * 1_000_000) < 20_000, "{stalled}: {:?}", pace.aim);
        }
        // Beside 1,000 the pace falls as far at 90 ms and more as twice at 60 ms and more beside none.
        for (stalled, delay_ms, paced) in
            [(500, 120, 850.0), (1_000, 60, 850.0), (1_000, 90, 700.0), (1_000, 900, 700.0)]
        {
            pace.set_stalled(stalled);
            pace.tell(Some(FarDelay::of(Nanos::from_millis(delay_ms))), Nanos::ZERO);
            assert!((pace.pace() - paced).abs() < 0.1, "{stalled}, {delay_ms} ms: {}", pace.pace());
        }
        // Half of a room of 80 ms is less than was asked for, and what is left is a part of that.
        pace.tell(Some(FarDelay { delay: AIM, room: Some(Nanos::from_millis(80)) }), Nanos::ZERO);
        for (stalled, aim_ms) in [(500, 40), (1_000, 20), (0, 40)] {
            pace.set_stalled(stalled);
            assert!(pace.aim.0.abs_diff(aim_ms * 1_000_000) < 20_000, "{stalled}: {:?}", pace.aim);
        }
    }

    #[test]
    fn capacity_is_learnt_from_what_the_queue_can_tell_and_within_its_range() {
        let mut pace = Pace::new(1000.0, 1, AIM, true);
        let mut second = 0;
        let mut run = |pace: &mut Pace, demand, delay, seconds| {
            pace.set_demand(demand);
            for _ in 0..seconds {
                pace.came(pace.pace() as u64);
                pace.tell(Some(FarDelay::of(delay)), Nanos::from_secs(second));
                second += 1;
                pace.advance(Nanos::from_secs(second));
            }
            pace.capacity()
        };
        let long = Nanos::from_secs(9);
        near(run(&mut pace, Demand::Waits, Nanos::ZERO, 20), 1000.0 * f64::exp(0.7));
        near(run(&mut pace, Demand::Met, Nanos::ZERO, 20), 1000.0 * f64::exp(0.7));
        near(run(&mut pace, Demand::None, long, 20), 1000.0 * f64::exp(0.7));
        near(run(&mut pace, Demand::Waits, AIM, 20), 1000.0 * f64::exp(0.7));
        near(run(&mut pace, Demand::Met, long, 20), 1000.0 * f64::exp(0.7));
        near(run(&mut pace, Demand::Fills, Nanos::ZERO, 20), 1000.0 * f64::exp(0.7));
        near(run(&mut pace, Demand::Fills, long, 20), 1000.0);
        near(run(&mut pace, Demand::Waits, long, 20), 1000.0 * f64::exp(-0.7));
        near(run(&mut pace, Demand::Waits, long, 1000), 1000.0 / 64.0);
        near(run(&mut pace, Demand::Waits, Nanos::ZERO, 1000), 64_000.0);
        pace.set_rate(f64::NAN, Nanos::from_secs(5000));
        near(pace.capacity(), 64_000.0);
        pace.set_rate(77.0, Nanos::from_secs(5000));
        near(pace.capacity(), 77.0);
    }

    /// Half a minute at a link of this many units a second, which brings all that is let in or what it can, and whose
    /// far queue is so long: what is believed of it after each second, and the longest that turns had to wait in it.
    fn play(pace: &mut Pace, from_s: u64, carries: f64, delay: Nanos) -> Vec<(f64, f64)> {
        let (mut seen, mut waits_s) = (Vec::new(), 0.0_f64);
        for step in 0..300 {
            let now = Nanos::from_millis(from_s * 1000 + 100 * step);
            pace.tell(Some(FarDelay::of(delay)), now);
            pace.set_demand(Demand::Waits);
            pace.came((pace.pace().min(carries) / 10.0) as u64);
            waits_s = waits_s.max((pace.opens() - now).as_secs_f64());
            if step % 10 == 9 {
                seen.push((pace.capacity(), waits_s));
                waits_s = 0.0;
            }
        }
        seen
    }

    #[test]
    fn a_link_that_brings_far_less_is_believed_at_once_and_its_queue_goes_first() {
        let mut pace = Pace::new(1e6, 10, AIM, true);
        play(&mut pace, 0, 1e6, AIM);
        let before = pace.capacity();
        assert!((0.99e6..1.01e6).contains(&before), "{before}");
        let seen = play(&mut pace, 30, 2.5e5, Nanos::from_millis(1060));
        assert!((2e5..2.8e5).contains(&seen[1].0), "{seen:?}");
        assert!(seen[..3].iter().any(|&(_, waits_s)| (0.9..1.1).contains(&waits_s)), "{seen:?}");
        // Back again, in ten seconds or little more.
        let seen = play(&mut pace, 60, 1e6, Nanos::ZERO);
        assert!(seen[19].0 > 0.9e6, "{seen:?}");
    }

    #[test]
    fn a_delay_of_a_link_that_brings_all_that_is_let_in_is_doubted() {
        let mut pace = Pace::new(1e6, 10, AIM, true);
        let seen = play(&mut pace, 0, 1e6, Nanos::from_secs(1));
        let falls = f64::exp(-0.035 / 4.0 * 30.0);
        assert!((falls * 0.99..falls * 1.05).contains(&(seen[29].0 / 1e6)), "{seen:?}");
        // Who sends up knows that it is not the downlink.
        let mut pace = Pace::new(1e6, 10, AIM, true);
        pace.set_uplink(true, Nanos::ZERO);
        let seen = play(&mut pace, 0, 3e5, Nanos::from_secs(1));
        near(seen[29].0, 1e6);
        near(pace.pace(), BLIND * 1e6);
    }

    /// How far a far queue swings in the last of three minutes, in milliseconds, where what is let in comes after `trip` and
    /// half of the queue is there to begin with: a fluid that comes as it was let in and goes at the rate.
    fn swings(trip: Nanos, is_told: bool) -> f64 {
        let (rate, step) = (1e6, 0.01);
        let mut pace = Pace::new(rate, 1, AIM, true);
        let mut coming = std::collections::VecDeque::from(std::vec![1.0; (trip.as_secs_f64() / step) as usize]);
        let (mut queue_s, mut last) = (0.03_f64, Vec::new());
        for number in 0..18_000 {
            let now = Nanos::from_millis(number * 10);
            pace.set_demand(Demand::Waits);
            if number % 10 == 0 {
                pace.tell(Some(FarDelay::of(Nanos::from_f64(queue_s * 1e9))), now);
            }
            pace.advance(now);
            let lets_in = pace.pace() / rate;
            pace.lets_in((lets_in * rate * step) as u64, if is_told { trip } else { Nanos::ZERO });
            coming.push_back(lets_in);
            let comes = coming.pop_front().unwrap();
            queue_s = (queue_s + (comes - 1.0) * step).max(0.0);
            pace.came((comes.min(1.0) * rate * step) as u64);
            if number >= 12_000 {
                last.push(queue_s * 1000.0);
            }
        }
        last.iter().fold(f64::MIN, |most, &x| most.max(x)) - last.iter().fold(f64::MAX, |least, &x| least.min(x))
    }

    #[test]
    fn what_comes_from_far_away_is_let_in_without_haste() {
        for (trip_ms, told, not_told) in
            [(100, 0.0..2.0, 0.0..2.0), (600, 0.0..2.0, 60.0..400.0), (1200, 0.0..2.0, 60.0..400.0)]
        {
            let trip = Nanos::from_millis(trip_ms);
            let [with, without] = [true, false].map(|is_told| swings(trip, is_told));
            assert!(told.contains(&with) && not_told.contains(&without), "{trip}: {with} and {without} ms");
        }
    }

    #[test]
    fn bursts_from_far_away_may_be_a_queue() {
        let mut pace = Pace::new(1000.0, 10, AIM, false);
        for (delay_ms, in_flight, has_room) in
            [(59, 749, true), (59, 750, false), (60, 500, false), (60, 499, true), (999, 499, true)]
        {
            pace.tell(Some(FarDelay::of(Nanos::from_millis(delay_ms))), Nanos::ZERO);
            assert_eq!(pace.has_far_room(in_flight, 1000.0, 750.0), has_room, "{delay_ms} ms, {in_flight}");
        }
    }

    #[test]
    fn a_queue_is_settled_once_it_was_short_for_a_round_trip_of_the_window_as_it_is() {
        let ms = Nanos::from_millis;
        let mut pace = Pace::new(1000.0, 10, AIM, false);
        pace.tell(Some(FarDelay::of(ms(14))), ms(1000));
        for (now_ms, changed_ms, is_settled) in
            [(1599, 0, false), (1600, 0, true), (1600, 1001, false), (1601, 1001, true)]
        {
            pace.advance(ms(now_ms));
            assert_eq!(pace.is_settled(ms(600), ms(changed_ms)), is_settled, "{now_ms} ms, {changed_ms} ms");
        }
        // A dip is not enough, and where nothing is known of the queue the round trip is.
        pace.tell(Some(FarDelay::of(AIM)), ms(1700));
        assert!(!pace.is_settled(Nanos::ZERO, ms(0)));
        pace.tell(Some(FarDelay::of(ms(14))), ms(1800));
        pace.advance(ms(2300));
        assert!(!pace.is_settled(ms(600), ms(0)));
        pace.tell(None, ms(2300));
        assert!(pace.is_settled(ms(600), ms(1700)) && !pace.is_settled(ms(600), ms(1701)));
    }

    #[test]
    fn a_turn_may_overdraw_and_the_next_waits() {
        let mut pace = Pace::new(1000.0, 10, AIM, false);
        pace.tell(Some(FarDelay::of(AIM)), Nanos::ZERO);
        pace.advance(Nanos::from_secs(1));
        near(pace.tokens(), 60.0);
        assert!(!pace.has_room(u128::MAX, 55.0) && !pace.has_room(0, 55.0), "the queue is as long as it shall be");
        pace.tell(Some(FarDelay::of(Nanos::from_millis(14))), Nanos::from_secs(1));
        assert!(pace.has_room(u128::MAX, 55.0), "half the bucket is left");
        pace.spend(31);
        assert!(pace.has_room(50, 55.0) && !pace.has_room(60, 55.0));
        pace.tell(Some(FarDelay::of(AIM)), Nanos::from_secs(1));
        assert!(!pace.has_room(50, 55.0) && pace.is_open());
        pace.spend(129);
        let opens = pace.opens();
        assert!(!pace.is_open() && opens >= Nanos::from_millis(1100) && opens < Nanos::from_millis(1101));
        pace.advance(opens);
        assert!(pace.is_open());
        pace.refund(1000);
        near(pace.tokens(), 60.0);
        pace.spend(u64::MAX);
        assert!(pace.opens() < Nanos::from_secs(62));
    }
}
