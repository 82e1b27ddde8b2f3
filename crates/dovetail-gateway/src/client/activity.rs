//! Tracks what is in flight on a client's connection, and controls its stream.

use std::{
    cell::Cell,
    io, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

use crate::bad_request::Unreadable;

/// The requests in flight on a connection. Shared with a stream that hyper requires to be `Send`.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    in_flight: AtomicU32,
    begun: AtomicU64,
    // Whether the connection is to end at once, and the task to wake for that.
    is_abandoned: AtomicBool,
    waker: Mutex<Option<Waker>>,
    // Whether more of a request may arrive that will not be read.
    lingers: AtomicBool,
    // Whether the end of the connection is that of a response.
    delimits_response: AtomicBool,
    // The error sent for a request that cannot be parsed, and its length in bytes.
    unreadable: Mutex<Option<(Unreadable, usize)>>,
    // Interim responses to be written before the next response.
    interim: Mutex<Interim>,
    flushes: Mutex<Flushes>,
}

/// How often all that hyper had was written, and the tasks to wake at the next time.
#[derive(Debug, Default)]
struct Flushes {
    count: u64,
    wakers: Vec<Waker>,
}

/// Interim responses that are not written yet.
#[derive(Debug, Default)]
struct Interim {
    bytes: Vec<u8>,
    // Whether the response that they precede has arrived.
    is_followed: bool,
}

/// Maximum bytes of interim responses waiting to be written.
const MAX_INTERIM_BYTES: usize = 64 * 1024;

/// Maximum number of tasks that wait for a flush: as many as a connection may have streams, and those that they replaced.
const MAX_FLUSH_WAITS: usize = 256;

/// A request in flight, from its header to the last byte of its answer.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Activity>);

impl Busy {
    pub(crate) fn activity(&self) -> &Activity {
        &self.0
    }
}

impl Activity {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.in_flight.fetch_add(1, Relaxed);
        self.begun.fetch_add(1, Relaxed);
        Busy(Arc::clone(self))
    }

    /// Whether there has been a request.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun() > 0
    }

    /// The number of requests so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Relaxed)
    }

    /// Whether a request is in flight.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.load(Relaxed) > 0
    }

    /// Ends the connection, whatever is in flight on it.
    pub(crate) fn abandon(&self) {
        self.is_abandoned.store(true, Relaxed);
        self.wake();
    }

    /// Queues an interim response to be written, unless too much is waiting.
    pub(crate) fn say(&self, interim: Vec<u8>) {
        let mut waits = self.interim();
        if waits.bytes.len() + interim.len() <= MAX_INTERIM_BYTES {
            waits.bytes.extend(interim);
            waits.is_followed = false;
        }
        drop(waits);
        self.wake();
    }

    /// Notes that the response has arrived: interim responses that are not written yet are written just before it or not at all.
    pub(crate) fn say_no_more(&self) {
        self.interim().is_followed = true;
    }

    /// Interim responses to be written now. If `is_flushed`, what is written next begins a message; if not, it may begin within the
    /// last one, and those whose response has arrived are discarded: their place in the stream is unknown.
    pub(super) fn take_said(&self, is_flushed: bool) -> Vec<u8> {
        let mut waits = self.interim();
        if is_flushed {
            return mem::take(&mut waits.bytes);
        }
        if waits.is_followed {
            waits.bytes.clear();
        }
        Vec::new()
    }

    /// Notes that all that hyper had is written.
    pub(super) fn flushed(&self) {
        let mut flushes = self.flushes();
        flushes.count += 1;
        flushes.wakers.drain(..).for_each(Waker::wake);
    }

    /// Waits until all that hyper has now is written, unless too many wait; `since` is the number of the last time, once that is
    /// known.
    pub(crate) fn poll_flushed(&self, since: &Cell<Option<u64>>, cx: &Context<'_>) -> Poll<()> {
        let mut flushes = self.flushes();
        let is_known = flushes.wakers.iter().any(|waker| waker.will_wake(cx.waker()));
        if since.get().is_some_and(|since| since < flushes.count)
            || !is_known && flushes.wakers.len() == MAX_FLUSH_WAITS
        {
            return Poll::Ready(());
        }
        if !is_known {
            flushes.wakers.push(cx.waker().clone());
        }
        let is_asked = since.replace(since.get().or(Some(flushes.count))).is_some();
        drop(flushes);
        if !is_asked {
            // A connection that has nothing to do does not flush unasked. One that cannot write now flushes when it can.
            self.wake();
        }
        Poll::Pending
    }

    fn flushes(&self) -> MutexGuard<'_, Flushes> {
        self.flushes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interim(&self) -> MutexGuard<'_, Interim> {
        self.interim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the connection ends, reads and discards what still arrives of a request.
    pub(crate) fn linger(&self) {
        self.lingers.store(true, Relaxed);
    }

    pub(super) fn lingers(&self) -> bool {
        self.lingers.load(Relaxed)
    }

    /// A response ends with the connection. If that ends early, it is reset: a closed one would be taken for a whole response.
    pub(crate) fn delimit_response(&self) {
        self.delimits_response.store(true, Relaxed);
    }

    pub(super) fn delimits_response(&self) -> bool {
        self.delimits_response.load(Relaxed)
    }

    /// Records that an error of this many bytes is sent for a request that cannot be parsed.
    pub(super) fn note_unreadable(&self, why: Unreadable, bytes: usize) {
        *self.unreadable.lock().unwrap_or_else(PoisonError::into_inner) = Some((why, bytes));
    }

    /// The error sent for a request that cannot be parsed, and its length in bytes.
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
            // The connection is idle from now on, but its last read came before that and set no timer.
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicUsize, task::Wake};

    use super::*;

    #[derive(Debug, Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_flush_is_asked_for_once_and_wakes_who_waits() {
        let [connection, stream] = [(); 2].map(|()| Arc::new(Count::default()));
        let [of_connection, of_stream] = [&connection, &stream].map(|count| Waker::from(Arc::clone(count)));
        let (of_connection, of_stream) = (Context::from_waker(&of_connection), Context::from_waker(&of_stream));
        let woken = || [&connection, &stream].map(|count| count.0.load(Relaxed));
        let (activity, since) = (Activity::default(), Cell::default());
        activity.flushed();
        for _ in 0..3 {
            activity.lives_on(&of_connection).expect("it lives");
            assert!(activity.poll_flushed(&since, &of_stream).is_pending());
            assert_eq!(woken(), [1, 0], "a client that takes nothing would keep its tasks awake");
        }
        activity.flushed();
        assert_eq!(woken(), [1, 1]);
        assert!(activity.poll_flushed(&since, &of_stream).is_ready());
    }
}
