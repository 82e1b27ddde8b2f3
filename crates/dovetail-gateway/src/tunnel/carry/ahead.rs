//! Passes on what arrives at once, with or without a turn, if the kernel can be peeked beyond what was peeked before.
//!
//! The bytes stay in the kernel's buffer, so the window stays closed and no more is let in, and are taken out as turns allow.
//! So a response's last bytes never wait for turns; where lengths are unknown, those turns would allow for bytes that never
//! arrive.
//!
//! Turns are requested when a quarter of the window lies unread. To guard against a wrong idea of the window, they are also
//! requested when the kernel says that it is closing, and when the server has been silent for a while, which may be due to the
//! window. So no byte stays where it keeps others from arriving.
//!
//! A client can use no part of a TLS record, so the task sleeps until the rest of it has arrived, or a batch. Waking up for every
//! packet would cost more than passing its bytes on.

use std::{
    future::poll_fn,
    io,
    mem::MaybeUninit,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use socket2::SockRef;
use tokio::{
    net::{TcpStream, tcp::OwnedReadHalf},
    select,
    time::sleep,
};

use super::{BUFFER, Tunnel, records::Records};
use crate::{
    segment::SEGMENT,
    upstream::{LowWater, Offered},
};

/// After this much silence the window is checked, and again each time that it has lasted twice as long.
const QUIET: Duration = Duration::from_millis(200);
/// From pauses of this length on, what there is of a TLS record is passed on.
const PATIENCE: Duration = Duration::from_millis(1_600);

impl Tunnel {
    /// Peeks at bytes that have arrived; meanwhile, takes out what is allowed.
    pub(super) async fn look_ahead(&self, server: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> io::Result<usize> {
        buffer.resize(BUFFER, 0);
        let mut pause = QUIET;
        loop {
            let enough = self.enough(server.as_ref());
            let wants_turn = self.wants_turn(enough, server.as_ref());
            self.says(wants_turn);
            // A server that pauses within a record may be a slow one.
            let most = if wants_turn { u64::MAX } else { enough.saturating_sub(self.unread()) };
            let awaits_batch = self.awaits_batch(if pause < PATIENCE { most } else { 0 }, server.as_ref());
            let turn = select! {
                came = server.peek(buffer) => {
                    let came = came?;
                    self.is_quiet.set(false);
                    if let Some(sampled) = &self.sampled {
                        sampled.sample(server.as_ref().as_fd());
                    }
                    if came > 0 && self.place.borrow().is_none() {
                        // The server sends first.
                        self.renew(server.as_ref())?;
                    }
                    if self.is_unheld() {
                        self.link.free().take(came as u64);
                    }
                    self.came.set(self.came.get() + came as u64);
                    self.ahead.set(self.ahead.get() + came as u64);
                    if let Some(place) = &*self.place.borrow() {
                        place.unread(self.ahead.get());
                    }
                    self.came_at.set(Some(Instant::now()));
                    // Passing it on waits for the client.
                    self.says(false);
                    return Ok(came);
                }
                turn = poll_fn(|cx| self.poll_turn(cx)), if wants_turn => Some(turn),
                () = self.replaced.notified() => None,
                () = sleep(pause), if awaits_batch || self.unread() > 0 && !self.is_quiet.get() => {
                    // The kernel closes a window, however wide, when the memory of its buffer is used up: without an event.
                    if self.offered.may_be_closed(server.as_ref()) {
                        self.is_quiet.set(true);
                    }
                    pause *= 2;
                    None
                }
            };
            if let Some((bytes, window)) = turn {
                self.offered.widen(server.as_ref(), window);
                self.take_stale(server.as_ref())?;
                let bytes = bytes.min(self.ahead.get());
                take_out(server.as_ref(), bytes)?;
                self.ahead.set(self.ahead.get() - bytes);
                if let Some(place) = &*self.place.borrow() {
                    place.received(bytes);
                }
            }
        }
    }

    /// Whether to request a turn to take bytes out: only if some are allowed already, or if the window would soon hold the
    /// server back. Otherwise a response that has ended would get turns for what never arrives.
    fn wants_turn(&self, enough: u64, server: &TcpStream) -> bool {
        let is_allowed = || self.place.borrow().as_ref().is_some_and(|place| place.allowed() > 0);
        self.ahead.get() > 0
            && (self.is_quiet.get() || self.unread() >= enough || is_allowed() || Offered::is_closing(server))
    }

    /// Bytes that may lie unread before a turn is requested.
    fn enough(&self, server: &TcpStream) -> u64 {
        if self.ahead.get() > 0 { self.offered.enough(self.came.get(), server) } else { u64::MAX }
    }

    /// Has the task woken by a batch of a TLS record, or the rest of it, or `most` bytes, if that may save it from waking up more
    /// often. Returns whether it does.
    fn awaits_batch(&self, most: u64, server: &TcpStream) -> bool {
        let records = self.records.get();
        if matches!(records, Records::None) || self.offered.is_free() {
            return false;
        }
        let unread = self.unread();
        // As long as the window is closed, nothing arrives to be woken by.
        let room = self.offered.bytes().saturating_sub(unread);
        let part = records.missing().min(self.offered.batch()).min(most).min(room);
        if part > SEGMENT {
            self.low_water.set(server, unread + part);
            return true;
        }
        self.low_water.lower(server, unread + LowWater::LEAST);
        false
    }

    /// Bytes in the kernel's buffer that were passed on, and that may be what the server waits for.
    fn unread(&self) -> u64 {
        self.ahead.get() + self.stale.get()
    }

    /// Whether this is an interactive tunnel's response that arrived before its turn.
    fn is_unheld(&self) -> bool {
        self.free.get() > 0 && self.place.borrow().as_ref().is_some_and(|place| !place.is_released())
    }

    /// Takes out what is left of responses that have ended.
    pub(super) fn take_stale(&self, server: &TcpStream) -> io::Result<()> {
        let stale = self.stale.take();
        if stale > 0 {
            self.low_water.lower(server, LowWater::LEAST);
        }
        take_out(server, stale)
    }
}

/// Takes bytes that were passed on out of the kernel's buffer.
fn take_out(server: &TcpStream, bytes: u64) -> io::Result<()> {
    let socket = SockRef::from(server);
    let mut nothing = [MaybeUninit::uninit(); BUFFER];
    let mut left = bytes;
    while left > 0 {
        let most = left.min(nothing.len() as u64) as usize;
        // The kernel discards them (tcp(7), MSG_TRUNC). They have arrived: tokio, which only knows of bytes that were not
        // peeked, need not be asked.
        let taken = socket.recv_with_flags(&mut nothing[..most], libc::MSG_TRUNC)?;
        if taken == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= taken as u64;
    }
    Ok(())
}
