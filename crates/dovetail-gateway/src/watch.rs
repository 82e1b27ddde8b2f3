//! Watches transfers for stalls.
//!
//! A timer per transfer would be reset at each read. Instead, progress is recorded as the watch's current tick, of a second,
//! and once a second the watch stops everything that has not progressed for too long.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use slab::Slab;

use crate::{client::Activity, config::Timeouts};

/// Everything in flight.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    tick: Rc<Cell<u64>>,
    live: Rc<RefCell<Slab<Rc<Progress>>>>,
}

/// Something in flight, and its progress.
#[derive(Debug)]
pub(crate) struct Progress {
    tick: Rc<Cell<u64>>,
    moved: Cell<u64>,
    phase: Cell<Phase>,
    stopped: Cell<bool>,
    is_upload_broken: Cell<bool>,
    awaits_client: Cell<bool>,
    // Whether the client takes no more for now, and the task that continues reading when it does.
    is_full: Cell<bool>,
    reader: RefCell<Option<Waker>>,
    waker: RefCell<Option<Waker>>,
    client: Option<Arc<Activity>>,
}

/// What a transfer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its turn, without a limit.
    Turn,
    /// The start of a server's answer.
    Answer,
    /// More of a transfer.
    Transfer,
    /// More in a tunnel.
    Tunnel,
    /// More in a tunnel of which one side has ended: that side may have closed its connection rather than half of it.
    HalfTunnel,
}

/// Removes its entry from the watch when dropped.
#[derive(Debug)]
pub(crate) struct Watched {
    progress: Rc<Progress>,
    live: Rc<RefCell<Slab<Rc<Progress>>>>,
    at: usize,
}

impl Watch {
    /// Adds an entry, with the connection of the waiting client if that can be closed too.
    pub(crate) fn begin(&self, phase: Phase, client: Option<Arc<Activity>>) -> Watched {
        let progress = Rc::new(Progress {
            tick: Rc::clone(&self.tick),
            moved: Cell::new(self.tick.get()),
            phase: Cell::new(phase),
            stopped: Cell::new(false),
            is_upload_broken: Cell::new(false),
            awaits_client: Cell::new(false),
            is_full: Cell::new(false),
            reader: RefCell::default(),
            waker: RefCell::default(),
            client,
        });
        let at = self.live.borrow_mut().insert(Rc::clone(&progress));
        Watched { progress, live: Rc::clone(&self.live), at }
    }

    pub(crate) fn live(&self) -> usize {
        self.live.borrow().len()
    }

    /// The number of tunnels that have been silent for more than two seconds.
    pub(crate) fn silent_tunnels(&self) -> usize {
        let now = self.tick.get();
        let is_silent = |progress: &Progress| {
            matches!(progress.phase.get(), Phase::Tunnel | Phase::HalfTunnel) && now - progress.moved.get() > 2
        };
        self.live.borrow().iter().filter(|(_, progress)| is_silent(progress)).count()
    }

    /// Advances the tick and stops what has stalled; to be called every second.
    pub(crate) fn go_round(&self, timeouts: &Timeouts) {
        let now = self.tick.get() + 1;
        self.tick.set(now);
        for (_, progress) in &*self.live.borrow() {
            if progress.stopped.get() {
                progress.abandon();
                continue;
            }
            let most = match progress.phase.get() {
                Phase::Turn => continue,
                Phase::Answer => timeouts.response,
                Phase::Transfer => timeouts.stalled,
                Phase::Tunnel => timeouts.tunnel,
                Phase::HalfTunnel => timeouts.stalled.min(timeouts.tunnel),
            };
            if now - progress.moved.get() > most.as_secs() {
                progress.stop();
            }
        }
    }

    /// Stops everything.
    pub(crate) fn stop_all(&self) {
        for (_, progress) in &*self.live.borrow() {
            progress.stop();
        }
    }
}

impl Progress {
    /// Records progress.
    pub(crate) fn moves(&self) {
        self.moved.set(self.tick.get());
    }

    /// Sets what it waits for from now on.
    pub(crate) fn waits_for(&self, phase: Phase) {
        self.phase.set(phase);
        self.moves();
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// Records that the client aborted its request's body, or sent an invalid one.
    pub(crate) fn breaks_upload(&self) {
        self.is_upload_broken.set(true);
    }

    /// Sets whether the server waits for more of a body that the client does not send.
    pub(crate) fn waits_for_client(&self, is_so: bool) {
        self.awaits_client.set(is_so);
    }

    pub(crate) const fn awaits_client(&self) -> bool {
        self.awaits_client.get()
    }

    pub(crate) const fn is_upload_broken(&self) -> bool {
        self.is_upload_broken.get()
    }

    /// Sets whether the client has as much waiting as permitted.
    pub(crate) fn fills(&self, is_full: bool) {
        if self.is_full.replace(is_full)
            && !is_full
            && let Some(reader) = self.reader.take()
        {
            reader.wake();
        }
    }

    /// Waits until more may be read for the client. The time until then counts as the client's.
    pub(crate) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.is_full.get() {
            return Poll::Ready(());
        }
        if self.phase() == Phase::Turn {
            self.waits_for(Phase::Transfer);
        }
        *self.reader.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Stops it.
    pub(crate) fn stop(&self) {
        self.stopped.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Whether it was stopped; the task is woken when it is.
    pub(crate) fn poll_stopped(&self, waker: &Waker) -> bool {
        if !self.stopped.get() {
            match &mut *self.waker.borrow_mut() {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        self.stopped.get()
    }

    /// Closes the client's connection because the stop went unnoticed: a response that its client does not read is not polled.
    fn abandon(&self) {
        if let Some(client) = &self.client {
            client.abandon();
        }
    }

    /// Waits until it is stopped.
    pub(crate) async fn stopped(&self) {
        poll_fn(|cx| if self.poll_stopped(cx.waker()) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

impl Watched {
    pub(crate) const fn progress(&self) -> &Rc<Progress> {
        &self.progress
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.live.borrow_mut().remove(self.at);
    }
}
