//! The recommendation in two sentences for readers without background, and notes.

use dovetail_sched::Nanos;
use dovetail_sim::PipelineMode;

use super::{
    curve::{Choice, Curve, Point},
    knee::WORTH,
    knob::Tunable,
};
use crate::{run::Plan, table::figure};

/// Reasons for the recommended value, and what another one would bring.
pub(crate) fn why(curve: &Curve) -> String {
    let knob = curve.tunable.knob;
    let run = format!("Run {}", curve.points[curve.recommended()].run.policy);
    match curve.choice() {
        Choice::Knee(at) => {
            let recommended = format!("{run}: {}, and {}.", gained(curve, at), price(curve, at));
            match curve.most() {
                Some(most) => format!("{recommended} {}.", more(curve, at, most)),
                None => format!("{recommended} No {knob} gains as much as {} more.", percent(WORTH)),
            }
        }
        Choice::Flat => {
            let nothing = format!("{run}: no other {knob} gains as much as {} of the time.", percent(WORTH));
            no_gain(&curve.points[0]).map_or_else(|| nothing.clone(), |reason| format!("{nothing} {reason}"))
        }
        Choice::Expensive(most) => {
            format!("{run}: no other {knob} gains anything worth its price. {}.", more(curve, 0, most))
        }
        Choice::Blind => format!(
            "{run}: another {knob} gains up to {}, but no two flows had packets waiting at once for long enough to see what \
             it costs in fairness; a shorter --window than {} may show it.",
            percent(curve.gains().iter().copied().fold(0.0, f64::max)),
            curve.points[0].shares.window
        ),
    }
}

/// The relative improvement in time or work, and the values.
fn gained(curve: &Curve, at: usize) -> String {
    let points = [0, at].map(|at| &curve.points[at]);
    let [before, after] = if curve.same_packets() {
        points.map(|point| span(point.run.summary.makespan))
    } else {
        points.map(|point| format!("{:.3}", point.work()))
    };
    format!("{} from {} ({before} to {after})", moves(curve, at), first(curve))
}

/// The relative improvement in time or work.
fn moves(curve: &Curve, at: usize) -> String {
    let (fairest, point) = (&curve.points[0], &curve.points[at]);
    if curve.same_packets() {
        let [before, after] = [fairest, point].map(|point| point.run.summary.makespan.as_f64());
        return format!("the makespan falls {}", percent(1.0 - after / before));
    }
    format!("the work done per second rises {}", percent(point.work() / fairest.work() - 1.0))
}

/// What a point that gains more than the recommended one brings, and its price.
fn more(curve: &Curve, at: usize, most: usize) -> String {
    let (knob, point) = (curve.tunable.knob, &curve.points[most]);
    let gains = curve.gains();
    let further = if at == 0 { String::new() } else { format!(" and {} more", percent(gains[most] - gains[at])) };
    let share = shares(curve, most).map(|[_, after]| format!("{after:.2}"));
    let price = if let Some(promise) = point.promise {
        let lowest = share.map_or_else(String::new, |share| format!(" (the lowest is {share})"));
        format!("every flow is guaranteed only {}{lowest}", percent(promise))
    } else {
        let lowest = share.map_or_else(String::new, |share| format!(", and the worst-off flow gets {share}"));
        format!("a flow leads another by up to {}{lowest}", span(point.gap().unwrap_or_default()))
    };
    format!("With {knob}={} {}, about the most that any brings{further}, but {price}", point.value, moves(curve, most))
}

/// The worst shares at the fairest value and at this one, if a fair share was at least a packet.
fn shares(curve: &Curve, at: usize) -> Option<[f64; 2]> {
    let points = [0, at].map(|at| &curve.points[at]);
    if !points.iter().all(|point| point.packet_share().is_some_and(|packet| packet < 1.0)) {
        return None;
    }
    Some(points.map(|point| point.worst_share().unwrap_or_default()))
}

