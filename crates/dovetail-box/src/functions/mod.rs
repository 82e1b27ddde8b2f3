//! Network functions, one file each.
//!
//! | function | what it does | time goes to |
//! |---|---|---|
//! | [`forwarding`] | next hop by longest prefix, hop limit, addresses of the link | headers |
//! | [`monitoring`] | counts and moments of each flow | headers |
//! | [`ipsec`] | ESP tunnel, AES-GCM | payload |
//! | [`redundancy`] | repeated content becomes references | payload |
//! | [`jpeg`] | raw pictures become JPEG | payload |

pub mod checksum;
mod chunks;
mod contract;
pub mod forwarding;
pub mod frame;
pub mod ipsec;
pub mod jpeg;
pub mod monitoring;
pub(crate) mod protocol;
pub mod redundancy;
mod registry;
mod routes;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod transport;

pub use contract::{NetworkFunction, Reason, Verdict};
pub use registry::{Entry, REGISTRY, find};

pub use dovetail_sched::cost::Processing;
