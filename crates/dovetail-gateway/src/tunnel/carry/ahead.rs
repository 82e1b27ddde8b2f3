//! What came is passed on at once, turn or not, where the kernel can be peeked at beyond what was seen.
//!
//! It stays in the kernel's buffer, so the window stays closed and nothing more is let come, and is taken out as turns allow.
//! A response's last bytes so never wait for turns, which where lengths are not known would be for bytes that do not come.
//!
//! Turns are asked for when a quarter of the window lies unread. And whatever the window was thought to be: also when the
//! kernel says that it is closing, and when the server has been silent for a while that may be the window's doing. So no byte
//! is left where it keeps others from coming.

use std::{
    cell::LazyCell,
    future::poll_fn,
    io::{self, Read},
    os::fd::AsFd,
    time::{Duration, Instant},
};

use socket2::SockRef;
use tokio::{
    net::{TcpStream, tcp::OwnedReadHalf},
    select,
    time::sleep,
};

use super::{BUFFER, Tunnel};
use crate::upstream::Offered;

/// After so long a silence the window is examined.
const QUIET: Duration = Duration::from_millis(200);

impl Tunnel {
    /// Bytes that came, which stay where they are; takes out what may be meanwhile.
    pub(super) async fn look_ahead(&self, server: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> io::Result<usize> {
        buffer.resize(BUFFER, 0);
        loop {
            // Asked at most once for each look.
            let left = LazyCell::new(|| Offered::left(server.as_ref()));
            let wants_turn = self.wants_turn(server.as_ref(), || *left);
            let may_be_held = self.may_be_held(|| *left);
            self.says(wants_turn);
            let turn = select! {
                came = server.peek(buffer) => {
                    let came = came?;
                    self.is_quiet.set(false);
                    if let Some(sampled) = &self.sampled {
                        sampled.sample(server.as_ref().as_fd());
                    }
                    if came > 0 && self.place.borrow().is_none() {
                        // The server speaks first.
                        self.renew(server.as_ref())?;
                    }
                    if self.is_unheld() {
                        self.link.free().take(came as u64);
                    }
                    self.came.set(self.came.get() + came as u64);
                    self.ahead.set(self.ahead.get() + came as u64);
                    self.came_at.set(Some(Instant::now()));
                    // Passing it on waits for the client.
                    self.says(false);
                    return Ok(came);
                }
                turn = poll_fn(|cx| self.poll_turn(cx)), if wants_turn => Some(turn),
                () = self.replaced.notified() => None,
                () = sleep(QUIET), if may_be_held => {
                    self.is_quiet.set(true);
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

    /// Whether bytes are to be taken out: as many as may be, and more only where the window would soon hold the server back. A
    /// response that is over would else have turns for what does not come.
    fn wants_turn(&self, server: &TcpStream, left: impl Fn() -> Option<u64>) -> bool {
        let unread = self.ahead.get() + self.stale.get();
        let is_allowed = || self.place.borrow().as_ref().is_some_and(|place| place.allowed() > 0);
        self.ahead.get() > 0
            && (self.is_quiet.get()
                || unread >= self.offered.enough(self.came.get(), server)
                || is_allowed()
                || Offered::is_closing(left()))
    }

    /// Whether something is unread, and not known yet to be what the server waits for.
    fn may_be_held(&self, left: impl Fn() -> Option<u64>) -> bool {
        let is_unread = self.ahead.get() + self.stale.get() > 0;
        is_unread && !self.is_quiet.get() && self.offered.may_be_closed(left())
    }

    /// Whether this is an interactive tunnel's response that came before its turn.
    fn is_unheld(&self) -> bool {
        self.free.get() > 0 && self.place.borrow().as_ref().is_some_and(|place| !place.is_released())
    }

    /// Takes out what is left of responses that are over.
    pub(super) fn take_stale(&self, server: &TcpStream) -> io::Result<()> {
        take_out(server, self.stale.take())
    }
}

/// Takes bytes that were passed on out of the kernel's buffer.
fn take_out(server: &TcpStream, bytes: u64) -> io::Result<()> {
    let socket = SockRef::from(server);
    let mut scratch = [0; 4096];
    let mut left = bytes;
    while left > 0 {
        let most = left.min(scratch.len() as u64) as usize;
        // They are there: tokio, which knows only of what was not peeked at, need not be asked.
        let taken = (&*socket).read(&mut scratch[..most])?;
        if taken == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= taken as u64;
    }
    Ok(())
}
