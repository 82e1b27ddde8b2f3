//! Tables of packets.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use dovetail_sched::{FlowId, Nanos};
use dovetail_sim::workload::{Arrival, Csv, CsvOptions, Workload, WorkloadError, scale_for_load, survey};
use proptest::prelude::*;

fn open(text: &str) -> Result<Csv, WorkloadError> {
    Csv::open(Box::new(Cursor::new(text.to_owned())), "test.csv", CsvOptions::default())
}

fn drain(csv: &mut Csv) -> Vec<Arrival> {
    std::iter::from_fn(|| csv.next().unwrap()).collect()
}

/// The error of the header, or of the first row with one.
fn error(text: &str) -> String {
    let mut csv = match open(text) {
        Ok(csv) => csv,
        Err(error) => return error.to_string(),
    };
    loop {
        match csv.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("no error in {text:?}"),
            Err(error) => {
                assert!(csv.next().unwrap().is_none(), "an error ends the stream");
                return error.to_string();
            }
        }
    }
}

const HEADER: &str = "arrival_ns,flow,bytes,cpu_ns,link_ns";

#[test]
fn rows_as_written() {
    let text = format!("{HEADER}\n10,a,100,5,7\n10,\"b, with a comma\",0,0,9\n\n30,a,1500,4611686018427387904,1\n");
    let mut csv = open(&text).unwrap();
    assert_eq!(csv.resources(), ["cpu", "link"]);
    let arrivals = drain(&mut csv);
    let rows: Vec<_> = arrivals.iter().map(|one| (one.at.0, one.flow.0, one.bytes)).collect();
    assert_eq!(rows, [(10, 0, 100), (10, 1, 0), (30, 0, 1500)]);
    assert_eq!(arrivals[0].demand.times(), [Nanos(5), Nanos(7)]);
    assert_eq!(arrivals[2].demand.times(), [Nanos(1 << 62), Nanos(1)]);
    assert_eq!((csv.label(FlowId(0)).as_str(), csv.label(FlowId(1)).as_str()), ("a", "b, with a comma"));
    assert_eq!(csv.class(FlowId(0)), None);
    let notices = csv.notices();
    assert_eq!((notices.len(), notices[0].count), (1, 1), "one packet of length 0: {notices:?}");
}

#[test]
fn spaces_line_ends_marks_and_gzip() {
    let plain = "arrival_ns,flow,bytes,x_ns\n1,f,2,3\n";
    let expected = drain(&mut open(plain).unwrap());
    for text in ["arrival_ns, flow, bytes, x_ns\r\n 1,f, 2 ,3\r\n", "\u{feff}arrival_ns,flow,bytes,x_ns\n1,f,2,3"] {
        assert_eq!(drain(&mut open(text).unwrap()), expected, "{text:?}");
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain.as_bytes()).unwrap();
    let read = Box::new(Cursor::new(encoder.finish().unwrap()));
    assert_eq!(drain(&mut Csv::open(read, "test.csv.gz", CsvOptions::default()).unwrap()), expected);
}

#[test]
fn numbers_are_read_up_to_their_limits_however_many_digits_they_are_written_with() {
    let most = 1u64 << 62;
    for zeros in [0, 1, 5, 30] {
        let text = format!("arrival_ns,flow,bytes,cpu_ns\n{0}{most},a,{0}4294967295,{0}{most}\n", "0".repeat(zeros));
        let rows = drain(&mut open(&text).unwrap());
        let read = (rows[0].at, rows[0].bytes, rows[0].demand.times());
        assert_eq!(read, (Nanos(most), u32::MAX, &[Nanos(most)][..]), "{text}");
    }
    // One more, the largest of 19 digits, and more than 64 bits can represent, by one and by far.
    for wrong in ["4611686018427387905", "9999999999999999999", "18446744073709551616", "99999999999999999999999"] {
        let text = error(&format!("arrival_ns,flow,bytes,cpu_ns\n0,a,1,{wrong}\n"));
        assert!(text.contains(&format!("'{wrong}' is not a whole number from 0 to {most}")), "{text}");
    }
}

#[test]
fn headers_that_are_none() {
    assert!(error("").starts_with("test.csv: is empty: the first line should be arrival_ns,flow,bytes,"));
    for header in ["1,2,3,4", "arrival_ns,flow,bytes,cpu", "flow,arrival_ns,bytes,cpu_ns", "arrival_ns,flow,bytes,_ns"]
    {
        let what = error(header);
        assert!(what.starts_with("test.csv, line 1: the header should be arrival_ns,flow,bytes,"), "{header}: {what}");
    }
    assert!(error("arrival_ns,flow,bytes").contains("0 resource columns"));
    let nine: String = (0..9).map(|at| format!(",r{at}_ns")).collect();
    assert!(error(&format!("arrival_ns,flow,bytes{nine}")).contains("9 resource columns: 1 to 8 are needed"));
    assert!(error("arrival_ns,flow,bytes,x_ns,x_ns").contains("'x_ns' twice"));
    assert!(error("arrival_ns,flow,bytes,x_ns,\u{1b}_ns").contains("column 5: there is a control character"));
}

