//! A middlebox: network functions that process packets, and the box that runs them.
//!
//! A [`functions::NetworkFunction`] takes one Ethernet frame and changes it in place: rewrites headers, encrypts, encodes.
//! It performs no I/O and reads no clock, so the same code is measured by `dovetail profile` and run between two
//! interfaces. Frames come from the network and may hold anything: the answer to malformed input is a
//! [`functions::Verdict`], never a panic, and the memory of every function is bounded.
//!
//! ```
//! use dovetail_box::functions::{self, Verdict};
//!
//! let mut forwarding = functions::find("forwarding").expect("it is listed").example(1);
//! let mut nonsense = vec![0xff; 60];
//! assert_eq!(forwarding.process(&mut nonsense), Verdict::Untouched);
//! ```
//!
//! | module | what | clock, I/O |
//! |---|---|---|
//! | [`functions`] | what is done to frames | none |
//! | [`wire`] | frames as an interface hands them over: tags, checksums, segments, limits of length | none |
//! | [`config`] | what a box is configured with | files |
//! | [`node`] | a policy, a CPU and a link as servers in the caller's time | none |
//! | `programs` (feature `programs`) | network functions in WebAssembly, loaded while the box runs | files, and a thread that compiles |
//! | `live` (feature `live`, Linux) | interfaces, the switch that fails open, the loop | all there is |

pub mod config;
pub mod functions;
pub mod node;
#[cfg(feature = "programs")]
pub mod programs;
pub mod wire;

#[cfg(all(feature = "live", target_os = "linux"))]
pub mod live;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
