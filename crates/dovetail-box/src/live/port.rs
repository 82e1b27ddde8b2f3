//! One of the box's two interfaces.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd},
};

use dovetail_sched::{Nanos, units::Rate};

use super::{
    delay::Delay,
    frames::Frames,
    socket::Socket,
    switch::{Switch, ports},
    sys::{BATCH, Received},
};
use crate::{config::Io, live::LiveError, wire::offload::Offload};

/// Frames that may be ready to leave before no more are taken in: enough that a system call is shared.
pub(super) const MOST_OUTGOING: usize = 4 * BATCH;

/// An interface with its socket, and what is to leave on it.
#[derive(Debug)]
pub(super) struct Port {
    pub name: String,
    pub mtu_bytes: u32,
    index: u32,
    socket: Socket,
    outgoing: VecDeque<Outgoing>,
    /// What is to leave later.
    delay: Delay,
    pub counters: PortCounters,
}

/// A frame that is to leave, and what the kernel is to do to it.
#[derive(Debug)]
struct Outgoing {
    offload: [u8; Offload::BYTES],
    bytes: Vec<u8>,
}

/// Frames of an interface so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// That arrived, as the interface handed them over.
    pub received: u64,
    /// That left.
    pub sent: u64,
    /// Bytes of those.
    pub sent_bytes: u64,
    /// That were to leave, and that the interface refused: it is down, or they are too long.
    pub refused: u64,
    /// That arrived and were lost before the box saw them.
    pub missed: u64,
}

impl PortCounters {
    fn count_sent(&mut self, bytes: &[u8]) {
        self.sent += 1;
        self.sent_bytes += bytes.len() as u64;
    }
}

impl Port {
    /// Opens it; nothing arrives before it is [bound](Self::bind).
    pub(super) fn open(port: &ports::Port, io: Io, switch: &mut Switch) -> Result<Self, LiveError> {
        let socket = Socket::open(port, io, switch)?;
        Ok(Self {
            name: port.name.clone(),
            mtu_bytes: port.mtu_bytes,
            index: port.index,
            socket,
            outgoing: VecDeque::new(),
            delay: Delay::default(),
            counters: PortCounters::default(),
        })
    }

    /// Frames arrive from now on.
    pub(super) fn bind(&self) -> Result<(), LiveError> {
        let error = |source| LiveError::Socket { interface: self.name.clone(), source };
        self.socket.bind(self.index).map_err(error)
    }

    /// Has the interface push back: it, or a shaper before it that lets `rate` through, holds about a millisecond of it, and
    /// some three packets where that is less.
    pub(super) fn hold_little(&mut self, rate: Rate) -> Result<(), LiveError> {
        const MOST_UNSENT_S: f64 = 1e-3;
        let error = |source| LiveError::Socket { interface: self.name.clone(), source };
        self.socket.hold_unsent((rate.bps() / 8.0 * MOST_UNSENT_S) as u32).map_err(error)
    }

