//! Where one response ends and the next begins: with the client's bursts.
//!
//! Not every burst is a request. One of fewer than 64 bytes is none: acknowledgements and window updates of HTTP/2 in TLS
//! have 35 to 48, a keystroke in SSH 36 or more, a request of HTTP/2 in TLS some more than 64. It passes at once, and so
//! does one that comes while more of a response is there, or may be on its way from far off. And a tunnel whose responses
//! are short, a segment on average, is *interactive*: its bursts pass at once, and a segment of each answer comes without a
//! turn, charged all the same. All interactive tunnels together may have an eighth of the link in this way; beyond that they
//! wait like others. So what this gateway adds to an interactive tunnel's delay is nothing while the interactive ones need
//! less than an eighth of the link.

use std::{future::poll_fn, io, os::fd::AsFd, pin::pin, task::Poll, time::Instant};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::TcpStream,
    select,
};

use super::{BUFFER, Tunnel};
use crate::{
    record::Record,
    segment::SEGMENT,
    sys,
    upstream::{FAR, Offered},
};

impl Tunnel {
    /// The client sends this many bytes. Whether they have to wait for their turn.
    pub(super) fn burst(&self, bytes: usize, server: &TcpStream) -> io::Result<bool> {
        let is_first = self.place.borrow().is_none();
        let came = self.came.get();
        // A window that is full may hold more back.
        let is_held = || self.is_held.get() || self.ahead.get() > 0 && Offered::is_closing(Offered::left(server));
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

    /// Whether more of the response may be on its way from far off: something came less than a round trip ago. As another
    /// response it would have back what it was charged for that.
    fn is_in_flight(&self, server: &TcpStream) -> bool {
        let Some(at) = self.came_at.get() else { return false };
        sys::least_round_trip(server.as_fd()).is_some_and(|least| least >= FAR && at.elapsed() < least)
    }

    /// Waits until the burst may leave. What the client sends meanwhile goes with it; a client that ends or is gone meanwhile
    /// wants no answer.
    pub(super) async fn released(&self, client: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> io::Result<()> {
        self.is_queued.set(true);
        self.says(true);
        let began = Instant::now();
        let mut turn = pin!(poll_fn(|cx| {
            self.place.borrow().as_ref().map_or(Poll::Ready(()), |place| place.poll_released(cx))
        }));
        loop {
            // Room is asked for piece by piece: nobody has to be given much of it for a short request.
            if buffer.len() == buffer.capacity() && buffer.len() < BUFFER {
                buffer.reserve(buffer.len().min(BUFFER - buffer.len()));
            }
            select! {
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

    /// Another response begins.
    pub(super) fn renew(&self, server: &TcpStream) -> io::Result<()> {
        self.gives_back();
        let Record { who, party, .. } = &self.record;
        let place = self.link.arrive((who, party), self.record.scheduled(), &self.label);
        let place = place.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        place.tells(&self.record.spending);
        if self.offered.bytes() != u64::MAX {
            place.offers(self.offered.bytes());
            // What comes next may be of the response before: the scheduler would take it for a round trip.
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
    /// The response is over.
    pub(super) fn gives_back(&self) {
        if let Some(place) = self.place.take() {
            // What was passed on is had, wherever it is.
            place.received(self.ahead.get());
            place.end();
        }
        self.stale.set(self.stale.get() + self.ahead.take());
    }
}
