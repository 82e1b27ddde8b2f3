//! What is seen of the watched link.

use std::io;

use dovetail_sched::{FlowId, Nanos, Packet};

use super::{
    capture::Capture,
    packets::{Datagram, Of},
    queue::Sending,
};
use crate::{Observer, Outcome, Passage, Profile};

/// Packets of a transfer or of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) packets: u64,
    pub(super) dropped: u64,
}

/// Who watches, and what was counted.
pub(super) struct Watch<'a> {
    observer: &'a mut dyn Observer,
    capture: Option<Capture<'a>>,
    pub(super) link: Outcome,
    /// Packets that were dropped for want of room to tell their flow from others.
    pub(super) unknown: u64,
    // By number.
    transfers: Vec<Tally>,
    streams: Vec<Tally>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(observer: &'a mut dyn Observer, capture: Option<Capture<'a>>) -> Self {
        let (link, transfers, streams) = (Outcome::default(), Vec::new(), Vec::new());
        Self { observer, capture, link, unknown: 0, transfers, streams }
    }

    /// A packet came to the link; its number.
    pub(super) fn comes<P>(&mut self, of: Of<P>) -> u64 {
        let number = self.link.arrived;
        self.link.arrived += 1;
        if let Some(tally) = self.tally(of) {
            tally.packets += 1;
        }
        number
    }

    pub(super) fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        self.observer.appeared(flow, profile);
    }

    pub(super) fn arrived<P>(&mut self, packet: &Packet, datagram: &Datagram<P>) {
        self.observer.arrived(&Packet { handle: datagram.number, ..*packet });
    }

    /// A packet was dropped before it was known whose it is.
    pub(super) fn is_unknown<P>(&mut self, of: Of<P>) {
        self.unknown += 1;
        self.count_drop(of);
    }

    pub(super) fn dropped<P>(&mut self, packet: &Packet, number: u64, of: Of<P>, now: Nanos) {
        self.count_drop(of);
        self.observer.dropped(&Packet { handle: number, ..*packet }, now);
    }

    /// A packet's first bit leaves.
    pub(super) fn sent<P>(&mut self, sending: &Sending, datagram: &Datagram<P>) -> io::Result<()> {
        self.link.sent += 1;
        let mut passage = Passage::new(1, sending.begun);
        passage.takes(0, sending.begun, sending.ends);
        self.observer.sent(&Packet { handle: datagram.number, ..sending.packet }, &passage);
        match &mut self.capture {
            Some(capture) => capture.packet(&datagram.bytes, sending.begun),
            None => Ok(()),
        }
    }

    fn count_drop<P>(&mut self, of: Of<P>) {
        self.link.dropped += 1;
        if let Some(tally) = self.tally(of) {
            tally.dropped += 1;
        }
    }

    fn tally<P>(&mut self, of: Of<P>) -> Option<&mut Tally> {
        let (all, at) = match of {
            Of::Transfer(at) => (&mut self.transfers, at),
            Of::Stream(at) => (&mut self.streams, at),
            Of::Access(_) => return None,
        };
        if at >= all.len() {
            all.resize(at + 1, Tally::default());
        }
        all.get_mut(at)
    }

    /// Of a transfer, by its number.
    pub(super) fn of_transfer(&self, at: usize) -> Tally {
        self.transfers.get(at).copied().unwrap_or_default()
    }

    /// Of a stream, by its number.
    pub(super) fn of_stream(&self, at: usize) -> Tally {
        self.streams.get(at).copied().unwrap_or_default()
    }
}
