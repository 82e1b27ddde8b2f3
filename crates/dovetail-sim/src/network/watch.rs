//! Observation of the watched link.

use std::{collections::BTreeMap, io, mem};

use dovetail_sched::{FlowId, Nanos, Packet};

use super::{
    blamed::Blamed,
    capture::Capture,
    packets::{Datagram, Of},
    queue::Sending,
};
use crate::{
    Observer, Outcome, Passage, Profile,
    measure::{Percentiles, latency::Latency},
};

/// Counts of packets of a transfer or of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) packets: u64,
    pub(super) dropped: u64,
}

/// Only the first streams are timed, up to this many: a histogram takes a quarter of a megabyte.
const STREAMS_TIMED: usize = 64;

/// Counts of packets of a stream, and the time at the link of those sent.
#[derive(Debug, Default)]
struct Streamed {
    tally: Tally,
    took: Option<Latency>,
}

/// The observers, and what was counted.
pub(super) struct Watch<'a> {
    observer: &'a mut dyn Observer,
    capture: Option<Capture<'a>>,
    pub(super) link: Outcome,
    /// Packets dropped for lack of room to track their flow.
    pub(super) unknown: u64,
    /// Packets marked and accepted by the link.
    pub(super) marked: u64,
    /// Waiting packets, by number.
    waiting: BTreeMap<u64, Packet>,
    // By number.
    transfers: Vec<Tally>,
    streams: Vec<Streamed>,
    /// Attribution of waiting time.
    pub(super) blamed: Blamed<'a>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(observer: &'a mut dyn Observer, capture: Option<Capture<'a>>, blamed: Blamed<'a>) -> Self {
        let (link, transfers, streams) = (Outcome::default(), Vec::new(), Vec::new());
        Self { observer, capture, link, unknown: 0, marked: 0, waiting: BTreeMap::new(), transfers, streams, blamed }
    }

    /// A packet arrived at the link; returns its number.
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

    /// A packet was dropped before its flow was known.
    pub(super) fn is_unknown<P: Copy>(&mut self, datagram: &Datagram<P>, now: Nanos) {
        self.unknown += 1;
        self.count_drop(datagram, false, now);
    }

    pub(super) fn dropped<P: Copy>(&mut self, packet: &Packet, datagram: &Datagram<P>, now: Nanos) {
        self.count_drop(datagram, true, now);
        self.waiting.remove(&datagram.number);
        self.observer.dropped(&Packet { handle: datagram.number, ..*packet }, now);
    }

    /// A packet's first bit is sent.
    pub(super) fn sent<P: Copy>(&mut self, sending: &Sending, datagram: &Datagram<P>) -> io::Result<()> {
        self.link.sent += 1;
        self.waiting.remove(&datagram.number);
        self.blamed.takes(datagram, sending.begun);
        self.time(datagram.of, sending.ends - sending.packet.arrival);
        let mut passage = Passage::new(1, sending.begun);
        passage.takes(0, sending.begun, sending.ends);
        self.observer.sent(&Packet { handle: datagram.number, ..sending.packet }, &passage);
        match &mut self.capture {
            Some(capture) => capture.packet(datagram, sending.begun),
            None => Ok(()),
        }
    }

    /// A packet's last bit has been sent.
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

    /// The network stops: reports the packets that still wait.
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
        match of {
            Of::Transfer(at) => {
                if at >= self.transfers.len() {
                    self.transfers.resize(at + 1, Tally::default());
                }
                self.transfers.get_mut(at)
            }
            Of::Stream(at) => {
                if at >= self.streams.len() {
                    self.streams.resize_with(at + 1, Streamed::default);
                }
                self.streams.get_mut(at).map(|stream| &mut stream.tally)
            }
            Of::Access(_) => None,
        }
    }

    /// Records a packet's time at the link, from its arrival to the end of its transmission.
    fn time<P: Copy>(&mut self, of: Of<P>, took: Nanos) {
        let Of::Stream(at) = of else { return };
        if let Some(stream) = self.streams.get_mut(at).filter(|_| at < STREAMS_TIMED) {
            stream.took.get_or_insert_with(Latency::new).record(took);
        }
    }

    /// Counts of a transfer, by its number.
    pub(super) fn of_transfer(&self, at: usize) -> Tally {
        self.transfers.get(at).copied().unwrap_or_default()
    }

    /// Counts and times of a stream, by its number.
    pub(super) fn of_stream(&self, at: usize) -> (Tally, Option<Percentiles>) {
        let stream = self.streams.get(at);
        let took = stream.and_then(|stream| stream.took.as_ref()).and_then(Latency::percentiles);
        (stream.map(|stream| stream.tally).unwrap_or_default(), took)
    }
}
