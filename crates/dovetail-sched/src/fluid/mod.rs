//! Fluids: idealised schedulers in which packets can be served in arbitrarily small pieces.
//!
//! A packet policy approximates one of them, and is judged by how closely it does. [`GpsClock`] shares one resource; [`Fluid`]
//! shares several, anywhere between fair and efficient.

mod alpha;
mod bonus;
#[cfg(feature = "oracle")]
mod direct;
mod direction;
mod ends;
mod gps_clock;
mod groups;
mod order;
mod simplex;
mod tally;
mod tradeoff;
mod turns;
mod units;
mod virtual_time;
mod weight_sum;

pub use alpha::{Alpha, AlphaError};
pub use bonus::{Grant, GroupId};
#[cfg(feature = "oracle")]
pub use direct::Direct;
pub use direction::Direction;
pub use ends::Ends;
pub use gps_clock::GpsClock;
pub use simplex::{Simplex, SimplexFigures};
pub use tradeoff::{Fluid, Supply};
pub use virtual_time::VirtualTime;

pub(crate) use weight_sum::WeightSum;
