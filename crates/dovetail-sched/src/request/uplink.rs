//! The use of the uplink, as far as the scheduling of the downlink depends on it.
//!
//! *Acknowledgements* take capacity of the uplink and are not scheduled. They are counted: one segment for two full ones
//! received (RFC 1122, section 4.2.3.2), a few at once, as each count costs a call of the scheduler.
//!
//! The uplink is *busy* from when much was sent within two seconds until two seconds bring less: 16 kB, or on a fast downlink
//! half of what acknowledgements take while it is full. An uplink that could not carry that would not serve such a downlink, so
//! one that carries less has no queue. Probes go both ways, and their wait may be due to the queue of a busy uplink
//! ([`RequestScheduler::uplink`](super::RequestScheduler::uplink)). The periods of two seconds are consecutive, not sliding: a
//! check costs O(1) and no memory.

use crate::Nanos;

/// The order of uploads if the uplink's rate is known ([`RequestSetup::for_uplink`](super::RequestSetup::for_uplink)): the
/// first 20 kB of each before the rest of others. The policy does not learn the rate, as nothing probes the uplink separately:
/// [`UplinkRate`](super::UplinkRate) does, which is told what is acknowledged.
pub const UPLOADS: &str = "grants:order=first,first=20kB,learn=off";

/// The data that one acknowledgement covers: two full segments.
const ACKED_BYTES: f64 = 2.0 * 1_448.0;
/// The number of acknowledgements counted at once.
const ACKS_AT_ONCE: f64 = 8.0;
/// This many bytes in a period may fill an uplink, and be in flight for as long again, however slow the downlink is.
const MUCH_BYTES: f64 = 16_384.0;
/// The fraction of a full downlink's acknowledgements that may fill an uplink.
const MUCH_OF_ACKS: f64 = 0.5;
const SPELL: Nanos = Nanos::from_secs(2);

/// Tracks the use of an uplink. O(1) per event.
#[derive(Debug)]
pub struct UplinkUse {
    ack_bytes: f64,
    // The downlink's rate.
    bytes_per_s: f64,
    // Bytes of acknowledgements that have not been counted yet.
    acked_bytes: f64,
    is_busy: bool,
    // What the downlink's scheduler was last told.
    is_told: bool,
    since: Nanos,
    sent_bytes: u64,
}

impl UplinkUse {
    /// For an uplink on which an acknowledgement takes this many bytes, beside a downlink that carries `bytes_per_s`.
    #[must_use]
    pub const fn new(ack_bytes: f64, bytes_per_s: f64) -> Self {
        let (is_busy, is_told) = (false, false);
        Self { ack_bytes, bytes_per_s, acked_bytes: 0.0, is_busy, is_told, since: Nanos::ZERO, sent_bytes: 0 }
    }

    /// Changes the rate of the downlink.
    pub const fn set_downlink(&mut self, bytes_per_s: f64) {
        self.bytes_per_s = bytes_per_s;
    }

    /// Whether these bytes in a period are many.
    fn is_much(&self, bytes: u64) -> bool {
        let acks = self.bytes_per_s * SPELL.as_secs_f64() / ACKED_BYTES * self.ack_bytes;
        bytes as f64 >= MUCH_BYTES.max(MUCH_OF_ACKS * acks)
    }

    /// Records that this many bytes were received and acknowledged. Returns the bytes of acknowledgements to count, once there
    /// are enough.
    pub fn acknowledges(&mut self, bytes: u64) -> Option<u64> {
        self.acked_bytes += bytes as f64 * self.ack_bytes / ACKED_BYTES;
        if self.acked_bytes < ACKS_AT_ONCE * self.ack_bytes {
            return None;
        }
        let whole = self.acked_bytes as u64;
        self.acked_bytes -= whole as f64;
        Some(whole)
    }

    /// Whether so much is sent that the uplink may be full.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Records that this many bytes were sent.
    pub fn sent(&mut self, bytes: u64, now: Nanos) {
        self.look(now);
        self.sent_bytes = self.sent_bytes.saturating_add(bytes);
        self.is_busy |= self.is_much(self.sent_bytes);
    }

    /// Starts a new period if the current one is over; to be called once a second.
    pub fn look(&mut self, now: Nanos) {
        if now - self.since >= SPELL {
            self.since = now;
            let sent_bytes = core::mem::take(&mut self.sent_bytes);
            self.is_busy &= self.is_much(sent_bytes);
        }
    }

    /// What to tell the downlink's scheduler ([`RequestScheduler::uplink`](super::RequestScheduler::uplink)), if that has changed
    /// since the last call: whether a long delay may be due to the uplink. `is_cleared`: it is known to have
    /// [another cause](super::UplinkRate::is_cleared).
    pub fn news(&mut self, is_cleared: bool) -> Option<bool> {
        let is_told = self.is_busy && !is_cleared;
        (core::mem::replace(&mut self.is_told, is_told) != is_told).then_some(is_told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_in_two_seconds_is_told_until_two_seconds_bring_little() {
        let mut uplink = UplinkUse::new(66.0, 200_000.0);
        let ms = Nanos::from_millis;
        let mut sent = |bytes, at, is_cleared| {
            if bytes > 0 {
                uplink.sent(bytes, ms(at))
            } else {
                uplink.look(ms(at))
            }
            (uplink.is_busy(), uplink.news(is_cleared))
        };
        assert_eq!(sent(16_383, 100, false), (false, None));
        assert_eq!(sent(1, 1999, false), (true, Some(true)));
        assert_eq!(sent(50_000, 1999, false), (true, None), "no news");
        assert_eq!(sent(0, 2000, false), (true, None), "the period that is over brought much");
        assert_eq!(sent(0, 2100, true), (true, Some(false)), "it has another cause");
        assert_eq!(sent(16_383, 2500, true), (true, None));
        assert_eq!(sent(0, 3999, false), (true, Some(true)), "it may have this one again");
        assert_eq!(sent(0, 4000, false), (false, Some(false)));
        assert_eq!(sent(0, 9000, true), (false, None));
        assert_eq!(sent(1 << 20, 9001, false), (true, Some(true)));
    }

    #[test]
    fn what_is_much_grows_with_the_downlink() {
        let is_busy = |uplink: &mut UplinkUse, bytes| {
            uplink.sent(bytes, Nanos::ZERO);
            uplink.is_busy()
        };
        // 40 Mbit/s: 1,727 acknowledgements of 66 bytes a second.
        let mut uplink = UplinkUse::new(66.0, 5e6);
        assert!(!is_busy(&mut uplink, 113_950) && is_busy(&mut uplink, 1));
        let mut uplink = UplinkUse::new(66.0, 5e6);
        uplink.set_downlink(1e5);
        assert!(!is_busy(&mut uplink, 16_383) && is_busy(&mut uplink, 1));
    }

    #[test]
    fn an_acknowledgement_is_counted_for_two_segments_and_nothing_is_lost() {
        let mut uplink = UplinkUse::new(66.0, 200_000.0);
        let mut counted = 0;
        for segment in 1..=16_000 {
            let now = uplink.acknowledges(1_448);
            assert_eq!(now.is_some(), segment % 16 == 0, "{segment}");
            counted += now.unwrap_or(0);
        }
        assert_eq!(counted, 8_000 * 66);
    }
}
