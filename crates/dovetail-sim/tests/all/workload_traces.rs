//! The development traces, compared with their published figures.

use std::{collections::HashSet, fs::File, io::BufReader, path::PathBuf};

use dovetail_sched::{FlowId, units::parse_rate};
use dovetail_sim::workload::{Capture, CaptureOptions, Cdf, ClassSet, Workload, scale_for_load, survey};

/// The folder of traces, if there is one.
fn traces() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");
    let folder = std::env::var_os("DOVETAIL_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    dovetail_skip::skipped(format_args!("no traces in {} (set DOVETAIL_TRACES)", folder.display()));
    None
}

fn open(name: &str, change: impl FnOnce(&mut CaptureOptions)) -> Option<Capture> {
    let file = File::open(traces()?.join(name)).expect("the folder has its traces");
    let mut options = CaptureOptions::new(ClassSet::table_ii(parse_rate("400Mbps").expect("a rate")));
    change(&mut options);
    Some(Capture::open(Box::new(BufReader::new(file)), name, options).expect("a capture"))
}

/// The traces' README about a file.
struct Published {
    name: &'static str,
    packets: u64,
    /// One-way five-tuples: in all, TCP, UDP.
    flows: [usize; 3],
    duration_s: f64,
    mean_bytes: f64,
    max_bytes: u32,
    mean_mbps: f64,
    /// Packets captured in part, and with an earlier time than one before.
    truncated: u64,
    earlier: u64,
}

#[test]
fn counts_are_those_published() {
    let all = [
        Published {
            name: "small-browse.pcap",
            packets: 4_631,
            flows: [271, 132, 139],
            duration_s: 15.65,
            mean_bytes: 807.0,
            max_bytes: 1414,
            mean_mbps: 1.91,
            truncated: 65,
            earlier: 0,
        },
        Published {
            name: "mix-dev.pcap",
            packets: 94_100,
            flows: [4_562, 2_721, 1_321],
            duration_s: 60.00,
            mean_bytes: 476.0,
            max_bytes: 1564,
            mean_mbps: 5.98,
            truncated: 54,
            earlier: 0,
        },
        Published {
            name: "echo-connections.pcap",
            packets: 82_582,
            flows: [1_000, 1_000, 0],
            duration_s: 6.49,
            mean_bytes: 67.0,
            max_bytes: 74,
            mean_mbps: 6.79,
            truncated: 0,
            earlier: 2,
        },
    ];
    for published in all {
        let name = published.name;
        let Some(mut capture) = open(name, |_| ()) else { return };
        let totals = survey(&mut capture).expect("a good capture");
        assert_eq!(totals.packets, published.packets, "{name}");
        let duration = totals.duration.as_secs_f64();
        assert!((duration - published.duration_s).abs() <= 0.005, "{name}: {duration} s");
        let mean = totals.bytes as f64 / totals.packets as f64;
        assert!((mean - published.mean_bytes).abs() <= 0.5, "{name}: {mean} bytes");
        let mbps = totals.bytes as f64 * 8e-6 / duration;
        assert!((mbps - published.mean_mbps).abs() <= 0.005, "{name}: {mbps} Mbit/s");
        // The table counts only flows of IP; these are the labels without hardware addresses.
        let labels: Vec<_> = (0..totals.flows as u32).map(|flow| capture.label(FlowId(flow))).collect();
        assert_eq!(labels.iter().collect::<HashSet<_>>().len(), labels.len(), "{name}: two flows of one name");
        let protocols = labels.iter().filter_map(|label| label.rsplit_once('/').map(|(_, protocol)| protocol));
        let protocols: Vec<_> = protocols.collect();
        let without_ip = ["arp", "llc", "lldp", "pppoe", "0x8909"];
        let ip = protocols.iter().filter(|protocol| !without_ip.contains(protocol)).count();
        let of = |wanted: &str| protocols.iter().filter(|&&protocol| protocol == wanted).count();
        assert_eq!([ip, of("tcp"), of("udp")], published.flows, "{name}");
        let notices = capture.notices();
        let count = |part: &str| notices.iter().filter(|one| one.what.contains(part)).map(|one| one.count).sum::<u64>();
        assert_eq!((count("only in part") * 200 / totals.packets).div_ceil(2), published.truncated, "{name}");
        assert_eq!(count("earlier"), published.earlier, "{name}");
        assert_eq!(count("invalid headers") + count("damaged") + count("ends"), 0, "{name}: {notices:?}");

        let mut again = open(name, |_| ()).expect("it is there");
        let mut largest = 0;
        while let Some(arrival) = again.next().expect("a good capture") {
            largest = largest.max(arrival.bytes);
        }
        assert_eq!(largest, published.max_bytes, "{name}");
    }
}

#[test]
fn a_survey_scales_to_a_load() {
    for name in ["small-browse.pcap", "mix-dev.pcap"] {
        let Some(mut capture) = open(name, |_| ()) else { return };
        let before = survey(&mut capture).expect("a good capture");
        let scale = scale_for_load(&before, 1.2);
        let mut capture = open(name, |options| options.time_scale = scale).expect("it is there");
        let after = survey(&mut capture).expect("a good capture");
        let busiest = after.loads().into_iter().fold(0.0, f64::max);
        assert!((busiest - 1.2).abs() < 1e-6, "{name}: {busiest}");
        assert_eq!((after.packets, after.flows, &after.demand), (before.packets, before.flows, &before.demand));
    }
}

#[test]
fn published_flow_sizes_have_their_means() {
    let Some(folder) = traces() else { return };
    // In bytes, to the published precision; a packet there is 1,460 bytes.
    for (name, unit, mean, digit) in [
        ("netsys-CDF_dctcp.txt", 1460.0, 1_141.0 * 1460.0, 730.0),
        ("netsys-CDF_datamining.txt", 1460.0, 5_117.0 * 1460.0, 730.0),
        ("netsys-CDF_aditya.txt", 1460.0, 134.0 * 1460.0, 730.0),
        ("opera-websearch.csv", 1.0, 1.49e6, 5e3),
        ("opera-datamining.csv", 1.0, 5.04e6, 5e3),
        ("opera-FB_Hadoop_Inter_Rack_FlowCDF.csv", 1.0, 3.42e6, 5e3),
    ] {
        let text = std::fs::read_to_string(folder.join("flow-sizes").join(name)).expect("the folder has its tables");
        let cdf = Cdf::from_text(&text, unit).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!((cdf.mean() - mean).abs() <= digit, "{name}: {}", cdf.mean());
    }
    // The scenario's points are those of the table.
    let scenario = include_str!("../../../../scenarios/websearch.toml");
    let text = std::fs::read_to_string(folder.join("flow-sizes/opera-websearch.csv")).expect("it is there");
    for line in text.lines() {
        let point = line.trim().replace(',', ", ");
        assert!(scenario.contains(&format!("[{point}],")), "{point}");
    }
}
