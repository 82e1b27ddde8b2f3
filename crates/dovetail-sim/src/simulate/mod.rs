//! The loops between workload, scheduler and pipeline.
//!
//! At the same instant feedback comes first, then arrivals, then the poll for the next packet, as the scheduler crate
//! requires. A scheduler that releases nothing while packets wait is polled again at the time it states, or after the next
//! feedback or arrival.
//!
//! | file | what |
//! |---|---|
//! | `plain` | one scheduler in front of a pipeline whose passages follow from a recursion |
//! | `staged` | a scheduler in front of every resource: an event loop |
//! | `entrance` | arrivals and drops, shared by both |
//! | `next` | the next arrival |
//! | `truths` | true costs, hidden from a scheduler that estimates them |
//! | `outcome` | options and results of a run |
//! | `in_order` | observers see packets in order of release |

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

/// Runs `workload` through `scheduler` and a pipeline in `mode` until everything is sent.
///
/// A scheduler that estimates costs gets none for the first resource, and for later ones those of a packet with the length on
/// arrival; the pipeline uses the true ones. A policy with separate schedulers for later resources
/// ([`Scheduler::later_stages`]) orders packets wherever `mode` lets them wait.
///
/// # Errors
/// [`SimulateError`]: the workload ends in an error, or the policy never releases its packets.
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
