//! Bytes as a table of packets.
#![no_main]

use std::io::Cursor;

use dovetail_sim::workload::{Csv, CsvOptions, Workload};
use libfuzzer_sys::fuzz_target;

/// A small file can unpack to a large one; so many packets are enough.
const MAX_PACKETS: usize = 100_000;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut csv) = Csv::open(Box::new(Cursor::new(bytes.to_vec())), "fuzz", CsvOptions::default()) else { return };
    let resources = csv.resources().len();
    let mut last = dovetail_sched::Nanos::ZERO;
    for _ in 0..MAX_PACKETS {
        match csv.next() {
            Ok(Some(arrival)) => {
                assert!(arrival.at >= last, "time runs back");
                last = arrival.at;
                assert_eq!(arrival.demand.times().len(), resources);
                assert!(!csv.label(arrival.flow).is_empty());
            }
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert!(matches!(csv.next(), Ok(None)), "an error ends the stream");
                break;
            }
        }
    }
});
