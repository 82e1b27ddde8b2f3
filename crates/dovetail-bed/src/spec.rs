//! Specifies a testbed: links, round trips and users.

use std::{ops::RangeInclusive, time::Duration};

use crate::BedError;

/// TCP payload of a full packet with timestamps, in bytes.
const PAYLOAD_BYTES: f64 = 1448.0;
/// The Ethernet frame around it, in bytes, as the downlink counts it.
const FRAME_BYTES: f64 = 1514.0;
/// Approximate bytes on the downlink per response beside its body: head, acknowledgements, opening and closing the connection.
const OVERHEAD_BYTES: f64 = 350.0;

/// Approximate bytes that a response takes on the downlink.
pub(crate) fn wire_bytes(body_bytes: f64) -> f64 {
    body_bytes * FRAME_BYTES / PAYLOAD_BYTES + OVERHEAD_BYTES
}

/// The range of a testbed link's rate, in bits of Ethernet frames per second.
pub(crate) const RATES_BPS: RangeInclusive<u64> = 10_000..=10_000_000_000;

/// The link from the gateway to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uplink {
    /// In bits of Ethernet frames per second.
    pub rate_bps: u64,
    /// Packets that its queue holds; excess ones are dropped.
    pub buffer_packets: u32,
}

/// Specification of a testbed.
#[derive(Debug, Clone, PartialEq)]
pub struct BedSpec {
    /// The downlink's rate, in bits of Ethernet frames per second.
    pub rate_bps: u64,
    /// Packets that the downlink's queue holds; excess ones are dropped.
    pub buffer_packets: u32,
    /// The uplink; without one, uploads are as fast as the machine.
    pub uplink: Option<Uplink>,
    /// Whether the gateway's device merges packets that arrive within 2 ms of each other, like a network card with GRO, so that
    /// its sockets hold a few large pieces rather than many small ones; needs the program `ethtool`. The links still carry and
    /// queue packets of wire size.
    pub gso: bool,
    /// The rate of the link from gateway to clients, in bits of Ethernet frames per second; `None` means as fast as the
    /// machine.
    pub lan_bps: Option<u64>,
    /// Round-trip times, one server each: 10.200.0.1 and so on.
    pub round_trips: Vec<Duration>,
    /// The number of users in each class: user 1 of class 1 is 10.0.1.1.
    pub users: Vec<u32>,
    /// The congestion control of the servers, which send over the downlink, by its kernel name; the namespaces' default, Reno,
    /// if the kernel does not have it.
    pub congestion: String,
}

impl Default for BedSpec {
    /// Three classes of four users at 2 Mbit/s with room for 25 packets; six servers with round trips of 10 to 40 ms and six
    /// with 100 to 250 ms.
    fn default() -> Self {
        let round_trips = [10, 16, 22, 28, 34, 40, 100, 130, 160, 190, 220, 250];
        Self {
            rate_bps: 2_000_000,
            buffer_packets: 25,
            uplink: None,
            gso: false,
            lan_bps: Some(10_000_000),
            round_trips: round_trips.map(Duration::from_millis).into(),
            users: vec![4; 3],
            congestion: "cubic".into(),
        }
    }
}

impl BedSpec {
    /// The most TCP payload that the downlink carries, in bits per second.
    #[must_use]
    pub fn goodput_bps(&self) -> f64 {
        self.rate_bps as f64 * PAYLOAD_BYTES / FRAME_BYTES
    }

    /// Checks whether such a testbed is possible.
    ///
    /// # Errors
    /// What is out of range, in words.
    pub fn validate(&self) -> Result<(), BedError> {
        let one_to_254 = |count: usize| (1..=254).contains(&count);
        let wrong = |what: &str| Err(BedError::Wrong(what.to_owned()));
        if !RATES_BPS.contains(&self.rate_bps) {
            return wrong("the downlink has 10 kbit/s to 10 Gbit/s");
        }
        if self.uplink.is_some_and(|up| !RATES_BPS.contains(&up.rate_bps) || up.buffer_packets == 0) {
            return wrong("the uplink has 10 kbit/s to 10 Gbit/s, and room for a packet at least");
        }
        if self.lan_bps.is_some_and(|bps| !(10_000..=100_000_000_000).contains(&bps)) {
            return wrong("the clients' link has 10 kbit/s to 100 Gbit/s");
        }
        if self.buffer_packets == 0 {
            return wrong("the downlink's queue has room for a packet at least");
        }
        if !one_to_254(self.round_trips.len()) || self.round_trips.iter().any(|trip| trip.as_secs() >= 10) {
            return wrong("there are 1 to 254 servers, each under ten seconds away");
        }
        if !one_to_254(self.users.len()) || !self.users.iter().all(|&users| (1..=253).contains(&users)) {
            return wrong("there are 1 to 254 classes of 1 to 253 users");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_said() {
        assert!(BedSpec::default().validate().is_ok());
        let wrong = [
            BedSpec { rate_bps: 0, ..BedSpec::default() },
            BedSpec { uplink: Some(Uplink { rate_bps: 1, buffer_packets: 9 }), ..BedSpec::default() },
            BedSpec { uplink: Some(Uplink { rate_bps: 512_000, buffer_packets: 0 }), ..BedSpec::default() },
            BedSpec { lan_bps: Some(1), ..BedSpec::default() },
            BedSpec { buffer_packets: 0, ..BedSpec::default() },
            BedSpec { round_trips: Vec::new(), ..BedSpec::default() },
            BedSpec { round_trips: vec![Duration::from_secs(10)], ..BedSpec::default() },
            BedSpec { users: Vec::new(), ..BedSpec::default() },
            BedSpec { users: vec![4, 0], ..BedSpec::default() },
        ];
        for spec in wrong {
            assert!(spec.validate().is_err(), "{spec:?}");
        }
    }

    #[test]
    fn goodput_is_what_a_full_packet_carries() {
        let spec = BedSpec { rate_bps: 1_514_000, ..BedSpec::default() };
        assert!((spec.goodput_bps() - 1_448_000.0).abs() < 1e-3);
        assert!((wire_bytes(14_480.0) - 15_490.0).abs() < 1e-6);
    }
}
