//! `dovetail profile` from outside: every figure follows from the samples it writes, and `compare` reads its output.

use std::{collections::BTreeMap, fs, path::Path};

use crate::support::{dovetail, folder, near, recompute::quantile, records::read_records, stdout};
use serde_json::Value;

const NAMES: [&str; 5] = ["forwarding", "monitoring", "ipsec", "redundancy", "jpeg"];

/// Bytes and nanoseconds of each function, in the order of the file.
fn samples(path: &Path) -> BTreeMap<String, Vec<(u32, u64)>> {
    let text = fs::read_to_string(path).expect("samples");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("function,bytes,ns"));
    let mut found: BTreeMap<String, Vec<(u32, u64)>> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [function, bytes, nanos] = fields[..] else { panic!("{line}") };
        let sample = (bytes.parse().expect("bytes"), nanos.parse().expect("nanoseconds"));
        found.entry(function.to_owned()).or_default().push(sample);
    }
    found
}

/// The least-squares line by Cramer's rule on integers, exact until the last division.
fn least_squares(samples: &[(u32, u64)]) -> (f64, f64) {
    let sum = |of: fn(i128, i128) -> i128| samples.iter().map(|&(x, y)| of(x.into(), y.into())).sum::<i128>();
    let n = samples.len() as i128;
    let (x, y, xx, xy) = (sum(|x, _| x), sum(|_, y| y), sum(|x, _| x * x), sum(|x, y| x * y));
    let bottom = (n * xx - x * x) as f64;
    ((n * xy - x * y) as f64 / bottom, (y * xx - x * xy) as f64 / bottom)
}

fn off(samples: &[(u32, u64)], (a, b): (f64, f64)) -> f64 {
    samples.iter().map(|&(x, y)| (y as f64 - a * f64::from(x) - b).powi(2)).sum()
}

fn line(fit: &Value) -> (f64, f64) {
    (fit["per_byte_ns"].as_f64().expect("a number"), fit["per_packet_ns"].as_f64().expect("a number"))
}

/// Asserts that a fit matches these samples: the least-squares line, or the best one without a negative part.
fn check_fit(fit: &Value, samples: &[(u32, u64)], what: &str) {
    let (a, b) = least_squares(samples);
    let used = line(fit);
    if a >= 0.0 && b >= 0.0 {
        assert!(fit["refused"].is_null(), "{what}: {fit}");
        near(&fit["per_byte_ns"], a, 1e-7, what);
        near(&fit["per_packet_ns"], b, 1e-6, what);
    } else {
        near(&fit["refused"]["per_byte_ns"], a, 1e-7, what);
        near(&fit["refused"]["per_packet_ns"], b, 1e-6, what);
        let n = samples.len() as f64;
        let level = (0.0, samples.iter().map(|&(_, y)| y as f64).sum::<f64>() / n);
        let product = samples.iter().map(|&(x, y)| f64::from(x) * y as f64).sum::<f64>();
        let through = (product / samples.iter().map(|&(x, _)| f64::from(x).powi(2)).sum::<f64>(), 0.0);
        let least = off(samples, level).min(off(samples, through));
        assert!((off(samples, used) / least - 1.0).abs() < 1e-9, "{what}: {used:?}");
    }
    let mean = samples.iter().map(|&(_, y)| y as f64).sum::<f64>() / samples.len() as f64;
    if samples.iter().all(|&(_, y)| y == samples[0].1) {
        assert!(fit["r2"].is_null(), "{what}: {fit}");
    } else {
        near(&fit["r2"], 1.0 - off(samples, used) / off(samples, (0.0, mean)), 1e-6, what);
    }
}

