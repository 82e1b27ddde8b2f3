//! The recommendation in sentences that a stranger understands, and what to know beside it.

use dovetail_sched::Nanos;
use dovetail_sim::PipelineMode;

use super::{
    curve::{Choice, Curve, Point},
    knee::WORTH,
    knob::Tunable,
};
use crate::{run::Plan, table::figure};

/// Why the recommended value.
pub(crate) fn why(curve: &Curve) -> String {
    let (fairest, at) = (&curve.points[0], curve.recommended());
    let knob = curve.tunable.knob;
    let policy = &curve.points[at].run.policy;
    let gains = curve.gains();
    let most = gains.iter().copied().fold(0.0, f64::max);
    match curve.choice() {
        Choice::Knee(_) => {
            let further = match gains.get(at + 1) {
                None => "this is the last value tried".to_owned(),
                Some(next) if next - gains[at] < 5e-4 => {
                    format!("a further step to {} would gain nothing more", curve.points[at + 1].value)
                }
                Some(next) => {
                    format!(
                        "a further step to {} would gain only {} more",
                        curve.points[at + 1].value,
                        percent(next - gains[at])
                    )
                }
            };
            format!("Run {policy}: {}; {further}; in exchange {}.", gained(curve, at), price(curve, at))
        }
        Choice::Flat => {
            let nothing = format!("Run {policy}: no other {knob} gains as much as {} of the time.", percent(WORTH));
            no_gain(fairest).map_or_else(|| nothing.clone(), |reason| format!("{nothing} {reason}"))
        }
        Choice::Even => format!(
            "Run {policy}: no {knob} stands out. Gains come evenly or late, up to {} at {knob}={}, and cost as much \
             fairness as they bring; trade away only what you know your flows can spare.",
            percent(most),
            curve.points[gains.iter().rposition(|&gain| gain == most).unwrap_or(0)].value
        ),
        Choice::Blind => format!(
            "Run {policy}: another {knob} gains up to {}, but no flow had packets waiting all through a window of {}, so \
             its cost in fairness is unknown; a shorter --window may show it.",
            percent(most),
            fairest.shares.window
        ),
    }
}

/// How much sooner, or how much more.
fn gained(curve: &Curve, at: usize) -> String {
    let (fairest, point) = (&curve.points[0], &curve.points[at]);
    let than = format!("from {}", first(curve));
    if curve.same_packets() {
        let [before, after] = [fairest, point].map(|point| point.run.summary.makespan);
        let falls = 1.0 - after.as_f64() / before.as_f64();
        return format!("the makespan falls {} {than} ({} to {})", percent(falls), span(before), span(after));
    }
    let [before, after] = [fairest, point].map(Point::work);
    format!("the work done per second rises {} {than} ({before:.3} to {after:.3})", percent(after / before - 1.0))
}

/// What fairness it costs.
fn price(curve: &Curve, at: usize) -> String {
    let (fairest, point) = (&curve.points[0], &curve.points[at]);
    let window = point.shares.window;
    if let Some(promise) = point.promise {
        let guaranteed = format!("every flow is guaranteed {} of its fair share", percent(promise));
        let Some([before, after]) = fairest.worst_share().zip(point.worst_share()).map(<[f64; 2]>::from) else {
            return guaranteed;
        };
        return format!(
            "{guaranteed}; the lowest in any window of {window} is {after:.2} ({before:.2} at {})",
            first(curve)
        );
    }
    let [before, after] = [fairest, point].map(|point| point.worst_share().unwrap_or(f64::NAN));
    let of_fair = format!("{after:.2} of its fair share in a window of {window} ({before:.2} at {})", first(curve));
    let [gap_before, gap_after] = [fairest, point].map(|point| span(point.gap().unwrap_or_default()));
    let ahead = format!("a flow leads another by up to {gap_after} of active time ({gap_before} at {})", first(curve));
    if after < before {
        format!("the worst-off flow gets {of_fair}, and {ahead}")
    } else {
        format!("{ahead}; the worst-off flow does not lose: it gets {of_fair}")
    }
}

/// The fairest value, as it is written.
fn first(curve: &Curve) -> String {
    format!("{}={}", curve.tunable.knob, curve.points[0].value)
}

