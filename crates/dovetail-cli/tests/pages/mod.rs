//! A browser and its page in a bed, beside a download.
#![allow(clippy::unwrap_used)]

pub mod bulk;
pub mod page;
pub mod running;
