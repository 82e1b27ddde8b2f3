//! The TLS handshake on a new connection to a server, before the first request.
//!
//! The gateway is the client. In each round trip it sends a flight and waits for the server's complete answer. TLS 1.3 takes
//! one round trip, TLS 1.2 two. The client's last message in TLS 1.3 is sent with the request, and is not modelled.
//! Encryption takes no time, and records have no overhead.

/// Bytes of the gateway's flight and of the server's answer in each round trip: a ClientHello as padded by browsers (RFC
/// 7685) and a certificate chain, then TLS 1.2's key exchange and the two Finished.
const FLIGHTS: [[u64; 2]; 2] = [[517, 4000], [126, 51]];

/// The most round trips.
#[cfg(test)]
const MAX_ROUND_TRIPS: usize = FLIGHTS.len();

/// A handshake in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tls {
    // Flights sent, and their total number.
    sent: usize,
    of: usize,
    // Bytes of the answer that the gateway has still to read.
    left: u64,
}

/// Bytes that the gateway sends and the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flight {
    pub(super) asks: u64,
    pub(super) answers: u64,
}

impl Tls {
    /// A handshake of this many round trips; `None` for zero.
    pub(super) fn new(round_trips: u8) -> Option<Self> {
        let of = usize::from(round_trips).min(FLIGHTS.len());
        (of > 0).then_some(Self { sent: 0, of, left: 0 })
    }

    /// Bytes that servers send in a handshake of this many round trips.
    pub(super) fn answers(round_trips: u8) -> u64 {
        FLIGHTS.iter().take(round_trips.into()).map(|[_, answers]| answers).sum()
    }

    /// The next flight; `None` after the last.
    pub(super) fn next(&mut self) -> Option<Flight> {
        let &[asks, answers] = FLIGHTS.get(self.sent).filter(|_| self.sent < self.of)?;
        self.sent += 1;
        self.left = answers;
        Some(Flight { asks, answers })
    }

    /// Bytes of the answer that the gateway may read.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// The gateway read part of the answer; returns whether it is complete.
    pub(super) fn read(&mut self, bytes: u64) -> bool {
        self.left = self.left.saturating_sub(bytes);
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_trip_has_a_flight_and_its_answer() {
        assert_eq!(Tls::new(0), None);
        for round_trips in 1..=MAX_ROUND_TRIPS {
            let mut tls = Tls::new(round_trips as u8).expect("a handshake");
            let mut answers = 0;
            while let Some(flight) = tls.next() {
                answers += flight.answers;
                assert!(!tls.read(flight.answers - 1));
                assert_eq!(tls.left(), 1);
                assert!(tls.read(1));
            }
            assert_eq!(answers, Tls::answers(round_trips as u8), "{round_trips}");
        }
    }
}
