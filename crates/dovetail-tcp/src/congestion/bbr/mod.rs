//! BBR, version 1: congestion control by a model of the path instead of by losses
//! (draft-cardwell-iccrg-bbr-congestion-control-00, "draft-00" here; "draft-02" is a later, more detailed one).
//!
//! The model has two values: the largest bandwidth of the last ten round trips, and the smallest round-trip time of the last
//! ten seconds. Their product is what the path holds without a queue. Segments are sent at a *pacing gain* times the
//! bandwidth, with up to a *window gain* times the product in flight. The two cannot be measured at once, since the first
//! requires a queue and the second an empty one; so BBR alternates between modes that send more and modes that send less
//! (`modes`).
//!
//! A loss does not change the model. In the first round trip of recovery only as much is sent as is delivered, and the
//! previous window is restored when recovery ends.
//!
//! Linux's `bbr` does more than draft-00, and so does this implementation: it compensates for aggregated acknowledgements
//! (`aggregation`) and detects policers (`policer`), and it estimates what is in flight at the time the next segment is sent.

mod aggregation;
mod bandwidth_filter;
mod in_flight;
mod model;
mod modes;
mod policer;
mod state;

pub(super) use self::state::Bbr;
pub(crate) use self::state::{Repair, Report};