#[test]
fn rows_that_are_wrong_name_their_line() {
    let with = |row: &str| error(&format!("{HEADER}\n5,a,1,1,1\n{row}\n"));
    for (row, expected) in [
        ("-1,a,1,1,1", "column 1 (arrival_ns): '-1' is not a whole number from 0 to 4611686018427387904"),
        ("6,a,4294967296,1,1", "column 3 (bytes): '4294967296' is not a whole number from 0 to 4294967295"),
        ("6,a,1,18446744073709551616,1", "column 4 (cpu): '18446744073709551616' is not"),
        // 2^64 + 4, where the last multiplication overflows.
        ("6,a,1,18446744073709551620,1", "column 4 (cpu): '18446744073709551620' is not"),
        ("6,a,1,1,1.5", "column 5 (link): '1.5' is not"),
        ("6,a,1,,1", "column 4 (cpu): '' is not"),
        ("6,a,1,nan,1", "column 4 (cpu): 'nan' is not"),
        ("6,,1,1,1", "column 2 (flow) is empty"),
        ("6,a\u{1b}[31m,1,1,1", "column 2 (flow): there is a control character, \\u{1b}: leave it out"),
        ("6,a\0,1,1,1", "column 2 (flow): there is a control character, \\u{0}"),
        ("6\u{1b},a,1,1,1", "column 1 (arrival_ns): '6\\u{1b}' is not"),
        ("6,a,1,1", "the header has 5 columns, and this row 4"),
        ("6,a,1,1,1,1", "the header has 5 columns, and this row 6"),
        ("4,a,1,1,1", "arrives at 4, before the row above it (5): sort the rows by arrival_ns"),
    ] {
        let what = with(row);
        assert!(what.starts_with("test.csv, line 3: ") && what.contains(expected), "{row}: {what}");
    }
    let long = "x".repeat(257);
    assert!(with(&format!("6,{long},1,1,1")).contains("column 2 (flow) has 257 bytes: at most 256 are allowed"));
    let endless = "x".repeat(200_000);
    assert!(with(&format!("6,{endless},1,1,1")).contains("is longer than 65536 bytes"));
    let read = Box::new(Cursor::new(b"arrival_ns,flow,bytes,x_ns\n1,\xff,1,1\n".to_vec()));
    let mut csv = Csv::open(read, "test.csv", CsvOptions::default()).unwrap();
    assert!(csv.next().unwrap_err().to_string().contains("not UTF-8"));
}

#[test]
fn scaled_to_a_load() {
    let rows: String = (0..11).map(|at| format!("{},f{},100,20,50\n", 1_000_000 + at * 1_000, at % 3)).collect();
    let text = format!("{HEADER}\n{rows}");
    let before = survey(&mut open(&text).unwrap()).unwrap();
    assert_eq!((before.packets, before.flows, before.duration), (11, 3, Nanos(10_000)));
    assert_eq!(before.demand, [Nanos(220), Nanos(550)]);
    let options = CsvOptions { time_scale: scale_for_load(&before, 0.5), packets: Some(before.packets) };
    let mut csv = Csv::open(Box::new(Cursor::new(text)), "test.csv", options).unwrap();
    assert_eq!(csv.packets_hint(), Some(11));
    let after = survey(&mut csv).unwrap();
    assert!((after.loads()[1] - 0.5).abs() < 0.01, "{:?}", after.loads());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        resources in 1usize..=8,
        rows in prop::collection::vec((0u64..1_000, "[ -~é]{1,20}", any::<u32>(), prop::array::uniform8(0u64..=1 << 62)), 0..40),
    ) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut header = vec!["arrival_ns".to_string(), "flow".into(), "bytes".into()];
        header.extend((0..resources).map(|at| format!("r{at}_ns")));
        writer.write_record(&header).unwrap();
        let mut at = 0;
        let mut expected = Vec::new();
        for (gap, flow, bytes, times) in rows {
            at += gap;
            let mut record = vec![at.to_string(), flow.clone(), bytes.to_string()];
            record.extend(times[..resources].iter().map(ToString::to_string));
            writer.write_record(&record).unwrap();
            expected.push((at, flow, bytes, times[..resources].to_vec()));
        }
        let read = Box::new(Cursor::new(writer.into_inner().unwrap()));
        let mut csv = Csv::open(read, "test.csv", CsvOptions::default()).unwrap();
        let arrivals = drain(&mut csv);
        let found: Vec<_> = arrivals.iter().map(|one| {
            let times = one.demand.times().iter().map(|time| time.0).collect::<Vec<_>>();
            (one.at.0, csv.label(one.flow), one.bytes, times)
        }).collect();
        prop_assert_eq!(found, expected);
    }
}
