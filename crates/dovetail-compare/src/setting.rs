//! Description of what was run, as a sentence and as JSON.

use std::path::Path;

use dovetail_sched::DropPolicy;
use dovetail_sim::PipelineMode;
use serde::Serialize;

use crate::{
    run::{Plan, PolicyRun},
    table::{count, counted, figure},
};

/// The traffic of a command's runs.
#[derive(Serialize)]
pub struct Traffic {
    packets: u64,
    flows: usize,
    bytes: u64,
    duration_s: f64,
}

impl Traffic {
    /// Taken from the first run: all runs see the same packets, unless a backlogged flow supplies as many as a policy takes.
    pub fn of(first: Option<&PolicyRun>) -> Self {
        let summary = first.map(|run| &run.summary);
        Self {
            packets: first.map_or(0, |run| run.outcome.arrived),
            flows: summary.map_or(0, |summary| summary.flows.len()),
            bytes: summary.map_or(0, |summary| summary.bytes_arrived),
            duration_s: summary.map_or(0.0, |summary| summary.arrivals_took.as_secs_f64()),
        }
    }

    /// Traffic, queues and, if all runs share one, the pipeline, in a sentence.
    pub fn setting(&self, plan: &Plan<'_>, pipeline: Option<PipelineMode>) -> String {
        let pipeline = pipeline.map(|mode| format!("pipeline {}, ", pipeline_named(plan, mode))).unwrap_or_default();
        let queue = plan.queue_packets.map(|packets| format!("{} a queue", counted(packets.into(), "packet")));
        let buffer = plan.buffer_packets.map(|packets| format!("{} in all", counted(packets.into(), "packet")));
        let queues: Vec<_> = queue.into_iter().chain(buffer).collect();
        let mut queues = if queues.is_empty() { "queues without limit".to_owned() } else { queues.join(", ") };
        match plan.drop {
            DropPolicy::Tail | DropPolicy::Policy => {}
            drop => queues += &format!(", drop {drop}"),
        }
        format!(
            "{}: {} of {}, {} MB over {} s; {pipeline}{queues}",
            plan.input.name(),
            counted(self.packets, "packet"),
            counted(self.flows as u64, "flow"),
            figure(self.bytes as f64 / 1e6),
            figure(self.duration_s),
        )
    }
}

/// The resources and the buffering between them.
pub fn pipeline_named(plan: &Plan<'_>, mode: PipelineMode) -> String {
    format!("{} ({mode})", plan.input.resources().join(" → "))
}

/// The end of a text: notes about the figures, and what was written.
pub fn closing(notes: &[String], records: Option<&Path>, report: Option<&Path>) -> String {
    let notes = notes.iter().map(|line| format!("note: {line}\n"));
    let records = records.map(|folder| format!("records: {}\n", folder.display()));
    let report = report.map(|path| format!("report: {}\n", path.display()));
    notes.chain(records).chain(report).collect()
}

/// Irregularities in a run's input.
pub fn odd(run: &PolicyRun) -> Vec<String> {
    run.notices.iter().map(|notice| format!("{} {}", count(notice.count), notice.what)).collect()
}
