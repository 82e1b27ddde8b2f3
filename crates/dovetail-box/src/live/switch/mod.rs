//! The switch between the box and the bridge under it: a dead man's switch.
//!
//! Both interfaces of the box are ports of a kernel bridge. While the box runs, it takes every frame itself and the bridge
//! sees none; as soon as it ends, is killed or hangs, the bridge forwards:
//!
//! ```text
//!              ┌──────── box ────────┐
//!     taken ↑  │                     │
//!  eth1 ──┬────┘                     └──────── eth2        (and the same the other way)
//!         └── not taken → bridge ───────────── eth2
//! ```
//!
//! What keeps the box in charge is a deadline, which its loop moves ahead again and again ([`Switch::renew`]): one store
//! into a page that the kernel's programs read. When the deadline has passed, the frames are the bridge's. Nothing has to
//! notice that the box hangs.
//!
//! Two programs of the kernel carry it out. The box's packet sockets have a filter: it takes a frame while the deadline is
//! ahead, and leaves its decision in a slot of the processor it runs on. Directly afterwards, on the same processor, the
//! frame meets the program at the port (tcx), which reads the slot: what the socket took is dropped, and what it did not
//! take goes on to the bridge. Whose a frame is is decided once, so **no frame is forwarded twice or by neither**, whatever
//! the deadline does meanwhile, and in whichever order sockets and programs come and go. A frame that the filter takes and
//! for which the socket has no room is lost, as at any full queue.
//!
//! # The order of things
//!
//! 1. [`Switch::open`] and [`Switch::silence`] both ports. Nothing changes: the bridge forwards.
//! 2. Make each packet socket with protocol 0, [`Switch::attach_filter`], then bind it to its port with `ETH_P_ALL`. One
//!    socket receives at each port, or one fanout group, and it ignores outgoing frames (`PACKET_IGNORE_OUTGOING`).
//! 3. [`Switch::renew`] at least every few milliseconds, with a deadline some more ahead.
//! 4. [`Switch::hand_over`], then send what is left in the sockets and queues, then close them.
//!
//! If the process ends in between, its links and sockets go with it, and the bridge forwards.
//!
//! # After a lapse
//!
//! A box that was stopped and goes on finds frames in its sockets and queues that are older than what the bridge has
//! forwarded meanwhile. To send them would reorder flows, and TCP has sent them again long ago. So the loop asks
//! [`Switch::has_lapsed`] each time before it sends and before it renews, and after a lapse empties its sockets and queues
//! first; while the deadline is past nothing new comes in. What the loop was sending in the very moment it was stopped
//! leaves late.
//!
//! # Fail closed
//!
//! Where nothing may pass without the box, the same switch is used **without a bridge**: interfaces that are not bridged
//! forward nothing when the box is gone, and no mechanism can fail. [`ports::check`] sees to it that a bridge is there or
//! not there, as asked. The switch still keeps frames that the box takes from the machine's own network stack, and the
//! sockets of a box that hangs from filling with frames that would be sent late. (A machine that routes IP between the two
//! interfaces forwards what is addressed to it, box or not.)
//!
//! # What it needs
//!
//! Linux 6.6. `CAP_BPF` and `CAP_NET_ADMIN` for the programs, and `CAP_NET_RAW` for packet sockets, all outside of user
//! namespaces. None is needed any more once ports are silenced and sockets are bound: drop them.
//!
//! # What it does not do
//!
//! While the box runs, the machine itself hears nothing at the two ports, so manage it over another interface. Programs at
//! tcx count what the box takes as dropped (`TC_INGRESS`). The bridge forgets addresses after some minutes of silence and
//! then floods, which between two ports is to forward.

mod error;
pub mod ports;
mod programs;
mod rtnetlink;
#[cfg(test)]
mod tests;

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::Ordering,
};

use dovetail_sched::Nanos;
use rustix::time::{ClockId, clock_gettime};

pub use error::SwitchError;

