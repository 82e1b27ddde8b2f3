//! How to run a network.

use std::{io::Write, sync::atomic::AtomicBool};

use dovetail_sched::Nanos;

use crate::blame::{RequestBlame, TransferBlame};

/// How to run a network.
#[derive(Default)]
pub struct NetworkOptions<'a> {
    /// Told now and then how far the run is.
    pub progress: Option<&'a mut dyn FnMut(NetworkProgress)>,
    /// Gets a capture (pcap, raw IP, nanoseconds) of what the watched link sends, stamped when a packet's first bit leaves.
    pub capture: Option<&'a mut dyn Write>,
    /// Finds out what transfers wait for, where no users are behind a gateway.
    pub blame: Option<&'a mut TransferBlame>,
    /// Finds out what users' requests wait for, where they are behind a gateway.
    pub requests: Option<&'a mut RequestBlame>,
    /// Checked often: once it is set, the run ends with [`NetworkError::Stopped`](super::NetworkError::Stopped).
    pub stop: Option<&'a AtomicBool>,
}

#[cfg(feature = "network")]
impl<'a> NetworkOptions<'a> {
    /// The same, lent for as long as one run lasts.
    pub(super) fn lend<'b>(self) -> NetworkOptions<'b>
    where
        'a: 'b,
    {
        NetworkOptions {
            progress: self.progress.map(|told| told as &mut dyn FnMut(NetworkProgress)),
            capture: self.capture.map(|file| file as &mut dyn Write),
            blame: self.blame,
            requests: self.requests,
            stop: self.stop,
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkProgress {
    /// Transfers that are done.
    pub done: u64,
    /// Transfers that there will be.
    pub transfers: u64,
    /// The virtual time.
    pub now: Nanos,
}
