//! A browser and its page in a testbed, beside a download.
#![allow(clippy::unwrap_used, dead_code)]

pub mod bulk;
pub mod page;
pub mod running;