/// Recomputes every figure of a function from its samples.
fn check(function: &Value, samples: &[(u32, u64)]) {
    let name = function["function"].as_str().expect("a name");
    assert_eq!(function["packets"], samples.len() as u64);
    check_fit(&function["fit"], samples, name);
    let mut sizes: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for &(bytes, nanos) in samples {
        sizes.entry(bytes).or_default().push(nanos);
    }
    let rows = function["sizes"].as_array().expect("sizes");
    assert_eq!(rows.len(), sizes.len(), "{name}");
    for (row, (bytes, nanos)) in rows.iter().zip(&mut sizes) {
        nanos.sort_unstable();
        assert_eq!((&row["bytes"], &row["packets"]), (&Value::from(*bytes), &Value::from(nanos.len())), "{name}");
        assert_eq!((&row["min_ns"], &row["max_ns"]), (&nanos[0].into(), &nanos[nanos.len() - 1].into()), "{name}");
        for (key, share) in [("median_ns", 0.5), ("p95_ns", 0.95), ("p99_ns", 0.99)] {
            assert_eq!(row[key], quantile(nanos, share), "{name} {key}");
        }
        near(&row["mean_ns"], nanos.iter().sum::<u64>() as f64 / nanos.len() as f64, 1e-9, name);
    }
    let medians: Vec<_> = sizes.iter().map(|(&bytes, nanos)| (bytes, quantile(nanos, 0.5))).collect();
    check_fit(&function["fit_of_medians"], &medians, name);

    let (a, b) = line(&function["fit_of_medians"]);
    let mut ratios: Vec<f64> = samples.iter().map(|&(x, y)| y as f64 / (a * f64::from(x) + b)).collect();
    ratios.sort_by(f64::total_cmp);
    for (key, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)] {
        let rank = (share * ratios.len() as f64).ceil() as usize - 1;
        near(&function["measured_over_fitted"][key], ratios[rank], 1e-9, key);
    }
    let slow = |&&(bytes, nanos): &&(u32, u64)| nanos > 3 * quantile(&sizes[&bytes], 0.5);
    let sum = |samples: &mut dyn Iterator<Item = &(u32, u64)>| samples.map(|&(_, nanos)| nanos as f64).sum::<f64>();
    let outliers = &function["outliers"];
    let count = samples.iter().filter(slow).count();
    assert_eq!(outliers["packets"], count, "{name}");
    near(&outliers["share_of_packets"], count as f64 / samples.len() as f64, 1e-9, name);
    near(&outliers["share_of_time"], sum(&mut samples.iter().filter(slow)) / sum(&mut samples.iter()), 1e-9, name);
}

fn plain(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn every_figure_follows_from_the_samples() {
    let folder = folder("profile-figures");
    let csv = folder.join("samples.csv");
    let text = stdout(&["profile", "all", "--packets", "150", "--samples", plain(&csv), "--json"]);
    let document: Value = serde_json::from_str(&text).expect("one JSON document and nothing else");
    let samples = samples(&csv);
    let functions = document["functions"].as_array().expect("functions");
    assert_eq!(functions.iter().map(|f| f["function"].as_str().expect("a name")).collect::<Vec<_>>(), NAMES);
    for function in functions {
        let name = function["function"].as_str().expect("a name");
        check(function, &samples[name]);
        // Sizes are shuffled: successive ones are the same no more often than by chance.
        let sizes = function["sizes"].as_array().expect("sizes").len();
        for apart in 1..=2 * sizes {
            let pairs = samples[name].iter().zip(&samples[name][apart..]);
            let same = pairs.filter(|(one, other)| one.0 == other.0).count();
            assert!(same * sizes < samples[name].len() * 2, "{name}: {same} times the same, {apart} apart");
        }
    }
    assert!(document["clock_ns"].as_u64().is_some());
}

#[test]
fn packets_grow_by_what_the_functions_add() {
    let text = stdout(&["profile", "all", "--packets", "20", "--sizes", "64,1001,1536", "--json"]);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    for function in document["functions"].as_array().expect("functions") {
        let name = function["function"].as_str().expect("a name");
        let mut sums = (0.0, 0.0);
        for row in function["sizes"].as_array().expect("sizes") {
            let bytes = row["bytes"].as_f64().expect("bytes");
            let out = match name {
                "forwarding" | "monitoring" => bytes,
                // Outer header, ESP header, IV, the inner packet with a trailer of 2 bytes to a multiple of 4, ICV.
                "ipsec" => 14.0 + 20.0 + 8.0 + 8.0 + ((bytes - 14.0 + 2.0) / 4.0).ceil() * 4.0 + 16.0,
                _ => {
                    let expansion = row["expansion"].as_f64().expect("a number");
                    assert!(expansion > 0.05 && expansion <= 1.0, "{name}: {expansion}");
                    continue;
                }
            };
            near(&row["expansion"], out / bytes, 1e-12, name);
            sums = (sums.0 + out, sums.1 + bytes);
        }
        if sums.1 > 0.0 {
            near(&function["expansion"], sums.0 / sums.1, 1e-12, name);
        }
        // A picture of 1536 bytes has 42 bytes of headers; there are no pictures of 64 and 1001 bytes.
        let sizes = if name == "jpeg" { vec![1578] } else { vec![64, 1001, 1536] };
        let listed: Vec<_> =
            function["sizes"].as_array().expect("sizes").iter().map(|row| row["bytes"].clone()).collect();
        assert_eq!(listed, sizes, "{name}");
    }
    let notes = document["notes"].to_string();
    assert!(notes.contains("jpeg: there are no packets of 64, 1001 bytes: left out"), "{notes}");
}

/// A capture of UDP packets of 60 to 1,459 bytes, as pcap: headers, then frames.
fn capture(path: &Path) {
    let mut file = Vec::new();
    for field in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    for number in 0..400u32 {
        let length = 60 + (number * 37 % 1400);
        for field in [0, number * 10, length, length] {
            file.extend_from_slice(&field.to_le_bytes());
        }
        let mut frame = vec![0; length as usize];
        frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0]);
        frame[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
        frame[22..24].copy_from_slice(&[64, 17]);
        frame[26..34].copy_from_slice(&[10, 0, 0, (number % 5) as u8, 10, 0, 1, 1]);
        frame[34..38].copy_from_slice(&[4, 1, 4, 2]);
        frame[38..40].copy_from_slice(&(length as u16 - 34).to_be_bytes());
        file.extend_from_slice(&frame);
    }
    fs::write(path, file).expect("written");
}

