//! Published experiments with multi-resource schedulers, run again, with the papers' figures next to ours.
//!
//! Every experiment consists of a scenario file, the policies of the paper, and rows with measurements. A row holds if the
//! measurement is within its tolerance of the expected value, which is the result of an independent implementation of the
//! same experiment: this is closer to the truth than a number read off a printed figure. If the paper promises a bound, a row
//! holds on the promised side of it. Rows known not to be reproducible are marked with the reason, and count as they are.

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
