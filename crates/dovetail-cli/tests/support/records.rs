//! Records as written by the command, read line by line.

use std::{collections::HashMap, fs, path::Path};

use super::recompute::Row;

/// Contents of a file of records.
pub struct Records {
    /// Packets that were sent, in order of release; flows are numbered by first appearance.
    pub rows: Vec<Row>,
    /// Number of packets that were dropped.
    pub dropped: u64,
    /// Number of packets queued at the end.
    pub left: u64,
    /// The packets' numbers.
    pub numbers: Vec<u64>,
    /// The flows' names.
    pub flows: Vec<String>,
}

/// Reads a file of records as CSV.
pub fn read_records(path: &Path) -> Records {
    let text = fs::read_to_string(path).expect("the records are there");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    assert_eq!(&header[..4], ["packet", "flow", "bytes", "arrival_ns"]);
    assert_eq!(header[header.len() - 1], "outcome");
    let mut ids: HashMap<&str, u32> = HashMap::new();
    let mut records = Records { rows: Vec::new(), dropped: 0, left: 0, numbers: Vec::new(), flows: Vec::new() };
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), header.len(), "{line}");
        let number = |field: &str| field.parse::<u64>().expect("a whole number");
        records.numbers.push(number(fields[0]));
        let times = &fields[4..fields.len() - 1];
        match fields[fields.len() - 1] {
            "sent" => {
                let id = ids.len() as u32;
                let flow = *ids.entry(fields[1]).or_insert(id);
                if flow == id {
                    records.flows.push(fields[1].to_owned());
                }
                records.rows.push(Row {
                    flow,
                    bytes: fields[2].parse().expect("bytes"),
                    arrival: number(fields[3]),
                    start: times.iter().step_by(2).map(|field| number(field)).collect(),
                    end: times.iter().skip(1).step_by(2).map(|field| number(field)).collect(),
                });
            }
            "dropped" => {
                assert!(times.iter().all(|field| field.is_empty()));
                records.dropped += 1;
            }
            "left" => {
                assert!(times.iter().all(|field| field.is_empty()));
                records.left += 1;
            }
            other => panic!("outcome {other}"),
        }
    }
    records
}
