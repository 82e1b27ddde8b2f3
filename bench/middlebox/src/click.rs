//! Click's userlevel driver in the place of the box: what arrives on one side leaves on the other, by packet capture.

use std::{
    error::Error,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use dovetail_box::live::lab::{Lab, PORTS};

use crate::off_bridge::OffBridge;

/// One at work, until this is dropped.
pub struct Click {
    child: Child,
    // The bridge is not to forward the same packets.
    _ports: OffBridge,
}

impl Click {
    /// On a core of its own.
    pub fn start(lab: &Lab, program: &Path, core: usize) -> Result<Self, Box<dyn Error>> {
        const WARM_UP: Duration = Duration::from_millis(500);
        let [inside, outside] = PORTS;
        let ports = OffBridge::take(lab)?;
        // Both ways, as the box.
        let way = |from, to| {
            format!("FromDevice({from}, METHOD PCAP, SNIFFER true, PROMISC true) -> Queue(1000) -> ToDevice({to}); ")
        };
        let configuration = way(inside, outside) + &way(outside, inside);
        let core = core.to_string();
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", ports.namespace(), "taskset", "-c", &core])
            .arg(program)
            .args(["-e", &configuration]);
        let mut started = Self { child: command.stdin(Stdio::null()).spawn()?, _ports: ports };
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
    }
}
