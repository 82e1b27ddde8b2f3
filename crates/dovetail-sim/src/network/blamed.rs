//! Attribution of waiting time: by transfer, by request, or none.

use dovetail_sched::Nanos;

use super::packets::{Body, Datagram, Of};
use crate::blame::{RequestBlame, Segment, TransferBlame, Whose};

/// Attributes waiting time; notified of the watched link's packets.
pub(super) enum Blamed<'a> {
    Nothing,
    Transfers(&'a mut TransferBlame),
    Requests(&'a mut RequestBlame),
}

impl Blamed<'_> {
    /// A packet arrived at the link, and waits.
    pub(super) fn waits<P: Copy>(&mut self, datagram: &Datagram<P>, now: Nanos) {
        match self {
            Self::Nothing => {}
            Self::Transfers(blame) => {
                if let Some(transfer) = datagram.of.transfer() {
                    blame.waits(transfer, segment(&datagram.body), now);
                }
            }
            Self::Requests(blame) => blame.waits(whose(datagram), now),
        }
    }

    /// It was dropped; `waited` tells whether it had been queued.
    pub(super) fn dropped<P: Copy>(&mut self, datagram: &Datagram<P>, waited: bool, now: Nanos) {
        match self {
            Self::Nothing => {}
            Self::Transfers(blame) => {
                if let Some(transfer) = datagram.of.transfer() {
                    blame.dropped(transfer, segment(&datagram.body), waited, now);
                }
            }
            Self::Requests(blame) => blame.dropped(whose(datagram), waited, now),
        }
    }

    /// Its transmission starts.
    pub(super) fn takes<P: Copy>(&mut self, datagram: &Datagram<P>, now: Nanos) {
        match self {
            Self::Nothing => {}
            Self::Transfers(blame) => blame.takes(datagram.traffic, datagram.of.transfer(), now),
            Self::Requests(blame) => blame.takes(whose(datagram), now),
        }
    }

    /// Its transmission has ended.
    pub(super) fn frees<P: Copy>(&mut self, datagram: &Datagram<P>, now: Nanos) {
        match self {
            Self::Nothing => {}
            Self::Transfers(blame) => blame.frees(datagram.of.transfer(), now),
            Self::Requests(blame) => blame.frees(whose(datagram), now),
        }
    }

    /// The attribution by transfer, if any.
    pub(super) fn transfers(&mut self) -> Option<&mut TransferBlame> {
        if let Self::Transfers(blame) = self { Some(blame) } else { None }
    }

    /// The attribution by request, if any.
    pub(super) fn requests(&mut self) -> Option<&mut RequestBlame> {
        if let Self::Requests(blame) = self { Some(blame) } else { None }
    }
}

/// The part of a stream that a packet carries.
fn segment(body: &Body) -> Option<Segment> {
    match body {
        Body::Tcp(segment) => Some(Segment { from: segment.sequence, bytes: segment.payload_bytes }),
        // QUIC is not supported: `simulate_network` rejects it.
        Body::Quic(_) | Body::Udp => None,
    }
}

/// Owner of a packet, if users' requests go through a gateway.
fn whose<P: Copy>(datagram: &Datagram<P>) -> Whose {
    match (datagram.of, datagram.taker) {
        (Of::Access(_), Some(end)) => Whose::Connection(end.made, segment(&datagram.body)),
        (Of::Access(_), None) => Whose::Probe,
        (Of::Transfer(_) | Of::Stream(_), _) => Whose::Traffic(datagram.traffic),
    }
}
