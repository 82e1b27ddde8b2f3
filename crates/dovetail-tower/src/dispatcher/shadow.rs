//! Whose units the link carries, as far as that can be known at its end.
//!
//! A dispatcher sees units when they are taken in, but not the link itself. So it keeps a *shadow* of the link: units that were
//! taken in occupy it from then on, queued behind those before them, for as long as they take at the configured rate. At any
//! instant, the shadow tells whose units the link carries, or that it is idle. It is never more than [`MAX_LAG`] behind: on a
//! link that is faster than the configured rate, anything beyond that is left out.
//!
//! Cost: O(1) per event, amortised; at most [`MAX_ENTRIES`] entries.

use std::collections::VecDeque;

use dovetail_sched::{
    Nanos,
    request::{ClassId, UserId},
};

/// The shadow is at most this far behind.
const MAX_LAG: Nanos = Nanos::from_millis(100);

/// Maximum number of entries.
const MAX_ENTRIES: usize = 256;

/// Units that occupy the shadow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    /// The class, if known.
    pub(super) class: Option<ClassId>,
    /// The user, if known.
    pub(super) user: Option<UserId>,
}

/// A shadow of the link.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    queue: VecDeque<(Owner, Nanos)>,
    queued: Nanos,
    as_of: Nanos,
    /// Total time occupied since the start.
    pub(super) busy: Nanos,
}

impl Shadow {
    /// Advances to `now` and calls `each` with every owner and the time that it occupied.
    pub(super) fn settle(&mut self, now: Nanos, mut each: impl FnMut(Owner, Nanos)) {
        let mut spent = now - self.as_of;
        self.as_of = self.as_of.max(now);
        while spent > Nanos::ZERO
            && let Some((owner, left)) = self.queue.front_mut()
        {
            let part = spent.min(*left);
            *left = *left - part;
            spent = spent - part;
            self.queued = self.queued - part;
            self.busy += part;
            each(*owner, part);
            if *left == Nanos::ZERO {
                self.queue.pop_front();
            }
        }
    }

    /// Appends units that take this long on the link.
    pub(super) fn carries(&mut self, owner: Owner, time: Nanos) {
        let time = time.min(MAX_LAG - self.queued);
        if time == Nanos::ZERO {
            return;
        }
        let is_full = self.queue.len() >= MAX_ENTRIES;
        match self.queue.back_mut() {
            Some((last, left)) if *last == owner => *left += time,
            _ if is_full => return,
            _ => self.queue.push_back((owner, time)),
        }
        self.queued += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Owner = Owner { class: Some(ClassId(0)), user: Some(UserId(0)) };
    const BOB: Owner = Owner { class: Some(ClassId(1)), user: Some(UserId(1)) };

    /// The times reported until `now`.
    fn told(shadow: &mut Shadow, now: u64) -> Vec<(Owner, u64)> {
        let mut told = Vec::new();
        shadow.settle(Nanos(now), |owner, time| told.push((owner, time.0)));
        told
    }

    #[test]
    fn units_occupy_it_one_after_the_other() {
        let mut shadow = Shadow::default();
        assert_eq!(told(&mut shadow, 5), []);
        shadow.carries(ANN, Nanos(10));
        shadow.carries(BOB, Nanos(4));
        assert_eq!(told(&mut shadow, 8), [(ANN, 3)]);
        assert_eq!(told(&mut shadow, 18), [(ANN, 7), (BOB, 3)]);
        // Idle from 19 on.
        assert_eq!(told(&mut shadow, 30), [(BOB, 1)]);
        assert_eq!(told(&mut shadow, 40), []);
        assert_eq!(shadow.busy, Nanos(14));
    }

    #[test]
    fn it_is_never_far_behind_and_never_long() {
        let mut shadow = Shadow::default();
        for round in 0..1_000 {
            shadow.carries(if round % 2 == 0 { ANN } else { BOB }, Nanos::from_micros(100));
        }
        // Time of the last owner still accumulates; other owners are left out.
        let counted = Nanos::from_micros(100 * (MAX_ENTRIES as u64 + (1_000 - MAX_ENTRIES as u64) / 2));
        assert_eq!((shadow.queue.len(), shadow.queued), (MAX_ENTRIES, counted));
        shadow.carries(BOB, Nanos::from_secs(9));
        assert_eq!(shadow.queued, MAX_LAG);
        assert_eq!(told(&mut shadow, MAX_LAG.0).len(), MAX_ENTRIES);
        assert_eq!(shadow.queue.len(), 0);
    }
}