/// Why there is nothing to gain, where that is plain.
fn no_gain(Point { shares, run, .. }: &Point) -> Option<String> {
    if run.summary.utilisation.len() == 1 {
        return Some("With one resource there is nothing to trade.".to_owned());
    }
    if shares.flows_at_once < 2 {
        return Some("No two flows ever waited at once, so there was nothing to choose between.".to_owned());
    }
    (shares.counted == 0).then(|| {
        format!(
            "No flow had packets waiting all through any window of {}: the first resource keeps up with its load, so \
             there is hardly anything to choose, and no knob matters; --load 1.2 would load it more.",
            shares.window
        )
    })
}

/// What a reader should know of the figures.
pub(crate) fn notes(curves: &[Curve], plan: &Plan<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(plan.input.remark().map(str::to_owned));
    notes.extend(curves.iter().filter_map(out_of_place));
    if curves.iter().any(|curve| !curve.same_packets()) {
        let dropped = curves.iter().flat_map(|curve| &curve.points).any(|point| point.run.outcome.dropped > 0);
        let reason = if dropped {
            "packets were dropped"
        } else {
            "greedy flows supplied as many packets as each run could serve"
        };
        notes.push(format!(
            "{reason}, so the runs did not serve the same packets and their makespans say little: the work done per \
             second is compared"
        ));
    }
    notes.extend(curves.iter().filter_map(promise));
    notes.extend(curves.iter().filter_map(coarse));
    notes
}

/// A policy in a pipeline that it is not made for.
fn out_of_place(curve: &Curve) -> Option<String> {
    let Tunable { policy, made_for, .. } = curve.tunable;
    (curve.pipeline != *made_for).then(|| match made_for {
        PipelineMode::Unbounded => format!(
            "{policy} guarantees its shares where the first resource never waits for the next; in a {} pipeline \
             it does, so nothing is guaranteed and less is gained (--pipeline {made_for} shows the difference)",
            curve.pipeline
        ),
        _ => format!(
            "{policy} packs packets for a {made_for} pipeline; where packets may wait between resources ({}) there is \
             less to pack",
            curve.pipeline
        ),
    })
}

/// Whether a promise was kept.
fn promise(curve: &Curve) -> Option<String> {
    if curve.points.iter().all(|point| point.shares.flows_at_once < 2) {
        return None;
    }
    let broken = curve.points.iter().find(|point| point.shares.shortfall.is_some_and(|by| by > point.shares.slack()));
    if let Some(point) = broken {
        return Some(format!(
            "{}: in some interval a waiting flow was {} of dominant service behind its guarantee, more than the {} that \
             whole packets of the flows that waited at once explain. What is fair is taken among flows with packets waiting; \
             where few wait, and others come and are served at once, that asks for too much",
            point.run.policy,
            point.shares.shortfall.map(span).unwrap_or_default(),
            span(point.shares.slack())
        ));
    }
    let point = &curve.points[curve.recommended()];
    let behind = point.shares.shortfall?;
    Some(format!(
        "{}: in no interval, long or short, was a waiting flow more than {} of dominant service behind its guarantee; \
         packets cannot be cut, which explains up to {}",
        point.run.policy,
        span(behind),
        span(point.shares.slack())
    ))
}

/// A window in which a packet more or less moves a share a good deal.
fn coarse(curve: &Curve) -> Option<String> {
    let point = &curve.points[curve.recommended()];
    let worst = point.shares.worst?;
    let step = point.shares.longest.as_f64() / worst.fair_nanos;
    (step > 0.1).then(|| {
        format!(
            "{}: in the worst window a flow's fair share is {}, and one packet can be {} that: a longer --window says more",
            point.run.policy,
            span(Nanos::from_f64(worst.fair_nanos)),
            times(step)
        )
    })
}

/// A part of something, before the word for it.
fn times(part: f64) -> String {
    if part >= 10.0 { "many times".to_owned() } else { format!("{} of", percent(part)) }
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent.fract().abs() < 1e-9 || percent.abs() >= 100.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A time, in readable form.
fn span(time: Nanos) -> String {
    match time.as_f64() {
        nanos if nanos >= 1e9 => format!("{} s", figure(nanos / 1e9)),
        nanos if nanos >= 1e6 => format!("{} ms", figure(nanos / 1e6)),
        nanos if nanos >= 100.0 => format!("{} µs", figure(nanos / 1e3)),
        nanos => format!("{} ns", figure(nanos)),
    }
}
