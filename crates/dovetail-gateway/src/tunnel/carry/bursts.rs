//! Divides a tunnel into responses, by the client's bursts.
//!
//! Not every burst is a request. One of fewer than 64 bytes is not: acknowledgements and window updates of HTTP/2 in TLS have
//! 35 to 48, a keystroke in SSH 36 or more, a request of HTTP/2 in TLS some more than 64. Such a burst passes at once, and so
//! does one sent while more of a response has arrived, or may be in flight from a distant server. A tunnel whose responses are
//! short, a segment on average, is *interactive*: its bursts pass at once, and a segment of each answer is let in without a
//! turn, though it is charged. All interactive tunnels together may use an eighth of the link in this way; beyond that they
//! wait like others. So the gateway adds no delay to an interactive tunnel while the interactive ones need less than an eighth
//! of the link.

use std::{future::poll_fn, io, os::fd::AsFd, pin::pin, task::Poll, time::Instant};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::TcpStream,
    select,
};

use super::{BUFFER, Tunnel};
use crate::{
    record::Record,
    round_trips::Sampled,
    segment::SEGMENT,
    sys,
    upstream::{FAR, Offered},
};

impl Tunnel {
    /// The client is about to send this many bytes. Returns whether they have to wait for their turn.
    pub(super) fn burst(&self, bytes: usize, server: &TcpStream) -> io::Result<bool> {
        let is_first = self.place.borrow().is_none();
        let came = self.came.get();
        // A full window may hold more back.
        let is_held = || self.is_held.get() || self.ahead.get() > 0 && Offered::is_closing(server);
        if !is_first && (came == 0 || is_held()) {
            return Ok(false);
        }
        if came > 0 {
            self.typical.set(self.typical.get() + (came as f64 - self.typical.get()) / 4.0);
            self.came.set(0);
        }
        let is_interactive = self.typical.get() <= SEGMENT as f64 && self.link.free().is_open();
        if (bytes < self.least_request || self.is_in_flight(server)) && !is_interactive && !is_first {
            return Ok(false);
        }
        self.renew(server)?;
        if is_interactive {
            self.free.set(SEGMENT);
        }
        if is_interactive || bytes < self.least_request {
            self.take_stale(server)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether more of the response may be in flight from a distant server: something arrived less than a round trip ago. If
    /// that counted as another response, what it was charged would be refunded.
    fn is_in_flight(&self, server: &TcpStream) -> bool {
        let Some(at) = self.came_at.get() else { return false };
        sys::least_round_trip(server.as_fd()).is_some_and(|least| least >= FAR && at.elapsed() < least)
    }

    /// Waits until the burst may be sent. What the client sends meanwhile is added to it; a client that closes or fails
    /// meanwhile needs no answer.
    pub(super) async fn released(&self, client: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> io::Result<()> {
        self.is_queued.set(true);
        self.says(true);
        let began = Instant::now();
        let mut turn = pin!(poll_fn(|cx| {
            self.place.borrow().as_ref().map_or(Poll::Ready(()), |place| place.poll_released(cx))
        }));
        loop {
            // The buffer grows in steps, so that a short request does not need much memory.
            if buffer.len() == buffer.capacity() && buffer.len() < BUFFER {
                buffer.reserve(buffer.len().min(BUFFER - buffer.len()));
            }
            select! {
                // A client that closed when it was already its turn may only have ended its side.
                biased;
                () = &mut turn => break,
                came = client.read_buf(buffer), if buffer.len() < buffer.capacity() => {
                    if came? == 0 {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
            }
        }
        self.record.queue.set(self.record.queue.get() + began.elapsed());
        self.is_queued.set(false);
        self.says(false);
        Ok(())
    }

    /// Starts another response.
    pub(super) fn renew(&self, server: &TcpStream) -> io::Result<()> {
        self.gives_back();
        let Record { who, party, .. } = &self.record;
        let distance = self.sampled.as_ref().and_then(Sampled::least);
        let place = self.link.arrive((who, party), self.record.scheduled(), &self.label, distance);
        let place = place.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        place.record_into(&self.record.spending);
        if self.offered.bytes() != u64::MAX {
            place.offers(self.offered.bytes());
            // What arrives next may belong to the response before: the scheduler would take its delay for a round trip.
            if let Some(least) = sys::least_round_trip(server.as_fd()) {
                place.round_trip(least.into());
            }
        }
        self.place.replace(Some(place));
        self.free.set(0);
        self.is_quiet.set(false);
        self.replaced.notify_one();
        Ok(())
    }
    /// Ends the response.
    pub(super) fn gives_back(&self) {
        if let Some(place) = self.place.take() {
            // Everything that was passed on counts as received, even if it is still in the kernel.
            place.received(self.ahead.get());
            place.end();
        }
        self.stale.set(self.stale.get() + self.ahead.take());
    }
}
