//! Observers of the packets that a box schedules, and the files that they write, for later inspection and replay.

mod capture;
mod create;
mod records;
mod window;

use dovetail_sched::{FlowId, Nanos};

pub use capture::Capture;
pub use records::Records;

use crate::node::Passage;

/// Observes every packet, on the box's own thread: its running time delays packets.
pub trait Watch: Send {
    /// A packet was offered to the policy. Packets are numbered from 0.
    fn arrived(&mut self, packet: &Arrived<'_>);

    /// The packet leaves, with these bytes.
    fn left(&mut self, number: u64, passage: &Passage, frame: &[u8]);

    /// The packet will not leave: it was refused, evicted, or dropped by its functions.
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
    /// Number of the packet, from 0.
    pub number: u64,
    /// Its flow. The flow's id may be reused once this flow has been idle for the timeout.
    pub flow: FlowId,
    /// Its class.
    pub class: &'a str,
    /// Its length on arrival.
    pub bytes: u32,
    /// Arrival time.
    pub arrival: Nanos,
    /// Transmission time on the link at this length.
    pub link: Nanos,
}
