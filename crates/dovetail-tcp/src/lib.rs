//! A TCP end as a state machine, for virtual time.
//!
//! What a scheduler does to a transfer shows only in closed loop: a packet that is delayed or dropped makes its sender slow
//! down. How it slows down and recovers is TCP's doing, and hosts today run Linux's or something much like it. This crate is
//! such a TCP: selective acknowledgements, loss detection by time, proportional rate reduction, CUBIC, timers and quick
//! acknowledgements with the kernel's constants.
//!
//! It is sans-I/O. A [`Connection`] takes segments, time and what the application does, and says what to send and when to
//! call again. It never asks for the time, draws no random number and allocates only for segments in flight and for holes.
//! A [`Segment`] says how much it carries and not what, since a simulated byte need not exist; its other fields are those of
//! the header on the wire. All arithmetic is in integers: equal inputs give equal outputs on every machine.
//!
//! | file | what |
//! |---|---|
//! | `config` | what a host is set to, and presets |
//! | `segment`, `sequence` | segments, and numbers that wrap |
//! | `connection`, `handshake` | an end's life |
//! | `receiver`, `apart` | what came, in order or not, and when to acknowledge |
//! | `compress` | acknowledgements out of order that wait for one another |
//! | `autotune` | room that grows with what is read |
//! | `sender` | what is in flight, what is lost, what goes out next |
//! | `board`, `rack`, `rtt`, `delivery`, `bandwidth` | the scoreboard, losses told by time, round trips, delivery rates |
//! | `ticks` | when timers run: exactly, or with the grain of a kernel's |
//! | `congestion` | Reno, CUBIC with HyStart, BBR |
#![no_std]

extern crate alloc;

mod apart;
mod autotune;
mod bandwidth;
mod board;
mod compress;
mod config;
mod congestion;
mod connection;
mod delivery;
mod handshake;
mod rack;
mod receiver;
mod rtt;
mod segment;
mod sender;
mod sequence;
mod ticks;

pub use config::{Config, Congestion};
pub use connection::{Broken, Connection, State};
pub use segment::{Blocks, Ecn, Flags, Options, Segment};
pub use sender::Counts;
pub use ticks::Timers;
