//! What is known of one flow: what it received, and how far it is behind a promise.

use dovetail_sched::Nanos;

/// One flow's books.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) weight: f64,
    // Where among those that wait; NOWHERE if it does not.
    place: u32,
    /// Since when it has been waiting.
    pub(super) since: Nanos,
    left_at: Nanos,
    // Dominant service received up to `served_at`, and how many of its packets are receiving it.
    served: Nanos,
    served_at: Nanos,
    in_service: u32,
    /// The service received when the window began.
    pub(super) served_before_window: Nanos,
    // How far behind, and the integral of the fair share and the service when that was true.
    lag: f64,
    lag_fair: f64,
    lag_served: Nanos,
}

const NOWHERE: u32 = u32::MAX;

impl Flow {
    /// A flow of weight 1 that never waited.
    pub(super) const NEW: Self = Self {
        weight: 1.0,
        place: NOWHERE,
        since: Nanos::ZERO,
        left_at: Nanos::MAX,
        served: Nanos::ZERO,
        served_at: Nanos::ZERO,
        in_service: 0,
        served_before_window: Nanos::ZERO,
        lag: 0.0,
        lag_fair: 0.0,
        lag_served: Nanos::ZERO,
    };

    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.place != NOWHERE
    }

    /// The dominant service received up to `now`.
    #[inline]
    pub(super) fn served(&self, now: Nanos) -> Nanos {
        self.served + Nanos((now - self.served_at).0.saturating_mul(u64::from(self.in_service)))
    }

    /// One of its packets begins or ends on its dominant resource.
    #[inline]
    pub(super) fn turn(&mut self, now: Nanos, begins: bool) {
        (self.served, self.served_at) = (self.served(now), now);
        self.in_service = if begins { self.in_service + 1 } else { self.in_service - 1 };
    }

    /// It begins to wait, in this place, when the integral of the fair share is `fair`.
    pub(super) fn join(&mut self, now: Nanos, fair: f64, place: u32) {
        self.place = place;
        let served = self.served(now);
        (self.lag_fair, self.lag_served) = (fair, served);
        // Who left at this very instant was never away.
        if self.left_at != now {
            self.since = now;
            self.served_before_window = served;
            self.lag = 0.0;
        }
    }

    /// It goes on to wait in another place.
    pub(super) fn moved_to(&mut self, place: u32) {
        self.place = place;
    }

    /// It waits no more; the place that it leaves.
    pub(super) fn leave(&mut self, now: Nanos) -> u32 {
        self.left_at = now;
        std::mem::replace(&mut self.place, NOWHERE)
    }

    /// How far it is behind `promise`, in nanoseconds of dominant service.
    #[inline]
    pub(super) fn look(&mut self, now: Nanos, fair: f64, promise: f64) -> f64 {
        let served = self.served(now);
        let promised = promise * self.weight * (fair - self.lag_fair);
        self.lag = (self.lag + promised - (served - self.lag_served).as_f64()).max(0.0);
        (self.lag_fair, self.lag_served) = (fair, served);
        self.lag
    }
}
