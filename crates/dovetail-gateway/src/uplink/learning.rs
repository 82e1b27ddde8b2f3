//! Learns the uplink's capacity from the connections that carry uploads.
//!
//! The kernel knows how much of what was written to a connection has been acknowledged, and how much has not. That is read ten
//! times a second of each connection on which an upload is in progress, by a descriptor of its own: the connection itself is
//! part of hyper's meanwhile.

use std::{
    cell::{Cell, RefCell},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    rc::{Rc, Weak},
    time::Duration,
};

use dovetail_sched::{
    Nanos,
    request::{UplinkRate, Uploads},
};
use tokio::sync::Notify;

use crate::sys;

/// The interval between reports.
pub(super) const EVERY: Duration = Duration::from_millis(100);
/// Uploads that are measured at once. While there are more, nothing is learnt: it would be from a part of them.
const MAX_METERS: usize = 256;

/// What is learnt of the uplink's capacity.
#[derive(Debug)]
pub(crate) struct Learning {
    rate: RefCell<UplinkRate>,
    is_on: Cell<bool>,
    meters: RefCell<Vec<Weak<Meter>>>,
    // Whether there were too many uploads to measure them all.
    is_partial: Cell<bool>,
    // What was acknowledged of uploads that are over, and counted as acknowledgements, since the last report.
    acked_bytes: Cell<u64>,
    counted_bytes: Cell<u64>,
    begun: Notify,
}

/// What is written to one connection to a server, measured from 16 kB on.
#[derive(Debug, Default)]
pub(crate) struct Metering {
    // `None` if nothing is learnt from it.
    learning: Option<Rc<Learning>>,
    bytes: u64,
    meter: Option<Rc<Meter>>,
}

/// An upload in progress.
#[derive(Debug)]
struct Meter {
    learning: Rc<Learning>,
    // `None` once everything is acknowledged, until more is written.
    socket: RefCell<Option<OwnedFd>>,
    acked_bytes: Cell<u64>,
}

impl Learning {
    pub(super) fn new(given: f64, is_on: bool) -> Self {
        Self {
            rate: RefCell::new(UplinkRate::new(given)),
            is_on: Cell::new(is_on),
            meters: RefCell::default(),
            is_partial: Cell::new(false),
            acked_bytes: Cell::new(0),
            counted_bytes: Cell::new(0),
            begun: Notify::new(),
        }
    }

    /// Begins anew with another rate, and learns from it or not.
    pub(super) fn reload(&self, given: f64, is_on: bool) {
        self.rate.borrow_mut().set_given(given);
        self.is_on.set(is_on);
    }

    /// The capacity, in bytes per second.
    pub(super) fn capacity(&self) -> f64 {
        self.rate.borrow().capacity()
    }

    /// Whether a long delay is known to have another cause than uploads.
    pub(super) fn is_cleared(&self, now: Nanos) -> bool {
        self.rate.borrow().is_cleared(now)
    }

    /// Counts acknowledgements of downloads.
    pub(super) fn counts(&self, bytes: u64) {
        self.counted_bytes.set(self.counted_bytes.get() + bytes);
    }

    /// Returns once an upload is measured.
    pub(super) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// Whether there is something to report.
    pub(super) fn is_used(&self) -> bool {
        !self.meters.borrow().is_empty() || self.rate.borrow().is_testing()
    }

    /// Measures the upload on this connection until the meter is dropped, or everything is acknowledged.
    fn meter(self: &Rc<Self>, socket: BorrowedFd<'_>) -> Option<Rc<Meter>> {
        if !self.is_on.get() {
            return None;
        }
        if self.meters.borrow().len() == MAX_METERS {
            self.is_partial.set(true);
            return None;
        }
        let acked = sys::acknowledged(socket).ok()?;
        let socket = socket.try_clone_to_owned().ok()?;
        let (socket, acked_bytes) = (RefCell::new(Some(socket)), Cell::new(acked));
        let meter = Rc::new(Meter { learning: Rc::clone(self), socket, acked_bytes });
        self.meters.borrow_mut().push(Rc::downgrade(&meter));
        self.begun.notify_one();
        Some(meter)
    }

    /// Reports what connections have carried. Returns the rate to pace for in bytes per second, if it changes.
    pub(super) fn look(&self, delay: Option<Nanos>, now: Nanos) -> Option<f64> {
        let mut unacked_bytes = 0;
        self.meters.borrow_mut().retain(|meter| {
            let Some(meter) = meter.upgrade() else { return false };
            unacked_bytes += meter.look();
            meter.is_awake()
        });
        let seen = Uploads {
            acked_bytes: self.acked_bytes.take(),
            unacked_bytes,
            counted_bytes: self.counted_bytes.take(),
            delay: delay.filter(|_| !self.is_partial.take()),
        };
        self.rate.borrow_mut().look(&seen, now)
    }
}

