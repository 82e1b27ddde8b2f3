//! What a middlebox does to a packet.
//!
//! A [`functions::NetworkFunction`] takes one Ethernet frame and changes it in place: rewrites headers, encrypts,
//! encodes. It performs no I/O and reads no clock, so the same code is measured by `dovetail profile` and run between
//! two interfaces. Frames come from the network and may hold anything: the answer to nonsense is a
//! [`functions::Verdict`], never a panic, and whatever a function remembers is bounded.
//!
//! ```
//! use dovetail_box::functions::{self, Verdict};
//!
//! let mut forwarding = functions::find("forwarding").expect("it is listed").example(1);
//! let mut nonsense = vec![0xff; 60];
//! assert_eq!(forwarding.process(&mut nonsense), Verdict::Untouched);
//! ```
#![forbid(unsafe_code)]

pub mod functions;
