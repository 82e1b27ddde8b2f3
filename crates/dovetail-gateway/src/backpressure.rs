//! Limits data received from servers that clients have not taken yet.
//!
//! hyper and h2 buffer what a client does not take, for each HTTP/2 stream as much as the stream permits. So each part of a
//! response is counted until it is written to the client's socket: by response, by connection and by user. Beyond a limit the
//! response's body is not polled, nor its server's connection read. One part of each response is always permitted, so that no
//! response waits for another's client.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    task::{Context, Poll, Waker, ready},
};

use bytes::{Buf, Bytes};

use crate::{
    client::Busy,
    per_user::Of,
    watch::{Progress, Watched},
};

/// Beyond these limits each response of a connection, or of a user, may hold one part.
const CONNECTION_BYTES: u64 = 512 * 1024;
const USER_BYTES: u64 = 4 * 1024 * 1024;

/// The bytes held for a connection or a user.
#[derive(Debug, Default)]
pub(crate) struct Share {
    bytes: Cell<u64>,
}

/// A response in transit to a client, until its last byte is written.
#[derive(Debug)]
pub(crate) struct Flow {
    bytes: Cell<u64>,
    connection: Rc<Share>,
    user: Option<Rc<Of<Share>>>,
    waker: RefCell<Option<Waker>>,
    watched: Watched,
    // Marks the client's connection as busy for as long as this exists.
    busy: Busy,
    // See `poll_written`.
    flushed: Cell<Option<u64>>,
}

impl Flow {
    pub(crate) fn new(connection: Rc<Share>, user: Option<Rc<Of<Share>>>, watched: Watched, busy: Busy) -> Rc<Self> {
        let (bytes, waker, flushed) = (Cell::default(), RefCell::default(), Cell::default());
        Rc::new(Self { bytes, connection, user, waker, watched, busy, flushed })
    }

    pub(crate) const fn progress(&self) -> &Rc<Progress> {
        self.watched.progress()
    }

    /// Counts bytes until they are written.
    pub(crate) fn hold(self: &Rc<Self>, bytes: Bytes) -> Held {
        self.change(|held| held + bytes.len() as u64);
        Held { bytes, flow: Rc::clone(self) }
    }

    /// Waits until another part may be held.
    pub(crate) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        let is_full = self.is_full();
        self.progress().fills(is_full);
        self.poll_until(!is_full, cx)
    }

    /// Waits until nothing is held, and the header is written too.
    pub(crate) fn poll_written(&self, cx: &Context<'_>) -> Poll<()> {
        ready!(self.poll_until(self.bytes.get() == 0, cx));
        self.busy.activity().poll_flushed(&self.flushed, cx)
    }

    /// Unless it is so, wakes the task when something has been written and more may be held.
    fn poll_until(&self, is_so: bool, cx: &Context<'_>) -> Poll<()> {
        if is_so {
            return Poll::Ready(());
        }
        *self.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Whether no other part may be held now.
    pub(crate) fn is_full(&self) -> bool {
        let user = self.user.as_ref().map_or(0, |user| user.bytes.get());
        self.bytes.get() > 0 && (self.connection.bytes.get() >= CONNECTION_BYTES || user >= USER_BYTES)
    }

    fn change(&self, to: impl Fn(u64) -> u64) {
        let user = self.user.as_ref().map(|user| &user.bytes);
        for bytes in [&self.bytes, &self.connection.bytes].into_iter().chain(user) {
            bytes.set(to(bytes.get()));
        }
    }

    fn written(&self, count: u64) {
        self.change(|held| held - count);
        self.progress().moves();
        if !self.is_full() {
            self.progress().fills(false);
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
        }
    }
}

/// A part of a response.
#[derive(Debug)]
pub(crate) struct Held {
    bytes: Bytes,
    flow: Rc<Flow>,
}

impl Buf for Held {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.flow.written(count as u64);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            self.flow.written(self.bytes.len() as u64);
        }
    }
}
