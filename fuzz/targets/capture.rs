//! Bytes as a capture: pcap, pcapng, gzip or anything.
#![no_main]

use std::io::Cursor;

use dovetail_sched::units::parse_rate;
use dovetail_sim::workload::{Capture, CaptureOptions, ClassSet, Workload};
use libfuzzer_sys::fuzz_target;

/// A small file can unpack to a large one; so many packets are enough.
const MAX_PACKETS: usize = 100_000;

fuzz_target!(|bytes: &[u8]| {
    let options = CaptureOptions::new(ClassSet::table_ii(parse_rate("400Mbps").expect("a rate")));
    let Ok(mut capture) = Capture::open(Box::new(Cursor::new(bytes.to_vec())), "fuzz", options) else { return };
    let mut last = dovetail_sched::Nanos::ZERO;
    for _ in 0..MAX_PACKETS {
        match capture.next() {
            Ok(Some(arrival)) => {
                assert!(arrival.at >= last, "time runs back");
                last = arrival.at;
                assert!(!capture.label(arrival.flow).is_empty());
                assert!(capture.class(arrival.flow).is_some());
            }
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert!(matches!(capture.next(), Ok(None)), "an error ends the stream");
                break;
            }
        }
    }
    assert!(capture.notices().iter().all(|notice| notice.count > 0));
});
