//! Policies by name: `name` or `name:key=value,key=value`, the one notation for policies everywhere.

mod lists;
mod packets;
mod requests;

pub use self::lists::{REGISTRY, REQUESTS, all_names};
pub use self::{packets::PolicySpec, requests::RequestSpec};
pub use crate::entry::{Build, Entry, Knob, Knobs, Orders, PolicyError, RequestBuild, Setup, Spec, with_knobs};
