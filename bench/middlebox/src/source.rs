//! Where packets come from, and how many arrive.

use std::{
    fs, io,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Flood, HOST_INTERFACE, Lab, PORTS, Place, Raw, datagram};
use dovetail_netns::tool;

use crate::subject::{Failed, SOURCE_CORE, stay_on};

/// Packets of so many flows from the inside, from a thread of their own core.
pub struct Source {
    raw: Raw,
    frames: Vec<Vec<u8>>,
    next: usize,
}

impl Source {
    /// Keeps the calling thread on the source's core.
    pub fn new(lab: &Lab, flows: u16, bytes: usize) -> Result<Self, Failed> {
        stay_on(SOURCE_CORE)?;
        let frames = (0..flows).map(|flow| datagram::frame(Place::Inside, flow, 0, bytes)).collect();
        Ok(Self { raw: lab.raw(Place::Inside)?, frames, next: 0 })
    }

    /// Sends so many, at most what one call to the kernel takes; how many it took.
    pub fn send(&mut self, count: usize) -> io::Result<usize> {
        let flows = self.frames.len();
        let batch = (self.next..self.next + count.min(Raw::BATCH)).map(|at| &*self.frames[at % flows]);
        let sent = self.raw.send(batch)?;
        self.next = (self.next + sent) % flows;
        Ok(sent)
    }

    /// Sends at a rate for so long, some 16 at a time; how many.
    pub fn pace(&mut self, per_s: f64, time: Duration) -> io::Result<u64> {
        self.pace_in(16, per_s, time)
    }

    /// The same one at a time.
    pub fn pace_singly(&mut self, per_s: f64, time: Duration) -> io::Result<u64> {
        self.pace_in(1, per_s, time)
    }

    fn pace_in(&mut self, least: u64, per_s: f64, time: Duration) -> io::Result<u64> {
        /// What a burst is at most, also after the source was kept from running.
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

/// More packets than a socket can send, made by the kernel on the source's core.
pub struct Injector(Flood);

impl Injector {
    /// Keeps the calling thread on the source's core, and in the namespace inside.
    pub fn new(lab: &Lab, flows: u16, bytes: usize) -> Result<Self, Failed> {
        stay_on(SOURCE_CORE)?;
        // The box's end of the link is to take in what a driver sends.
        let name = lab.namespace(Place::Box).name();
        tool("ip", &format!("netns exec {name} ethtool -K {} gro on", PORTS[0]))?;
        lab.namespace(Place::Inside).enter()?;
        Ok(Self(Flood::new(Place::Inside, flows, bytes)?))
    }

    /// Sends as fast as it can for so long; how many, of which the link loses some.
    pub fn blast(&mut self, time: Duration) -> io::Result<u64> {
        /// So many that it does not matter what each call takes to begin.
        const AT_ONCE: u32 = 250_000;
        let (begun, mut sent) = (Instant::now(), 0);
        while begun.elapsed() < time {
            self.0.send(AT_ONCE)?;
            sent += u64::from(AT_ONCE);
        }
        Ok(sent)
    }
}

/// How many packets the host outside has received, and how many bytes.
pub fn arrived(lab: &Lab) -> Result<(u64, u64), Failed> {
    let text = lab.namespace(Place::Outside).within(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(HOST_INTERFACE)?.strip_prefix(':'));
    let mut numbers = line.ok_or("no eth0 outside")?.split_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next().ok_or("too few columns");
    let (bytes, packets) = (next()??, next()??);
    Ok((packets, bytes))
}
