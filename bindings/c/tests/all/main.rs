//! Every test of the C border, as one program.
//!
//! A caller of C functions promises what no compiler examines, so these tests are unsafe where they call: the modules
//! that do so say it at their head.
#![allow(clippy::unwrap_used)]

mod both_packets;
mod both_requests;
mod errors;
mod header;
mod layout;
mod page;
mod programs;
mod same_packets;
mod same_requests;
mod threads;
mod through_c;
mod tools;
