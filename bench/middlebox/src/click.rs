//! Click's userlevel driver as a substitute for the box: forwards between the two sides, by packet capture.

use std::{
    error::Error,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use dovetail_box::live::lab::{Lab, PORTS};

use crate::off_bridge::OffBridge;

/// A running Click, stopped on drop.
pub struct Click {
    child: Child,
    // Keeps the bridge from forwarding the same packets.
    _ports: OffBridge,
}

impl Click {
    /// Starts Click on a core of its own.
    pub fn start(lab: &Lab, program: &Path, core: usize) -> Result<Self, Box<dyn Error>> {
        const WARM_UP: Duration = Duration::from_millis(500);
        let [inside, outside] = PORTS;
        let ports = OffBridge::take(lab)?;
        // In both directions, like the box.
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
        // If it has ended already, it has printed the reason.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
