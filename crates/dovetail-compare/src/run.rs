//! Runs policies over an input, in parallel on the available cores.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use dovetail_sched::{DropPolicy, Limits, Nanos, PolicySpec, Scheduler, Setup, cost::ProgramTable};
use dovetail_sim::{
    Observer, Options, Outcome, PipelineMode, Progress as Passed,
    measure::{Meters, Summary},
    records::Format,
    simulate,
    workload::{Notice, Workload},
};

use crate::{
    ahead::drawn_ahead,
    error::{Error, Misuse},
    input::Input,
    meters::Bars,
    options::{InputOptions, OutputOptions},
    progress::{Meter, Progress, Task},
    provenance::{InputFile, Origin, Provenance, Sources, Stated},
    recording::Recording,
    side_by_side::{cores, side_by_side_on},
};

/// Number of packets from which a second thread is worth its cost.
const MIN_PACKETS_AHEAD: u64 = 50_000;

/// Parameters common to all runs.
pub struct Plan<'a> {
    /// The traffic.
    pub input: &'a Input,
    /// Buffering between resources, if given.
    pub pipeline: Option<PipelineMode>,
    /// Buffering by default; `None` if it depends on the policy.
    pub assumed_pipeline: Option<PipelineMode>,
    /// Whether an option specifies it.
    pub pipeline_is_given: bool,
    /// Limit of queued packets per flow.
    pub queue_packets: Option<u32>,
    /// Limit of queued packets of all flows.
    pub buffer_packets: Option<u32>,
    /// Which flow loses a packet when the buffer is full.
    pub drop: DropPolicy,
    /// For Jain's index.
    pub window: Nanos,
    /// A folder for records, one row per packet, and their format.
    pub records: Option<(&'a Path, Format)>,
    /// Learnt costs of programs, used instead of the workload's.
    pub programs: Option<&'a ProgramTable>,
    /// The file that they come from.
    pub programs_file: Option<&'a InputFile>,
    /// Whether a page draws figures over time.
    pub draws_series: bool,
    /// Number of parallel runs.
    pub jobs: usize,
    /// One progress bar for all runs rather than one for each.
    pub one_bar: bool,
    /// Receives the progress of runs.
    pub progress: &'a dyn Progress,
}

/// Buffering between resources if none is given.
pub const DEFAULT_PIPELINE: PipelineMode = PipelineMode::NoWait;

/// The key of the provenance in record formats with metadata.
pub const PROVENANCE_KEY: &str = "dovetail.provenance";

/// A scheduler supplied by the caller, for which there is no policy string.
pub struct Own<'a> {
    /// Its name.
    pub name: String,
    /// Its index in the list of all policies.
    pub at: usize,
    /// Creates one.
    pub build: &'a (dyn Fn(&Setup) -> Box<dyn Scheduler> + Sync),
}

/// One policy's run.
pub struct PolicyRun {
    /// The policy.
    pub policy: String,
    /// What happened to the packets.
    pub outcome: Outcome,
    /// The figures.
    pub summary: Summary,
    /// The policy's own figures.
    pub counters: Vec<(&'static str, f64)>,
    /// What it has learnt about programs, if it uses estimates.
    pub learnt: Option<ProgramTable>,
    /// Irregularities in the input.
    pub notices: Vec<Notice>,
    /// Path of its records.
    pub records: Option<PathBuf>,
    /// Why its files could not be written; its figures are correct all the same.
    pub unwritten: Vec<Error>,
    /// Wall-clock time.
    pub wall: Duration,
}

/// A run to be made.
struct Job<'a, B> {
    name: &'a str,
    build: B,
    pipeline: PipelineMode,
    recording: Option<Recording>,
}

