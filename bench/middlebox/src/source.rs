//! The packet source, and counters of what arrives.

use std::{
    env, fs, io,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Flood, HOST_INTERFACE, Lab, PORTS, Place, Raw, datagram};
use dovetail_netns::tool;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::{
    cores::{SOURCE_CORE, stay_on},
    subject::Failed,
};

/// Sends packets of several flows from the inside, from a thread on its own core.
pub struct Source {
    raw: Raw,
    frames: Vec<Vec<u8>>,
    next: usize,
}

impl Source {
    /// Pins the calling thread to the source's core.
    pub fn new(lab: &Lab, flows: u16, bytes: usize) -> Result<Self, Failed> {
        stay_on(SOURCE_CORE)?;
        let frames = (0..flows).map(|flow| datagram::frame(Place::Inside, flow, 0, bytes)).collect();
        Ok(Self { raw: lab.raw(Place::Inside)?, frames, next: 0 })
    }

    /// Sends this many packets, at most one system call's worth; returns how many the kernel took.
    pub fn send(&mut self, count: usize) -> io::Result<usize> {
        let flows = self.frames.len();
        let batch = (self.next..self.next + count.min(Raw::BATCH)).map(|at| &*self.frames[at % flows]);
        let sent = self.raw.send(batch)?;
        self.next = (self.next + sent) % flows;
        Ok(sent)
    }

    /// Sends at a rate for some time, about 16 packets at once; returns how many.
    pub fn pace(&mut self, per_s: f64, time: Duration) -> io::Result<u64> {
        self.pace_in(16, per_s, time)
    }

    /// The same with single packets.
    pub fn pace_singly(&mut self, per_s: f64, time: Duration) -> io::Result<u64> {
        self.pace_in(1, per_s, time)
    }

    fn pace_in(&mut self, least: u64, per_s: f64, time: Duration) -> io::Result<u64> {
        /// Maximum burst, also after the source was kept from running.
        const BURST: u64 = 32;
        let (begun, mut sent, mut offset) = (Instant::now(), 0, 0);
        while begun.elapsed() < time {
            let due = (begun.elapsed().as_secs_f64() * per_s) as u64;
            if due > sent + offset + BURST {
                offset = due - sent - BURST;
            }
            let burst = due.saturating_sub(sent + offset);
            if burst >= least {
                sent += self.send(burst as usize)? as u64;
            }
        }
        Ok(sent)
    }
}

/// Generates more packets than a socket can send, in the kernel on the source's core in one unlimited call, until dropped.
/// With calls that end there are pauses in between, in which the kernel cleans up and a box waits.
pub struct Injector(Child);

impl Injector {
    /// Starts it and lets it send for a while.
    pub fn start(lab: &Lab, flows: u16, bytes: usize) -> Result<Self, Failed> {
        const WARM_UP: Duration = Duration::from_millis(500);
        // The box's end of the link must accept what a driver sends.
        let name = lab.namespace(Place::Box).name();
        tool("ip", &format!("netns exec {name} ethtool -K {} gro on", PORTS[0]))?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", lab.namespace(Place::Inside).name()]).arg(env::current_exe()?);
        let started = Self(command.arg("--flood-of").args([flows.to_string(), bytes.to_string()]).spawn()?);
        thread::sleep(WARM_UP);
        Ok(started)
    }

    /// Number of packets generated so far, of which the link loses some.
    pub fn sent(lab: &Lab) -> Result<u64, Failed> {
        let [.., sent, _, lost] = counted(lab, Place::Inside)?;
        Ok(sent + lost)
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        // If it has ended already, it has printed the reason.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process that an [`Injector`] starts: floods from the host of the process's namespace until killed.
pub fn flood(flows: u16, bytes: usize) -> Result<(), Failed> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    stay_on(SOURCE_CORE)?;
    let flood = Flood::new(Place::Inside, flows, bytes)?;
    loop {
        flood.send(u32::MAX)?;
    }
}

/// Packets and bytes that the outside host has received.
pub fn arrived(lab: &Lab) -> Result<(u64, u64), Failed> {
    let [bytes, packets, ..] = counted(lab, Place::Outside)?;
    Ok((packets, bytes))
}

/// The counters of a host's interface, as in `/proc/net/dev`: bytes and packets received, six others, bytes and packets
/// sent, errors, and packets dropped on their way out.
fn counted(lab: &Lab, place: Place) -> Result<[u64; 12], Failed> {
    let text = lab.namespace(place).within(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(HOST_INTERFACE)?.strip_prefix(':'));
    let numbers = line.ok_or("no eth0")?.split_whitespace().map(str::parse::<u64>);
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
    Ok(*numbers.first_chunk().ok_or("too few columns")?)
}