use super::sys::bpf::{self, Array, Cell, Kind, Unloaded};

/// The kernel's clock that deadlines are times of: `CLOCK_MONOTONIC`.
fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The switch of one box. When it is dropped, the bridge takes over.
#[derive(Debug)]
pub struct Switch {
    deadline: Cell,
    filter: OwnedFd,
    ingress: OwnedFd,
    /// The ports' links: the program runs there as long as they are kept.
    links: Vec<OwnedFd>,
}

impl Switch {
    /// Loads both programs; the deadline has passed.
    ///
    /// # Errors
    /// What the kernel does not permit or does not have.
    pub fn open() -> Result<Self, SwitchError> {
        let array = |name, kind| bpf::array(name, kind).map_err(SwitchError::system("make a BPF map"));
        let (deadline, slots) = (array("box_deadline", Array::Shared)?, array("box_slots", Array::PerProcessor)?);
        let filter = programs::filter(deadline.as_fd(), slots.as_fd());
        let filter = bpf::load("box_filter", Kind::SocketFilter, &filter).map_err(refused("box_filter"))?;
        let ingress = programs::ingress(slots.as_fd());
        let ingress = bpf::load("box_ingress", Kind::Classifier, &ingress).map_err(refused("box_ingress"))?;
        let deadline = Cell::new(deadline.as_fd()).map_err(SwitchError::system("map the deadline"))?;
        let switch = Self { deadline, filter, ingress, links: Vec::new() };
        // The kernel must call what this process calls now the past, or a box that hangs would be in charge for good.
        switch.renew(now());
        let taken = bpf::run(switch.filter()).map_err(SwitchError::system("run the filter"))?;
        switch.hand_over();
        if taken == 0 { Ok(switch) } else { Err(SwitchError::Clock) }
    }

    /// The filter, for `SO_ATTACH_BPF`.
    #[must_use]
    pub fn filter(&self) -> BorrowedFd<'_> {
        self.filter.as_fd()
    }

    /// Has the switch decide what a packet socket receives. Only afterwards may the socket be bound: what it receives before
    /// is forwarded twice.
    ///
    /// # Errors
    /// The system's.
    pub fn attach_filter(&self, socket: BorrowedFd<'_>) -> Result<(), SwitchError> {
        bpf::attach_to_socket(socket, self.filter()).map_err(SwitchError::system("attach the filter to a socket"))
    }

    /// Keeps from these interfaces of the calling thread's network namespace what sockets with the filter take. Either all
    /// are silenced or none is.
    ///
    /// # Errors
    /// That there is no such interface, or that the kernel is older than Linux 6.6.
    pub fn silence(&mut self, ports: &[u32]) -> Result<(), SwitchError> {
        let link = |&port| bpf::attach_ingress(self.ingress.as_fd(), port).map_err(SwitchError::attaching(port));
        let links = ports.iter().map(link).collect::<Result<Vec<_>, _>>()?;
        self.links.extend(links);
        Ok(())
    }

    /// Keeps the box in charge until then, a time of `CLOCK_MONOTONIC`.
    #[inline]
    pub fn renew(&self, until: Nanos) {
        self.deadline.store(until.0, Ordering::Release);
    }

    /// Whether the bridge is in charge at this time.
    #[inline]
    #[must_use]
    pub fn has_lapsed(&self, now: Nanos) -> bool {
        now.0 >= self.deadline.load(Ordering::Relaxed)
    }

    /// Leaves frames to the bridge from now on. What sockets have taken before is still the box's to send.
    pub fn hand_over(&self) {
        self.renew(Nanos::ZERO);
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // Sockets may outlive it: they must be deaf before the links go, or frames would be forwarded twice.
        self.hand_over();
    }
}

fn refused(program: &'static str) -> impl FnOnce(Unloaded) -> SwitchError {
    move |Unloaded { error, log }| {
        if log.is_empty() {
            SwitchError::system("load a BPF program")(error)
        } else {
            SwitchError::Program { program, error, log }
        }
    }
}