/// Its price in fairness.
fn price(curve: &Curve, at: usize) -> String {
    let (fairest, point) = (&curve.points[0], &curve.points[at]);
    let (window, at_first) = (point.shares.window, first(curve));
    let shares = shares(curve, at);
    if let Some(promise) = point.promise {
        let guaranteed = format!("every flow is guaranteed {} of its fair share", percent(promise));
        let Some([before, after]) = shares else { return guaranteed };
        return format!("{guaranteed} (the lowest in any window of {window} is {after:.2}; {before:.2} at {at_first})");
    }
    let gaps = [fairest, point].map(|point| span(point.gap().unwrap_or_default()));
    let ahead = format!("a flow leads another by up to {} of active time ({} at {at_first})", gaps[1], gaps[0]);
    let Some([before, after]) = shares else {
        let why =
            if point.shares.counted == 0 { "no flow waits through one" } else { "a fair one is less than a packet" };
        return format!("{ahead}; shares in windows of {window} say nothing, as {why}");
    };
    let of_fair = format!("{after:.2} of its fair share in a window of {window} ({before:.2} at {at_first})");
    if after < before {
        format!("the worst-off flow gets {of_fair}, while {ahead}")
    } else {
        format!("{ahead}, while the worst-off flow does not lose: it gets {of_fair}")
    }
}

/// The fairest value, formatted.
fn first(curve: &Curve) -> String {
    format!("{}={}", curve.tunable.knob, curve.points[0].value)
}

/// Why there is nothing to gain, if there is an obvious reason.
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

/// Notes about the figures.
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

/// A note if a policy runs in a pipeline that it is not designed for.
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

