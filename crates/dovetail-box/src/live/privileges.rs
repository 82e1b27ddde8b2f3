//! Capabilities, none of which is needed once a box runs.

use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Drops all capabilities of this thread, and of the threads that it starts afterwards. No program that they run has any
/// either, whichever user owns it.
pub(super) fn drop_capabilities() {
    if let Err(wrong) = set_no_new_privs(true) {
        tracing::warn!("set-user-ID programs cannot be ruled out: {wrong}");
    }
    for capability in CapabilitySet::all() {
        // It takes CAP_SETPCAP, which a service has no other use for. Without it, the line above suffices.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    if let Err(wrong) = set_capabilities(None, none) {
        tracing::warn!("capabilities cannot be given up: {wrong}");
    }
}
