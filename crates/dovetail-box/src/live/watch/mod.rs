//! Who sees the packets that a box schedules: files to look at them later, and to run them again.

mod capture;
mod records;
mod window;

use dovetail_sched::{FlowId, Nanos};

pub use capture::Capture;
pub use records::Records;

use crate::node::Passage;

/// Sees every packet, on the box's own thread: whatever it does takes time from packets.
pub trait Watch: Send {
    /// A packet was offered to the policy. Numbers count from 0.
    fn arrived(&mut self, packet: &Arrived<'_>);

    /// It leaves, with these bytes.
    fn left(&mut self, number: u64, passage: &Passage, frame: &[u8]);

    /// It will not leave: refused, evicted, or ended by its work.
    fn dropped(&mut self, number: u64);
}

impl Watch for Vec<Box<dyn Watch>> {
    fn arrived(&mut self, packet: &Arrived<'_>) {
        self.iter_mut().for_each(|watch| watch.arrived(packet));
    }

    fn left(&mut self, number: u64, passage: &Passage, frame: &[u8]) {
        self.iter_mut().for_each(|watch| watch.left(number, passage, frame));
    }

    fn dropped(&mut self, number: u64) {
        self.iter_mut().for_each(|watch| watch.dropped(number));
    }
}

/// A packet that was offered to the policy.
#[derive(Debug, Clone, Copy)]
pub struct Arrived<'a> {
    /// Counts packets, from 0.
    pub number: u64,
    /// Its flow. The flow's id may be another's once this one has been silent for the timeout.
    pub flow: FlowId,
    /// Its class.
    pub class: &'a str,
    /// Bytes as it arrived.
    pub bytes: u32,
    /// When.
    pub arrival: Nanos,
    /// What it takes on the link at this length.
    pub link: Nanos,
}
