//! Virtual time.

pub mod workload;
