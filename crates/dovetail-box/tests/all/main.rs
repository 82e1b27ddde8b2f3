//! The node against the simulator, and the box between namespaces.
#![allow(clippy::unwrap_used)]

#[cfg(all(target_os = "linux", feature = "live"))]
mod live;
mod node;
