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
//! The box stays in charge until a deadline, which its loop keeps moving ahead ([`Switch::renew`]): one store into a page
//! that the kernel's programs read. Once the deadline has passed, the bridge forwards. Nothing needs to detect that the box
//! hangs.
//!
//! Two kernel programs implement this. The box's packet sockets have a filter: it takes a frame while the deadline is
//! ahead, and leaves its decision in a slot of the processor it runs on. Directly afterwards, on the same processor, the
//! frame reaches the program at the port (tcx), which reads the slot: a frame that the socket took is dropped, any other
//! goes on to the bridge. The decision is made once per frame, so **no frame is forwarded twice or by neither**, whatever
//! the deadline does meanwhile. A frame that the filter takes and for which the socket has no room is lost, as at any full
//! queue. Frames that the box still holds when the bridge takes over may be overtaken, so a box had best end at a moment
//! when it holds none.
//!
//! # Order of operations
//!
//! 1. [`Switch::open`], then [`Switch::claim`] and [`Switch::silence`] both ports. Nothing changes: the bridge forwards.
//! 2. Create each packet socket with protocol 0, [`Switch::attach_filter`], then bind it to its port with `ETH_P_ALL`. One
//!    socket receives at each port, or one fanout group, and it ignores outgoing frames (`PACKET_IGNORE_OUTGOING`).
//! 3. [`Switch::take_over`], then [`Switch::renew`] at least every few milliseconds, with a deadline some more ahead.
//! 4. [`Switch::hand_over`], then send what is left in the sockets and queues, and what a processor had decided to take and
//!    still had in hand, then close them.
//!
//! If the process ends in between, its links and sockets are closed, and the bridge forwards.
//!
//! # After a lapse
//!
//! When a stopped box continues, the frames in its sockets and queues are older than what the bridge has forwarded
//! meanwhile. Sending them would reorder flows, and TCP has retransmitted them long ago. So [`Switch::renew`] returns that
//! the deadline had passed, and does not move it: nothing new comes in while the loop empties its sockets and queues, and
//! then takes over again. Before it sends what is queued it checks [`Switch::has_lapsed`]; only what it was working on at the
//! moment it was stopped may leave late.
//!
//! ```no_run
//! # use dovetail_box::live::switch::{Switch, SwitchError};
//! # use dovetail_sched::Nanos;
//! # fn clock() -> Nanos { Nanos::ZERO }
//! # fn discard() {}
//! # fn receive_and_send() {}
//! # fn run(switch: &Switch) {
//! const AHEAD: Nanos = Nanos::from_millis(20);
//! loop {
//!     let now = clock();
//!     if !switch.renew(now, AHEAD) {
//!         discard();
//!         switch.take_over(clock(), AHEAD);
//!     }
//!     receive_and_send();
//! }
//! # }
//! ```
//!
//! # AF_XDP
//!
//! A box that receives by AF_XDP has one program instead of the two (`Switch::steer`, with the feature `af-xdp`): the
//! interface's driver runs it, and it redirects a frame to the box's socket while the deadline is ahead, or leaves it to
//! the bridge. It needs Linux 6.8 with BTF (`CONFIG_DEBUG_INFO_BTF`), and a driver that runs XDP programs.
//!
//! # Fail closed
//!
//! If nothing may pass without the box, the same switch is used **without a bridge**: interfaces that are not bridged
//! forward nothing when the box is gone, and no mechanism can fail. [`ports::check`] verifies that a bridge is present or
//! absent, as configured. The switch still keeps frames that the box takes from the machine's own network stack, and keeps
//! the sockets of a hanging box from filling with frames that would be sent late. On a kernel that is too old to silence
//! ports, that step can be left out there. (A machine that routes IP between the two interfaces forwards what is addressed
//! to it, box or not.)
//!
//! # Link-local frames
//!
//! Frames to the groups 01-80-C2-00-00-01 to -0F are between neighbours: flow control, link aggregation, authentication,
//! LLDP. A bridge does not forward them (IEEE 802.1Q, 8.6.3), so the box does not take them: they go to the bridge and to
//! the machine, box or not, and programs there receive them (`lldpd`), or the bridge forwards those that it is configured
//! to (`group_fwd_mask`). Frames of the spanning tree, to 01-80-C2-00-00-00, pass the box as they pass a Linux bridge that
//! takes no part in it: switches on both sides see a loop that leads through the box. Leave the spanning tree of the bridge
//! under the box off, as it is by default.
//!
//! # Requirements
//!
//! Linux 6.6. `CAP_BPF` and `CAP_NET_ADMIN` for the programs, both outside of user namespaces, and `CAP_NET_RAW` for packet
//! sockets. None is needed any more once ports are silenced and sockets are bound: drop them.
//!
//! # Limitations
//!
//! While the box runs, the machine itself receives nothing at the two ports, so manage it over another interface. Programs
//! at tcx count what the box takes as dropped (`TC_INGRESS`). The bridge forgets addresses after some minutes of silence
//! and then floods, which between two ports amounts to forwarding.

