//! What is in flight on a client's connection, and what its stream is to do about it.

use std::{
    io, mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Waker},
};

use crate::unreadable::Unreadable;

/// Whether requests of a connection are in flight. Shared with a stream that hyper wants to be `Send`.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    in_flight: AtomicU32,
    begun: AtomicU64,
    // Whether the connection is to end at once, and who is to be told.
    is_abandoned: AtomicBool,
    waker: Mutex<Option<Waker>>,
    // Whether more of a request may come that nobody reads.
    lingers: AtomicBool,
    // What was said of a request that cannot be read: its status, and bytes.
    unreadable: Mutex<Option<(Unreadable, usize)>>,
    // Interim responses that are to be written before the next response.
    interim: Mutex<Vec<u8>>,
}

/// The most of interim responses that wait to be written.
const MOST_INTERIM: usize = 64 * 1024;

/// A request in flight, from its header to its answer's last byte.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Activity>);

impl Activity {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.in_flight.fetch_add(1, Relaxed);
        self.begun.fetch_add(1, Relaxed);
        Busy(Arc::clone(self))
    }

    /// Whether there was any request.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun() > 0
    }

    /// How many requests there were.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Relaxed)
    }

    /// Whether one is in flight.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.load(Relaxed) > 0
    }

    /// Ends the connection, whatever is in flight on it.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Relaxed);
        self.wake();
    }

    /// Has an interim response written, unless too much waits already.
    pub(crate) fn say(&self, interim: Vec<u8>) {
        let mut waits = self.interim.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.len() + interim.len() <= MOST_INTERIM {
            waits.extend(interim);
        }
        drop(waits);
        self.wake();
    }

    /// The response itself is there: what was not written yet is too late.
    pub(crate) fn say_no_more(&self) {
        self.interim.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Interim responses that are to be written now.
    pub(super) fn take_said(&self) -> Vec<u8> {
        mem::take(&mut *self.interim.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// When the connection ends, what still comes of a request is read and thrown away.
    pub(crate) fn linger(&self) {
        self.lingers.store(true, Relaxed);
    }

    pub(super) fn lingers(&self) -> bool {
        self.lingers.load(Relaxed)
    }

    /// This many bytes are said of a request that cannot be read.
    pub(super) fn note_unreadable(&self, why: Unreadable, bytes: usize) {
        *self.unreadable.lock().unwrap_or_else(PoisonError::into_inner) = Some((why, bytes));
    }

    /// What was said of a request that cannot be read, and in how many bytes.
    pub(crate) fn unreadable(&self) -> Option<(Unreadable, usize)> {
        *self.unreadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Fails if the connection is to end. The task is woken when it is.
    pub(super) fn lives_on(&self, cx: &Context<'_>) -> io::Result<()> {
        if self.is_abandoned.load(Relaxed) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *waker {
            Some(known) => known.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Ok(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Relaxed) == 1 {
            // The connection is idle from now on, and its last read was before: that set no timer.
            self.0.wake();
        }
    }
}
