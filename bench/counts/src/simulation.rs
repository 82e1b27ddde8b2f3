//! The whole simulator: workload, scheduler, pipeline and meters, without records.

use std::io;

use dovetail_sched::{Limits, PolicySpec, Scheduler, Setup};
use dovetail_sim::{
    Observer, Options, PipelineMode,
    measure::{DEFAULT_WINDOW, Meters, Summary},
    simulate,
    workload::{Scenario, Workload},
};

use crate::traffic::{Poisson, Resources};

/// The source of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The benchmark's own generator, which is as cheap as possible.
    Poisson(Resources),
    /// The source of `dovetail compare`: a scenario with two classes.
    Scenario,
}

/// Description of a run.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The policy.
    pub policy: PolicySpec,
    /// The source of packets.
    pub source: Source,
    /// The buffers between the resources.
    pub mode: PipelineMode,
    /// Flows.
    pub flows: u32,
    /// Queue limits.
    pub limits: Limits,
}

/// A run with everything that it needs.
pub struct Prepared {
    workload: Box<dyn Workload>,
    scheduler: Box<dyn Scheduler>,
    mode: PipelineMode,
    meters: Meters,
}

impl Simulation {
    /// Prepares a run of this many packets.
    ///
    /// # Errors
    /// Why it cannot be run.
    pub fn prepare(&self, packets: u64, seed: u64) -> Result<Prepared, String> {
        let workload: Box<dyn Workload> = match self.source {
            Source::Poisson(resources) => Box::new(Poisson::new(resources, self.flows, packets, seed)),
            Source::Scenario => Box::new(scenario(self.flows, packets, seed)?),
        };
        let resources = workload.resources().len();
        let setup = Setup { programs: workload.programs(), ..Setup::new(resources, self.limits) };
        let scheduler = self.policy.build(&setup).map_err(|error| error.to_string())?;
        let meters = Meters::new(resources, DEFAULT_WINDOW).of_open_loop(workload.is_open_loop());
        Ok(Prepared { workload, scheduler, mode: self.mode, meters })
    }
}

impl Prepared {
    /// Runs it as the command does without a report: without series over time.
    ///
    /// # Errors
    /// Why the run failed.
    pub fn run(self) -> Result<Summary, String> {
        Self { meters: self.meters.without_series(), ..self }.watched(&mut ())
    }

    /// Runs it without meters.
    ///
    /// # Errors
    /// Why the run failed.
    pub fn without_meters(mut self) -> Result<(), String> {
        let (workload, scheduler) = (self.workload.as_mut(), self.scheduler.as_mut());
        let done = simulate(workload, scheduler, self.mode, &mut (), Options::default());
        done.map(drop).map_err(|error| error.to_string())
    }

    /// The same, with the workload wrapped by `wrap`.
    #[must_use]
    pub fn with_workload(self, wrap: impl FnOnce(Box<dyn Workload>) -> Box<dyn Workload>) -> Self {
        Self { workload: wrap(self.workload), ..self }
    }

    /// Runs it with another observer, with series over time.
    ///
    /// # Errors
    /// Why the run failed.
    pub fn watched<O: Observer>(mut self, observer: &mut O) -> Result<Summary, String> {
        let mut both = (&mut self.meters, observer);
        simulate(self.workload.as_mut(), self.scheduler.as_mut(), self.mode, &mut both, Options::default())
            .map_err(|error| error.to_string())?;
        Ok(self.meters.finish())
    }
}

/// Poisson flows of two classes, as a user would write them.
///
/// # Errors
/// What is wrong with the scenario; nothing is.
pub fn scenario(flows: u32, packets: u64, seed: u64) -> Result<impl Workload, String> {
    let flow = |name: &str, count: u32| {
        format!(
            r#"
            [[class]]
            name = "{name}"
            cost = {{ cpu = "{}ns*bytes + 400ns" }}
            [[flow]]
            name = "{name}"
            count = {count}
            class = "{name}"
            size = {{ uniform = {{ min = 64, max = 1500 }} }}
            arrivals = {{ poisson = "1000/s" }}
            "#,
            if name == "plain" { "0.2" } else { "0.8" }
        )
    };
    let text = format!(
        r#"
        name = "counted"
        seed = {seed}
        packets = {packets}
        load = 0.95
        [[resource]]
        name = "cpu"
        [[resource]]
        name = "link"
        rate = "10Gbps"
        {}{}"#,
        flow("plain", flows.div_ceil(2)),
        flow("dear", flows / 2)
    );
    let scenario = Scenario::parse(&text, "counted.toml", &mut |_| Err(io::ErrorKind::NotFound.into()));
    scenario.and_then(|scenario| scenario.workload()).map_err(|error| error.to_string())
}
