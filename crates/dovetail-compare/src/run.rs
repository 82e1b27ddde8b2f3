//! Runs policies over an input, side by side on the cores there are.

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

/// Packets for which a second thread is worth its beginning and its batches.
const LEAST_AHEAD: u64 = 50_000;

/// What all runs have in common.
pub struct Plan<'a> {
    /// What runs see.
    pub input: &'a Input,
    /// What lies between resources, if given.
    pub pipeline: Option<PipelineMode>,
    /// What lies between them by default; nothing where that depends on the policy.
    pub assumed_pipeline: Option<PipelineMode>,
    /// Whether an option says what lies between them.
    pub pipeline_is_given: bool,
    /// Packets that may wait of each flow.
    pub queue_packets: Option<u32>,
    /// Packets that may wait of all flows.
    pub buffer_packets: Option<u32>,
    /// Who loses a packet where one finds no room.
    pub drop: DropPolicy,
    /// Of Jain's index.
    pub window: Nanos,
    /// A folder for a row a packet, and how rows are written.
    pub records: Option<(&'a Path, Format)>,
    /// Learnt costs of programs, instead of the workload's.
    pub programs: Option<&'a ProgramTable>,
    /// The file that those are from.
    pub programs_file: Option<&'a InputFile>,
    /// Whether a page will draw how things went over time.
    pub draws_series: bool,
    /// Runs at once.
    pub jobs: usize,
    /// One bar for all runs rather than one for each.
    pub one_bar: bool,
    /// Told how far runs are.
    pub progress: &'a dyn Progress,
}

/// What lies between resources where none is given.
pub const DEFAULT_PIPELINE: PipelineMode = PipelineMode::NoWait;

/// The key of the provenance in records that have a place for it.
pub const PROVENANCE_KEY: &str = "dovetail.provenance";

/// A scheduler of the caller's own, which no string names.
pub struct Own<'a> {
    /// What it is called.
    pub name: String,
    /// Where it is in the list of all policies.
    pub at: usize,
    /// Makes one.
    pub build: &'a (dyn Fn(&Setup) -> Box<dyn Scheduler> + Sync),
}

/// One policy's run.
pub struct PolicyRun {
    /// Whose.
    pub policy: String,
    /// What became of the packets.
    pub outcome: Outcome,
    /// The figures.
    pub summary: Summary,
    /// The policy's own figures.
    pub counters: Vec<(&'static str, f64)>,
    /// What it has learnt of programs, if it runs on estimates.
    pub learnt: Option<ProgramTable>,
    /// What was odd in the input.
    pub notices: Vec<Notice>,
    /// Where its records are.
    pub records: Option<PathBuf>,
    /// Why files of it could not be written; its figures are right all the same.
    pub unwritten: Vec<Error>,
    /// How long it took.
    pub wall: Duration,
}

/// A run that is to be made.
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

    /// Runs every policy; the runs in the order of the policies, or the first failure.
    pub fn run(&self, policies: &[PolicySpec]) -> Result<Vec<PolicyRun>, Error> {
        let pipeline = self.pipeline_or(DEFAULT_PIPELINE);
        let jobs: Vec<_> = policies.iter().map(|policy| (policy.clone(), pipeline)).collect();
        let runs = self.run_watched(&jobs, |_| (), |()| ())?;
        Ok(runs.into_iter().map(|(run, ())| run).collect())
    }

    /// How much may wait, and who loses beyond that.
    pub fn limits(&self) -> Limits {
        Limits {
            flow_packets: self.queue_packets,
            packets: self.buffer_packets,
            on_full: self.drop,
            ..Limits::UNLIMITED
        }
    }

    /// All that decides the figures of these policies' runs.
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

    /// What lies between resources, and who says so.
    fn stated_pipeline(&self) -> Stated<Option<String>> {
        let origin = match self.pipeline {
            Some(_) if self.pipeline_is_given => Origin::Given,
            Some(_) => Origin::Scenario,
            None => Origin::Assumed,
        };
        Stated { value: self.pipeline.or(self.assumed_pipeline).map(|mode| mode.to_string()), origin }
    }

    /// What lies between resources, or else `default`.
    pub fn pipeline_or(&self, default: PipelineMode) -> PipelineMode {
        self.pipeline.unwrap_or(default)
    }

    /// As [`run`](Self::run), each policy in a pipeline and under the eyes of an observer of its own, made for its place in
    /// the list; what it has seen is `seen` of it as soon as its run has ended, so that no more observers exist than runs at
    /// once.
    pub fn run_watched<O: Observer, T: Send>(
        &self,
        jobs: &[(PolicySpec, PipelineMode)],
        observer: impl Fn(usize) -> O + Sync,
        seen: impl Fn(O) -> T + Sync,
    ) -> Result<Vec<(PolicyRun, T)>, Error> {
        let bars =
            Bars::new(jobs.iter().map(|(policy, _)| policy), self.input.packets_hint(), self.one_bar, self.progress);
        let jobs: Vec<_> = jobs.iter().enumerate().collect();
        // Where there is a second core for each, it draws the packets.
        let is_long = self.input.packets_hint().is_none_or(|packets| packets >= LEAST_AHEAD);
        let ahead = is_long && self.jobs >= 2 * jobs.len();
        side_by_side_on(self.jobs, &jobs, |&(at, job)| {
            let bar = bars.begin(&job.0);
            let run = self.run_one(job, ahead, observer(at), bar.meter());
            bars.end();
            run.map(|(run, observer)| (run, seen(observer)))
        })
    }

    /// Begins the records of a policy's run, which hold where they come from.
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

    /// As [`run_watched`](Self::run_watched), schedulers of the caller's own; nothing is recorded.
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
