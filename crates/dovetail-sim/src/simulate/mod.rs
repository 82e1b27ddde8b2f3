//! The loops between workload, scheduler and pipeline.
//!
//! At one instant feedback comes first, then arrivals, then the question who is next, as the scheduler crate asks of an
//! environment. A scheduler that chooses none with packets waiting is asked again when it said, or after the next
//! feedback or arrival.
//!
//! | file | what |
//! |---|---|
//! | `plain` | one scheduler before a pipeline whose passages follow from a recursion |
//! | `staged` | a scheduler before every resource: events, one after the other |
//! | `entrance` | arrivals and drops, the same for both |
//! | `next` | the arrival that is next |
//! | `truths` | what a scheduler that estimates is not told |
//! | `outcome` | how to run, and how a run ended |
//! | `in_order` | observers see packets in the order of their release |

mod entrance;
mod in_order;
mod next;
mod notifier;
mod outcome;
mod plain;
mod staged;
mod truths;

use dovetail_sched::Scheduler;

pub use outcome::{Options, Outcome, Progress, SimulateError};

use self::in_order::InOrder;
use crate::{Observer, PipelineMode, workload::Workload};

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