mod assembler;
#[cfg(feature = "af-xdp")]
mod btf;
pub(super) mod claim;
mod error;
#[cfg(feature = "af-xdp")]
pub(super) mod flood;
pub mod ports;
mod programs;
mod rtnetlink;
#[cfg(feature = "af-xdp")]
mod steering;
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
use claim::Claim;
use ports::{Port, PortError};

/// The clock of deadlines: `CLOCK_MONOTONIC`.
fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The switch of one box. When it is dropped, the bridge takes over.
#[derive(Debug)]
pub struct Switch {
    deadline: Cell,
    #[cfg(feature = "af-xdp")]
    deadlines: OwnedFd,
    filter: OwnedFd,
    ingress: OwnedFd,
    /// The ports' links: the program stays attached until they are closed.
    links: Vec<OwnedFd>,
    claims: Vec<Claim>,
}

impl Switch {
    /// Loads both programs; the deadline has passed already.
    ///
    /// # Errors
    /// What the kernel does not permit or support.
    pub fn open() -> Result<Self, SwitchError> {
        let array = |name, kind| bpf::array(name, kind).map_err(SwitchError::system("make a BPF map"));
        let (deadlines, slots) = (array("box_deadline", Array::Shared)?, array("box_slots", Array::PerProcessor)?);
        let filter = programs::filter(deadlines.as_fd(), slots.as_fd());
        let filter = bpf::load("box_filter", Kind::SocketFilter, &filter).map_err(refused("box_filter"))?;
        let ingress = programs::ingress(slots.as_fd());
        let ingress = bpf::load("box_ingress", Kind::Classifier, &ingress).map_err(refused("box_ingress"))?;
        let deadline = Cell::new(deadlines.as_fd()).map_err(SwitchError::system("map the deadline"))?;
        let switch = Self {
            deadline,
            #[cfg(feature = "af-xdp")]
            deadlines,
            filter,
            ingress,
            links: Vec::new(),
            claims: Vec::new(),
        };
        // The kernel must agree that this process's current time has passed, or a hanging box would stay in charge for good.
        switch.set(now());
        let taken = bpf::run(switch.filter()).map_err(SwitchError::system("run the filter"))?;
        switch.hand_over();
        if taken == 0 { Ok(switch) } else { Err(SwitchError::Clock) }
    }

    /// Reserves an interface of the calling thread's network namespace for this switch: two boxes there would each forward
    /// every frame.
    ///
    /// # Errors
    /// When another process or switch has reserved it.
    pub fn claim(&mut self, port: &Port) -> Result<(), PortError> {
        self.claims.push(Claim::take(port)?);
        Ok(())
    }

