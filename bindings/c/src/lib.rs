//! Dovetail's schedulers for C and C++: `libdovetail` and `dovetail.h`.
//!
//! The border to C is where types stop helping, so it is kept thin, and is the same for every call:
//!
//! ```text
//! C ── border ── packets, requests, flows, far ── dovetail-sched
//!      pointers   ranges, what a checked handle     the policies
//!      to types   looks after; all safe
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`border`] | every function that C sees, the handles, and all unsafe code: pointers become references there or an error |
//! | [`structs`] | every type that C sees: plain numbers, the size first |
//! | [`packets`], [`requests`], [`flows`], [`far`] | what a handle of each kind does, in safe Rust |
//! | [`convert`] | between the structs and the core's types |
//! | [`failure`] | errors, and the message that a thread may ask for |
//!
//! No panic leaves the library: it becomes an error, and its handle can only be freed from then on.

pub mod border;
pub mod structs;

mod checks;
mod convert;
mod failure;
mod far;
mod flows;
mod packets;
mod requests;
