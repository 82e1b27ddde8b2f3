//! The receive window that a connection to a server offers.
//!
//! A connection begins with the window of its first [`Turn`](super::Turn) and is widened by later ones. Three rules follow from
//! what TCP can do, and are the same in any environment:
//!
//! - **It never shrinks**, since a window that was offered cannot be withdrawn. The next response on the connection has it as
//!   well, so the scheduler is told of it ([`offers`](super::RequestScheduler::offers)), and a connection with three first
//!   windows or more is closed after its response instead of being reused.
//! - **A server that is far away** ([`RequestSetup::FARTHEST`]) sends its first flight whole: a smaller window would cost a round
//!   trip, so the connection offers [`RequestSetup::FIRST_FLIGHT_BYTES`] at least, and the scheduler is told the distance
//!   ([`round_trip`](super::RequestScheduler::round_trip)), for its windows to grow faster.
//! - **The distance is that of the handshake** as long as nothing else is known, and includes the queues at that time. A server
//!   nearby, behind an uplink whose queue was long, would pass for a far one, so later the minimum round trip counts.

use super::RequestSetup;
use crate::Nanos;

/// The receive window that a connection to a server offers, and the server's distance. All calls take constant time.
///
/// ```
/// use dovetail_sched::{Nanos, request::Offer};
///
/// let mut offer = Offer::new(8_688, 350_000, 8_688);
/// assert_eq!(offer.establish(Some(Nanos::from_millis(40))), None, "a server nearby");
/// assert_eq!(offer.wider(20_000), Some(20_000));
/// offer.offers(20_000);
/// assert_eq!(offer.wider(10_000), None, "a window is never withdrawn");
/// assert!(!offer.is_grown(), "the connection may be used again");
///
/// let mut far = Offer::new(8_688, 350_000, 8_688);
/// assert_eq!(far.establish(Some(Nanos::from_millis(600))), Some(14_480));
/// far.offers(14_480);
/// assert_eq!(far.farthest(), Some(Nanos::from_millis(600)));
/// far.draws_near(Nanos::from_millis(40));
/// assert_eq!(far.farthest(), None, "the handshake waited in a queue");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    // The first and the longest window, if the policy limits senders by windows.
    limits: Option<(u64, u64)>,
    bytes: u64,
    trip: Option<Nanos>,
}

impl Offer {
    /// The offer of a connection whose window is left to the system, as under policies that limit no sender.
    pub const UNLIMITED: Self = Self { limits: None, bytes: u64::MAX, trip: None };

    /// Idle connections that a gateway keeps to one server unless configured, for its next requests.
    pub const MAX_IDLE_PER_SERVER: usize = 64;

    /// Idle connections that a gateway keeps in total.
    pub const MAX_IDLE: usize = 2_048;

    /// The offer of a connection that begins with a window of `begins` bytes, under a policy whose windows are `first` to
    /// `longest` bytes long ([`RequestSetup::window`] and [`RequestSetup::longest_window`]).
    #[must_use]
    pub fn new(first: u64, longest: u64, begins: u64) -> Self {
        Self { limits: Some((first, longest)), bytes: begins.min(longest), trip: None }
    }

    /// The policy's first window in bytes; `None` if the window is left to the system.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.limits.map(|(first, _)| first)
    }

    /// The window in bytes; `u64::MAX` if it is left to the system.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The connection is established, by a handshake of this round trip if known. Returns the window to offer from now on, if
    /// it differs.
    #[must_use = "the caller offers the window"]
    pub fn establish(&mut self, trip: Option<Nanos>) -> Option<u64> {
        self.trip = trip.filter(|&trip| self.limits.is_some() && trip >= RequestSetup::FARTHEST);
        self.trip.and_then(|_| self.wider(RequestSetup::FIRST_FLIGHT_BYTES))
    }

    /// The round trip to a server that is so far away that its windows have to grow fast, for
    /// [`round_trip`](super::RequestScheduler::round_trip); `None` for nearer ones, and where windows are not limited.
    #[must_use]
    pub const fn farthest(&self) -> Option<Nanos> {
        self.trip
    }

    /// The minimum round trip of the connection so far is this.
    pub fn draws_near(&mut self, least: Nanos) {
        self.trip = self.trip.map(|trip| trip.min(least)).filter(|&trip| trip >= RequestSetup::FARTHEST);
    }

    /// The window to offer if a turn asks for this one, up to the longest; `None` if it is offered already.
    #[must_use]
    pub fn wider(&self, window: u64) -> Option<u64> {
        let (_, longest) = self.limits?;
        Some(window.min(longest)).filter(|&window| window > self.bytes)
    }

    /// The connection offers this window from now on, which is one that it was to be [widened](Self::wider) to.
    pub fn offers(&mut self, window: u64) {
        self.bytes = self.bytes.max(window);
    }

    /// Whether it has three first windows or more: a reused connection would let in too much of its next response.
    #[must_use]
    pub fn is_grown(&self) -> bool {
        self.first().is_some_and(|first| self.bytes >= first.saturating_mul(3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Nanos = RequestSetup::FARTHEST;

    fn offer() -> Offer {
        Offer::new(8_000, 50_000, 8_000)
    }

    #[test]
    fn a_window_grows_up_to_the_longest_and_never_shrinks() {
        let mut offer = offer();
        assert_eq!((offer.wider(7_999), offer.wider(8_000), offer.wider(8_001)), (None, None, Some(8_001)));
        assert_eq!(offer.wider(u64::MAX), Some(50_000));
        offer.offers(9_000);
        offer.offers(8_500);
        assert_eq!((offer.bytes(), offer.wider(9_000)), (9_000, None));
        assert_eq!(Offer::new(8_000, 50_000, 60_000).bytes(), 50_000);
    }

    #[test]
    fn from_three_first_windows_on_it_is_not_used_again() {
        let mut offer = offer();
        offer.offers(23_999);
        assert!(!offer.is_grown());
        offer.offers(24_000);
        assert!(offer.is_grown());
        assert!(!Offer::UNLIMITED.is_grown());
    }

    #[test]
    fn only_the_farthest_offer_a_first_flight() {
        let established = |trip| {
            let mut offer = offer();
            (offer.establish(trip), offer.farthest())
        };
        assert_eq!(established(Some(FAR)), (Some(14_480), Some(FAR)));
        assert_eq!(established(Some(Nanos(FAR.0 - 1))), (None, None));
        assert_eq!(established(None), (None, None));
        let mut wide = Offer::new(20_000, 50_000, 20_000);
        assert_eq!((wide.establish(Some(FAR)), wide.farthest()), (None, Some(FAR)), "it offers more already");
        let mut free = Offer::UNLIMITED;
        assert_eq!((free.establish(Some(FAR)), free.farthest(), free.wider(1)), (None, None, None));
    }

    #[test]
    fn the_minimum_round_trip_is_the_distance() {
        let mut offer = offer();
        let _ = offer.establish(Some(Nanos(FAR.0 + 50)));
        offer.draws_near(Nanos(FAR.0 + 90));
        assert_eq!(offer.farthest(), Some(Nanos(FAR.0 + 50)));
        offer.draws_near(FAR);
        assert_eq!(offer.farthest(), Some(FAR));
        offer.draws_near(Nanos(FAR.0 - 1));
        assert_eq!(offer.farthest(), None);
        offer.draws_near(FAR);
        assert_eq!(offer.farthest(), None, "what is near stays near");
    }
}
