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

/// Maximum number of outgoing frames before no more are received: enough that a system call is shared.
pub(super) const MAX_OUTGOING: usize = 4 * BATCH;

/// An interface with its socket and outgoing frames.
#[derive(Debug)]
pub(super) struct Port {
    pub name: String,
    pub mtu_bytes: u32,
    index: u32,
    socket: Socket,
    outgoing: VecDeque<Outgoing>,
    /// Frames that leave later.
    delay: Delay,
    /// Received frames that were older than what the bridge had forwarded.
    stale: u64,
    pub counters: PortCounters,
}

/// An outgoing frame, and the offloads left to the kernel.
#[derive(Debug)]
struct Outgoing {
    offload: [u8; Offload::BYTES],
    bytes: Vec<u8>,
}

/// Frame counters of an interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames received, as delivered by the interface.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Bytes of those.
    pub sent_bytes: u64,
    /// Outgoing frames that did not leave: the interface is down, they are too long, or a queue or rule at egress dropped them,
    /// or the bridge had taken over.
    pub refused: u64,
    /// Frames that arrived and were lost before the box received them, or discarded because the bridge had taken over.
    pub missed: u64,
}

impl PortCounters {
    fn count_sent(&mut self, bytes: &[u8]) {
        self.sent += 1;
        self.sent_bytes += bytes.len() as u64;
    }
}

impl Port {
    /// Opens an interface; nothing is received before it is [bound](Self::bind).
    pub(super) fn open(port: &ports::Port, io: Io, switch: &mut Switch) -> Result<Self, LiveError> {
        let socket = Socket::open(port, io, switch)?;
        Ok(Self {
            name: port.name.clone(),
            mtu_bytes: port.mtu_bytes,
            index: port.index,
            socket,
            outgoing: VecDeque::new(),
            delay: Delay::default(),
            stale: 0,
            counters: PortCounters::default(),
        })
    }

    /// Starts receiving.
    pub(super) fn bind(&self) -> Result<(), LiveError> {
        let error = |source| LiveError::Socket { interface: self.name.clone(), source };
        self.socket.bind(self.index).map_err(error)
    }

    /// Enables backpressure: the interface, or a shaper in front of it with this rate, holds about a millisecond of
    /// traffic, or some three packets if that is more.
    pub(super) fn hold_little(&mut self, rate: Rate) -> Result<(), LiveError> {
        const MAX_UNSENT_S: f64 = 1e-3;
        let error = |source| LiveError::Socket { interface: self.name.clone(), source };
        self.socket.hold_unsent((rate.bps() / 8.0 * MAX_UNSENT_S) as u32).map_err(error)
    }

    /// Shows the oldest received frame to `take`, which returns whether it has read the whole of it; returns whether there
    /// was one.
    pub(super) fn receive(&mut self, take: impl FnOnce(Received<'_>) -> bool) -> bool {
        let had_one = self.socket.receive(take);
        self.counters.received += u64::from(had_one);
        had_one
    }

    /// Sends a frame ahead of [`push`](Self::push), if no other is queued before it; returns whether it has left.
    pub(super) fn send_at_once(&mut self, bytes: &[u8]) -> bool {
        let offload = Offload::NONE.bytes();
        let is_free = self.outgoing.is_empty() && self.delay.is_none();
        let has_left = is_free && matches!(self.socket.send(std::iter::once((&offload, bytes)), self.mtu_bytes), Ok(1));
        if has_left {
            self.counters.count_sent(bytes);
        }
        has_left
    }

    /// A frame departs at `now`, and leaves after the delay of the link.
    pub(super) fn push(&mut self, offload: Offload, mut bytes: Vec<u8>, now: Nanos) {
        let offload = self.socket.ready(offload, &mut bytes);
        if self.delay.is_none() {
            self.outgoing.push_back(Outgoing { offload: offload.bytes(), bytes });
        } else {
            self.delay.push(offload.bytes(), bytes, now);
        }
    }

    /// Sets the delay of the link.
    pub(super) fn set_delay(&mut self, length: Nanos) {
        self.delay.set(length);
    }

    /// Makes frames in flight leave at once.
    pub(super) fn finish_fast(&mut self) {
        self.delay.finish_fast();
    }

    /// Moves frames whose delay is over to the outgoing queue. Reads the clock only if there is a delay.
    pub(super) fn release(&mut self, now: impl FnOnce() -> Nanos) {
        if self.delay.is_empty() {
            return;
        }
        let now = now();
        while self.outgoing.len() < MAX_OUTGOING
            && let Some((offload, bytes)) = self.delay.pop(now)
        {
            self.outgoing.push_back(Outgoing { offload, bytes });
        }
    }

    /// When the delay of the next frame is over, provided that the interface has room.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.delay.due().filter(|_| self.outgoing.len() < MAX_OUTGOING)
    }

    /// Whether no further frame may depart: too many are to leave, immediately or later.
    pub(super) fn is_full(&self) -> bool {
        self.outgoing.len() >= MAX_OUTGOING || self.delay.is_full()
    }

    /// Whether no frames are to leave, immediately or later.
    pub(super) fn is_empty(&self) -> bool {
        self.outgoing.is_empty() && self.delay.is_empty()
    }

    /// Whether frames are ready to leave.
    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    pub(super) fn outgoing(&self) -> usize {
        self.outgoing.len()
    }

    /// Sends outgoing frames as far as the interface has room.
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

    /// Drops outgoing and received frames.
    pub(super) fn empty(&mut self) {
        self.counters.refused += (self.outgoing.len() + self.delay.len()) as u64;
        self.outgoing.clear();
        self.delay.clear();
        while self.socket.receive(|_| false) {
            self.stale += 1;
        }
    }

    /// Updates the interface's MTU.
    ///
    /// # Errors
    /// When it is gone, or another interface has its name.
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
            self.counters.missed = missed + self.stale;
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The pending error of a socket, such as that its interface went down; reading it clears it.
pub(super) fn noted_error(socket: BorrowedFd<'_>) -> Option<io::Error> {
    rustix::net::sockopt::socket_error(socket).ok()?.err().map(io::Error::from)
}
