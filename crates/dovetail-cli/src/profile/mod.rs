//! `dovetail profile`: what network functions cost on this machine, as a line `a·bytes + b` for each.

mod measure;
mod traffic;

pub(crate) use measure::{Measured, Sample, measure};
