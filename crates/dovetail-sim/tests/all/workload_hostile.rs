//! Arbitrary bytes: whatever the input, there is an answer, and soon.
#![allow(clippy::unwrap_used)]

use std::io::Cursor;

use dovetail_sched::units::parse_rate;
use dovetail_sim::workload::{Capture, CaptureOptions, ClassSet, Csv, CsvOptions, Scenario, Workload};
use proptest::prelude::*;

/// Every packet takes at least this many bytes of a capture or a table.
const MIN_PACKET_BYTES: usize = 8;

fn drain(workload: &mut dyn Workload, input: usize) {
    let mut last = dovetail_sched::Nanos::ZERO;
    for step in 0.. {
        assert!(step <= input / MIN_PACKET_BYTES + 1, "more packets than {input} bytes can hold");
        match workload.next() {
            Ok(Some(arrival)) => {
                assert!(arrival.at >= last, "time runs back");
                last = arrival.at;
                assert!(!workload.label(arrival.flow).is_empty());
            }
            Ok(None) => break,
            Err(error) => {
                assert!(error.to_string().starts_with("hostile"), "{error}");
                break;
            }
        }
    }
    assert!(matches!(workload.next(), Ok(None)), "the end is the end");
    let _ = workload.notices();
}

fn capture(bytes: Vec<u8>) {
    let length = bytes.len();
    let options = CaptureOptions::new(ClassSet::table_ii(parse_rate("400Mbps").unwrap()));
    if let Ok(mut capture) = Capture::open(Box::new(Cursor::new(bytes)), "hostile", options) {
        drain(&mut capture, length);
    }
}

fn classic(magic: [u8; 4], link: u8, body: &[u8]) -> Vec<u8> {
    [&magic[..], &[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, link, 0, 0, 0], body].concat()
}

