//! Runs of built-in scenarios, on all cores; runs shared by several figures are made once.

use std::sync::Arc;

use dovetail_sched::{Limits, Nanos, PolicySpec, Scheduler, Setup};
use dovetail_sim::{Options, PipelineMode, simulate, workload::Workload};

use super::watch::Watch;
use crate::{error::Error, experiment::Given, once::Once};
use dovetail_compare::input::builtin_scenario;

/// A run to make.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Job {
    pub(super) scenario: &'static str,
    pub(super) policy: String,
    pub(super) pipeline: PipelineMode,
    /// Limit of queued packets per flow.
    pub(super) queue_packets: Option<u32>,
}

impl Job {
    /// With the policy's pipeline and unlimited queues.
    pub(super) fn new(scenario: &'static str, policy: &str) -> Self {
        Self { scenario, policy: policy.to_owned(), pipeline: pipeline_for(policy), queue_packets: None }
    }

    pub(super) fn tradeoff(scenario: &'static str, alpha: f64) -> Self {
        Self::new(scenario, &tradeoff(alpha))
    }

    pub(super) fn queues(self, packets: u32) -> Self {
        Self { queue_packets: Some(packets), ..self }
    }

    pub(super) fn pipeline(self, pipeline: PipelineMode) -> Self {
        Self { pipeline, ..self }
    }

    fn run(&self, given: &Given<'_>) -> Result<Watch, Error> {
        let mut workload = builtin_scenario(self.scenario)?.workload().map_err(Error::broken)?;
        let watch = watch(&mut workload, &self.policy, self.pipeline, self.queue_packets, Nanos::MAX, given)?;
        given.bar.inc(watch.arrived);
        Ok(watch)
    }
}

/// Unlimited room in front of the link, as the theorems assume, for policies that wait for the link on their own. DRFQ
/// releases a packet whenever the CPU is free: room for only a few in front of the link makes it wait.
pub(super) fn pipeline_for(policy: &str) -> PipelineMode {
    if policy == "drfq" { ROOM } else { PipelineMode::Unbounded }
}

/// 64 packets of 800 bytes are 2 ms of the link.
const ROOM: PipelineMode = PipelineMode::Buffer(64);

/// The policy with this value of its knob.
pub(super) fn tradeoff(alpha: f64) -> String {
    format!("tradeoff:alpha={alpha}")
}

/// Runs a policy over a workload whose last packet arrives at `arrivals_end`.
pub(super) fn watch(
    workload: &mut dyn Workload,
    policy: &str,
    pipeline: PipelineMode,
    queue_packets: Option<u32>,
    arrivals_end: Nanos,
    given: &Given<'_>,
) -> Result<Watch, Error> {
    let limits = Limits { flow_packets: queue_packets, ..Limits::UNLIMITED };
    let setup = Setup::new(workload.resources().len(), limits);
    let mut scheduler: Box<dyn Scheduler> = policy.parse::<PolicySpec>()?.build(&setup)?;
    let mut watch = Watch::until(arrivals_end);
    let options = Options { stop: given.stop(), ..Options::default() };
    simulate(workload, scheduler.as_mut(), pipeline, &mut watch, options)
        .map_err(|error| Error::broken(format!("{policy}: {error}")))?;
    Ok(watch)
}

/// The runs of `jobs`, in their order.
pub(super) fn run_all(jobs: &[Job], given: &Given<'_>) -> Result<Vec<Arc<Watch>>, Error> {
    static RUNS: Once<Job, Watch> = Once::new();
    RUNS.make(jobs, |job| job.run(given))
}
