//! The gateway's knowledge and control of its uplink.
//!
//! As in a real gateway: if the uplink's rate is configured, uploads are scheduled separately, at a little less than that rate,
//! or than the uplink is found to carry; otherwise nothing is held back. The downlink's scheduler is told while the uplink is
//! busy, since what a probe waits for may then be the uplink's queue.

use dovetail_sched::{
    Nanos,
    request::{
        Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, Turn, UPLOADS, UplinkRate, UplinkUse, Uploads,
        UserId,
    },
};

use crate::network::{ask_again::AskAgain, error::NetworkError, transport::TCP_HEADERS_BYTES};

/// The gateway's end of the uplink.
#[derive(Debug)]
pub(super) struct Uplink {
    /// Permits sending, if the rate is known.
    pub(super) pacer: Option<Box<dyn RequestScheduler>>,
    ask_again: AskAgain,
    used: UplinkUse,
    learning: Option<Learning>,
}

/// What the uplink's capacity is learnt from.
#[derive(Debug)]
struct Learning {
    rate: UplinkRate,
    // Bytes of measured uploads that were handed over, and of those the acknowledged ones that were reported.
    sent_bytes: u64,
    acked_bytes: u64,
    // Counted acknowledgements of downloads that were not reported.
    counted_bytes: u64,
}

impl Uplink {
    /// Bytes of payload per second, if configured, and whether a lower rate is learnt; and those of the downlink.
    pub(super) fn new(given: Option<(f64, bool)>, downlink: f64) -> Result<Self, NetworkError> {
        let pacer = match given {
            Some((rate, _)) => {
                let setup = RequestSetup::for_uplink(rate);
                Some(UPLOADS.parse::<RequestSpec>()?.build(&setup)?)
            }
            None => None,
        };
        let learning =
            |(rate, _)| Learning { rate: UplinkRate::new(rate), sent_bytes: 0, acked_bytes: 0, counted_bytes: 0 };
        Ok(Self {
            pacer,
            ask_again: AskAgain::new(),
            used: UplinkUse::new(f64::from(TCP_HEADERS_BYTES), downlink),
            learning: given.filter(|&(_, learns)| learns).map(learning),
        })
    }

    /// Whether the uplink's capacity is learnt.
    pub(super) const fn learns(&self) -> bool {
        self.learning.is_some()
    }

    /// This many bytes were handed over by uploads that are measured.
    pub(super) fn measures(&mut self, bytes: u64) {
        if let Some(learning) = &mut self.learning {
            learning.sent_bytes += bytes;
        }
    }

    /// `uploads` are measured, with these bytes that are not acknowledged. Returns whether the uplink is busy, if that
    /// changed.
    pub(super) fn learn(
        &mut self,
        (uploads, unacked_bytes): (usize, u64),
        delay: Option<Nanos>,
        now: Nanos,
    ) -> Option<bool> {
        let Learning { rate, sent_bytes, acked_bytes, counted_bytes } = self.learning.as_mut()?;
        let acked = sent_bytes.saturating_sub(unacked_bytes);
        let seen = Uploads {
            acked_bytes: acked.saturating_sub(core::mem::replace(acked_bytes, acked)),
            unacked_bytes,
            counted_bytes: core::mem::take(counted_bytes),
            delay,
        };
        if (uploads > 0 || rate.is_testing())
            && let Some(paced) = rate.look(&seen, now)
            && let Some(pacer) = &mut self.pacer
        {
            pacer.set_rate(RequestSetup::for_uplink(paced).rate, now);
        }
        self.tell(now)
    }

    /// Whether the uplink is busy, if the downlink's scheduler does not know.
    fn tell(&mut self, now: Nanos) -> Option<bool> {
        let is_cleared = self.learning.as_ref().is_some_and(|learning| learning.rate.is_cleared(now));
        self.used.news(is_cleared)
    }

    /// A request with an upload is released; false if nothing is held back.
    pub(super) fn arrived(&mut self, id: RequestId, user: UserId, now: Nanos) -> bool {
        let Some(pacer) = &mut self.pacer else { return false };
        pacer.enqueue(&Request { id, user, length: None }, now);
        true
    }

    /// It is cancelled.
    pub(super) fn cancelled(&mut self, id: RequestId, now: Nanos) {
        if let Some(pacer) = &mut self.pacer {
            pacer.cancel(id, now);
        }
    }

    /// The next permission to send, or when to poll again, if that must be scheduled.
    pub(super) fn poll(&mut self, now: Nanos) -> Result<Turn, Option<Nanos>> {
        let Some(pacer) = &mut self.pacer else { return Err(None) };
        if let Some(turn) = pacer.dequeue(now) {
            return Ok(turn);
        }
        let again = pacer.poll_at();
        Err(again.and_then(|at| self.ask_again.at(at, now)))
    }

    /// Bytes of a permitted request were handed over; `is_over` if they were the last.
    pub(super) fn handed_over(&mut self, id: RequestId, bytes: u64, is_over: bool, now: Nanos) {
        if let Some(pacer) = &mut self.pacer {
            pacer.received(id, bytes, now);
            if is_over {
                pacer.ended(id, now);
            }
        }
    }

    /// A connection has room for more of an upload; false if nothing is held back.
    pub(super) fn ready(&mut self, id: RequestId, now: Nanos) -> bool {
        let Some(pacer) = &mut self.pacer else { return false };
        pacer.ready(id, now);
        true
    }

    /// This many bytes came down and are acknowledged: one packet for two.
    pub(super) fn acknowledges(&mut self, bytes: u64, now: Nanos) {
        if let Some(pacer) = &mut self.pacer
            && let Some(acked) = self.used.acknowledges(bytes)
        {
            pacer.stray(None, acked, now);
            if let Some(learning) = &mut self.learning {
                learning.counted_bytes += acked;
            }
        }
    }

    /// Bytes were sent. Returns whether the uplink is busy, if that changed.
    pub(super) fn sent(&mut self, bytes: u64, now: Nanos) -> Option<bool> {
        self.used.sent(bytes, now);
        self.tell(now)
    }

    /// Checks whether a period is over, and begins another. Returns whether the uplink is busy, if that changed.
    pub(super) fn look(&mut self, now: Nanos) -> Option<bool> {
        self.used.look(now);
        self.tell(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_told_is_kept_to() {
        let mut uplink = Uplink::new(Some((64_000.0, false)), 250_000.0).expect("a rate");
        let pacer = uplink.pacer.as_mut().expect("it paces");
        pacer.set_class(dovetail_sched::request::ClassId(0), dovetail_sched::Weight::ONE, Nanos::ZERO);
        pacer.set_user(UserId(0), dovetail_sched::request::ClassId(0), Nanos::ZERO);
        assert!(uplink.arrived(RequestId(0), UserId(0), Nanos::ZERO));
        let (mut sent, mut now) = (0, Nanos::ZERO);
        while now < Nanos::from_secs(10) {
            match uplink.poll(now) {
                Ok(turn) => {
                    sent += turn.units;
                    let pacer = uplink.pacer.as_mut().expect("it paces");
                    pacer.received(turn.request, turn.units, now);
                    pacer.ready(turn.request, now);
                }
                Err(at) => now = at.expect("it waits"),
            }
        }
        let paced = 0.95 * 0.95 * 640_000.0;
        assert!((0.99 * paced..1.01 * paced + 2.0 * 2.0 * 1_448.0).contains(&(sent as f64)), "{sent} of {paced}");
    }
}
