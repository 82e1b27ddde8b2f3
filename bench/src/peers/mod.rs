//! Other implementations, for comparison.

pub mod firq;
pub mod python;
