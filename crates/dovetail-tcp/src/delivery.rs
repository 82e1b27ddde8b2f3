//! Delivery rate of a path (draft-cheng-iccrg-delivery-rate-estimation).
//!
//! Each segment records what had been delivered when it was sent. When it is acknowledged, what was delivered since, divided
//! by the longer of the time to send that and the time to acknowledge it, is a sample of the path's rate. The longer of the
//! two is used because delayed acknowledgements arrive together.

use dovetail_sched::Nanos;

/// What was delivered when a segment was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Snapshot {
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    is_app_limited: bool,
}

/// Delivery totals of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Delivery {
    /// Segments delivered so far: acknowledged or sacked.
    pub(crate) delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    // Until this much is delivered, samples are limited by the application, not the path.
    app_limited_until: u64,
}

/// The newest segment that an acknowledgement delivers: its snapshot, and when it was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Newest(Option<(Snapshot, Nanos)>);

/// A sample of the path's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Segments delivered over `interval`.
    pub(crate) segments: u64,
    pub(crate) interval: Nanos,
    /// What had been delivered when the sampled segment was sent.
    pub(crate) prior_delivered: u64,
    pub(crate) is_app_limited: bool,
}

impl Delivery {
    /// The snapshot for a segment sent at `now`.
    pub(crate) fn snapshot(&mut self, nothing_in_flight: bool, now: Nanos) -> Snapshot {
        if nothing_in_flight {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited_until > 0,
        }
    }

    /// The application has nothing to send although more could be in flight.
    pub(crate) fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Whether the application, not the path, limits the rate.
    pub(crate) const fn is_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Records that a segment sent at `at` was delivered.
    pub(crate) fn deliver(&mut self, snapshot: Snapshot, at: Nanos, newest: &mut Newest, now: Nanos) {
        self.delivered += 1;
        self.delivered_at = now;
        if newest.0.is_none_or(|(newest, _)| snapshot.delivered >= newest.delivered) {
            newest.0 = Some((snapshot, at));
        }
    }

    /// The rate sample of an acknowledgement. Intervals shorter than the least round trip yield none.
    pub(crate) fn sample(&mut self, newest: Newest, least_rtt: Option<Nanos>) -> Option<Rate> {
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let (snapshot, sent_at) = newest.0?;
        let sending = sent_at - snapshot.first_sent_at;
        let acknowledging = self.delivered_at - snapshot.delivered_at;
        self.first_sent_at = sent_at;
        let interval = sending.max(acknowledging);
        (least_rtt.is_some_and(|least| interval >= least)).then_some(Rate {
            segments: self.delivered - snapshot.delivered,
            interval,
            prior_delivered: snapshot.delivered,
            is_app_limited: snapshot.is_app_limited,
        })
    }
}
