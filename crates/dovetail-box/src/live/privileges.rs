//! Capabilities, which nothing needs any more once a box runs.

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

/// Gives this thread's capabilities up, and with it those of threads that it begins.
pub(super) fn drop_capabilities() {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    if let Err(wrong) = set_capabilities(None, none) {
        tracing::warn!("capabilities cannot be given up: {wrong}");
    }
}