#[test]
fn compare_plays_a_capture_at_the_costs_that_were_measured() {
    let folder = folder("profile-compare");
    let [toml, csv, pcap] = ["box.toml", "samples.csv", "small.pcap"].map(|name| folder.join(name));
    let args = ["--packets", "200", "--link", "250Mbps", "--output", plain(&toml), "--samples", plain(&csv), "--json"];
    let text = stdout(&[&["profile", "redundancy"][..], &args].concat());
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let (a, b) = line(&document["functions"][0]["fit_of_medians"]);
    let scenario: toml::Table = fs::read_to_string(&toml).expect("a scenario").parse().expect("TOML");
    let class = &scenario["class"][0];
    assert_eq!(class["name"].as_str(), Some("redundancy"));
    assert_eq!(class["processing"].as_str(), Some("payload"));
    near(&document["functions"][0]["expansion"], class["expansion"].as_float().expect("a float"), 1e-5, "expansion");
    assert_eq!(scenario["resource"][1]["rate"].as_str(), Some("250Mbps"));

    // The distribution is of measured over fitted cost.
    let mut ratios: Vec<f64> =
        samples(&csv)["redundancy"].iter().map(|&(x, y)| y as f64 / (a * f64::from(x) + b)).collect();
    ratios.sort_by(f64::total_cmp);
    let points: Vec<(f64, f64)> = class["noise"]["measured"]
        .as_array()
        .expect("points")
        .iter()
        .map(|point| (point[0].as_float().expect("a ratio"), point[1].as_float().expect("a share")))
        .collect();
    assert!(points.len() <= 50 && points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1));
    assert_eq!((points[0].1, points[points.len() - 1].1), (0.0, 1.0));
    for &(ratio, share) in &points {
        // Sample k of n is at (k + 1/2) / n.
        let want = ratios[((share * ratios.len() as f64 - 0.5).round() as usize).min(ratios.len() - 1)];
        assert!((ratio - want).abs() <= 1e-4 * want, "{ratio} at {share}, not {want}");
    }
    let mean: f64 = points.windows(2).map(|pair| (pair[0].0 + pair[1].0) / 2.0 * (pair[1].1 - pair[0].1)).sum();
    let want = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((mean / want - 1.0).abs() < 0.02, "{mean}, not {want}");

    capture(&pcap);
    let args = ["--trace", plain(&pcap), "--policy", "drfq", "--policy", "fifo", "--records", plain(&folder), "--json"];
    let compared: Value =
        serde_json::from_str(&stdout(&[&["compare", plain(&toml)][..], &args].concat())).expect("JSON");
    assert_eq!(compared["workload"]["packets"], 400);
    // The CPU cost of packets is the line times a factor from that distribution, and the link sees them shrunk.
    let expansion = class["expansion"].as_float().expect("a float");
    let mut factors = Vec::new();
    for row in read_records(&folder.join("drfq.csv")).rows {
        let bytes = f64::from(row.bytes);
        factors.push((row.end[0] - row.start[0]) as f64 / (a * bytes + b));
        let link = (row.end[1] - row.start[1]) as f64;
        assert!((link - bytes * expansion * 32.0).abs() <= 0.51, "{row:?}: not {expansion}");
    }
    factors.sort_by(f64::total_cmp);
    let within = ratios[0] * 0.99..=ratios[ratios.len() - 1] * 1.01;
    assert!(within.contains(&factors[0]) && within.contains(&factors[399]), "{within:?}");
    assert_ne!(factors[100], factors[300]);
    for share in [0.1, 0.5, 0.9] {
        let want = ratios[(share * ratios.len() as f64) as usize];
        let below = factors.iter().filter(|&&factor| factor <= want).count() as f64;
        // Five standard deviations of the count, which is binomial.
        let off = 5.0 * (400.0 * share * (1.0 - share)).sqrt();
        assert!((below - 400.0 * share).abs() <= off, "{below} of 400 packets below {want}, the quantile of {share}");
    }
}