/// A note if windows are so short that a single packet changes a share considerably.
fn coarse(curve: &Curve) -> Option<String> {
    let point = &curve.points[curve.recommended()];
    let (worst, step) = (point.shares.worst?, point.packet_share()?);
    let packet = if step < 1.0 { format!("{} of that", percent(step)) } else { "more than that".to_owned() };
    (step > 0.1).then(|| {
        format!(
            "{}: in the worst window a flow's fair share is {}, and one packet can be {packet}: a longer --window says more",
            point.run.policy,
            span(Nanos::from_f64(worst.fair_nanos)),
        )
    })
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if (percent - percent.round()).abs() < 1e-9 || percent.abs() >= 100.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A readable duration.
fn span(time: Nanos) -> String {
    match time.as_f64() {
        nanos if nanos >= 1e9 => format!("{} s", figure(nanos / 1e9)),
        nanos if nanos >= 1e6 => format!("{} ms", figure(nanos / 1e6)),
        nanos if nanos >= 100.0 => format!("{} µs", figure(nanos / 1e3)),
        nanos => format!("{} ns", figure(nanos)),
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::FlowId;
    use dovetail_sim::{
        Outcome,
        measure::{Meters, Shares, share::Worst},
    };

    use super::*;
    use crate::{run::PolicyRun, tune::knob::sweeps};

    const MILLI: f64 = 1e6;

    /// Results at a value of a knob: seconds until everything is done, the gap in milliseconds, and the worst share.
    type Seen = (f64, f64, f64);

    /// The advice for these points of a policy in the pipeline that it is designed for, if a packet is this fraction of a
    /// fair share.
    fn said(policy: &str, packet_share: f64, seen: &[Seen]) -> String {
        let sweep = sweeps(&[policy.to_owned()], None).unwrap_or_else(|error| panic!("{error}")).remove(0);
        let window = Nanos::from_secs(1);
        let point = |((value, spec), &(seconds, gap_ms, share)): (&(f64, dovetail_sched::PolicySpec), &Seen)| {
            let mut summary = Meters::new(2, window).finish();
            summary.makespan = Nanos::from_f64(seconds * 1e9);
            summary.max_active_time_gap = Some(Nanos::from_f64(gap_ms * MILLI));
            let longest = Nanos::from_micros(10);
            let fair_nanos = longest.as_f64() / packet_share;
            Point {
                value: *value,
                promise: sweep.tunable.promise(*value, sweep.tunable.made_for),
                run: PolicyRun {
                    policy: spec.to_string(),
                    outcome: Outcome { arrived: 9, sent: 9, ..Outcome::default() },
                    summary,
                    counters: Vec::new(),
                    learnt: None,
                    notices: Vec::new(),
                    records: None,
                    unwritten: Vec::new(),
                    wall: std::time::Duration::ZERO,
                },
                shares: Shares {
                    window,
                    counted: 9,
                    worst: Some(Worst { share, flow: FlowId(0), from: Nanos::ZERO, fair_nanos }),
                    first_percentile: None,
                    median: None,
                    shortfall: None,
                    flows_at_once: 3,
                    resources: 2,
                    longest,
                    dominant: Nanos::from_secs(5),
                },
            }
        };
        let points = sweep.points.iter().zip(seen).map(point).collect();
        why(&Curve { tunable: sweep.tunable, pipeline: sweep.tunable.made_for, points })
    }

    #[test]
    fn a_gain_that_is_no_gain_leaves_the_fairest() {
        let seen = [10.0, 9.99, 9.98, 9.975, 9.97, 9.96, 9.93].map(|seconds| (seconds, (10.0 - seconds) * 900.0, 0.9));
        assert_eq!(
            said("atfq", 0.01, &seen),
            "Run atfq:batch=1: no other batch gains anything worth its price. With batch=100 the makespan falls 0.7 %, about \
             the most that any brings, but a flow leads another by up to 63.0 ms, and the worst-off flow gets 0.90."
        );
        let none = said("atfq", 0.01, &seen[..5]);
        assert_eq!(none, "Run atfq:batch=1: no other batch gains as much as 0.5 % of the time.");
    }

    #[test]
    fn a_large_gain_for_a_gap_of_a_millisecond_is_taken() {
        let seconds = [10.0, 9.96, 9.8, 9.5, 9.2, 8.8, 8.5];
        let seen: Vec<Seen> = seconds.iter().map(|&seconds| (seconds, 0.1 + (10.0 - seconds) * 0.733, 0.9)).collect();
        assert_eq!(
            said("atfq", 0.01, &seen),
            "Run atfq:batch=100: the makespan falls 15 % from batch=1 (10.0 s to 8.50 s), and a flow leads another by up to \
             1.20 ms of active time (100 µs at batch=1), while the worst-off flow does not lose: it gets 0.90 of its fair \
             share in a window of 1s (0.90 at batch=1). No batch gains as much as 0.5 % more."
        );
    }

    #[test]
    fn a_share_in_windows_shorter_than_a_packet_is_not_spoken_of() {
        let seen = [(10.0, 0.1, 0.9), (9.0, 0.2, 0.0)];
        let coarse = said("atfq", 1.5, &seen);
        assert!(coarse.starts_with("Run atfq:batch=2:") && !coarse.contains("0.00"), "{coarse}");
        assert!(
            coarse.contains("shares in windows of 1s say nothing, as a fair one is less than a packet"),
            "{coarse}"
        );
        // The same share in windows of many packets is a price.
        let fine = said("atfq", 0.01, &seen);
        assert!(fine.starts_with("Run atfq:batch=1: no other batch gains anything worth its price"), "{fine}");
        // What a packet explains is not.
        let packet = said("atfq", 0.2, &[(10.0, 0.1, 0.9), (9.0, 0.1, 0.7)]);
        assert!(packet.starts_with("Run atfq:batch=2:"), "{packet}");
    }

    #[test]
    fn both_offers_have_their_price() {
        let seen = [10.0, 9.7, 9.4, 9.3, 9.2, 9.1, 9.1].map(|seconds| (seconds, 1.0, 0.95));
        assert_eq!(
            said("tradeoff", 0.01, &seen),
            "Run tradeoff:alpha=0.95: the makespan falls 6 % from alpha=1 (10.0 s to 9.40 s), and every flow is guaranteed \
             95 % of its fair share (the lowest in any window of 1s is 0.95; 0.95 at alpha=1). With alpha=0.8 the makespan \
             falls 9 %, about the most that any brings and 3 % more, but every flow is guaranteed only 80 % (the lowest is \
             0.95)."
        );
    }
}