    /// The oldest frame that has arrived, shown to `take`, which says whether it has read the whole of it; whether there was one.
    pub(super) fn receive(&mut self, take: impl FnOnce(Received<'_>) -> bool) -> bool {
        let had_one = self.socket.receive(take);
        self.counters.received += u64::from(had_one);
        had_one
    }

    /// Sends a frame before it is said that it sets out, if nothing is in its way; whether it has left.
    pub(super) fn send_at_once(&mut self, bytes: &[u8]) -> bool {
        let offload = Offload::NONE.bytes();
        let is_free = self.outgoing.is_empty() && self.delay.is_none();
        let has_left = is_free && matches!(self.socket.send(std::iter::once((&offload, bytes)), self.mtu_bytes), Ok(1));
        if has_left {
            self.counters.count_sent(bytes);
        }
        has_left
    }

    /// A frame sets out at `now`, and is to leave once it has come as far as the link is long.
    pub(super) fn push(&mut self, offload: Offload, mut bytes: Vec<u8>, now: Nanos) {
        let offload = self.socket.ready(offload, &mut bytes);
        if self.delay.is_none() {
            self.outgoing.push_back(Outgoing { offload: offload.bytes(), bytes });
        } else {
            self.delay.push(offload.bytes(), bytes, now);
        }
    }

    /// How long the link is from now on.
    pub(super) fn set_delay(&mut self, length: Nanos) {
        self.delay.set(length);
    }

    /// What is on its way is to leave at once.
    pub(super) fn finish_fast(&mut self) {
        self.delay.finish_fast();
    }

    /// Frames that have come as far as the link is long are to leave. The time is asked for where the link has a length.
    pub(super) fn release(&mut self, now: impl FnOnce() -> Nanos) {
        if self.delay.is_empty() {
            return;
        }
        let now = now();
        while self.outgoing.len() < MOST_OUTGOING
            && let Some((offload, bytes)) = self.delay.pop(now)
        {
            self.outgoing.push_back(Outgoing { offload, bytes });
        }
    }

    /// When the next frame will have come as far, should the interface have room.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.delay.due().filter(|_| self.outgoing.len() < MOST_OUTGOING)
    }

    /// Whether nothing more is to set out: too much is to leave, now or later.
    pub(super) fn is_full(&self) -> bool {
        self.outgoing.len() >= MOST_OUTGOING || self.delay.is_full()
    }

    /// Whether nothing is to leave, now or later.
    pub(super) fn is_empty(&self) -> bool {
        self.outgoing.is_empty() && self.delay.is_empty()
    }

    /// Whether something is still to leave.
    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub(super) fn outgoing(&self) -> usize {
        self.outgoing.len()
    }

    /// Sends what is to leave, as far as the interface has room.
    pub(super) fn flush(&mut self, frames: &mut Frames) {
        while !self.outgoing.is_empty() {
            let batch = self.outgoing.iter().take(BATCH).map(|frame| (&frame.offload, &*frame.bytes));
            match self.socket.send(batch, self.mtu_bytes) {
                Ok(0) => return,
                Ok(sent) => {
                    for frame in self.outgoing.drain(..sent) {
                        self.counters.count_sent(&frame.bytes);
                        frames.give_back(frame.bytes);
                    }
                }
                Err(wrong) => {
                    self.counters.refused += 1;
                    if let Some(frame) = self.outgoing.pop_front() {
                        tracing::debug!("{}: a frame of {} bytes: {wrong}", self.name, frame.bytes.len());
                        frames.give_back(frame.bytes);
                    }
                }
            }
        }
    }

    /// Forgets what was to leave and what has arrived.
    pub(super) fn empty(&mut self) {
        self.counters.refused += (self.outgoing.len() + self.delay.len()) as u64;
        self.outgoing.clear();
        self.delay.clear();
        while self.receive(|_| false) {}
    }

    /// Goes by the MTU that the interface has now.
    ///
    /// # Errors
    /// That it is gone, or that another has its name.
    pub(super) fn look(&mut self) -> Result<(), LiveError> {
        match self.socket.interface(&self.name) {
            Ok((index, mtu)) if index == self.index => {
                if mtu != self.mtu_bytes {
                    tracing::warn!("{}: its MTU is {mtu} bytes now, and was {}", self.name, self.mtu_bytes);
                    self.mtu_bytes = mtu;
                }
                Ok(())
            }
            Err(wrong) if wrong.raw_os_error() != Some(libc::ENODEV) => {
                tracing::debug!("{}: {wrong}", self.name);
                Ok(())
            }
            _ => Err(LiveError::Gone { interface: self.name.clone() }),
        }
    }

    pub(super) fn count_missed(&mut self) {
        if let Ok(missed) = self.socket.missed() {
            self.counters.missed = missed;
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The error that a socket has noted, such as that its interface went down; asking for it takes it away.
pub(super) fn noted_error(socket: BorrowedFd<'_>) -> Option<io::Error> {
    rustix::net::sockopt::socket_error(socket).ok()?.err().map(io::Error::from)
}
