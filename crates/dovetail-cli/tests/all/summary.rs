//! `--summary`: every figure of a comparison as a table, as CSV and as Parquet.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::Path,
};

use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use serde_json::Value;

use crate::support::{SMALL_NETWORK, dovetail, folder, small_table, stdout, written};

const BOX: &str = "name = 'box'\nseed = 3\nduration = '30ms'\nqueue_packets = 20\n[[resource]]\nname = 'cpu'\n[[resource]]\n\
    name = 'link'\nrate = '100Mbps'\n[[class]]\nname = 'one'\ncost = { cpu = '90us' }\n[[flow]]\nname = 'a'\nclass = 'one'\n\
    size = 200\narrivals = { poisson = '12000/s' }\n[[flow]]\nname = 'b'\nclass = 'one'\nsize = 1000\n\
    arrivals = { poisson = '9000/s' }\n";

type Row = BTreeMap<String, String>;

/// The rows of a CSV file by column, without empty cells, and its columns in order.
fn csv(path: &Path) -> (Vec<String>, Vec<Row>) {
    let mut reader = csv::Reader::from_path(path).expect("a table");
    let header: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let row = |row: csv::StringRecord| {
        let cells = header.iter().cloned().zip(row.iter().map(str::to_owned));
        cells.filter(|(_, cell)| !cell.is_empty()).collect()
    };
    let rows = reader.records().map(|record| row(record.expect("a row"))).collect();
    (header, rows)
}

fn parquet(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).expect("a file")).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("rows");
    let cell = |field: &Field| match field {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        Field::Bool(truth) => Some(truth.to_string()),
        Field::ULong(number) => Some(number.to_string()),
        Field::Double(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    };
    rows.map(|row| {
        let row = row.expect("a row");
        row.get_column_iter().filter_map(|(name, field)| Some((name.clone(), cell(field)?))).collect()
    })
    .collect()
}

fn document(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--json"]].concat())).expect("JSON")
}

