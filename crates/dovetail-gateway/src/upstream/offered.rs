//! The receive window of a connection, as it was asked for and as it is.
//!
//! What a window is asked to be is seldom what it is. The kernel counts a buffer in the memory that packets take, which for
//! short ones is many times their bytes; `net.core.rmem_max` bounds what `SO_RCVBUF` can ask for; and a window that was asked
//! for opens only as more comes. So a task that waits for a window to fill asks the kernel what is left of it.

use std::{cell::Cell, os::fd::AsFd, time::Duration};

use socket2::SockRef;
use tokio::net::TcpStream;

use super::window::Window;
use crate::{segment::SEGMENT, sys};

/// Four segments, and what a read takes.
const LEAST_BATCH: u64 = 4 * SEGMENT;
const MOST_BATCH: u64 = 64 * 1_024;

/// From so far away the link would be idle for longer than a first window takes on it: three times the 34 ms of a first window
/// (`RequestSetup::for_bytes`).
pub(crate) const FAR: Duration = Duration::from_millis(100);

/// From so far away a dozen responses do not fill the link with their first windows, which are made for that.
const FARTHEST: Duration = Duration::from_millis(12 * 34);
/// What senders send before they hear of anything (RFC 6928): a window that holds less costs a round trip from there. The kernel
/// opens it as the first of it comes, so it helps the second flight.
const FIRST_FLIGHT: u64 = 10 * SEGMENT;

/// The window that a connection offers.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    window: Option<Window>,
    /// The round trip when the connection was made, if that is known.
    trip: Option<Duration>,
    bytes: Cell<u64>,
    // The buffer is the kernel's to lengthen.
    is_free: Cell<bool>,
}

impl Offered {
    /// As it is on a connection that was just made; `is_free` where the kernel lengthens the buffer.
    pub(crate) fn new(stream: &TcpStream, window: Option<Window>, is_free: bool) -> Self {
        let bytes = window.map_or(u64::MAX, |window| window.begins);
        let trip = sys::handshake(stream.as_fd());
        let offered = Self { window, trip, bytes: Cell::new(bytes), is_free: Cell::new(is_free) };
        if offered.farthest().is_some() {
            offered.widen(stream, FIRST_FLIGHT);
        }
        offered
    }

    /// The round trip to a server so far away that its windows have to grow fast, where windows are offered at all. When the
    /// connection was made the far queue was in it: from nearer it would say more of that.
    pub(crate) fn farthest(&self) -> Option<Duration> {
        self.trip.filter(|&trip| self.window.is_some() && trip >= FARTHEST)
    }

    /// The window as it was asked for.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// What may lie unread before more is let come, of a response of which this many bytes came: a quarter of a window,
    /// so that the rest is on its way meanwhile. Of one that is no longer than the first window all but two segments,
    /// as what is let come at a response's end is let come for nothing; but from far away it would be a round trip in which
    /// hardly anything comes.
    pub(crate) fn enough(&self, came: u64, stream: &TcpStream) -> u64 {
        let Some(Window { first, .. }) = self.window else { return u64::MAX };
        let window = self.bytes.get().min(self.most(stream));
        let quarter = window / 4;
        let is_near = || sys::least_round_trip(stream.as_fd()).is_some_and(|least| least < FAR);
        if came <= first && is_near() { quarter.max(first.min(window).saturating_sub(2 * SEGMENT)) } else { quarter }
    }

    /// The most that the kernel offers, where it lengthens the buffer: half of that, however long the window was asked to be.
    fn most(&self, stream: &TcpStream) -> u64 {
        let buffer = if self.is_free.get() { SockRef::from(stream).recv_buffer_size().ok() } else { None };
        buffer.map_or(u64::MAX, |bytes| bytes as u64 / 2)
    }

    /// What is left of the window, where the kernel says (Linux 6.2).
    pub(crate) fn left(stream: &TcpStream) -> Option<u64> {
        sys::receive_window(stream.as_fd())
    }

    /// Whether the sender may send so little that it will wait for more. A sender waits with less than a segment, and the
    /// kernel's word may be two segments old.
    pub(crate) fn is_closing(left: Option<u64>) -> bool {
        left.is_some_and(|left| left < 3 * SEGMENT)
    }

    /// Whether the sender may send so little that silence can be the window's doing, whatever is thought of as little there
    /// (RFC 9293, section 3.8.6.2.1).
    pub(crate) fn may_be_closed(&self, left: Option<u64>) -> bool {
        left.is_none_or(|left| left < (self.bytes.get() / 2).max(6 * SEGMENT))
    }

    /// Whether the kernel lengthens the buffer. It would do so at once for a task that is to be woken by much.
    pub(super) const fn is_free(&self) -> bool {
        self.is_free.get()
    }

    /// What may be waited for at once: a quarter of the window, and four segments. More than half would stop the sender, also
    /// where the window is the kernel's affair, which then begins with 64 KiB and would never lengthen it.
    pub(super) fn batch(&self) -> u64 {
        let window = self.bytes.get().min(MOST_BATCH);
        (window / 4).clamp(LEAST_BATCH, MOST_BATCH).min(window / 2)
    }

    /// Offers at least this many bytes from now on, and no more than the longest.
    pub(crate) fn widen(&self, stream: &TcpStream, bytes: u64) {
        let Some(Window { longest, .. }) = self.window else { return };
        let bytes = bytes.min(longest);
        if bytes <= self.bytes.get() {
            return;
        }
        let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
        let socket = SockRef::from(stream);
        // A window that cannot be set stays as it is: slower, and nothing worse.
        if !self.is_free.get() {
            let is_set = socket.set_recv_buffer_size(wanted).is_ok();
            let is_so = is_set && socket.recv_buffer_size().is_ok_and(|is| is >= wanted.saturating_mul(2));
            if !is_so && sys::fix_receive_buffer(stream.as_fd(), false).is_ok() {
                // The kernel may make it longer than it lets anybody ask for, as more is read.
                self.is_free.set(true);
            }
        }
        if sys::set_window_clamp(stream.as_fd(), bytes).is_ok() {
            self.bytes.set(bytes);
        }
    }

    /// Whether it is much longer than at first. It cannot be withdrawn: the next response would come with it.
    pub(crate) fn is_grown(&self) -> bool {
        self.window.is_some_and(|window| self.bytes.get() >= 3 * window.first)
    }
}
