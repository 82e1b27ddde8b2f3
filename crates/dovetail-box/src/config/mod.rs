//! Configuration of a box.
//!
//! A file is parsed into a [`Config`] in one step, key by key (`file.rs`), including the checks across keys. Code that
//! receives a `Config` need not validate anything again.

mod class;
mod describe;
mod file;
mod firewall;
mod given;
mod interface;
mod model;
mod programs;
mod tunnel;

pub use class::{Class, Effect, Marks, Match};
pub use dovetail_toml::ConfigError;
#[cfg(all(feature = "live", target_os = "linux", not(feature = "af-xdp")))]
pub(crate) use file::NO_AF_XDP;
pub use interface::Interface;
pub use model::{Admin, Config, Cpu, Io, OnFailure, Programs, Queues, Segments, Side, Wait};
pub use tunnel::{Direction, Tunnel};
