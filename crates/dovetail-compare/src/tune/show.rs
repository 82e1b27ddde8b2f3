//! Results of tuning as text and as JSON.

use std::path::Path;

use dovetail_sched::Nanos;
use serde::Serialize;

use super::{
    advice,
    curve::{Curve, Point},
};
use crate::{
    provenance::Provenance,
    run::Plan,
    setting::{Traffic, closing, odd, pipeline_named},
    table::{Table, count, figure, megabits},
};

/// Curves in all output formats.
pub(crate) struct Tuning<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) provenance: Provenance,
    pub(crate) curves: &'a [Curve],
}

#[derive(Serialize)]
pub(crate) struct TuningJson {
    provenance: Provenance,
    workload: Traffic,
    window_s: f64,
    sweeps: Vec<SweepJson>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct SweepJson {
    policy: &'static str,
    knob: &'static str,
    pipeline: String,
    points: Vec<PointJson>,
    recommended: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gains_most: Option<String>,
    why: String,
}

#[derive(Serialize)]
pub(crate) struct PointJson {
    policy: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<String>,
    sent: u64,
    dropped: u64,
    makespan_s: f64,
    utilisation: serde_json::Map<String, serde_json::Value>,
    throughput_mbps: f64,
    work_per_s: f64,
    jain_dominant: Option<f64>,
    worst_share: Option<f64>,
    worst_flow: Option<String>,
    worst_window_s: Option<f64>,
    median_share: Option<f64>,
    flow_windows: u64,
    max_active_time_gap_us: Option<f64>,
    guaranteed_share: Option<f64>,
    shortfall_ms: Option<f64>,
    slack_ms: Option<f64>,
    p99_latency_us: Option<f64>,
    wall_s: f64,
}

/// Meaning of the columns.
pub(crate) const LEGEND: [(&str, &str); 6] = [
    ("*", "recommended"),
    ("<resource> %", "utilisation of the resource until the last packet has left, which is the makespan"),
    ("work", "seconds of service on packets' dominant resources per second: what the knob trades fairness for"),
    ("worst share", "the lowest share that a waiting flow received in a window, over its fair share then: 1 is fair"),
    (
        "behind",
        "by how much any flow fell short of its guarantee, over any interval; packets are indivisible, so some is \
         unavoidable",
    ),
    ("gap", "the largest lead in active time of one waiting flow over another"),
];

impl Tuning<'_> {
    pub(crate) fn traffic(&self) -> Traffic {
        Traffic::of(self.curves.first().and_then(|curve| curve.points.first()).map(|point| &point.run))
    }

    /// What was run, in a sentence.
    pub(crate) fn setting(&self) -> String {
        format!("{}; shares over windows of {}", self.traffic().setting(self.plan, None), self.plan.window)
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let first = self.curves.first().and_then(|curve| curve.points.first());
        let odd = first.map(|point| odd(&point.run)).unwrap_or_default();
        odd.into_iter().chain(advice::notes(self.curves, self.plan)).collect()
    }

    /// The title of a curve.
    pub(crate) fn title(&self, curve: &Curve) -> String {
        let pipeline = pipeline_named(self.plan, curve.pipeline);
        format!("{} by {}, pipeline {pipeline}", curve.tunable.policy, curve.tunable.knob)
    }

