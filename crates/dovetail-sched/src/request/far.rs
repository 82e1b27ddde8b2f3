//! The length of the queue at the link's far end, from small probes sent to it and back.
//!
//! A probe's round-trip time is a fixed part plus its wait in the queue. The fixed part is the least round trip of the last ten
//! minutes, kept as one minimum per minute, as LEDBAT does (RFC 6817, section 4.2). Probes return in order, so one that was
//! sent before another that has returned was lost. A probe in flight carries information as well: the queue is at least as long
//! as the probe is overdue. If none has returned for two seconds, nothing is known: the host that answered may have stopped.
//!
//! A full queue drops probes too. Its length at that time is about its *room*: the longer wait of the probes on either side of
//! the lost one, and the maximum of that over ten minutes. A loss beside waits under half of the longest, or under 10 ms, is
//! not attributed to a full queue. A burst may fill the queue between two probes that both find it short, so that is too little
//! at times; but a queue has room for every wait that a probe returned from, and the longest of those counts too.

use alloc::collections::VecDeque;

use crate::Nanos;

/// How long the least round-trip time is remembered: ten minutes (RFC 6817, section 4.2: BASE_HISTORY).
const REMEMBERED_MINUTES: u64 = 10;
const MINUTE: Nanos = Nanos::from_secs(60);
/// Maximum number of probes in flight; beyond that, the oldest counts as lost.
const MAX_IN_FLIGHT: usize = 256;
/// A shorter wait gives no information about a queue's room.
const MIN_ROOM: Nanos = Nanos::from_millis(10);
/// After this long without an answer nothing is known.
const SILENT: Nanos = Nanos::from_secs(2);

/// The far queue, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FarDelay {
    /// The delay of a packet that arrives there now.
    pub delay: Nanos,
    /// The delay when it is full, if observed.
    pub room: Option<Nanos>,
}

impl FarDelay {
    /// A delay in a queue that was never seen full.
    #[must_use]
    pub const fn of(delay: Nanos) -> Self {
        Self { delay, room: None }
    }
}

/// The far queue as seen by probes. O(1) per probe, amortised.
#[derive(Debug, Default)]
pub struct FarQueue {
    // Numbers and departures of probes in flight, in order.
    in_flight: VecDeque<(u64, Nanos)>,
    next: u64,
    least: Minutes,
    // Waits of all probes, and of those beside a loss.
    longest: Minutes,
    room: Minutes,
    // The last round-trip time, and when it was seen.
    last: Option<(Nanos, Nanos)>,
    lost: u64,
}

/// A value for each of the last minutes, the latest last.
#[derive(Debug, Default)]
struct Minutes(VecDeque<(u64, Nanos)>);

impl Minutes {
    fn note(&mut self, value: Nanos, now: Nanos, of_two: fn(Nanos, Nanos) -> Nanos) {
        let minute = now.0 / MINUTE.0;
        match self.0.back_mut() {
            Some((last, noted)) if *last == minute => *noted = of_two(*noted, value),
            _ => self.0.push_back((minute, value)),
        }
        self.forget(now);
    }

    fn forget(&mut self, now: Nanos) {
        let minute = now.0 / MINUTE.0;
        while self.0.front().is_some_and(|&(noted, _)| noted + REMEMBERED_MINUTES <= minute) {
            self.0.pop_front();
        }
    }

    fn least(&self) -> Option<Nanos> {
        self.0.iter().map(|&(_, value)| value).min()
    }

    fn most(&self) -> Option<Nanos> {
        self.0.iter().map(|&(_, value)| value).max()
    }
}

impl FarQueue {
    /// Records that a probe is sent; returns its number.
    pub fn probe(&mut self, now: Nanos) -> u64 {
        if self.in_flight.len() == MAX_IN_FLIGHT {
            self.in_flight.pop_front();
            self.lost += 1;
        }
        let number = self.next;
        self.next += 1;
        self.in_flight.push_back((number, now));
        number
    }

    /// Records that a probe has returned. Numbers that are not in flight are ignored.
    pub fn back(&mut self, number: u64, now: Nanos) {
        let mut was_lost = false;
        while let Some(&(first, sent)) = self.in_flight.front() {
            if first > number {
                return;
            }
            self.in_flight.pop_front();
            if first < number {
                self.lost += 1;
                was_lost = true;
                continue;
            }
            self.answered(now - sent, was_lost, now);
            return;
        }
    }

    fn answered(&mut self, took: Nanos, after_a_loss: bool, now: Nanos) {
        self.least.note(took, now, Nanos::min);
        let base = self.base().unwrap_or(took);
        let beside = took.max(self.last.map_or(Nanos::ZERO, |(before, _)| before)) - base;
        self.longest.note(took - base, now, Nanos::max);
        self.room.forget(now);
        let is_long = self.longest.most().is_none_or(|longest| beside.0 >= longest.0 / 2);
        if after_a_loss && is_long && beside >= MIN_ROOM {
            self.room.note(beside, now, Nanos::max);
        }
        self.last = Some((took, now));
    }

