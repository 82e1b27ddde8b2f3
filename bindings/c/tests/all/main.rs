//! All tests of the C interface, as one program.
//!
//! The compiler cannot check what a caller of C functions promises, so these tests are unsafe where they call them: the modules
//! that do so allow it at their head.
#![allow(clippy::unwrap_used)]

mod both_packets;
mod both_requests;
mod errors;
mod header;
mod install;
mod layout;
mod page;
mod programs;
mod same_offers;
mod same_packets;
mod same_requests;
mod threads;
mod through_c;
mod tools;
