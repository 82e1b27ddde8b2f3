//! Click's userlevel driver in the place of the box: what arrives on one side leaves on the other, by packet capture.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use dovetail_box::live::lab::{BRIDGE, Lab, PORTS, Place};
use dovetail_netns::tool;

use crate::subject::{BOX_CORE, Failed};

/// One at work, until this is dropped.
pub struct Click {
    child: Child,
    namespace: String,
}

impl Click {
    pub fn start(lab: &Lab, program: &Path) -> Result<Self, Failed> {
        const WARM_UP: Duration = Duration::from_millis(500);
        let [inside, outside] = PORTS;
        let namespace = lab.namespace(Place::Box).name().to_owned();
        // The bridge is not to forward the same packets.
        tool("ip", &format!("-n {namespace} link set {inside} nomaster"))?;
        // Both ways, as the box.
        let way = |from, to| {
            format!("FromDevice({from}, METHOD PCAP, SNIFFER true, PROMISC true) -> Queue(1000) -> ToDevice({to}); ")
        };
        let configuration = way(inside, outside) + &way(outside, inside);
        let core = BOX_CORE.to_string();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &namespace, "taskset", "-c", &core]).arg(program).args(["-e", &configuration]);
        let mut started = Self { child: command.stdin(Stdio::null()).spawn()?, namespace };
        thread::sleep(WARM_UP);
        match started.child.try_wait()? {
            Some(status) => Err(format!("{} has ended, {status}", program.display()).into()),
            None => Ok(started),
        }
    }
}

impl Drop for Click {
    fn drop(&mut self) {
        // One that has ended already has said why.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = tool("ip", &format!("-n {} link set {} master {BRIDGE}", self.namespace, PORTS[0]));
        // The bridge forwards there a little later.
        thread::sleep(Duration::from_millis(200));
    }
}
