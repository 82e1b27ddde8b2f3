//! The packet policies, a file each. Every file opens with the mathematics and its source, and ends with a worked
//! example that is tested.

pub mod drr;
pub mod fifo;
pub mod scfq;
pub mod sfq;
pub mod wf2q_plus;
pub mod wfq;

mod gps_clock;
mod in_service;
mod self_clocked;
mod tags;
mod weight_sum;

pub use gps_clock::GpsClock;
pub use in_service::InService;
pub use self_clocked::{SelfClocked, TagClock};
