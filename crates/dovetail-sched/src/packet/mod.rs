//! The packet policies, a file each. Every file opens with the mathematics and its source, and ends with a worked
//! example that is tested.

pub mod atfq;
pub mod drfq;
pub mod drr;
pub mod fifo;
pub mod gmr3;
pub mod mr3;
pub mod nowait;

mod in_service;

pub use in_service::InService;
