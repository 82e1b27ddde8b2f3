//! What the gateway knows of its uplink, and does about it.
//!
//! As in a real gateway: where it is told the uplink's rate, uploads go by turns of a scheduler of their own, at a little
//! less than that; where it is not nothing is held back. The downlink's scheduler is told while much is sent, as what a probe
//! waits may then be the uplink's queue.

use dovetail_sched::{
    Nanos,
    request::{Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, Turn, UserId},
};

use crate::network::{NetworkError, end::HEADERS_BYTES};

/// How uploads are ordered. No far queue is ever told of, so the pace is 0.95 of what the setup says.
const POLICY: &str = "grants:order=first,first=20kB,learn=off";
/// What an acknowledgement is of: two full segments.
const ACKED_BYTES: f64 = 2.0 * 1_448.0;
/// So many bytes in so long a time may fill an uplink, and be on their way for as long again.
const MUCH_BYTES: u64 = 16_384;
const SPELL: Nanos = Nanos::from_secs(2);

/// The gateway's end of the uplink.
#[derive(Debug)]
pub(super) struct Uplink {
    /// Gives leave to send, where the rate is known.
    pub(super) pacer: Option<Box<dyn RequestScheduler>>,
    // The time for which a question is on the agenda.
    asked_at: Nanos,
    is_busy: bool,
    since: Nanos,
    sent_bytes: u64,
    // Of acknowledgements, what was not counted yet.
    acked: f64,
}

impl Uplink {
    /// `rate`: bytes of payload a second, if that is told.
    pub(super) fn new(rate: Option<f64>) -> Result<Self, NetworkError> {
        let pacer = match rate {
            Some(rate) => {
                let setup = RequestSetup::for_uplink(rate);
                Some(POLICY.parse::<RequestSpec>()?.build(&setup)?)
            }
            None => None,
        };
        Ok(Self { pacer, asked_at: Nanos::MAX, is_busy: false, since: Nanos::ZERO, sent_bytes: 0, acked: 0.0 })
    }

    /// A request that carries something is released; false where nothing is held back.
    pub(super) fn arrived(&mut self, id: RequestId, user: UserId, now: Nanos) -> bool {
        let Some(pacer) = &mut self.pacer else { return false };
        pacer.arrived(&Request { id, user, length: None }, now);
        true
    }

    /// Nobody wants it sent any more.
    pub(super) fn gave_up(&mut self, id: RequestId, now: Nanos) {
        if let Some(pacer) = &mut self.pacer {
            pacer.gave_up(id, now);
        }
    }

    /// Leave to send, or when to ask again, if that is to be put on the agenda.
    pub(super) fn poll(&mut self, now: Nanos) -> Result<Turn, Option<Nanos>> {
        let Some(pacer) = &mut self.pacer else { return Err(None) };
        if let Some(turn) = pacer.poll(now) {
            return Ok(turn);
        }
        let Some(at) = pacer.poll_at() else { return Err(None) };
        // A policy that says "now" again would never let time pass.
        let at = at.max(now + Nanos(1));
        let is_news = at < self.asked_at || self.asked_at <= now;
        if is_news {
            self.asked_at = at;
        }
        Err(is_news.then_some(at))
    }

    /// So many bytes came down, and are acknowledged: a packet for two.
    pub(super) fn acknowledges(&mut self, bytes: u64, now: Nanos) {
        let Some(pacer) = &mut self.pacer else { return };
        let header = f64::from(HEADERS_BYTES);
        self.acked += bytes as f64 * header / ACKED_BYTES;
        if self.acked >= 8.0 * header {
            pacer.stray(None, self.acked as u64, now);
            self.acked = self.acked.fract();
        }
    }

    /// Bytes were sent. Whether much is sent, if that is news.
    pub(super) fn sent(&mut self, bytes: u64, now: Nanos) -> Option<bool> {
        let over = self.look(now);
        self.sent_bytes = self.sent_bytes.saturating_add(bytes);
        if self.sent_bytes >= MUCH_BYTES && !self.is_busy {
            self.is_busy = true;
            return Some(true);
        }
        over
    }

    /// Whether a spell is over, and another begins. Whether much is sent, if that is news.
    pub(super) fn look(&mut self, now: Nanos) -> Option<bool> {
        if now - self.since < SPELL {
            return None;
        }
        self.since = now;
        let much = std::mem::take(&mut self.sent_bytes) >= MUCH_BYTES;
        (self.is_busy && !much).then(|| {
            self.is_busy = false;
            false
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_in_two_seconds_is_told_until_two_seconds_bring_little() {
        let mut uplink = Uplink::new(None).expect("nothing to build");
        let ms = Nanos::from_millis;
        assert_eq!(uplink.sent(16_383, ms(100)), None);
        assert_eq!(uplink.sent(1, ms(1999)), Some(true));
        assert_eq!(uplink.sent(50_000, ms(1999)), None, "no news");
        assert_eq!(uplink.look(ms(2000)), None, "the spell that is over brought much");
        assert_eq!(uplink.sent(16_383, ms(2500)), None);
        assert_eq!(uplink.look(ms(3999)), None);
        assert_eq!(uplink.look(ms(4000)), Some(false));
        assert_eq!(uplink.look(ms(9000)), None);
        assert_eq!(uplink.sent(1 << 20, ms(9001)), Some(true));
    }

    #[test]
    fn a_rate_that_is_told_is_kept_to() {
        let mut uplink = Uplink::new(Some(64_000.0)).expect("a rate");
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
        assert!((0.99 * paced..1.01 * paced + 2.0 * ACKED_BYTES).contains(&(sent as f64)), "{sent} of {paced}");
    }
}
