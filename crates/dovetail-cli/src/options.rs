//! Converts command-line options to the libraries' types.

use std::path::PathBuf;

#[cfg(feature = "profile")]
use dovetail_compare::options::ProfileOptions;
use dovetail_compare::{
    Selection,
    options::{AdmitOptions, CompareOptions, ExplainOptions, InputOptions, OutputOptions, TuneOptions},
};
use dovetail_experiments::ReproduceOptions;

#[cfg(feature = "profile")]
use crate::args::ProfileArgs;
use crate::args::{AdmitArgs, CompareArgs, ExplainArgs, InputArgs, OutputArgs, ReproduceArgs, Seeds, TuneArgs};

impl From<&InputArgs> for InputOptions {
    fn from(args: &InputArgs) -> Self {
        Self {
            scenario: args.scenario.clone(),
            text: None,
            trace: args.trace.first().cloned(),
            workload: args.workload.clone(),
            pipeline: args.pipeline,
            queue_packets: args.queue_packets,
            buffer_packets: args.buffer_packets,
            drop: args.drop,
            link: args.link,
            load: args.load,
            seed: args.seed,
        }
    }
}

fn seeds(seeds: Option<&Seeds>) -> Vec<u64> {
    seeds.map(|seeds| seeds.0.clone()).unwrap_or_default()
}

/// All captures but the first.
fn further(args: &InputArgs) -> Vec<PathBuf> {
    args.trace.iter().skip(1).cloned().collect()
}

impl From<&OutputArgs> for OutputOptions {
    fn from(args: &OutputArgs) -> Self {
        Self {
            report: args.report.clone(),
            records: args.records.clone(),
            format: args.format,
            jobs: args.jobs,
            json: args.json,
        }
    }
}

impl From<&CompareArgs> for CompareOptions {
    fn from(args: &CompareArgs) -> Self {
        Self {
            input: (&args.input).into(),
            seeds: seeds(args.seeds.as_ref()),
            further_traces: further(&args.input),
            policies: args.policies.clone(),
            programs: args.programs.clone(),
            window: args.window,
            pcap: args.pcap.clone(),
            summary: args.summary.clone(),
            output: (&args.output).into(),
        }
    }
}

impl From<&ExplainArgs> for ExplainOptions {
    fn from(args: &ExplainArgs) -> Self {
        let (selection, slowest) = match (args.packet, &args.flow, &args.class) {
            (Some(packet), ..) => (Selection::Packet(packet), 1),
            (None, Some(flow), _) => (Selection::Flow(flow.clone()), args.slowest.into()),
            (None, None, Some(class)) => (Selection::Class(class.clone()), args.slowest.into()),
            (None, None, None) => (Selection::All, args.slowest.into()),
        };
        Self {
            input: (&args.input).into(),
            policy: args.policy.clone(),
            against: args.against.clone(),
            seeds: seeds(args.seeds.as_ref()),
            further_traces: further(&args.input),
            selection,
            slowest,
            output: (&args.output).into(),
        }
    }
}

impl From<&TuneArgs> for TuneOptions {
    fn from(args: &TuneArgs) -> Self {
        Self {
            input: (&args.input).into(),
            policies: args.policies.clone(),
            seeds: seeds(args.seeds.as_ref()),
            further_traces: further(&args.input),
            points: args.points,
            window: args.window,
            output: (&args.output).into(),
        }
    }
}

impl From<&AdmitArgs> for AdmitOptions {
    fn from(args: &AdmitArgs) -> Self {
        Self { file: args.file.clone(), text: None, bound: args.bound, json: args.json }
    }
}

impl From<&ReproduceArgs> for ReproduceOptions {
    fn from(args: &ReproduceArgs) -> Self {
        Self {
            names: args.names.clone(),
            traces: args.traces.clone(),
            json: args.json,
            report: args.report.clone(),
            live: args.live,
        }
    }
}

#[cfg(feature = "profile")]
impl From<&ProfileArgs> for ProfileOptions {
    fn from(args: &ProfileArgs) -> Self {
        Self {
            functions: args.functions.clone(),
            sizes: args.sizes.clone(),
            packets: args.packets,
            core: args.core,
            link: args.link,
            output: args.output.clone(),
            samples: args.samples.clone(),
            json: args.json,
            report: args.report.clone(),
            seed: args.seed,
        }
    }
}