    pub(crate) fn table(&self, curve: &Curve) -> Table {
        let busy = self.plan.input.resources().iter().map(|name| format!("{name} %"));
        // A promise is judged by how far it was missed; without one, the lead is the first price of packing.
        let promised = curve.points[0].promise.is_some();
        let lag = if promised { "behind ms" } else { "gap ms" };
        let fixed = ["Mbit/s", "work", "Jain", "worst share", lag, "p99 ms", "dropped"];
        let header = [curve.tunable.knob, "makespan s"].map(str::to_owned).into_iter().chain(busy);
        let header = header.chain(fixed.map(str::to_owned)).collect();
        let mut table = Table { header, rows: Vec::new(), words: 1 };
        let recommended = curve.recommended();
        let share =
            |share: Option<f64>, digits: usize| share.map_or_else(|| "–".to_owned(), |s| format!("{s:.digits$}"));
        let millis = |time: Option<Nanos>| time.map_or_else(|| "–".to_owned(), |time| figure(time.as_f64() / 1e6));
        for (at, point) in curve.points.iter().enumerate() {
            let summary = &point.run.summary;
            let mark = if at == recommended { " *" } else { "" };
            let first = [format!("{}{mark}", point.value), format!("{:.4}", summary.makespan.as_secs_f64())];
            let busy = summary.utilisation.iter().map(|share| format!("{:.2}", share * 100.0));
            let rest = [
                megabits(summary.throughput_mbps),
                format!("{:.3}", point.work()),
                share(summary.jain_dominant, 4),
                share(point.worst_share(), 3),
                millis(if promised { point.shares.shortfall } else { point.gap() }),
                millis(summary.latency.map(|latency| latency.p99)),
                count(point.run.outcome.dropped),
            ];
            table.push(first.into_iter().chain(busy).chain(rest));
        }
        table
    }

    pub(crate) fn text(&self, report: Option<&Path>, records: Option<&Path>) -> String {
        let mut text = format!("{}\n", self.setting());
        for curve in self.curves {
            text += &format!("\n{}\n{}\n", self.title(curve), self.table(curve).to_terminal());
        }
        text.push('\n');
        for (term, meaning) in LEGEND {
            text += &format!("{term:13} {meaning}\n");
        }
        text.push('\n');
        for curve in self.curves {
            text += &format!("{}\n", advice::why(curve));
        }
        text += &closing(&self.notes(), records, report);
        text.trim_end().to_owned()
    }

    pub(crate) fn json(&self) -> TuningJson {
        let sweep = |curve: &Curve| SweepJson {
            policy: curve.tunable.policy,
            knob: curve.tunable.knob,
            pipeline: curve.pipeline.to_string(),
            points: curve.points.iter().map(|point| self.point(point)).collect(),
            recommended: curve.points[curve.recommended()].run.policy.clone(),
            gains_most: curve.most().map(|most| curve.points[most].run.policy.clone()),
            why: advice::why(curve),
        };
        TuningJson {
            provenance: self.provenance.clone(),
            workload: self.traffic(),
            window_s: self.plan.window.as_secs_f64(),
            sweeps: self.curves.iter().map(sweep).collect(),
            notes: self.notes(),
        }
    }

    pub(crate) fn point(&self, point: &Point) -> PointJson {
        let Point { run, shares, .. } = point;
        let resources = self.plan.input.resources().iter();
        let millis = |time: Nanos| time.as_f64() / 1e6;
        PointJson {
            policy: run.policy.clone(),
            value: point.value,
            records: run.records.as_ref().map(|path| path.display().to_string()),
            sent: run.outcome.sent,
            dropped: run.outcome.dropped,
            makespan_s: run.summary.makespan.as_secs_f64(),
            utilisation: resources
                .zip(&run.summary.utilisation)
                .map(|(name, &busy)| (name.clone(), busy.into()))
                .collect(),
            throughput_mbps: run.summary.throughput_mbps,
            work_per_s: point.work(),
            jain_dominant: run.summary.jain_dominant,
            worst_share: point.worst_share(),
            worst_flow: shares.worst.and_then(|worst| Some(run.summary.flows.get(worst.flow.index())?.label.clone())),
            worst_window_s: shares.worst.map(|worst| worst.from.as_secs_f64()),
            median_share: shares.median,
            flow_windows: shares.counted,
            max_active_time_gap_us: point.gap().map(Nanos::as_micros_f64),
            guaranteed_share: point.promise,
            shortfall_ms: shares.shortfall.map(millis),
            slack_ms: point.promise.map(|_| millis(shares.slack())),
            p99_latency_us: run.summary.latency.map(|latency| latency.p99.as_micros_f64()),
            wall_s: run.wall.as_secs_f64(),
        }
    }
}
