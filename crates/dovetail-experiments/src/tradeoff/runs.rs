//! Runs of built-in scenarios, each made once however many figures are drawn from it, on all cores.

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
    /// Packets of a flow that may wait.
    pub(super) queue_packets: Option<u32>,
}

impl Job {
    /// In the policy's pipeline, without limit.
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

/// Any number of packets may wait for the link, as the theorems have it, under policies that wait for the link of
/// themselves. DRFQ lets a packet go whenever the CPU is free: room for a few before the link makes it wait.
pub(super) fn pipeline_for(policy: &str) -> PipelineMode {
    if policy == "drfq" { ROOM } else { PipelineMode::Unbounded }
}

/// 64 packets of 800 bytes are 2 ms of the link.
const ROOM: PipelineMode = PipelineMode::Buffer(64);

/// The policy at a knob's setting.
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
