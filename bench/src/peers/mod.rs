//! Others who do the same.

pub mod firq;
pub mod python;
