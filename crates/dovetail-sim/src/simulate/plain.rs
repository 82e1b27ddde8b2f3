//! One scheduler in front of a pipeline that serves in order of release.

use dovetail_sched::{Dispatch, Nanos, Scheduler};

use super::{
    entrance::Entrance,
    next::Next,
    notifier::Notifier,
    outcome::{Options, Outcome, SimulateError},
};
use crate::{Observer, Pipeline, PipelineMode, workload::Workload};

pub(super) fn run<O: Observer>(
    workload: &mut dyn Workload,
    scheduler: &mut dyn Scheduler,
    mode: PipelineMode,
    observer: &mut O,
    mut options: Options<'_>,
) -> Result<Outcome, SimulateError> {
    let resources = workload.resources().len();
    let mut pipeline = Pipeline::new(mode, resources);
    let mut notifier = Notifier::new(scheduler, resources);
    let mut entrance = Entrance::new(scheduler, observer);
    let stop_at = options.stop_at.unwrap_or(Nanos::MAX);
    let is_open_loop = workload.is_open_loop();
    let mut next = Next::first(workload)?;
    let mut now = Nanos::ZERO;
    loop {
        let event = entrance.ask_at(pipeline.ready(), now).min(notifier.next_at());
        now = match event.min(next.at) {
            Nanos::MAX if entrance.waiting > 0 => {
                return Err(SimulateError::Stuck { packets: entrance.waiting, now });
            }
            at if at >= stop_at || at == Nanos::MAX => break,
            at => at,
        };
        entrance.go_on(&options, now)?;
        if notifier.next_at() <= now {
            notifier.tell(entrance.scheduler, now);
            entrance.held = false;
        } else {
            entrance.ask_again(now);
        }
        entrance.arrive_until(workload, &mut next, now, &mut options)?;
        if entrance.waiting > 0
            && !entrance.held
            && pipeline.ready() <= now
            && let Some(Dispatch { packet, ticket }) = &entrance.release(now)
        {
            let passage = pipeline.admit(now, &packet.demand);
            if passage.end().last() == Some(&Nanos::MAX) {
                return Err(SimulateError::ClockEnds { packet: packet.handle });
            }
            entrance.observer.sent(packet, passage);
            notifier.expect(packet.flow, *ticket, passage);
            if !is_open_loop {
                entrance.refill(workload, packet, now)?;
            }
        }
    }
    entrance.outcome.left = entrance.waiting;
    entrance.tell_progress(&mut options, now);
    Ok(entrance.outcome)
}