    /// The filter, for `SO_ATTACH_BPF`.
    #[must_use]
    pub fn filter(&self) -> BorrowedFd<'_> {
        self.filter.as_fd()
    }

    /// Makes the switch decide what a packet socket receives. Bind the socket only afterwards: whatever it receives before
    /// is forwarded twice.
    ///
    /// # Errors
    /// The system's error.
    pub fn attach_filter(&self, socket: BorrowedFd<'_>) -> Result<(), SwitchError> {
        bpf::attach_to_socket(socket, self.filter()).map_err(SwitchError::system("attach the filter to a socket"))
    }

    /// Hides what sockets with the filter take from the rest of the machine, at these interfaces of the calling thread's
    /// network namespace. Either all are silenced or none is.
    ///
    /// # Errors
    /// When an interface does not exist, or the kernel is older than Linux 6.6.
    pub fn silence(&mut self, ports: &[u32]) -> Result<(), SwitchError> {
        let link = |&port| bpf::attach_ingress(self.ingress.as_fd(), port).map_err(SwitchError::attaching(port));
        let links = ports.iter().map(link).collect::<Result<Vec<_>, _>>()?;
        self.links.extend(links);
        Ok(())
    }

    /// Makes the driver of an interface of the calling thread's network namespace redirect what arrives while the box is in
    /// charge to an AF_XDP socket, bound to its only queue. No packet socket with the filter may be there, and the
    /// interface need not be [silent](Self::silence).
    ///
    /// # Errors
    /// What kernel or driver lack, or that another program is attached.
    #[cfg(feature = "af-xdp")]
    pub fn steer(&mut self, port: u32, socket: BorrowedFd<'_>) -> Result<(), SwitchError> {
        let tag = btf::function(steering::TAG_OF_FRAME).map_err(|_| SwitchError::no_function())?;
        let sockets = bpf::socket_map("box_socket").map_err(SwitchError::system("make a map of sockets"))?;
        bpf::put_socket(sockets.as_fd(), socket).map_err(SwitchError::system("put the socket into its map"))?;
        let program = steering::steering(self.deadlines.as_fd(), sockets.as_fd(), tag);
        let program = bpf::load("box_steering", Kind::Xdp { interface: port }, &program);
        let program = program.map_err(refused("box_steering"))?;
        let link = bpf::attach_xdp(program.as_fd(), port).map_err(SwitchError::steering(port))?;
        self.links.push(link);
        Ok(())
    }

    /// Puts the box in charge until `now + ahead`, a time of `CLOCK_MONOTONIC`, also after a lapse.
    pub fn take_over(&self, now: Nanos, ahead: Nanos) {
        self.set(now + ahead);
    }

    /// Keeps the box in charge until `now + ahead`, a time of `CLOCK_MONOTONIC`, or up to a sixteenth of `ahead` less. If
    /// the deadline has passed by `now`, nothing changes and this returns `false`.
    ///
    /// The deadline is moved only if by more than that: after each move, the processors that run the programs have to fetch
    /// it anew, in the path of a frame.
    ///
    /// A loop that is stopped in between is not in charge when it continues: the deadline counts from the time that was compared.
    #[inline]
    #[must_use]
    pub fn renew(&self, now: Nanos, ahead: Nanos) -> bool {
        let deadline = self.deadline.load(Ordering::Relaxed);
        let is_in_time = now.0 < deadline;
        if is_in_time && (now + ahead).0 > deadline.saturating_add(ahead.0 / 16) {
            self.set(now + ahead);
        }
        is_in_time
    }

    /// Whether the bridge is in charge at this time.
    #[inline]
    #[must_use]
    pub fn has_lapsed(&self, now: Nanos) -> bool {
        now.0 >= self.deadline.load(Ordering::Relaxed)
    }

    /// Leaves frames to the bridge from here on. What sockets have taken before is still the box's to send.
    pub fn hand_over(&self) {
        self.set(Nanos::ZERO);
    }

    #[inline]
    fn set(&self, deadline: Nanos) {
        self.deadline.store(deadline.0, Ordering::Release);
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // Sockets may outlive the switch: they must stop taking frames before the links are closed, or frames would be
        // forwarded twice.
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
