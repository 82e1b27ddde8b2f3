//! Reads what arrives as turns allow: before Linux 6.9, and if the policy does not hold responses back.

use std::{
    future::poll_fn,
    io,
    time::{Duration, Instant},
};

use tokio::{net::tcp::OwnedReadHalf, select, time::timeout};

use super::{BUFFER, Tunnel};
use crate::place::Place;

/// After this much silence a tunnel returns its slot, if the policy schedules slots.
const SILENT: Duration = Duration::from_secs(1);

impl Tunnel {
    /// Reads as many bytes as are allowed; returns 0 at the end.
    pub(super) async fn read(&self, server: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            if self.peek(server).await? == 0 {
                return Ok(0);
            }
            let most = self.allowed(server).await?.min(BUFFER as u64) as usize;
            buffer.resize(most, 0);
            match server.try_read(buffer) {
                Ok(came) => {
                    self.takes(came as u64);
                    return Ok(came);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for bytes or the end. If the policy schedules slots rather than responses, a silent tunnel's is returned.
    async fn peek(&self, server: &mut OwnedReadHalf) -> io::Result<usize> {
        let mut first = [0];
        while self.link.window().is_none() && self.place.borrow().is_some() {
            if let Ok(there) = timeout(SILENT, server.peek(&mut first)).await {
                return there;
            }
            if self.place.borrow().as_ref().is_some_and(Place::is_released) {
                self.gives_back();
            }
        }
        server.peek(&mut first).await
    }

    /// Waits until bytes may be taken in, and returns how many.
    async fn allowed(&self, server: &OwnedReadHalf) -> io::Result<u64> {
        if self.place.borrow().is_none() {
            // Without a slot nothing is held back, unless the class has a rate.
            if self.link.window().is_none() && !self.link.is_capped(self.record.class) {
                return Ok(u64::MAX);
            }
            // The server sends first.
            self.renew(server.as_ref())?;
        }
        loop {
            let turn = self.place.borrow().as_ref().map_or(0, Place::allowed);
            if turn == 0 && self.free.get() > 0 && self.link.free().is_open() {
                return Ok(self.free.get());
            }
            self.is_held.set(true);
            let turn = select! {
                turn = poll_fn(|cx| self.poll_turn(cx)) => Some(turn),
                () = self.replaced.notified() => None,
            };
            self.is_held.set(false);
            if let Some((bytes, window)) = turn {
                self.offered.widen(server.as_ref(), window);
                return Ok(bytes);
            }
        }
    }

    fn takes(&self, bytes: u64) {
        self.came_at.set(Some(Instant::now()));
        self.came.set(self.came.get() + bytes);
        match &*self.place.borrow() {
            Some(place) => {
                if place.allowed() == 0 {
                    self.link.free().take(bytes);
                    self.free.set(self.free.get().saturating_sub(bytes));
                }
                place.received(bytes);
            }
            None => self.link.dispatcher().stray(Some(self.record.class), bytes),
        }
    }
}