#[test]
fn a_row_of_a_run_has_the_document_s_figures_and_says_where_they_come_from() {
    let folder = folder("summary-run");
    let path = written(&folder, "box.toml", BOX);
    let (table, packed) = (folder.join("s.csv"), folder.join("s.parquet"));
    let args = ["compare", &path, "--policy", "drr", "--policy", "drfq", "--summary"];
    let document = document(&[&args[..], &[table.to_str().expect("plain")]].concat());
    let (header, rows) = csv(&table);
    assert_eq!(header[..6], ["policy", "statistic", "samples", "trace", "seed", "version"]);
    assert_eq!(rows.len(), 2);
    for (row, policy) in rows.iter().zip(document["policies"].as_array().expect("policies")) {
        let number = |column: &str| row[column].parse::<f64>().expect("a number");
        for (column, at) in [
            ("latency_us.p99", "/latency_us/p99"),
            ("utilisation.cpu", "/utilisation/cpu"),
            ("throughput_mbps", "/throughput_mbps"),
            ("fairness.max_active_time_gap_us", "/fairness/max_active_time_gap_us"),
            ("dropped", "/dropped"),
        ] {
            // A JSON parser may be slightly off in the last digit.
            let wanted = policy.pointer(at).and_then(Value::as_f64).expect("a number");
            assert!((number(column) / wanted - 1.0).abs() < 1e-12 && wanted > 0.0, "{column}: {wanted}");
        }
        assert_eq!((row["statistic"].as_str(), row["seed"].as_str(), row["drop"].as_str()), ("run", "3", "tail"));
        assert_eq!(row["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(row["inputs_sha256"], document["provenance"]["inputs"][0]["sha256"]);
        assert!(row["policy_in_full"].len() > row["policy"].len());
    }
    stdout(&[&args[..], &[packed.to_str().expect("plain")]].concat());
    let timeless = |rows: Vec<Row>| -> Vec<Row> {
        rows.into_iter().map(|row| row.into_iter().filter(|(column, _)| column != "wall_s").collect()).collect()
    };
    assert_eq!(timeless(parquet(&packed)), timeless(rows));
}

#[test]
fn a_column_has_one_type_in_every_table_so_that_they_can_be_concatenated() {
    let folder = folder("summary-types");
    let limited = written(&folder, "limited.toml", BOX);
    let unlimited = written(&folder, "unlimited.toml", &BOX.replace("queue_packets = 20\n", ""));
    let types = |scenario: &str, load: &[&str]| -> BTreeMap<String, String> {
        let table = folder.join("s.parquet");
        let place = table.to_str().expect("plain");
        stdout(&[&["compare", scenario, "--policy", "drr", "--summary", place], load].concat());
        let reader = SerializedFileReader::new(File::open(&table).expect("a file")).expect("a Parquet file");
        let fields = reader.metadata().file_metadata().schema().get_fields();
        let kind = |field: &parquet::schema::types::Type| {
            format!("{} {:?}", field.get_physical_type(), field.get_basic_info().logical_type_ref())
        };
        fields.iter().map(|field| (field.name().to_owned(), kind(field))).collect()
    };
    let [with, without] = [types(&limited, &["--load", "1.2"]), types(&unlimited, &[])];
    for (column, kind) in &with {
        assert!(without.get(column).is_none_or(|other| other == kind), "{column}: {kind}, {:?}", without.get(column));
    }
    for column in ["load", "queue_packets", "buffer_packets", "trace", "window_s"] {
        assert!(with.contains_key(column) && without.contains_key(column), "{column}");
    }
    assert!(with["load"].starts_with("DOUBLE") && with["queue_packets"].starts_with("INT64"), "{with:?}");
}

#[test]
fn several_samples_have_rows_of_medians_and_of_the_interval_s_ends() {
    let folder = folder("summary-samples");
    let path = written(&folder, "box.toml", BOX);
    let table = folder.join("s.csv");
    let args = ["compare", &path, "--policy", "drr", "--policy", "fifo", "--seeds", "1..5", "--summary"];
    let document = document(&[&args[..], &[table.to_str().expect("plain")]].concat());
    let (_, rows) = csv(&table);
    assert_eq!(rows.len(), 5 * 2 + 2 * 3);
    for policy in 0..2 {
        let named = document["policies"][policy]["policy"].as_str().expect("a name");
        for (statistic, part) in [("median", "median"), ("p5", "p5"), ("p95", "p95")] {
            let of = |row: &&Row| row["policy"] == named && row["statistic"] == statistic;
            let [row] = rows.iter().filter(of).collect::<Vec<_>>()[..] else { panic!("{statistic} of {named}") };
            let shown = document["policies"][policy]["latency_us"]["p95"][part].as_f64().expect("a number");
            assert!((row["latency_us.p95"].parse::<f64>().expect("a number") / shown - 1.0).abs() < 1e-12);
            assert_eq!((row.get("seed"), row["samples"].as_str(), row["inputs"].as_str()), (None, "5", "box.toml"));
        }
    }
    let seeds = rows.iter().filter(|row| row["policy"] == "drr" && row["statistic"] == "run").map(|row| &row["seed"]);
    assert_eq!(seeds.collect::<Vec<_>>(), ["1", "2", "3", "4", "5"]);
}

#[test]
fn networks_have_a_column_for_each_size_stream_and_class() {
    let folder = folder("summary-network");
    let path = written(&folder, "small.toml", SMALL_NETWORK);
    let table = folder.join("s.csv");
    let place = table.to_str().expect("plain");
    stdout(&["compare", &path, "--policy", "drr", "--policy", "las", "--summary", place]);
    let (header, rows) = csv(&table);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.contains_key("transfers.short.mean_s")), "{header:?}");
    assert!(header.iter().any(|column| column.starts_with("streams.") && column.ends_with(".mean_mbps")), "{header:?}");
    stdout(&["compare", "access", "--load", "0.4", "--policy", "none", "--summary", place]);
    let (header, rows) = csv(&table);
    let of_class = |column: &&String| column.starts_with("access.classes.") && column.ends_with(".kbps");
    assert!(header.iter().filter(of_class).count() >= 2, "{header:?}");
    assert_eq!((rows[0]["policy"].as_str(), rows[0]["load"].as_str()), ("none", "0.4"));
}

#[test]
fn a_name_without_a_format_and_an_input_are_refused() {
    let folder = folder("summary-refused");
    let table = small_table(&folder);
    let path = table.to_str().expect("plain");
    let before = fs::read(&table).expect("a table");
    let refused = |place: &str| {
        let output = dovetail(&["compare", "--workload", path, "--policy", "fifo", "--summary", place]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for name in ["figures", "figures.xlsx", "csv"] {
        let said = refused(folder.join(name).to_str().expect("plain"));
        assert!(said.contains("--summary: name a file that ends in .csv or .parquet"), "{said}");
        assert!(!folder.join(name).exists());
    }
    let said = refused(path);
    assert!(said.contains("which is an input"), "{said}");
    assert_eq!(fs::read(&table).expect("a table"), before);
}
