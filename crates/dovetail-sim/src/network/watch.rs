//! What is seen of the watched link.

use std::{collections::BTreeMap, io, mem};

use dovetail_sched::{FlowId, Nanos, Packet};

use super::{
    blamed::Blamed,
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
    /// Packets that wait, by number.
    waiting: BTreeMap<u64, Packet>,
    // By number.
    transfers: Vec<Tally>,
    streams: Vec<Tally>,
    /// What is found out of waiting.
    pub(super) blamed: Blamed<'a>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(observer: &'a mut dyn Observer, capture: Option<Capture<'a>>, blamed: Blamed<'a>) -> Self {
        let (link, transfers, streams) = (Outcome::default(), Vec::new(), Vec::new());
        Self { observer, capture, link, unknown: 0, waiting: BTreeMap::new(), transfers, streams, blamed }
    }

    /// A packet came to the link; its number.
    pub(super) fn comes<P: Copy>(&mut self, of: Of<P>) -> u64 {
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

    pub(super) fn arrived<P: Copy>(&mut self, packet: &Packet, datagram: &Datagram<P>) {
        self.blamed.waits(datagram, packet.arrival);
        let packet = Packet { handle: datagram.number, ..*packet };
        self.waiting.insert(packet.handle, packet);
        self.observer.arrived(&packet);
    }

    /// A packet was dropped before it was known whose it is.
    pub(super) fn is_unknown<P: Copy>(&mut self, datagram: &Datagram<P>, now: Nanos) {
        self.unknown += 1;
        self.count_drop(datagram, false, now);
    }

    pub(super) fn dropped<P: Copy>(&mut self, packet: &Packet, datagram: &Datagram<P>, now: Nanos) {
        self.count_drop(datagram, true, now);
        self.waiting.remove(&datagram.number);
        self.observer.dropped(&Packet { handle: datagram.number, ..*packet }, now);
    }

    /// A packet's first bit leaves.
    pub(super) fn sent<P: Copy>(&mut self, sending: &Sending, datagram: &Datagram<P>) -> io::Result<()> {
        self.link.sent += 1;
        self.waiting.remove(&datagram.number);
        self.blamed.takes(datagram, sending.begun);
        let mut passage = Passage::new(1, sending.begun);
        passage.takes(0, sending.begun, sending.ends);
        self.observer.sent(&Packet { handle: datagram.number, ..sending.packet }, &passage);
        match &mut self.capture {
            Some(capture) => capture.packet(&datagram.bytes, sending.begun),
            None => Ok(()),
        }
    }

    /// A packet's last bit has left.
    pub(super) fn left<P: Copy>(&mut self, datagram: &Datagram<P>, now: Nanos) {
        self.blamed.frees(datagram, now);
    }

    /// A transfer begins.
    pub(super) fn begins(&mut self, transfer: usize, traffic: usize, now: Nanos) {
        if let Some(blame) = self.blamed.transfers() {
            blame.begins(transfer, traffic, now);
        }
    }

    /// A transfer's receiver has all of it.
    pub(super) fn ends(&mut self, transfer: usize, now: Nanos) {
        if let Some(blame) = self.blamed.transfers() {
            blame.ends(transfer, now);
        }
    }

    /// The network stops: tells of what still waits.
    pub(super) fn stop(&mut self) {
        let waiting = mem::take(&mut self.waiting);
        self.link.left = waiting.len() as u64;
        waiting.values().for_each(|packet| self.observer.left(packet));
    }

    fn count_drop<P: Copy>(&mut self, datagram: &Datagram<P>, waited: bool, now: Nanos) {
        self.link.dropped += 1;
        self.blamed.dropped(datagram, waited, now);
        if let Some(tally) = self.tally(datagram.of) {
            tally.dropped += 1;
        }
    }

    fn tally<P: Copy>(&mut self, of: Of<P>) -> Option<&mut Tally> {
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
