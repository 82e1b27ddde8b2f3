//! Runs schedulers side by side over the same traffic, and shows the results.
//!
//! This is the library of the `dovetail` command, also for programs with the same needs: [`compare()`] runs policies over a
//! scenario, a capture, a table or a network; [`explain()`] shows what packets or requests wait for; [`tune()`] recommends
//! the value of a knob; [`admit()`] tells which reservations a node can keep; and `profile()` measures the cost of network
//! functions on this machine. Their parameters are in [`options`]. They write a text or one JSON document to a given writer,
//! and pages and records if requested. Nothing here prints; the progress of runs is reported to a [`Progress`].
//!
//! Their building blocks are public too: an [`input`] and the policies' runs over it ([`run`]), a policy in front of a
//! [`network`]'s link, [`table`]s and a [`report`].

mod admit;
mod ahead;
mod builtin;
mod compare;
mod contender;
mod digest;
mod error;
mod explain;
mod html;
mod interval;
mod kind;
mod meters;
#[cfg(feature = "profile")]
pub mod profile;
mod progress;
mod recording;
mod sampling;
mod seeds;
mod summary;
mod tune;

pub mod files;
pub mod input;
pub mod network;
pub mod options;
pub mod output;
mod overrides;
pub mod provenance;
pub mod report;
pub mod run;
pub mod setting;
pub mod side_by_side;
pub mod supply;
pub mod table;

pub use admit::admit;
pub use ahead::drawn_ahead;
pub use builtin::scenarios;
pub use compare::{Simulated, compare, compare_in_full, simulate};
pub use error::{Error, Misuse};
pub use explain::{Selection, explain};
pub use overrides::overridden;
#[cfg(feature = "profile")]
pub use profile::profile;
pub use progress::{Meter, Progress, Silent, Task};
pub use seeds::{MAX_SEEDS, SeedsError, check_seeds};
pub use summary::{Column, Summary};
pub use tune::tune;
