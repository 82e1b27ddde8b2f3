//! The packet policies, one file each. Every file opens with the mathematics and its source, and ends with a tested worked
//! example.

pub mod atfq;
pub mod cbcs;
pub mod drfq;
pub mod drr;
pub mod drr_sff;
pub mod fifo;
pub mod gmr3;
pub mod las;
pub mod mr3;
pub mod nowait;
pub mod run2c;
pub mod scfq;
pub mod sfq;
pub mod tradeoff;
pub mod wf2q_plus;
pub mod wfq;
pub mod wfq_split;

mod ages;
mod in_service;
mod new_flows;
mod self_clocked;
mod tags;

pub use in_service::InService;
pub use self_clocked::{SelfClocked, TagClock};
