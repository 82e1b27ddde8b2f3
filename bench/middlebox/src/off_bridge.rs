//! The lab's port inside off the bridge, for what carries packets in its place and has no switch of its own.

use std::{thread, time::Duration};

use dovetail_box::live::lab::{BRIDGE, Lab, PORTS, Place};
use dovetail_netns::{NetnsError, tool};

/// The bridge forwards nothing there until this is dropped.
pub struct OffBridge {
    namespace: String,
}

impl OffBridge {
    pub fn take(lab: &Lab) -> Result<Self, NetnsError> {
        let namespace = lab.namespace(Place::Box).name().to_owned();
        change(&namespace, "nomaster")?;
        Ok(Self { namespace })
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }
}

impl Drop for OffBridge {
    fn drop(&mut self) {
        let _ = change(&self.namespace, &format!("master {BRIDGE}"));
        // The bridge forwards there a little later.
        thread::sleep(Duration::from_millis(200));
    }
}

fn change(namespace: &str, change: &str) -> Result<(), NetnsError> {
    tool("ip", &format!("-n {namespace} link set {} {change}", PORTS[0])).map(drop)
}