impl<'a> Plan<'a> {
    /// The options, with the folder for records created.
    pub fn new(
        input: &'a Input,
        asked: &InputOptions,
        output: &'a OutputOptions,
        window: Nanos,
        progress: &'a dyn Progress,
    ) -> Result<Self, Error> {
        if let Some(folder) = &output.records {
            fs::create_dir_all(folder).map_err(|error| Error::file("make the folder", folder, error))?;
        }
        let queue_packets = asked.queue_packets.or(input.queue_packets());
        match asked.drop {
            Some(_) if queue_packets.is_none() && asked.buffer_packets.is_none() => {
                let why = "without a limit nothing is dropped: limit what waits of each flow, or of all flows";
                return Err(Misuse::option(&["drop"], why).into());
            }
            Some(DropPolicy::Longest) if asked.buffer_packets.is_none() => {
                let why = "the longest queue makes room where all flows share a buffer: limit what waits of all flows";
                return Err(Misuse::option(&["drop"], why).into());
            }
            _ => {}
        }
        Ok(Self {
            input,
            pipeline: asked.pipeline.or(input.pipeline()),
            assumed_pipeline: Some(DEFAULT_PIPELINE),
            pipeline_is_given: asked.pipeline.is_some(),
            queue_packets,
            buffer_packets: asked.buffer_packets,
            drop: asked.drop.unwrap_or_default(),
            window,
            records: output.records.as_deref().map(|folder| (folder, output.format)),
            programs: None,
            programs_file: None,
            draws_series: output.report.is_some(),
            jobs: output.jobs.map_or_else(cores, usize::from),
            one_bar: false,
            progress,
        })
    }

    /// Runs every policy; returns the runs in the order of the policies, or the first failure.
    pub fn run(&self, policies: &[PolicySpec]) -> Result<Vec<PolicyRun>, Error> {
        let pipeline = self.pipeline_or(DEFAULT_PIPELINE);
        let jobs: Vec<_> = policies.iter().map(|policy| (policy.clone(), pipeline)).collect();
        let runs = self.run_watched(&jobs, |_| (), |()| ())?;
        Ok(runs.into_iter().map(|(run, ())| run).collect())
    }

    /// Limits of the queues, and which flow loses packets beyond them.
    pub fn limits(&self) -> Limits {
        Limits {
            flow_packets: self.queue_packets,
            packets: self.buffer_packets,
            on_full: self.drop,
            ..Limits::UNLIMITED
        }
    }

