//! Batches pieces of a long response.
//!
//! On a narrow link a packet or two arrive at a time. Passing on each piece at once costs a write and the client's
//! acknowledgement, and gains nothing in the middle of a download. So once [`FROM_BYTES`] of a response of known length have
//! been passed on, its pieces are batched: until there are [`MAX_BYTES`] or [`MAX_PIECES`], the first has waited for
//! [`MAX_DELAY`], or the response ends. A response of unknown length may be a stream of events and is never batched. Reading
//! continues meanwhile, so neither windows nor servers are affected.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Buf;
use hyper::body::Frame;
use tokio::time::{Instant, Sleep, sleep_until};

/// Passed on without batching: a browser starts rendering with what fits a first window of ten segments (RFC 6928).
pub(crate) const FROM_BYTES: u64 = 16 * 1024;
/// The maximum length of a read.
const MAX_BYTES: usize = 16 * 1024;
/// hyper writes this many at once.
const MAX_PIECES: usize = 16;
/// Too short for users to notice in the middle of a transfer.
const MAX_DELAY: Duration = Duration::from_millis(100);

/// Batched pieces of one response.
#[derive(Debug)]
pub(crate) struct Batch<D> {
    pieces: VecDeque<Frame<D>>,
    bytes: usize,
    // When the first of them is due.
    until: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    goes_on: bool,
}

impl<D: Buf> Batch<D> {
    pub(crate) const fn new() -> Self {
        Self { pieces: VecDeque::new(), bytes: 0, until: None, timer: None, goes_on: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes not passed on yet.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a piece; `may_wait` allows batching it.
    pub(crate) fn add(&mut self, piece: Frame<D>, may_wait: bool) {
        self.bytes += length(&piece);
        self.pieces.push_back(piece);
        let is_much = self.bytes >= MAX_BYTES || self.pieces.len() >= MAX_PIECES;
        if !may_wait || is_much {
            self.go_on();
        } else {
            let now = Instant::now();
            self.goes_on = now >= *self.until.get_or_insert(now + MAX_DELAY);
        }
    }

    /// Releases all pieces.
    pub(crate) fn go_on(&mut self) {
        self.goes_on = true;
    }

    /// The next released piece.
    pub(crate) fn next(&mut self) -> Option<Frame<D>> {
        let piece = if self.goes_on { self.pieces.pop_front() } else { None };
        self.bytes -= piece.as_ref().map_or(0, length);
        if self.pieces.is_empty() {
            (self.until, self.goes_on) = (None, false);
        }
        piece
    }

    /// Waits until the first piece is due; forever if there is none.
    pub(crate) fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.until else { return Poll::Pending };
        if is_over(&mut self.timer, until, cx) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Whether this time has passed; if not, the task is woken then. A timer set for an earlier time is reset only when it fires:
/// resetting it for each piece would cost more.
pub(crate) fn is_over(timer: &mut Option<Pin<Box<Sleep>>>, until: Instant, cx: &mut Context<'_>) -> bool {
    let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
    while timer.as_mut().poll(cx).is_ready() {
        if timer.deadline() >= until {
            return true;
        }
        timer.as_mut().reset(until);
    }
    false
}

fn length<D: Buf>(piece: &Frame<D>) -> usize {
    piece.data_ref().map_or(0, Buf::remaining)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;

    use super::*;

    fn piece(length: usize) -> Frame<Bytes> {
        Frame::data(Bytes::from(vec![0; length]))
    }

    /// Lengths of the pieces released now.
    fn passed_on(gathered: &mut Batch<Bytes>) -> Vec<usize> {
        let next = || gathered.next().map(|piece| piece.into_data().unwrap().len());
        std::iter::from_fn(next).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_wait_until_there_are_enough_of_them() {
        let mut gathered = Batch::<Bytes>::new();
        for _ in 0..5 {
            for _ in 0..5 {
                gathered.add(piece(3_000), true);
                assert!(passed_on(&mut gathered).is_empty());
            }
            assert_eq!(gathered.bytes(), 15_000);
            gathered.add(piece(1_384), true);
            assert_eq!(passed_on(&mut gathered), [3_000, 3_000, 3_000, 3_000, 3_000, 1_384]);
            assert!(gathered.is_empty() && gathered.bytes() == 0);
        }
        for _ in 1..MAX_PIECES {
            gathered.add(piece(1), true);
            assert!(passed_on(&mut gathered).is_empty());
        }
        gathered.add(piece(1), true);
        assert_eq!(passed_on(&mut gathered), [1; MAX_PIECES]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_may_not_wait_takes_the_others_along() {
        let mut gathered = Batch::<Bytes>::new();
        gathered.add(piece(1), true);
        gathered.add(piece(2), false);
        assert_eq!(passed_on(&mut gathered), [1, 2]);
        gathered.add(piece(3), true);
        assert!(passed_on(&mut gathered).is_empty());
        gathered.go_on();
        assert_eq!(passed_on(&mut gathered), [3]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_waits_no_longer_than_it_may() {
        let mut gathered = Batch::<Bytes>::new();
        for round in 0..4 {
            // Some are released before their timer fires.
            if round % 2 == 1 {
                gathered.add(piece(1), true);
                tokio::time::sleep(MAX_DELAY / 2).await;
                gathered.add(piece(1), false);
                assert_eq!(passed_on(&mut gathered), [1, 1]);
            }
            let begun = Instant::now();
            gathered.add(piece(1), true);
            tokio::time::sleep(MAX_DELAY / 2).await;
            gathered.add(piece(1), true);
            poll_fn(|cx| gathered.poll_due(cx)).await;
            let waited = begun.elapsed();
            assert!((MAX_DELAY..MAX_DELAY + Duration::from_millis(2)).contains(&waited), "{waited:?}");
            gathered.go_on();
            assert_eq!(passed_on(&mut gathered), [1, 1]);
        }
        // If more arrives, no timer is needed.
        gathered.add(piece(1), true);
        tokio::time::sleep(MAX_DELAY).await;
        gathered.add(piece(1), true);
        assert_eq!(passed_on(&mut gathered), [1, 1]);
    }
}
