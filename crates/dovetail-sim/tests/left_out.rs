//! Messages of a build that leaves a feature out: `cargo test -p dovetail-sim --no-default-features --test left_out`.

#[cfg(not(feature = "network"))]
#[test]
fn a_network_is_understood_but_not_run() {
    use dovetail_sim::network::{Network, NetworkError, NetworkOptions, simulate_network};
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/drr-sff.toml");
    let text = std::fs::read_to_string(path).expect("it is in the repository");
    let network = Network::parse(&text, path, &mut |name: &str| panic!("it names {name}")).expect("it is a network");
    let policy = "fifo".parse().expect("a policy");
    let refused = simulate_network(&network, &policy, &mut (), NetworkOptions::default()).expect_err("no TCP");
    assert!(matches!(refused, NetworkError::LeftOut), "{refused}");
    assert!(refused.to_string().contains("the feature 'network'"), "{refused}");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_by_name_and_when_records_are_made() {
    use dovetail_sim::records::{Format, Records};
    let refused = "parquet".parse::<Format>().expect_err("no Parquet");
    assert!(refused.contains("the feature 'parquet'"), "{refused}");
    let path = std::env::temp_dir().join(format!("dovetail-left-out-{}.parquet", std::process::id()));
    let refused = Records::create(&path, Format::Parquet, &["cpu".to_owned()]).err().expect("no Parquet");
    assert!(!path.exists(), "nothing is left behind");
    assert!(refused.to_string().contains("the feature 'parquet'"), "{refused}");
}

#[cfg(not(feature = "pcap"))]
#[test]
fn captures_and_gzip_are_refused() {
    use dovetail_sim::workload::{Capture, CaptureOptions, ClassSet, Csv, CsvOptions};
    let link = dovetail_sched::units::parse_rate("400Mbps").expect("a rate");
    let options = CaptureOptions::new(ClassSet::table_ii(link));
    let empty: &[u8] = &[];
    let refused = Capture::open(Box::new(empty), "a.pcap", options).expect_err("no captures").to_string();
    assert!(refused.starts_with("a.pcap: ") && refused.contains("the feature 'pcap'"), "{refused}");
    let packed: &[u8] = &[0x1f, 0x8b, 8, 0];
    let refused = Csv::open(Box::new(packed), "a.csv.gz", CsvOptions::default()).err().expect("no gzip").to_string();
    assert!(refused.starts_with("a.csv.gz: ") && refused.contains("the feature 'pcap'"), "{refused}");
}

#[cfg(not(feature = "quic"))]
#[test]
fn quic_is_refused_by_name() {
    use dovetail_sim::network::Network;
    let text = r#"
        name = "quic"
        network = { transport = "quic" }
        link = [{ between = ["s", "c"], rate = "1Mbps", watched = true }]
        traffic = [{ name = "web", from = ["s"], to = ["c"], transfers = { count = 1, size = 1 } }]
    "#;
    let refused = Network::parse(text, "quic.toml", &mut |name: &str| panic!("it names {name}")).expect_err("no QUIC");
    assert!(refused.to_string().contains("the feature 'quic'"), "{refused}");
}