    /// Everything that determines the figures of these policies' runs.
    pub(crate) fn provenance<'p>(&self, policies: impl IntoIterator<Item = &'p PolicySpec>) -> Provenance {
        let Sources { files, seed, load, link_bps, .. } = self.input.sources().clone();
        Provenance {
            version: env!("CARGO_PKG_VERSION"),
            inputs: files.into_iter().chain(self.programs_file.cloned()).collect(),
            seed,
            load,
            link_bps,
            pipeline: Some(self.stated_pipeline()),
            queue_packets: self.queue_packets,
            buffer_packets: self.buffer_packets,
            buffer_bytes: None,
            drop: self.drop.to_string(),
            window_s: Some(self.window.as_secs_f64()),
            policies: policies.into_iter().map(|policy| policy.in_full().to_string()).collect(),
        }
    }

    /// The buffering between resources, and its origin.
    fn stated_pipeline(&self) -> Stated<Option<String>> {
        let origin = match self.pipeline {
            Some(_) if self.pipeline_is_given => Origin::Given,
            Some(_) => Origin::Scenario,
            None => Origin::Assumed,
        };
        Stated { value: self.pipeline.or(self.assumed_pipeline).map(|mode| mode.to_string()), origin }
    }

    /// The buffering between resources, or else `default`.
    pub fn pipeline_or(&self, default: PipelineMode) -> PipelineMode {
        self.pipeline.unwrap_or(default)
    }

    /// Same as [`run`](Self::run), with a pipeline for each policy and an observer of its own, created for its index in the
    /// list. `seen` extracts its results as soon as its run has ended, so that there are never more observers than parallel
    /// runs.
    pub fn run_watched<O: Observer, T: Send>(
        &self,
        jobs: &[(PolicySpec, PipelineMode)],
        observer: impl Fn(usize) -> O + Sync,
        seen: impl Fn(O) -> T + Sync,
    ) -> Result<Vec<(PolicyRun, T)>, Error> {
        let bars =
            Bars::new(jobs.iter().map(|(policy, _)| policy), self.input.packets_hint(), self.one_bar, self.progress);
        let jobs: Vec<_> = jobs.iter().enumerate().collect();
        // If there is a second core for each run, it draws the packets.
        let is_long = self.input.packets_hint().is_none_or(|packets| packets >= MIN_PACKETS_AHEAD);
        let ahead = is_long && self.jobs >= 2 * jobs.len();
        side_by_side_on(self.jobs, &jobs, |&(at, job)| {
            let bar = bars.begin(&job.0);
            let run = self.run_one(job, ahead, observer(at), bar.meter());
            bars.end();
            run.map(|(run, observer)| (run, seen(observer)))
        })
    }

    /// Begins the records of a policy's run, which include their provenance.
    fn record(
        &self,
        policy: &PolicySpec,
        pipeline: PipelineMode,
        (folder, format): (&Path, Format),
        resources: &[String],
    ) -> Result<Recording, Error> {
        let own = Plan { assumed_pipeline: Some(pipeline), ..*self };
        let provenance = serde_json::to_string(&own.provenance([policy]))?;
        Recording::begin(folder, policy.as_str(), format, resources, &[(PROVENANCE_KEY, &provenance)])
    }

    /// Same as [`run_watched`](Self::run_watched) for the caller's own schedulers; nothing is recorded.
    pub(crate) fn run_own<O: Observer, T: Send>(
        &self,
        own: &[Own<'_>],
        observer: impl Fn() -> O + Sync,
        seen: impl Fn(O) -> T + Sync,
    ) -> Result<Vec<(PolicyRun, T)>, Error> {
        let pipeline = self.pipeline_or(DEFAULT_PIPELINE);
        side_by_side_on(self.jobs, own, |own| {
            let task = Task { name: &own.name, width: 0, counts: "packets", total: self.input.packets_hint() };
            let bar = self.progress.begin(task);
            let build = |setup: &Setup| Ok((own.build)(setup));
            let job = Job { name: &own.name, build, pipeline, recording: None };
            let run = self.run_job(job, self.input.open()?.as_mut(), observer(), bar.as_ref());
            run.map(|(run, observer)| (run, seen(observer)))
        })
    }

    fn run_one<O: Observer>(
        &self,
        (policy, pipeline): &(PolicySpec, PipelineMode),
        ahead: bool,
        observer: O,
        bar: &dyn Meter,
    ) -> Result<(PolicyRun, O), Error> {
        let resources = self.input.resources();
        let recording = self.records.map(|records| self.record(policy, *pipeline, records, resources)).transpose()?;
        let build = |setup: &Setup| policy.build(setup).map_err(|unfit| Misuse::Unfit(unfit).into());
        let job = Job { name: policy.as_str(), build, pipeline: *pipeline, recording };
        let run = |workload: &mut dyn Workload| self.run_job(job, workload, observer, bar);
        if ahead { drawn_ahead(|| self.input.open(), run)? } else { run(self.input.open()?.as_mut()) }
    }

    fn run_job<O: Observer>(
        &self,
        job: Job<'_, impl FnOnce(&Setup) -> Result<Box<dyn Scheduler>, Error>>,
        workload: &mut dyn Workload,
        mut observer: O,
        bar: &dyn Meter,
    ) -> Result<(PolicyRun, O), Error> {
        let Job { name, build, pipeline, mut recording } = job;
        let resources = workload.resources().to_vec();
        let mut programs = workload.programs();
        if let Some(remembered) = self.programs {
            programs.take_over(remembered);
        }
        let setup = Setup { programs, ..Setup::new(resources.len(), self.limits()) };
        let mut scheduler = build(&setup)?;
        let mut meters = Meters::new(resources.len(), self.window).of_open_loop(workload.is_open_loop());
        if !self.draws_series {
            meters = meters.without_series();
        }
        let mut watched = (&mut meters, &mut observer);
        let mut told = 0;
        let mut progress = |progress: Passed| {
            bar.inc(progress.arrived - told);
            told = progress.arrived;
        };
        let options = Options { stop_at: None, progress: Some(&mut progress), stop: bar.stop() };
        let begun = Instant::now();
        let scheduler = scheduler.as_mut();
        let outcome = match &mut recording {
            None => simulate(workload, scheduler, pipeline, &mut watched, options),
            Some(recording) => {
                let mut both = (&mut watched, &mut recording.records);
                simulate(workload, scheduler, pipeline, &mut both, options)
            }
        };
        let outcome = outcome.map_err(|source| Error::Run { policy: name.to_owned(), source })?;
        let wall = begun.elapsed();
        let mut unwritten = Vec::new();
        let records = recording.and_then(|recording| recording.end().map_err(|error| unwritten.push(error)).ok());
        let mut counters = Vec::new();
        scheduler.figures(&mut |name, value| counters.push((name, value)));
        let run = PolicyRun {
            policy: name.to_owned(),
            outcome,
            summary: meters.finish(),
            counters,
            learnt: scheduler.learning().map(|learning| learning.learnt()),
            notices: workload.notices(),
            records,
            unwritten,
            wall,
        };
        Ok((run, observer))
    }
}
