//! BBR, version 1: a model of the path instead of a window that losses cut (draft-cardwell-iccrg-bbr-congestion-control-00,
//! "draft-00" here; "draft-02" is a later one that tells more).
//!
//! The model has two figures: the largest bandwidth of the last ten round trips, and the least round trip of the last ten
//! seconds. Their product is what the path holds without a queue. Segments leave at a *pacing gain* times the bandwidth, and
//! up to a *window gain* times the product are in flight. Both figures cannot be measured at once, since the one needs a
//! queue and the other none; so modes take turns that ask for more or for less (`modes`).
//!
//! A loss lowers no figure of the model. In the first round trip of a recovery as much goes out as was delivered, and the
//! window of before returns when it is over.
//!
//! Linux's `bbr` does more than draft-00 has, and so does this one: it allows for acknowledgements in bursts (`aggregation`)
//! and for policers (`policer`), and what is in flight counts as of when the next segment leaves.

mod aggregation;
mod bandwidth_filter;
mod in_flight;
mod model;
mod modes;
mod policer;
mod state;

pub(super) use self::state::Bbr;
pub(crate) use self::state::{Repair, Report};
