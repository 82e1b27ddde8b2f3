//! How to run, and how a run ended.

use std::sync::atomic::AtomicBool;

use dovetail_sched::Nanos;

use crate::workload::WorkloadError;

/// How to run.
#[derive(Default)]
pub struct Options<'a> {
    /// Release nothing at or after this time; what waits then is left.
    pub stop_at: Option<Nanos>,
    /// Told now and then how far the run is.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
    /// Checked often: once it is set, the run ends with [`SimulateError::Stopped`].
    pub stop: Option<&'a AtomicBool>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Packets that arrived so far.
    pub arrived: u64,
    /// The virtual time.
    pub now: Nanos,
}

/// How a run ended.
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

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The workload could not be read on.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A packet arrives or ends beyond what the clock can tell.
    #[error(
        "packet {packet} arrives, or would leave, beyond the end of the clock, 584 years after its start: is a time or a \
         cost in the wrong unit, or the load too low?"
    )]
    ClockEnds {
        /// Which packet, counted from 0.
        packet: u64,
    },
    /// A flow that is always backlogged, and whose packets take no time.
    #[error(
        "flow '{flow}' is always backlogged, and its packets cost nothing on any resource: it would send for ever at {now}"
    )]
    Timeless {
        /// Its name.
        flow: String,
        /// When.
        now: Nanos,
    },
    /// The policy holds packets back and nothing is to come that could change its mind.
    #[error("the policy holds {packets} packets back for ever at {now}: that is a fault of the policy")]
    Stuck {
        /// How many wait.
        packets: u64,
        /// Since when.
        now: Nanos,
    },
    /// The run was asked to stop.
    #[error("stopped at {now}")]
    Stopped {
        /// At which virtual time.
        now: Nanos,
    },
}
