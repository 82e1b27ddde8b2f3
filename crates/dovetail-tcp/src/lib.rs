//! A TCP endpoint as a state machine, for virtual time.
//!
//! The effect of a scheduler on a transfer shows only in closed loop: a delayed or dropped packet makes its sender slow down.
//! How it slows down and recovers depends on TCP, and most hosts today run Linux's or something similar. This crate
//! implements such a TCP: selective acknowledgements, time-based loss detection, proportional rate reduction, CUBIC, and
//! timers and quick acknowledgements with the kernel's constants.
//!
//! It is sans-I/O. A [`Connection`] takes segments, the time and the application's actions, and returns what to send and when
//! to call it next. It never reads a clock, draws no random numbers, and allocates only for segments in flight and for holes.
//! A [`Segment`] states the length of its payload but not the bytes, since a simulated byte need not exist; its other fields
//! are those of the header on the wire. All arithmetic is in integers: equal inputs give equal outputs on every machine.
//!
//! | file | what |
//! |---|---|
//! | `config` | settings of a host, and presets |
//! | `segment`, `sequence` | segments, and sequence numbers that wrap |
//! | `connection`, `handshake` | the state machine of an end |
//! | `receiver`, `apart`, `ranges` | in-order and out-of-order data, and when to acknowledge |
//! | `compress` | compressed acknowledgements of out-of-order segments |
//! | `autotune` | receive buffer that grows with what is read |
//! | `sender` | what is in flight, what is lost, what to send next |
//! | `board`, `rack`, `rtt`, `delivery`, `bandwidth` | scoreboard, time-based loss detection, round trips, delivery rates |
//! | `ticks` | timers: exact, or with a kernel's granularity |
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
mod ranges;
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
