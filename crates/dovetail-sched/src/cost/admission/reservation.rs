//! What a flow requests.

use alloc::vec::Vec;
use core::fmt;

use super::{amount::Amount, amounts::Amounts, mismatch::Mismatch};
use crate::Nanos;

/// A flow's rates, the costs of its packets, and its delay limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    rate_per_s: Amounts,
    packets: Vec<Amounts>,
    most_delay: Option<Nanos>,
    priority: u8,
}

impl Reservation {
    /// A flow that reserves `rate_per_s` units per second of each resource and sends packets of these kinds. A kind is given by
    /// the cost of its costliest packet on each resource. `most_delay` is the flow's delay limit, if it has one. Flows of the
    /// same `priority` level respect each other's limits.
    ///
    /// A rate may be 0 if all its packets cost 0 there: the flow does not use that resource.
    ///
    /// # Errors
    /// [`ReservationError`] for a flow that reserves nothing, has no kinds of packet, or would wait forever.
    pub fn new(
        rate_per_s: Amounts,
        packets: &[Amounts],
        most_delay: Option<Nanos>,
        priority: u8,
    ) -> Result<Self, ReservationError> {
        if packets.is_empty() {
            return Err(ReservationError::NoPackets);
        }
        if rate_per_s.as_slice().iter().all(|&rate| rate == Amount::ZERO) {
            return Err(ReservationError::Nothing);
        }
        for packet in packets {
            if packet.resources() != rate_per_s.resources() {
                let mismatch = Mismatch { given: packet.resources(), node: rate_per_s.resources() };
                return Err(ReservationError::Packets(mismatch));
            }
            let mut pairs = packet.as_slice().iter().zip(rate_per_s.as_slice());
            if let Some(resource) = pairs.position(|(&cost, &rate)| cost > Amount::ZERO && rate == Amount::ZERO) {
                return Err(ReservationError::NoRate { resource });
            }
        }
        Ok(Self { rate_per_s, packets: packets.to_vec(), most_delay, priority })
    }

    /// The reserved rate of each resource, in units per second.
    #[must_use]
    pub const fn rate_per_s(&self) -> &Amounts {
        &self.rate_per_s
    }

    /// The cost of a packet on each resource, kind by kind; at least one kind.
    #[must_use]
    pub fn packets(&self) -> &[Amounts] {
        &self.packets
    }

    /// The delay limit.
    #[must_use]
    pub const fn most_delay(&self) -> Option<Nanos> {
        self.most_delay
    }

    /// The priority level.
    #[must_use]
    pub const fn priority(&self) -> u8 {
        self.priority
    }
}

/// Why a reservation is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservationError {
    /// All rates are 0.
    Nothing,
    /// No kind of packet is given, so there is nothing to derive a delay bound from.
    NoPackets,
    /// Packets cost something on a resource of which nothing is reserved.
    NoRate {
        /// The resource.
        resource: usize,
    },
    /// A kind of packet has another number of resources than the rates.
    Packets(Mismatch),
}

impl fmt::Display for ReservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("all its rates are 0: it reserves nothing"),
            Self::NoPackets => f.write_str("no kind of packet is given, and without costs there is no delay bound"),
            Self::NoRate { resource } => {
                write!(f, "its packets use resource {resource}, of which it reserves nothing: they would wait forever")
            }
            Self::Packets(mismatch) => write!(f, "packets: {mismatch}"),
        }
    }
}

impl core::error::Error for ReservationError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(units: &[f64]) -> Amounts {
        Amounts::new(units).expect("amounts")
    }

    #[test]
    fn impossible_reservations_are_refused() {
        let made = |rate: &[f64], packets: &[Amounts]| Reservation::new(amounts(rate), packets, None, 0).map(|_| ());
        let packet = amounts(&[1.0, 0.0]);
        assert_eq!(made(&[1.0, 0.0], &[packet]), Ok(()), "a resource that it does not use");
        assert_eq!(made(&[0.0, 1.0], &[packet]), Err(ReservationError::NoRate { resource: 0 }));
        assert_eq!(made(&[0.0, 0.0], &[amounts(&[0.0, 0.0])]), Err(ReservationError::Nothing));
        assert_eq!(made(&[1.0, 1.0], &[]), Err(ReservationError::NoPackets));
        let mismatch = Mismatch { given: 1, node: 2 };
        assert_eq!(made(&[1.0, 1.0], &[packet, amounts(&[1.0])]), Err(ReservationError::Packets(mismatch)));
    }
}