#[test]
fn all_functions_make_one_scenario_that_tune_reads_too() {
    let folder = folder("profile-all");
    let [toml, pcap] = ["all.toml", "small.pcap"].map(|name| folder.join(name));
    stdout(&["profile", "all", "--packets", "60", "--output", plain(&toml)]);
    let scenario: toml::Table = fs::read_to_string(&toml).expect("a scenario").parse().expect("TOML");
    let classes = scenario["class"].as_array().expect("classes");
    assert_eq!(classes.iter().map(|class| class["name"].as_str().expect("a name")).collect::<Vec<_>>(), NAMES);
    capture(&pcap);
    stdout(&["compare", plain(&toml), "--trace", plain(&pcap)]);
    stdout(&["tune", plain(&toml), "--trace", plain(&pcap), "--policy", "atfq", "--points", "2"]);
}

#[test]
fn a_seed_gives_the_same_packets_in_the_same_order() {
    let folder = folder("profile-seed");
    let csv = folder.join("samples.csv");
    let order = |seed: &str| {
        let args = ["profile", "forwarding", "redundancy", "--packets", "40", "--seed", seed, "--json"];
        let text = stdout(&[&args[..], &["--samples", plain(&csv)]].concat());
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let expansion = document["functions"][1]["expansion"].clone();
        let sizes: Vec<u32> = samples(&csv).into_values().flatten().map(|(bytes, _)| bytes).collect();
        (sizes, expansion)
    };
    let (sizes, expansion) = order("7");
    assert_eq!(order("7"), (sizes.clone(), expansion.clone()));
    let (others, another) = order("8");
    assert_ne!(sizes, others);
    assert_ne!(expansion, another);
}

#[test]
fn a_core_that_there_is_not_is_a_note() {
    let text = stdout(&["profile", "forwarding", "--packets", "20", "--core", "99999", "--json"]);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert!(document["core"].is_null());
    assert!(document["notes"].to_string().contains("one core"), "{}", document["notes"]);
    let text = stdout(&["profile", "forwarding", "--packets", "20", "--core", "99999"]);
    assert!(text.contains("no fixed core") && text.contains("note: "), "{text}");
}

#[test]
fn no_name_lists_what_there_is() {
    let text = stdout(&["profile"]);
    assert!(NAMES.iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn one_size_is_measured_and_said_to_say_little() {
    let text = stdout(&["profile", "ipsec", "--sizes", "512", "--packets", "30"]);
    assert!(text.contains("one size does not determine a cost per byte"), "{text}");
}

#[test]
fn wrong_use_is_answered_with_status_2() {
    let asked = |args: &[&str], said: &[&str]| {
        let output = dovetail(&[&["profile"], args].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(output.stdout.is_empty());
        for word in said {
            assert!(errors.contains(word), "{args:?}: no '{word}' in: {errors}");
        }
    };
    asked(&["frobnicate"], &["frobnicate", "forwarding", "jpeg", "all"]);
    asked(&["ipsec", "--sizes", "63"], &["63", "64 to 65000"]);
    asked(&["ipsec", "--sizes", "65001"], &["65001"]);
    asked(&["ipsec", "--sizes", "99999999999999999999"], &["sizes"]);
    asked(&["ipsec", "--sizes", "64,,128"], &["sizes"]);
    asked(&["jpeg", "--sizes", "1000"], &["1000", "1536"]);
    asked(&["ipsec", "--packets", "0"], &["packets"]);
    asked(&["ipsec", "--packets", "2000000"], &["2,000,000"]);
    asked(&["ipsec", "--link", "0Mbps"], &["--link"]);
    let whole = "it is a whole number from 0 to 18446744073709551615";
    for (option, text) in
        [("--seed", "-1"), ("--seed", "x"), ("--core", "-1"), ("--sizes", "64,abc"), ("--sizes", "64,")]
    {
        asked(&["ipsec", option, text], &[&format!("for '{option}"), whole]);
    }
    asked(&["ipsec", "--link", "0"], &["--link", "out of range: over 0 and at most 1000Tbps"]);
    asked(&["--sizes", "64"], &["--sizes: name a function, or all"]);
    asked(&["--core", "0"], &["--core: name a function, or all"]);
    asked(&["--json"], &["--json: name a function, or all"]);
    for (option, file) in [("--output", "box.toml"), ("--samples", "ns.csv"), ("--report", "profile.html")] {
        asked(&[option, file], &[&format!("{option}: name a function, or all")]);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_that_names_it() {
    let output = dovetail(&["profile", "forwarding", "--packets", "5", "--output", "/there/is/no/such/box.toml"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("/there/is/no/such/box.toml") && output.stdout.is_empty(), "{errors}");
}
