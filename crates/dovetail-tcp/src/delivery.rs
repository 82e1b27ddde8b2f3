//! How fast a path delivers (draft-cheng-iccrg-delivery-rate-estimation).
//!
//! Each segment remembers what had been delivered when it was sent. When it is acknowledged, what was delivered since,
//! divided by the longer of the time it took to send that and the time it took to acknowledge it, is a sample of the path's
//! rate: the longer of the two, since acknowledgements that were held back arrive together.

use dovetail_sched::Nanos;

/// What was delivered when a segment was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Snapshot {
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    is_app_limited: bool,
}

/// A connection's deliveries.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Delivery {
    /// Segments delivered so far: acknowledged or sacked.
    pub(crate) delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    // Until so much is delivered the application, not the path, has set the rate.
    app_limited_until: u64,
}

/// The newest segment that an acknowledgement delivers: what was delivered when it was sent, and when that was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Newest(Option<(Snapshot, Nanos)>);

/// A sample of the path's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    /// Segments delivered over `interval`.
    pub(crate) segments: u64,
    pub(crate) interval: Nanos,
    /// What was delivered when the segment that it is of was sent.
    pub(crate) prior_delivered: u64,
    pub(crate) is_app_limited: bool,
}

impl Delivery {
    /// What a segment that is sent now remembers.
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

    /// The application has nothing to send, though more could be in flight.
    pub(crate) fn is_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Whether the application, not the path, sets the rate.
    pub(crate) const fn is_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// A segment sent at `at` was delivered.
    pub(crate) fn deliver(&mut self, snapshot: Snapshot, at: Nanos, newest: &mut Newest, now: Nanos) {
        self.delivered += 1;
        self.delivered_at = now;
        if newest.0.is_none_or(|(newest, _)| snapshot.delivered >= newest.delivered) {
            newest.0 = Some((snapshot, at));
        }
    }

    /// What an acknowledgement says of the rate. A sample over less than the least round trip is none.
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
