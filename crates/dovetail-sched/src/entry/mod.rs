//! The parts of a policy's registry entry, and the strings that name policies. Policies depend on this module, and the
//! [registry](crate::registry) on policies.

mod error;
mod knobs;
mod line;
mod setup;
mod spec;

pub use error::{Orders, PolicyError};
pub use knobs::{Knob, Knobs};
pub(crate) use line::NO_CAUTION;
pub use line::{Build, Entry, RequestBuild};
pub use setup::Setup;
pub use spec::{Spec, with_knobs};
