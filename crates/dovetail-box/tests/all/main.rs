//! The node against the simulator, and the box between namespaces.
#![allow(clippy::unwrap_used)]

mod config;
#[cfg(all(target_os = "linux", feature = "live"))]
mod live;
mod node;
mod packaged;
