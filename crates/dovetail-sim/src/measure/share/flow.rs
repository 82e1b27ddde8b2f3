//! State of one flow: what it received, and how far it is behind a promise.

use dovetail_sched::Nanos;

/// Account of one flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) weight: f64,
    // Its index in the list of waiting flows; NOWHERE if it is not waiting.
    place: u32,
    /// Since when it has been waiting.
    pub(super) since: Nanos,
    left_at: Nanos,
    // Dominant service received up to `served_at`, and how many of its packets are receiving it.
    served: Nanos,
    served_at: Nanos,
    in_service: u32,
    /// Service received before the current window.
    pub(super) served_before_window: Nanos,
    // How far it was behind, with the integral of the fair share and the service at that time.
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

    /// One of its packets starts or ends on its dominant resource.
    #[inline]
    pub(super) fn turn(&mut self, now: Nanos, begins: bool) {
        (self.served, self.served_at) = (self.served(now), now);
        self.in_service = if begins { self.in_service + 1 } else { self.in_service - 1 };
    }

    /// It starts to wait, at index `place`, when the integral of the fair share is `fair`.
    pub(super) fn join(&mut self, now: Nanos, fair: f64, place: u32) {
        self.place = place;
        let served = self.served(now);
        (self.lag_fair, self.lag_served) = (fair, served);
        // A flow that left at this very instant was not away.
        if self.left_at != now {
            self.since = now;
            self.served_before_window = served;
            self.lag = 0.0;
        }
    }

    /// Changes its index.
    pub(super) fn moved_to(&mut self, place: u32) {
        self.place = place;
    }

    /// It no longer waits; returns its index.
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
