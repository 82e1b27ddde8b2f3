//! Dovetail's schedulers for C and C++: `libdovetail` and `dovetail.h`.
//!
//! Types cannot check what comes from C, so the border is thin and works in the same way for every call:
//!
//! ```text
//! C ── border ── packets, requests, flows, far ── dovetail-sched
//!      pointers   ranges, and what DVT_CHECKED      the policies
//!      to types   detects; all safe
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`border`] | every function that C sees, the handles, and all unsafe code: turns pointers into references or errors |
//! | [`structs`] | every type that C sees: plain numbers, the size first |
//! | [`packets`], [`requests`], [`flows`], [`far`] | the operations of each kind of handle, in safe Rust |
//! | [`convert`] | conversions between the structs and the core's types |
//! | [`failure`] | errors, and the message of a thread's last one |
//!
//! No panic leaves the library: it becomes an error, and afterwards its handle can only be freed.

pub mod border;
pub mod structs;

mod checks;
mod convert;
mod failure;
mod far;
mod flows;
mod packets;
mod requests;
