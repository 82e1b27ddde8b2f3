//! Runs policies over an input, side by side on the cores there are.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_sched::{Limits, Nanos, PolicySpec, Scheduler, Setup, cost::ProgramTable};
use dovetail_sim::{
    Observer, Options, Outcome, PipelineMode, Progress,
    measure::{Meters, Summary},
    records::{Format, Records, path_for},
    simulate,
    workload::Notice,
};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{
    args::{InputArgs, OutputArgs},
    failure::Failure,
    input::Input,
    side_by_side::cores,
};

/// What all runs have in common.
pub(crate) struct Plan<'a> {
    pub(crate) input: &'a Input,
    /// What lies between resources, if anybody said.
    pub(crate) pipeline: Option<PipelineMode>,
    /// Packets that may wait of each flow.
    pub(crate) queue_packets: Option<u32>,
    /// Of Jain's index.
    pub(crate) window: Nanos,
    pub(crate) records: Option<(&'a Path, Format)>,
    /// What is remembered of programs, instead of what the workload says of them.
    pub(crate) programs: Option<&'a ProgramTable>,
    pub(crate) jobs: usize,
    /// One bar for all runs rather than one for each.
    pub(crate) one_bar: bool,
}

/// What lies between resources where nobody says.
pub(crate) const DEFAULT_PIPELINE: PipelineMode = PipelineMode::NoWait;

/// One policy's run.
pub(crate) struct Run {
    pub(crate) policy: String,
    pub(crate) outcome: Outcome,
    pub(crate) summary: Summary,
    pub(crate) counters: Vec<(&'static str, f64)>,
    /// What it has learnt of programs, if it runs on estimates.
    pub(crate) learnt: Option<ProgramTable>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) records: Option<PathBuf>,
    pub(crate) wall: Duration,
}

impl<'a> Plan<'a> {
    /// What the command line asks for, with the folder for records made.
    pub(crate) fn new(
        input: &'a Input,
        asked: &InputArgs,
        output: &'a OutputArgs,
        window: Nanos,
    ) -> Result<Self, Failure> {
        if let Some(folder) = &output.records {
            fs::create_dir_all(folder).map_err(|error| Failure::file("make the folder", folder, error))?;
        }
        Ok(Self {
            input,
            pipeline: asked.pipeline.or(input.pipeline()),
            queue_packets: asked.queue_packets.or(input.queue_packets()),
            window,
            records: output.records.as_deref().map(|folder| (folder, output.format)),
            programs: None,
            jobs: output.jobs.map_or_else(cores, usize::from),
            one_bar: false,
        })
    }

    /// Runs every policy; the runs in the order of the policies, or the first failure.
    pub(crate) fn run(&self, policies: &[PolicySpec]) -> Result<Vec<Run>, Failure> {
        let pipeline = self.pipeline_or(DEFAULT_PIPELINE);
        let jobs: Vec<_> = policies.iter().map(|policy| (policy.clone(), pipeline)).collect();
        let runs = self.run_watched(&jobs, |_| ())?;
        Ok(runs.into_iter().map(|(run, ())| run).collect())
    }

    /// What lies between resources, or else `default`.
    pub(crate) fn pipeline_or(&self, default: PipelineMode) -> PipelineMode {
        self.pipeline.unwrap_or(default)
    }

