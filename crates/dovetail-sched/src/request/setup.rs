//! The parameters of every request scheduler.

use crate::Nanos;

/// The parameters of every request scheduler, whatever its policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestSetup {
    /// The link's capacity in units per second: its goodput, not its raw rate.
    pub rate: f64,
    /// Units of a response that one turn permits, if the policy schedules responses.
    pub quantum: u64,
    /// The initial window: units that may be in flight beyond those that may be taken in.
    pub window: u64,
    /// The largest window.
    pub longest_window: u64,
    /// Units that arrive with every response and are not part of its length: a header.
    pub overhead: u64,
}

impl RequestSetup {
    /// Whether a rate in units per second is in range: from 10^-3 to 10^15.
    #[must_use]
    pub fn is_rate(units_per_s: f64) -> bool {
        (1e-3..=1e15).contains(&units_per_s)
    }

    /// For what a gateway itself sends up a link of `rate` bytes of payload a second: turns permit sending two full segments,
    /// and nothing is in flight that no turn permitted. A twentieth is reserved for unscheduled traffic: window updates and
    /// retransmissions; `grants` reserves another, since no far queue is reported to it.
    #[must_use]
    pub fn for_uplink(rate: f64) -> Self {
        Self { rate: 0.95 * rate, quantum: 2 * 1448, window: 0, longest_window: 0, overhead: 0 }
    }

    /// The round trip from which on a dozen of the first windows of [`for_bytes`](Self::for_bytes) do not fill the link: an
    /// environment reports that of such a connection, and offers [`FIRST_FLIGHT_BYTES`](Self::FIRST_FLIGHT_BYTES) on it.
    pub const FARTHEST: Nanos = Nanos::from_millis(12 * 34);

    /// What senders send before the first acknowledgement: ten segments (RFC 6928). At [that distance](Self::FARTHEST) a smaller
    /// window costs a round trip.
    pub const FIRST_FLIGHT_BYTES: u64 = 10 * 1448;

    /// For HTTP over TCP: units are bytes, `rate` is the link's goodput in bytes a second.
    ///
    /// A turn is two full segments of Ethernet's size. The initial window is what the link carries in 34 ms, so that a dozen
    /// responses from far away fill it, and at least 8 KiB, the least that Linux makes of the usual minimum of `SO_RCVBUF`; it
    /// may grow to what the link carries in 1.4 s: twice a satellite's round-trip time and some queue, for connections on which
    /// half of a window is left unread. Rates out of [range](Self::is_rate) are refused when a scheduler is built.
    #[must_use]
    pub fn for_bytes(rate: f64) -> Self {
        let carries = |seconds: f64| (rate * seconds) as u64;
        let quantum = 2 * 1448;
        let window = carries(0.034).max(8192).checked_next_multiple_of(1448).unwrap_or(u64::MAX);
        Self { rate, quantum, window, longest_window: carries(1.4).max(window), overhead: 330 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestSpec;
    use std::string::ToString;

    #[test]
    fn a_rate_out_of_range_is_an_error_of_the_build() {
        let spec: RequestSpec = "grants".parse().expect("valid");
        for rate in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e20, 1e30, f64::INFINITY] {
            let error = spec.build(&RequestSetup::for_bytes(rate)).expect_err("no link has this rate");
            assert!(error.to_string().contains("a link carries from 0.001 to 10^15"), "{rate}: {error}");
        }
        assert!(spec.build(&RequestSetup::for_bytes(1e15)).is_ok());
    }
}
