//! Runs policies over an input, side by side on the cores there are.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_sched::{Limits, Nanos, PolicySpec, Scheduler, Setup};
use dovetail_sim::{
    Options, Outcome, PipelineMode, Progress,
    measure::{Meters, Summary},
    records::{Format, Records, path_for},
    simulate,
    workload::Notice,
};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{failure::Failure, input::Input};

/// What all runs have in common.
pub(crate) struct Plan<'a> {
    pub(crate) input: &'a Input,
    pub(crate) pipeline: PipelineMode,
    pub(crate) limits: Limits,
    pub(crate) window: Nanos,
    pub(crate) stop_at: Option<Nanos>,
    pub(crate) records: Option<(&'a Path, Format)>,
    pub(crate) jobs: usize,
}

/// One policy's run.
pub(crate) struct Run {
    pub(crate) policy: String,
    pub(crate) outcome: Outcome,
    pub(crate) summary: Summary,
    pub(crate) counters: Vec<(&'static str, f64)>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) records: Option<PathBuf>,
    pub(crate) wall: Duration,
}

impl Plan<'_> {
    /// Runs every policy; the runs in the order of the policies, or the first failure.
    pub(crate) fn run(&self, policies: &[PolicySpec]) -> Result<Vec<Run>, Failure> {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let slots: Vec<Mutex<Option<Result<Run, Failure>>>> = policies.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let longest = policies.iter().map(|policy| policy.as_str().len()).max().unwrap_or(0);
        let work = || {
            while let Some((policy, slot)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                policies.get(at).zip(slots.get(at))
            } {
                let bar = bars.add(progress_bar(policy.as_str(), longest, self.input.packets_hint()));
                let run = self.run_one(policy, &bar);
                bar.finish_and_clear();
                let failed = run.is_err();
                *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(run);
                if failed {
                    next.store(policies.len(), Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, policies.len().max(1)) {
                scope.spawn(work);
            }
        });
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

    fn run_one(&self, policy: &PolicySpec, bar: &ProgressBar) -> Result<Run, Failure> {
        let mut workload = self.input.open()?;
        let resources = workload.resources().to_vec();
        let setup = Setup::new(resources.len(), self.limits);
        let mut scheduler: Box<dyn Scheduler> = policy.build(&setup).map_err(Failure::usage)?;
        let mut meters = Meters::new(resources.len(), self.window);
        let mut progress = |progress: Progress| bar.set_position(progress.arrived);
        let options = Options { stop_at: self.stop_at, progress: Some(&mut progress) };
        let path = self.records.map(|(folder, format)| (path_for(folder, policy.as_str(), format), format));
        let begun = Instant::now();
        let scheduler = scheduler.as_mut();
        let outcome = match &path {
            None => simulate(workload.as_mut(), scheduler, self.pipeline, &mut meters, options),
            Some((path, format)) => {
                let failed = |error| Failure::file("write", path, error);
                let mut records = Records::create(path, *format, &resources).map_err(failed)?;
                let mut both = (&mut meters, &mut records);
                let outcome = simulate(workload.as_mut(), scheduler, self.pipeline, &mut both, options);
                records.finish().map_err(failed)?;
                outcome
            }
        };
        let outcome = outcome.map_err(|error| Failure::new(format!("{policy}: {error}")))?;
        let wall = begun.elapsed();
        let mut counters = Vec::new();
        scheduler.counters(&mut |name, value| counters.push((name, value)));
        Ok(Run {
            policy: policy.as_str().to_owned(),
            outcome,
            summary: meters.finish(),
            counters,
            notices: workload.notices(),
            records: path.map(|(path, _)| path),
            wall,
        })
    }
}

/// A bar with packets per second and the time left; without a known end, a count.
pub(crate) fn progress_bar(name: &str, width: usize, packets: Option<u64>) -> ProgressBar {
    let template = match packets {
        Some(_) => "{prefix} {bar:30.cyan} {percent:>3} %  {human_pos} of {human_len} packets  {per_sec}  {eta} left",
        None => "{prefix} {spinner} {human_pos} packets  {per_sec}  {elapsed}",
    };
    let bar = packets.map_or_else(ProgressBar::no_length, ProgressBar::new);
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_prefix(format!("{name:width$}"));
    bar
}
