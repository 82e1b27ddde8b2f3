//! The receive window of a connection, as requested and as it is.
//!
//! The actual window is seldom the requested one. The kernel charges a buffer for the memory that packets take, which for short
//! ones is many times their bytes; `net.core.rmem_max` limits what `SO_RCVBUF` can request; and a requested window opens only
//! as more arrives. So a task that waits for a window to fill asks the kernel how much of it is left.

use std::{cell::Cell, os::fd::AsFd, time::Duration};

use dovetail_sched::{Nanos, request::Offer};
use socket2::SockRef;
use tokio::net::TcpStream;

use super::window::Window;
use crate::{segment::SEGMENT, sys};

/// Four segments, and the size of a read.
const MIN_BATCH_BYTES: u64 = 4 * SEGMENT;
const MAX_BATCH_BYTES: u64 = 64 * 1_024;

/// At this distance the link would be idle for longer than a first window takes on it: three times the 34 ms of a first window
/// (`RequestSetup::for_bytes`).
pub(crate) const FAR: Duration = Duration::from_millis(100);

/// The window that a connection offers.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    offer: Cell<Offer>,
    // Whether the kernel may resize the buffer.
    is_free: Cell<bool>,
}

impl Offered {
    /// The window of a new connection; `is_free` if the kernel resizes the buffer.
    pub(crate) fn new(stream: &TcpStream, window: Option<Window>, is_free: bool) -> Self {
        let mut offer =
            window.map_or(Offer::UNLIMITED, |Window { first, begins, longest }| Offer::new(first, longest, begins));
        let wider = offer.establish(sys::handshake(stream.as_fd()).map(Nanos::from));
        let offered = Self { offer: Cell::new(offer), is_free: Cell::new(is_free) };
        if let Some(bytes) = wider {
            // The kernel opens it as the first of it arrives, so it helps the second flight.
            offered.set(stream, bytes);
        }
        offered
    }

    /// The round trip to a server so far away that its windows have to grow fast, if windows are limited at all.
    pub(crate) fn farthest(&self) -> Option<Nanos> {
        self.offer.get().farthest()
    }

    /// A server that was taken for a far one may be near, behind an uplink whose queue was long when connecting.
    pub(crate) fn draws_near(&self, stream: &TcpStream) {
        let mut offer = self.offer.get();
        if offer.farthest().is_some()
            && let Some(least) = sys::least_round_trip(stream.as_fd())
        {
            offer.draws_near(least.into());
            self.offer.set(offer);
        }
    }

    /// The requested window.
    pub(crate) fn bytes(&self) -> u64 {
        self.offer.get().bytes()
    }

    /// How much may lie unread before more is let in, for a response of which `came` bytes have arrived: a quarter of a window,
    /// so that the rest is in flight meanwhile. For one no longer than the first window it is all but two segments, since an
    /// allowance at a response's end is wasted; but for a distant server that would cost a round trip in which hardly anything
    /// arrives.
    pub(crate) fn enough(&self, came: u64, stream: &TcpStream) -> u64 {
        let Some(first) = self.offer.get().first() else { return u64::MAX };
        let window = self.bytes().min(self.most(stream));
        let quarter = window / 4;
        let is_near = || sys::least_round_trip(stream.as_fd()).is_some_and(|least| least < FAR);
        if came <= first && is_near() { quarter.max(first.min(window).saturating_sub(2 * SEGMENT)) } else { quarter }
    }

    /// The most that the kernel offers if it resizes the buffer: half of that, whatever window was requested.
    fn most(&self, stream: &TcpStream) -> u64 {
        let buffer = if self.is_free.get() { SockRef::from(stream).recv_buffer_size().ok() } else { None };
        buffer.map_or(u64::MAX, |bytes| bytes as u64 / 2)
    }

    /// Whether so little is left that the sender will wait for more. A sender waits with less than a segment, and the kernel's
    /// figure may be two segments old.
    pub(crate) fn is_closing(stream: &TcpStream) -> bool {
        Self::left(stream).is_some_and(|left| left < 3 * SEGMENT)
    }

    /// Whether so little is left that the window may explain silence, whatever the sender considers little (RFC 9293, section
    /// 3.8.6.2.1).
    pub(crate) fn may_be_closed(&self, stream: &TcpStream) -> bool {
        Self::left(stream).is_none_or(|left| left < (self.bytes() / 2).max(6 * SEGMENT))
    }

    /// What is left of the window, if the kernel tells (Linux 6.2).
    fn left(stream: &TcpStream) -> Option<u64> {
        sys::receive_window(stream.as_fd())
    }

    /// Whether the kernel resizes the buffer. It would do so at once for a task with a large low-water mark.
    pub(crate) const fn is_free(&self) -> bool {
        self.is_free.get()
    }

    /// How many bytes to wait for at once: a quarter of the window, at least four segments. More than half would stop the
    /// sender, also where the kernel manages the window, which then begins with 64 KiB and would never be enlarged.
    pub(crate) fn batch(&self) -> u64 {
        let window = self.bytes().min(MAX_BATCH_BYTES);
        (window / 4).clamp(MIN_BATCH_BYTES, MAX_BATCH_BYTES).min(window / 2)
    }

    /// Offers at least this many bytes from now on, up to the longest window.
    pub(crate) fn widen(&self, stream: &TcpStream, bytes: u64) {
        if let Some(bytes) = self.offer.get().wider(bytes) {
            self.set(stream, bytes);
        }
    }

    fn set(&self, stream: &TcpStream, bytes: u64) {
        let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
        let socket = SockRef::from(stream);
        // If it cannot be set, it stays as it is, which is slower but harmless.
        if !self.is_free.get() {
            let is_set = socket.set_recv_buffer_size(wanted).is_ok();
            let is_so = is_set && socket.recv_buffer_size().is_ok_and(|is| is >= wanted.saturating_mul(2));
            if !is_so && sys::fix_receive_buffer(stream.as_fd(), false).is_ok() {
                // The kernel may make it longer than a process may request, as more is read.
                self.is_free.set(true);
            }
        }
        if sys::set_window_clamp(stream.as_fd(), bytes).is_ok() {
            let mut offer = self.offer.get();
            offer.offers(bytes);
            self.offer.set(offer);
        }
    }

    /// Whether it is too long for another response.
    pub(crate) fn is_grown(&self) -> bool {
        self.offer.get().is_grown()
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_server_that_was_taken_for_a_far_one_draws_near_with_the_minimum_of_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let stream = TcpStream::connect(listener.local_addr().expect("its address")).await.expect("a connection");
        let window = Window { first: 8_192, begins: 8_192, longest: 1 << 20 };
        let offered = Offered::new(&stream, Some(window), false);
        let mut far = offered.offer.get();
        let _ = far.establish(Some(Nanos::from_secs(2)));
        offered.offer.set(far);
        assert_eq!(offered.farthest(), Some(Nanos::from_secs(2)));
        offered.draws_near(&stream);
        assert_eq!(offered.farthest(), None);
    }
}