fn blocks(blocks: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut push = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        file.extend([&kind.to_le_bytes()[..], &length, body, &length].concat());
    };
    push(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    push(1, &[1, 0, 0, 0, 0, 0, 0, 0]);
    for (kind, body) in blocks {
        push(*kind, body);
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bytes_as_a_capture(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        capture(bytes);
    }

    #[test]
    fn bytes_behind_a_header(
        magic in prop::sample::select(vec![[0xd4, 0xc3, 0xb2, 0xa1], [0x4d, 0x3c, 0xb2, 0xa1], [0x34, 0xcd, 0xb2, 0xa1]]),
        link in prop::sample::select(vec![0u8, 1, 101, 108, 113]),
        body in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        capture(classic(magic, link, &body));
    }

    #[test]
    fn frames_of_anything(link in prop::sample::select(vec![0u8, 1, 101, 108, 113]), data in prop::collection::vec(any::<u8>(), 0..120)) {
        let mut body = vec![0; 8];
        body.extend((data.len() as u32).to_le_bytes());
        body.extend(1500u32.to_le_bytes());
        body.extend(&data);
        capture(classic([0xd4, 0xc3, 0xb2, 0xa1], link, &body));
    }

    #[test]
    fn blocks_of_anything(
        list in prop::collection::vec((prop::sample::select(vec![1u32, 2, 3, 4, 5, 6, 9, 10, 0xbad, 0x0a0d_0d0a, 77]),
            prop::collection::vec(any::<u8>(), 0..60)), 0..12),
        cut in 0usize..40,
    ) {
        let mut file = blocks(&list);
        file.truncate(file.len() - cut.min(file.len()));
        capture(file);
    }

    #[test]
    fn bytes_as_a_table(bytes in prop::collection::vec(any::<u8>(), 0..200), headed in any::<bool>()) {
        let header: &[u8] = if headed { b"arrival_ns,flow,bytes,x_ns\n" } else { b"" };
        let text = [header, &bytes].concat();
        let length = text.len();
        if let Ok(mut csv) = Csv::open(Box::new(Cursor::new(text)), "hostile", CsvOptions::default()) {
            drain(&mut csv, length);
        }
    }

    #[test]
    fn rows_as_a_table(rows in "([0-9]{1,21},[a-c]?,[0-9.-]{1,12},[0-9]{0,22}\n){0,8}") {
        let text = format!("arrival_ns,flow,bytes,x_ns\n{rows}");
        let length = text.len();
        if let Ok(mut csv) = Csv::open(Box::new(Cursor::new(text)), "hostile", CsvOptions::default()) {
            drain(&mut csv, length);
        }
    }

    #[test]
    fn text_as_a_scenario(text in "\\PC{0,200}") {
        scenario(&text);
    }

    /// A valid scenario with one of its values replaced.
    #[test]
    fn a_scenario_with_one_value_wrong(
        which in any::<prop::sample::Index>(),
        value in prop_oneof![
            "-?[0-9]{1,19}", "-?[0-9]{1,3}\\.[0-9]{1,3}e-?[0-9]{1,3}", "\"[0-9.e+-]{0,8}(ns|us|ms|s|B|kB|Mbps|/s|ns\\*bytes)\"",
            "\"\\PC{0,10}\"", "nan|inf|-inf|true|\\[\\]|\\{\\}|\\[\\[1,1\\]\\]",
        ],
    ) {
        let parts: Vec<&str> = GOOD.split('@').collect();
        let which = which.index(parts.len() / 2);
        let text: String = parts.iter().enumerate().map(|(at, part)| {
            if at == 2 * which + 1 { value.as_str() } else { part }
        }).collect();
        scenario(&text);
    }
}

/// Replaceable values are between signs.
const GOOD: &str = r#"
name = @"good"@
seed = @1@
duration = @"2s"@
packets = @1000@
pipeline = @"buffer=3"@
queue_packets = @20@
backlog = @5@
load = @0.9@
[[resource]]
name = @"cpu"@
[[resource]]
name = "link"
rate = @"1Gbps"@
[[class]]
name = @"a"@
cost = { cpu = @"1ns*bytes + 2us"@ }
ports = [@80@]
prefixes = [@"10.0.0.0/8"@]
share = @1.5@
[[class]]
name = "b"
cost = { cpu = "1us" }
[[flow]]
name = @"f"@
count = @3@
class = @"a"@
weight = @2.0@
size = @{ uniform = { min = 64, max = 1500 } }@
arrivals = { poisson = @"100/s"@ }
start = @"1ms"@
stop = @"1s"@
packets = @100@
change = [{ at = @"4ms"@, class = @"b"@ }]
[[flow]]
name = "g"
size = { pareto = { shape = @1.2@, min = @64@, max = @1500@ } }
arrivals = { on-off = { rate = @"1Mbps"@, on = @"1ms"@, off = @"2ms"@ } }
[[flow]]
name = "h"
size = { lognormal = { mu = @6@, sigma = @0.5@, min = 40, max = 9000 } }
arrivals = @"backlogged"@
[[transfers]]
name = "t"
size = { cdf = { points = [[@1@, @0@], [@100000@, @1@]], unit = @"10B"@ } }
arrivals = { constant = @"10/s"@ }
mtu = @1500@
pace = @"10Mbps"@
flows = @50@
"#;

fn scenario(text: &str) {
    let parsed = Scenario::parse(text, "hostile", &mut |_| Err(std::io::ErrorKind::NotFound.into()));
    let workload = parsed.and_then(|scenario| {
        assert!(scenario.offered_loads().iter().all(|load| load.is_finite() && *load >= 0.0), "{text}");
        scenario.workload()
    });
    let mut workload = match workload {
        Ok(workload) => workload,
        Err(error) => {
            assert!(error.to_string().starts_with("hostile"), "{error}");
            return;
        }
    };
    let mut last = dovetail_sched::Nanos::ZERO;
    for _ in 0..2_000 {
        let Some(arrival) = workload.next().expect("a scenario that was accepted does not fail later") else { break };
        assert!(arrival.at >= last, "time runs back");
        last = arrival.at;
        if let Some(more) = workload.refill(arrival.flow, last) {
            assert_eq!((more.flow, more.at), (arrival.flow, last));
        }
    }
}

#[test]
fn the_good_scenario_is_good() {
    let text = GOOD.replace('@', "");
    let scenario = Scenario::parse(&text, "good", &mut |_| Err(std::io::ErrorKind::NotFound.into())).unwrap();
    assert!(scenario.workload().unwrap().next().unwrap().is_some());
}