impl Metering {
    /// Of a connection that carries an upload.
    pub(crate) fn new(learning: Option<&Rc<Learning>>) -> Self {
        Self { learning: learning.cloned(), ..Self::default() }
    }

    /// Reports that this many bytes were written.
    pub(crate) fn wrote(&mut self, bytes: usize, socket: BorrowedFd<'_>) {
        let Some(learning) = &self.learning else { return };
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes >= UplinkRate::MIN_BYTES && !self.meter.as_ref().is_some_and(|meter| meter.is_awake()) {
            self.meter = learning.meter(socket);
        }
    }

    /// The upload is over; another may follow on the same connection. What was written is measured until it is acknowledged.
    pub(crate) fn ends(&mut self) {
        self.bytes = 0;
    }
}

impl Meter {
    fn is_awake(&self) -> bool {
        self.socket.borrow().is_some()
    }

    /// Counts what was acknowledged since, and returns what has not been. Sleeps if nothing has happened.
    fn look(&self) -> u64 {
        let mut socket = self.socket.borrow_mut();
        let Some(open) = &*socket else { return 0 };
        let (acked, unacked) = (sys::acknowledged(open.as_fd()), sys::unacknowledged(open.as_fd()));
        let before = self.acked_bytes.get();
        let acked = acked.unwrap_or(before);
        self.acked_bytes.set(acked);
        self.learning.acked_bytes.set(self.learning.acked_bytes.get() + acked.saturating_sub(before));
        let unacked = unacked.unwrap_or(0);
        if unacked == 0 && acked <= before {
            *socket = None;
        }
        unacked
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.look();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        thread::yield_now,
    };

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let ours = TcpStream::connect(listener.local_addr().expect("its address")).expect("it listens");
        (ours, listener.accept().expect("it connects").0)
    }

    #[test]
    fn what_is_acknowledged_is_counted_once_and_what_is_not_waits() {
        let learning = Rc::new(Learning::new(1e6, true));
        let (mut ours, mut theirs) = pair();
        ours.write_all(&[1; 1_000]).expect("there is room");
        theirs.read_exact(&mut [0; 1_000]).expect("it was sent");
        while sys::unacknowledged(ours.as_fd()).expect("a socket") > 0 {
            yield_now();
        }
        let meter = learning.meter(ours.as_fd()).expect("it learns");
        assert!(learning.is_used());
        ours.write_all(&[1; 40_000]).expect("there is room");
        theirs.read_exact(&mut [0; 40_000]).expect("it was sent");
        while meter.look() > 0 {
            yield_now();
        }
        assert_eq!(learning.acked_bytes.get(), 40_000, "others were before");
        // The other side's window closes.
        ours.set_nonblocking(true).expect("a socket");
        let mut sent = 0;
        while let Ok(more) = ours.write(&[1; 65_536]) {
            sent += more as u64;
        }
        let left = meter.look();
        assert!(left > 0 && left < sent, "{left} of {sent}");
        assert!(meter.is_awake());
        drop(meter);
        assert!(learning.look(None, Nanos::from_secs(1)).is_none() && !learning.is_used());
    }

    #[test]
    fn a_connection_is_measured_while_it_carries_an_upload() {
        let learning = Rc::new(Learning::new(1e6, true));
        let (mut ours, mut theirs) = pair();
        let mut carries = |metering: &mut Metering, bytes: usize| {
            ours.write_all(&vec![1; bytes]).expect("there is room");
            metering.wrote(bytes, ours.as_fd());
            theirs.read_exact(&mut vec![0; bytes]).expect("it was sent");
        };
        let mut metering = Metering::new(Some(&learning));
        carries(&mut metering, 16_000);
        assert!(!learning.is_used(), "it is short");
        carries(&mut metering, 384);
        assert!(learning.is_used());
        let sleeps = |learning: &Learning| {
            while learning.is_used() {
                learning.look(None, Nanos::ZERO);
                yield_now();
            }
        };
        sleeps(&learning);
        carries(&mut metering, 1);
        assert!(learning.is_used(), "it goes on");
        sleeps(&learning);
        metering.ends();
        carries(&mut metering, 1_000);
        assert!(!learning.is_used(), "it is another");
        carries(&mut Metering::default(), 100_000);
        assert!(!learning.is_used());
    }

    #[test]
    fn uploads_are_not_measured_where_nothing_is_learnt_or_where_they_are_too_many() {
        let (ours, _theirs) = pair();
        assert!(Rc::new(Learning::new(1e6, false)).meter(ours.as_fd()).is_none());
        let learning = Rc::new(Learning::new(1e6, true));
        let meters: Vec<_> = (0..=MAX_METERS).map_while(|_| learning.meter(ours.as_fd())).collect();
        assert_eq!(meters.len(), MAX_METERS);
        assert!(learning.is_partial.get());
    }
}