    /// As [`run`](Self::run), each policy in a pipeline and under the eyes of an observer of its own, made for its place in
    /// the list.
    pub(crate) fn run_watched<O: Observer + Send>(
        &self,
        jobs: &[(PolicySpec, PipelineMode)],
        observer: impl Fn(usize) -> O + Sync,
    ) -> Result<Vec<(Run, O)>, Failure> {
        let bars = Bars::new(jobs, self.input.packets_hint(), self.one_bar);
        let slots: Vec<Slot<O>> = jobs.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((job, slot)) = jobs.get(at).zip(slots.get(at)) else { break };
                let bar = bars.begin(&job.0);
                let run = self.run_one(job, observer(at), &bar);
                bars.end(&bar);
                let failed = run.is_err();
                *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(run);
                if failed {
                    next.store(jobs.len(), Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, jobs.len().max(1)) {
                scope.spawn(work);
            }
        });
        bars.clear();
        // A failure stops what has not begun, so there may be holes; the failure itself comes first.
        let mut runs = Vec::new();
        let mut unfinished = false;
        for slot in slots {
            match slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
                Some(run) => runs.push(run?),
                None => unfinished = true,
            }
        }
        if unfinished { Err(Failure::new("a run was not finished")) } else { Ok(runs) }
    }

    fn run_one<O: Observer>(
        &self,
        (policy, pipeline): &(PolicySpec, PipelineMode),
        mut observer: O,
        bar: &ProgressBar,
    ) -> Result<(Run, O), Failure> {
        let mut workload = self.input.open()?;
        let resources = workload.resources().to_vec();
        let limits = self.queue_packets.map_or(Limits::UNLIMITED, Limits::per_flow);
        let mut programs = workload.programs();
        if let Some(remembered) = self.programs {
            programs.take_over(remembered);
        }
        let setup = Setup { programs, ..Setup::new(resources.len(), limits) };
        let mut scheduler: Box<dyn Scheduler> = policy.build(&setup).map_err(Failure::usage)?;
        let mut meters = Meters::new(resources.len(), self.window);
        let mut watched = (&mut meters, &mut observer);
        let mut told = 0;
        let mut progress = |progress: Progress| {
            bar.inc(progress.arrived - told);
            told = progress.arrived;
        };
        let options = Options { stop_at: None, progress: Some(&mut progress) };
        let path = self.records.map(|(folder, format)| (path_for(folder, policy.as_str(), format), format));
        let begun = Instant::now();
        let scheduler = scheduler.as_mut();
        let outcome = match &path {
            None => simulate(workload.as_mut(), scheduler, *pipeline, &mut watched, options),
            Some((path, format)) => {
                let failed = |error| Failure::file("write", path, error);
                let mut records = Records::create(path, *format, &resources).map_err(failed)?;
                let mut both = (&mut watched, &mut records);
                let outcome = simulate(workload.as_mut(), scheduler, *pipeline, &mut both, options);
                records.finish().map_err(failed)?;
                outcome
            }
        };
        let outcome = outcome.map_err(|error| Failure::new(format!("{policy}: {error}")))?;
        let wall = begun.elapsed();
        let mut counters = Vec::new();
        scheduler.figures(&mut |name, value| counters.push((name, value)));
        let run = Run {
            policy: policy.as_str().to_owned(),
            outcome,
            summary: meters.finish(),
            counters,
            learnt: scheduler.learning().map(|learning| learning.learnt()),
            notices: workload.notices(),
            records: path.map(|(path, _)| path),
            wall,
        };
        Ok((run, observer))
    }
}

/// Where a run's end is left by the thread that made it.
type Slot<O> = Mutex<Option<Result<(Run, O), Failure>>>;

/// The bars of several runs: one each, or one for all.
struct Bars {
    each: MultiProgress,
    all: Option<ProgressBar>,
    packets: Option<u64>,
    width: usize,
    runs: usize,
    done: AtomicUsize,
}

impl Bars {
    fn new(jobs: &[(PolicySpec, PipelineMode)], packets: Option<u64>, one: bool) -> Self {
        let each = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let all = packets.map(|packets| packets.saturating_mul(jobs.len() as u64));
        let all = one.then(|| each.add(progress_bar("", 0, all)));
        let width = jobs.iter().map(|(policy, _)| policy.as_str().len()).max().unwrap_or(0);
        let bars = Self { each, all, packets, width, runs: jobs.len(), done: AtomicUsize::new(0) };
        bars.count(0);
        bars
    }

    fn begin(&self, policy: &PolicySpec) -> ProgressBar {
        let new = || self.each.add(progress_bar(policy.as_str(), self.width, self.packets));
        self.all.clone().unwrap_or_else(new)
    }

    fn end(&self, bar: &ProgressBar) {
        if self.all.is_some() {
            self.count(1);
        } else {
            bar.finish_and_clear();
        }
    }

    fn count(&self, more: usize) {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        if let Some(bar) = &self.all {
            bar.set_prefix(format!("{done} of {} runs", self.runs));
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.all {
            bar.finish_and_clear();
        }
    }
}

/// A bar with packets per second and the time left; without a known end, a count.
pub(crate) fn progress_bar(name: &str, width: usize, packets: Option<u64>) -> ProgressBar {
    counting_bar("packets", name, width, packets)
}

/// The same, counting something else.
pub(crate) fn counting_bar(what: &str, name: &str, width: usize, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{prefix} {bar:30.cyan} {percent:>3} %  {human_pos} of {human_len} WHAT  {per_sec}  {eta} left",
        None => "{prefix} {spinner} {human_pos} WHAT  {per_sec}  {elapsed}",
    };
    let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
    let style =
        ProgressStyle::with_template(&template.replace("WHAT", what)).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_prefix(format!("{name:width$}"));
    bar
}
