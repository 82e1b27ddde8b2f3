//! Fluids: what schedulers would do if packets could be served in arbitrarily small pieces.
//!
//! A packet policy comes close to one of them, and is judged by how close.

mod bonus;
mod direction;
mod ends;
mod gps_clock;
mod simplex;
mod weight_sum;

pub use bonus::{Grant, GroupId};
pub use direction::Direction;
pub use ends::Ends;
pub use gps_clock::GpsClock;
pub use simplex::Simplex;

pub(crate) use weight_sum::WeightSum;
