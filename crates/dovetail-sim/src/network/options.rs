//! Options of a run.

use std::{io::Write, sync::atomic::AtomicBool};

use dovetail_sched::Nanos;

use crate::blame::{RequestBlame, TransferBlame};

/// Options of a run.
#[derive(Default)]
pub struct NetworkOptions<'a> {
    /// Called now and then with the progress of the run.
    pub progress: Option<&'a mut dyn FnMut(NetworkProgress)>,
    /// Receives a capture (pcap, raw IP, nanoseconds) of what the watched link sends, stamped when a packet's first bit
    /// leaves.
    pub capture: Option<&'a mut dyn Write>,
    /// Records what transfers wait for, in networks without users behind a gateway.
    pub blame: Option<&'a mut TransferBlame>,
    /// Records what users' requests wait for, in networks with users behind a gateway.
    pub requests: Option<&'a mut RequestBlame>,
    /// Checked often: once it is set, the run ends with [`NetworkError::Stopped`](super::NetworkError::Stopped).
    pub stop: Option<&'a AtomicBool>,
}

#[cfg(feature = "network")]
impl<'a> NetworkOptions<'a> {
    /// Borrows the same options for the duration of one run.
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

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkProgress {
    /// Transfers completed.
    pub done: u64,
    /// Transfers in total.
    pub transfers: u64,
    /// The virtual time.
    pub now: Nanos,
}
