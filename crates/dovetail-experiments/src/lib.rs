//! Published experiments with multi-resource schedulers, run again, the papers' figures beside ours.
//!
//! Every experiment is a scenario file, the policies of the paper, and rows that say what was measured. A row holds
//! when the measurement is within its tolerance of the expected value: what an independent implementation of the same
//! experiment gave, which is closer to the truth than a number read off a printed figure. Where the paper promises a
//! bound, a row holds on the promised side of it. Rows of what is known not to come out say so and why, and count as they
//! are.

mod atfq;
mod cbcs;
mod costs_wrong;
mod drrsff;
mod error;
mod experiment;
mod known;
mod list;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live;
mod msfrs;
mod once;
mod reproduce;
mod row;
mod show;
mod spread;
mod tally;
mod tradeoff;

pub use error::Error;
pub use reproduce::{ReproduceOptions, reproduce};
pub use tally::Tally;
