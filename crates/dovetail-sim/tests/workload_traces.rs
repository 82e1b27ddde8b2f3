//! The development traces, against the figures that are published beside them.

use std::{collections::HashSet, fs::File, io::BufReader, path::PathBuf};

use dovetail_sched::{FlowId, Nanos, units::parse_rate};
use dovetail_sim::workload::{Capture, CaptureOptions, ClassSet, Survey, Workload, scale_for_load, survey};

/// The folder of traces, if there is one.
fn traces() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");
    let folder = std::env::var_os("DOVETAIL_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no traces in {} (set DOVETAIL_TRACES)", folder.display());
    None
}

fn open(name: &str, change: impl FnOnce(&mut CaptureOptions)) -> Option<Capture> {
    let file = File::open(traces()?.join(name)).expect("the folder has its traces");
    let mut options = CaptureOptions::new(ClassSet::table_ii(parse_rate("400Mbps").expect("a rate")));
    change(&mut options);
    Some(Capture::open(Box::new(BufReader::new(file)), name, options).expect("a capture"))
}

#[test]
fn probe() {
    for name in ["small-browse.pcap", "mix-dev.pcap", "echo-connections.pcap"] {
        let Some(mut capture) = open(name, |_| ()) else { return };
        let survey = survey(&mut capture).expect("a good capture");
        println!("{name} {survey:?}");
        let mut by = std::collections::BTreeMap::new();
        for flow in 0..survey.flows as u32 {
            let label = capture.label(FlowId(flow));
            let l = label.rsplit('/').next().unwrap().to_string();
            *by.entry(l).or_insert(0) += 1;
        }
        println!("{by:?}\n{:?}", capture.notices());
    }
}