    /// How long a packet waits in the queue, as far as known at `now`; `None` before the first probe has returned, and if none
    /// has for two seconds.
    #[must_use]
    pub fn delay(&self, now: Nanos) -> Option<FarDelay> {
        let base = self.base()?;
        let (took, _) = self.last.filter(|&(_, seen)| now - seen < SILENT)?;
        let overdue = self.in_flight.front().map_or(Nanos::ZERO, |&(_, sent)| now - sent);
        Some(FarDelay { delay: took.max(overdue) - base, room: self.room() })
    }

    /// The queue's room, if it was seen full.
    fn room(&self) -> Option<Nanos> {
        let beside_losses = self.room.most()?;
        Some(beside_losses.max(self.longest.most().unwrap_or_default()))
    }

    /// Probes take another path from now on: forgets what is known and ignores those in flight. Numbers continue.
    pub fn forget(&mut self) {
        *self = Self { next: self.next, lost: self.lost, ..Self::default() };
    }

    /// The round-trip time without the queue.
    #[must_use]
    pub fn base(&self) -> Option<Nanos> {
        self.least.least()
    }

    /// The number of lost probes.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    /// A probe every 100 ms from `from` on; `took` is the round trip of each in milliseconds, 0 for one that is lost.
    fn play(far: &mut FarQueue, from: u64, took: &[u64]) -> Nanos {
        let mut now = Nanos::ZERO;
        for (at, &took) in (from..).step_by(100).zip(took) {
            let number = far.probe(millis(at));
            if took > 0 {
                now = millis(at + took);
                far.back(number, now);
            }
        }
        now
    }

    #[test]
    fn what_is_over_the_least_is_the_queue() {
        let mut far = FarQueue::default();
        assert_eq!(far.delay(Nanos::ZERO), None);
        let now = play(&mut far, 0, &[30, 20, 75]);
        assert_eq!((far.base(), far.delay(now)), (Some(millis(20)), Some(FarDelay::of(millis(55)))));
        // A probe that has been in flight for 95 ms gives more information.
        far.probe(now);
        assert_eq!(far.delay(now + millis(95)), Some(FarDelay::of(millis(75))));
    }

    #[test]
    fn another_way_begins_with_nothing() {
        let mut far = FarQueue::default();
        play(&mut far, 0, &[20, 0, 90]);
        let before = far.probe(millis(400));
        far.forget();
        assert_eq!((far.base(), far.delay(millis(410)), far.lost()), (None, None, 1));
        far.back(before, millis(420));
        assert_eq!(far.base(), None, "it went the other way");
        play(&mut far, 500, &[50]);
        assert_eq!((far.base(), far.delay(millis(550))), (Some(millis(50)), Some(FarDelay::of(Nanos::ZERO))));
    }

    #[test]
    fn the_least_is_forgotten_after_ten_minutes() {
        let mut far = FarQueue::default();
        for minute in 0..11 {
            play(&mut far, minute * 60_000, &[if minute == 0 { 10 } else { 50 }]);
        }
        assert_eq!(far.base(), Some(millis(50)));
    }

    #[test]
    fn silence_says_nothing() {
        let mut far = FarQueue::default();
        let now = play(&mut far, 0, &[20, 40]);
        far.probe(now);
        assert!(far.delay(now + millis(1_999)).is_some());
        assert_eq!(far.delay(now + millis(2_000)), None);
    }

    #[test]
    fn a_queue_that_drops_a_probe_was_full() {
        let mut far = FarQueue::default();
        let now = play(&mut far, 0, &[20, 60, 0, 70, 30]);
        assert_eq!((far.lost(), far.delay(now).and_then(|seen| seen.room)), (1, Some(millis(50))));
        // A probe lost while the queue is short gives no information about its room.
        let now = play(&mut far, 1_000, &[22, 0, 25]);
        assert_eq!((far.lost(), far.delay(now).and_then(|seen| seen.room)), (2, Some(millis(50))));
        // It has room for what has passed it.
        let now = play(&mut far, 2_000, &[85, 30]);
        assert_eq!((far.lost(), far.delay(now).and_then(|seen| seen.room)), (2, Some(millis(65))));
        let now = play(&mut far, 601_000, &[25, 25]);
        assert_eq!(far.delay(now).and_then(|seen| seen.room), None, "ten minutes later");
        let mut idle = FarQueue::default();
        let now = play(&mut idle, 0, &[20, 20, 0, 20, 0, 29]);
        assert_eq!((idle.lost(), idle.delay(now).and_then(|seen| seen.room)), (2, None));
    }

    #[test]
    fn strangers_and_doubles_are_ignored_and_the_oldest_are_given_up() {
        let mut far = FarQueue::default();
        far.back(7, millis(5));
        let number = far.probe(millis(5));
        far.back(number, millis(25));
        far.back(number, millis(90));
        assert_eq!(far.delay(millis(90)), Some(FarDelay::of(Nanos::ZERO)));
        for at in 0..300 {
            far.probe(millis(100 + at));
        }
        assert_eq!((far.in_flight.len(), far.lost()), (MAX_IN_FLIGHT, 300 - MAX_IN_FLIGHT as u64));
    }
}
