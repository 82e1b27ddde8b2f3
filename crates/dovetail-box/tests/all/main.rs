//! The node against the simulator, and the box between namespaces.
#![allow(clippy::unwrap_used)]

mod node;
