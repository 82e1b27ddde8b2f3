//! Takes the lab's inside port off the bridge, for substitutes of the box without a switch of their own.

use std::{thread, time::Duration};

use dovetail_box::live::lab::{BRIDGE, Lab, PORTS, Place};
use dovetail_netns::{NetnsError, tool};

/// Keeps the bridge from forwarding at the port until dropped.
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
        // The bridge resumes forwarding there a little later.
        thread::sleep(Duration::from_millis(200));
    }
}

fn change(namespace: &str, change: &str) -> Result<(), NetnsError> {
    tool("ip", &format!("-n {namespace} link set {} {change}", PORTS[0])).map(drop)
}
