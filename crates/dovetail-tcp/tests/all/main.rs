//! The transport over simulated paths.

#![allow(clippy::unwrap_used)]

mod path;
mod rows;
mod short;
