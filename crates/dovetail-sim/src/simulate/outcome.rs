//! Options and results of a run.

use std::sync::atomic::AtomicBool;

use dovetail_sched::Nanos;

use crate::workload::WorkloadError;

/// Options of a run.
#[derive(Default)]
pub struct Options<'a> {
    /// Releases nothing at or after this time; packets that wait then are left.
    pub stop_at: Option<Nanos>,
    /// Called now and then with the progress of the run.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
    /// Checked often: once it is set, the run ends with [`SimulateError::Stopped`].
    pub stop: Option<&'a AtomicBool>,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Packets that arrived so far.
    pub arrived: u64,
    /// The virtual time.
    pub now: Nanos,
}

/// Results of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that crossed the pipeline.
    pub sent: u64,
    /// Packets that were refused or evicted.
    pub dropped: u64,
    /// Packets that still waited when the run was stopped.
    pub left: u64,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// Reading the workload failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A packet arrives or ends beyond the range of the clock.
    #[error(
        "packet {packet} arrives, or would leave, beyond the end of the clock, 584 years after its start: is a time or a \
         cost in the wrong unit, or the load too low?"
    )]
    ClockEnds {
        /// The packet's number, counted from 0.
        packet: u64,
    },
    /// A flow is permanently backlogged, and its packets take no time.
    #[error(
        "flow '{flow}' is always backlogged, and its packets cost nothing on any resource: it would send for ever at {now}"
    )]
    Timeless {
        /// Its label.
        flow: String,
        /// The virtual time.
        now: Nanos,
    },
    /// The policy holds packets back, and no event is left that could change that.
    #[error("the policy holds {packets} packets back for ever at {now}: that is a fault of the policy")]
    Stuck {
        /// Number of waiting packets.
        packets: u64,
        /// Since when.
        now: Nanos,
    },
    /// The run was stopped on request.
    #[error("stopped at {now}")]
    Stopped {
        /// The virtual time at that point.
        now: Nanos,
    },
}
