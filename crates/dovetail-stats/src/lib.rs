//! A single definition of percentiles and means, so that simulated and measured figures are comparable.
//!
//! The quantile q of n samples is the *nearest rank*: the smallest sample that at least q·n samples do not exceed. It is
//! always an observed value; the median of an even number of samples is the lower of the two in the middle. q is a whole
//! number of billionths, so that no rank depends on how a fraction is rounded.
//!
//! | input | computed by | precision |
//! |---|---|---|
//! | all samples, in order | [`quantile()`] | exact |
//! | samples as they come | [`Histogram`] | at most 0.1 % over the exact quantile; at most 1 % in [fixed memory](Histogram::fixed) |
//! | durations, of which some have not ended | [`Durations`] | exact, or a lower bound that says so |
//!
//! Repeated runs are a different case: few, and compared with each other. Their median is [`median_of_runs`].
//!
//! # Unfinished durations
//!
//! Leaving out what had not ended when a run did makes the worst runs look best. So it is counted with its duration when
//! last seen, which is a lower bound. A quantile is exact all the same if as many durations as its rank ended within it;
//! otherwise it is a lower bound, as the mean is whenever anything has not ended. An [`Estimate`] says which. Failures have
//! no duration, and are to be counted separately.
//!
//! ```
//! use dovetail_stats::{Durations, Quantile};
//!
//! let mut durations = Durations::new();
//! for seconds in [1.0, 2.0, 3.0] {
//!     durations.ended(seconds);
//! }
//! durations.not_ended(2.5);
//! let durations = durations.sorted();
//! let median = durations.quantile(Quantile::MEDIAN).expect("there are samples");
//! assert_eq!((median.value, median.is_lower_bound), (2.0, false));
//! let p99 = durations.quantile(Quantile::P99).expect("there are samples");
//! assert_eq!((p99.value, p99.is_lower_bound), (3.0, true), "what goes on may still last longer");
//! ```
#![forbid(unsafe_code)]

mod durations;
mod histogram;
mod quantile;

pub use durations::{Durations, Estimate, SortedDurations};
pub use histogram::Histogram;
pub use quantile::{Quantile, mean, median_of_runs, quantile};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
