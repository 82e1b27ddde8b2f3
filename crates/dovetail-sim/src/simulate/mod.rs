//! The loops between workload, scheduler and pipeline.
//!
//! At one instant feedback comes first, then arrivals, then the question who is next, as the scheduler crate asks of an
//! environment. A scheduler that answers "nobody" with packets waiting is asked again when it said, or after the next
//! feedback or arrival.
//!
//! | file | what |
//! |---|---|
//! | `plain` | one scheduler before a pipeline whose passages follow from a recursion |
//! | `staged` | a scheduler before every resource: events, one after the other |
//! | `entrance` | arrivals and drops, the same for both |
//! | `truths` | what a scheduler that estimates is not told |
//! | `in_order` | observers see packets in the order of their release |

mod entrance;
mod in_order;
mod notifier;
mod plain;
mod staged;
mod truths;

use dovetail_sched::{Nanos, Scheduler};

use self::in_order::InOrder;
use crate::{
    Observer, PipelineMode,
    workload::{Workload, WorkloadError},
};

/// How to run.
#[derive(Default)]
pub struct Options<'a> {
    /// Release nothing at or after this time; what waits then is left.
    pub stop_at: Option<Nanos>,
    /// Told now and then how far the run is.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
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
    /// The policy holds packets back and nothing is to come that could change its mind.
    #[error("the policy holds {packets} packets back for ever at {now}: that is a fault of the policy")]
    Stuck {
        /// How many wait.
        packets: u64,
        /// Since when.
        now: Nanos,
    },
}

/// Runs `workload` through `scheduler` and a pipeline in `mode` until all is sent.
///
/// A scheduler that estimates costs is told none on the first resource, and on later ones what a packet of its length on
/// arrival takes; the pipeline takes the true ones. A policy with schedulers of its own before later resources
/// ([`Scheduler::later_stages`]) orders packets wherever `mode` lets them wait.
///
/// # Errors
/// [`SimulateError`]: the workload ends in an error, or the policy never lets its packets go.
pub fn simulate<O: Observer>(
    workload: &mut dyn Workload,
    scheduler: &mut dyn Scheduler,
    mode: PipelineMode,
    observer: &mut O,
    options: Options<'_>,
) -> Result<Outcome, SimulateError> {
    let places = match mode {
        PipelineMode::NoWait => None,
        PipelineMode::Unbounded => Some(u64::MAX),
        PipelineMode::Buffer(places) => Some(places.into()),
    };
    match places {
        Some(places) if scheduler.later_stages().is_some() => {
            let mut observer = InOrder::new(observer);
            staged::run(workload, scheduler, places, &mut observer, options)
        }
        _ => plain::run(workload, scheduler, mode, observer, options),
    }
}
