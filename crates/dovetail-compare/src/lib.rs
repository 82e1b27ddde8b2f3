//! Runs schedulers side by side over the same traffic, and shows the results.
//!
//! Behind the `dovetail` command, and for programs that want the same: [`compare()`] runs policies over a scenario, a
//! capture, a table or a network, [`explain()`] says who made whose packets or requests wait, [`tune()`] says which value of
//! a knob to run, [`admit()`] which reservations a node can keep, and `profile()` what network functions cost on this machine. What they are asked is in [`options`]; they write a
//! text or one JSON document to the writer that they are given, and pages and records where they are asked to. Nothing here
//! prints, and how far runs are goes to a [`Progress`].
//!
//! What they are made of is public too: an [`input`] and the policies' runs over it ([`run`]), a policy before a
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
mod meters;
#[cfg(feature = "profile")]
pub mod profile;
mod progress;
mod recording;
mod sampling;
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
pub use summary::{Column, Summary};
pub use tune::tune;
