//! The box between two interfaces.
//!
//! Unless workers process the packets, one thread does everything, in a loop: it signals that it is alive ([`switch`]),
//! settles what is due at the [`Node`], receives some frames from each interface, sends outgoing frames, and sleeps until
//! something is due or arrives.
//!
//! | file | what |
//! |---|---|
//! | `running` | the loop |
//! | `plane`, `entrance`, `lone` | what a frame passes through, where it comes in, and one that finds the box idle |
//! | `intake` | how many frames are taken in at once |
//! | `workers` | threads that do the work, where there are several |
//! | `spawned` | a box on a thread of its own |
//! | `control`, `status` | what is asked of a running box, and what it tells |
//! | `start`, `waiting` | before the loop, and when nothing is due |
//! | `privileges` | what threads give up |
//! | `standby` | whether the bridge would forward if the box failed |
//! | `wakefulness` | how long processors may take to wake |
//! | `port`, `socket`, `xdp` | an interface: its socket, what is to leave; `no_xdp` without the feature `af-xdp` |
//! | `frames`, `ahead` | the frames that the box holds, and memory that is asked for early |
//! | `delay` | frames on a link that is long |
//! | `marks`, `classes`, `flows` | which class and flow a frame is of, and what is done with it |
//! | `ledger` | which sequence numbers of tunnels were used |
//! | `inbound` | tunnels that are decrypted, on the way back |
//! | `answers` | what senders of packets that end here are told |
//! | `counters`, `busiest` | what is counted: by class, worker and tunnel, and by flow |
//! | [`admin`] | the admin port |
//! | `programs` | the folder of programs, and the instance of each class; `no_programs` without the feature `programs` |
//! | [`switch`] | who carries traffic on when the box does not |
//! | [`watch`] | files of what passed, to look at and to run again |
//! | [`lab`] | two hosts round a box on one machine |
//! | `sys` | what the kernel offers and no library wraps |
//!
//! [`Node`]: crate::node::Node

pub mod admin;
mod ahead;
mod answers;
mod busiest;
mod classes;
mod clock;
mod control;
mod counters;
mod delay;
mod elsewhere;
mod entrance;
mod error;
mod flows;
mod frames;
mod inbound;
mod intake;
pub mod lab;
mod ledger;
mod lone;
mod marks;
mod plane;
mod port;
mod privileges;
#[cfg(feature = "programs")]
mod programs;
#[cfg(not(feature = "programs"))]
#[path = "no_programs.rs"]
mod programs;
mod running;
mod serve;
mod socket;
mod spawned;
mod standby;
mod start;
mod status;
pub mod switch;
mod sys;
mod waiting;
mod wakefulness;
pub mod watch;
mod workers;
#[cfg(feature = "af-xdp")]
mod xdp;
#[cfg(not(feature = "af-xdp"))]
#[path = "no_xdp.rs"]
mod xdp;

pub use answers::{AnswerCounters, AnswersCounters};
pub use busiest::{Busiest, BusyFlow, Had, MAX_FLOWS};
pub use control::Control;
pub use counters::{ClassCounters, Oddities, ProgramCounters, TunnelCounters, WorkerCounters};
pub use error::LiveError;
pub use port::PortCounters;
pub use running::Live;
pub use serve::{CheckedPrograms, Files, check, check_programs, in_use, run_until_signalled};
pub use spawned::Spawned;
pub use status::Status;
