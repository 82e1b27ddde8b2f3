//! The provenance in every document.

use std::fs;

use serde_json::{Value, json};

use crate::support::{folder, small_table, stdout, trace, written};

fn document(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--json"]].concat())).expect("JSON")
}

fn provenance(args: &[&str]) -> Value {
    document(args)["provenance"].take()
}

/// A short run of a box with two kinds of flows.
const BOX: &str = "name = 'box'\nseed = 3\nduration = '50ms'\n[[resource]]\nname = 'cpu'\n[[resource]]\nname = 'link'\n\
    rate = '100Mbps'\n[[class]]\nname = 'one'\ncost = { cpu = '50us' }\n[[flow]]\nname = 'a'\nclass = 'one'\n\
    size = 1000\narrivals = { poisson = '12000/s' }\n";

#[test]
fn the_same_input_has_the_same_block_and_another_one_has_not() {
    let folder = folder("provenance-table");
    let table = small_table(&folder);
    let path = table.to_str().expect("plain");
    let args = ["compare", "--workload", path, "--policy", "drfq", "--policy", "atfq"];
    let first = provenance(&args);
    assert_eq!(first, provenance(&args));
    assert_eq!(first["inputs"][0]["kind"], "workload");
    assert_eq!(first["inputs"][0]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(first["pipeline"], json!({ "value": "no-wait", "origin": "assumed" }));
    assert_eq!((&first["seed"], &first["load"], &first["drop"]), (&Value::Null, &Value::Null, &json!("tail")));
    let pipeline =
        provenance(&[&args[..], &["--pipeline", "buffer=2", "--queue-packets", "9", "--load", "0.5"]].concat());
    assert_eq!(pipeline["pipeline"], json!({ "value": "buffer=2", "origin": "given" }));
    assert_eq!(pipeline["load"], json!({ "value": 0.5, "origin": "given" }));
    assert_eq!(pipeline["queue_packets"], 9);
    // An additional newline changes no packet, but changes the file.
    let mut bytes = fs::read(&table).expect("a table");
    bytes.push(b'\n');
    fs::write(&table, bytes).expect("written");
    let other = provenance(&args);
    assert_ne!(first["inputs"], other["inputs"]);
    assert_eq!(first["policies"], other["policies"]);
}

#[test]
fn a_scenario_is_told_from_another_by_its_bytes_and_its_seed() {
    let folder = folder("provenance-scenario");
    let path = written(&folder, "box.toml", BOX);
    let args = ["compare", &path, "--policy", "drr"];
    let first = provenance(&args);
    assert_eq!(first, provenance(&args));
    assert_eq!((&first["seed"], &first["inputs"][0]["name"]), (&json!(3), &json!("box.toml")));
    assert_eq!(first["link_bps"], json!({ "value": 1e8, "origin": "scenario" }));
    assert_ne!(first, provenance(&[&args[..], &["--seed", "4"]].concat()));
    written(&folder, "box.toml", &BOX.replace("'50us'", "'51us'"));
    assert_ne!(first["inputs"], provenance(&args)["inputs"]);
    let built_in = provenance(&["compare", "--load", "0.2", "--policy", "fifo"]);
    assert_eq!(built_in["inputs"][0]["name"], "middlebox");
}

#[test]
fn a_capture_s_hash_is_the_file_s() {
    let Some(trace) = trace("small-browse.pcap") else { return };
    let path = trace.to_str().expect("plain");
    let block = provenance(&["compare", "--trace", path, "--policy", "fifo"]);
    let by_hand = std::process::Command::new("sha256sum").arg(path).output().expect("sha256sum");
    let by_hand = String::from_utf8(by_hand.stdout).expect("a text");
    assert_eq!(block["inputs"][0]["sha256"].as_str(), by_hand.split(' ').next());
    assert_eq!(block["load"], json!({ "value": 0.95, "origin": "assumed" }));
    assert_eq!(block["link_bps"], json!({ "value": 4e8, "origin": "assumed" }));
}

#[test]
fn a_policy_in_full_runs_as_it_did() {
    let folder = folder("provenance-full");
    let path = written(&folder, "box.toml", BOX);
    let figures = |policies: &[String]| {
        let mut args = vec!["compare", &path, "--load", "1.2", "--queue-packets", "20"];
        args.extend(policies.iter().flat_map(|policy| ["--policy", policy]));
        let mut document = document(&args);
        for policy in document["policies"].as_array_mut().expect("policies") {
            policy["wall_s"] = Value::Null;
            policy["policy"] = Value::Null;
        }
        (document["provenance"]["policies"].take(), document["policies"].take())
    };
    let listed: Value = serde_json::from_str(&stdout(&["policies", "--json"])).expect("JSON");
    let of_packets = listed.as_array().expect("policies").iter().filter(|policy| policy["orders"] == "packets");
    let mut policies: Vec<String> =
        of_packets.map(|policy| policy["policy"].as_str().expect("a name").to_owned()).collect();
    assert!(policies.len() > 10, "{listed}");
    policies.extend(["drr-sff:threshold=auto", "atfq:domain=1ms", "drfq:estimator=ses"].map(str::to_owned));
    let (full, as_given) = figures(&policies);
    let full: Vec<String> = serde_json::from_value(full).expect("texts");
    assert!(
        full.iter().zip(&policies).all(|(full, policy)| full.starts_with(policy.as_str()) && full.len() > policy.len())
    );
    assert!(full[1].contains("quantum=1514") && full[1].contains("estimator=known"), "{}", full[1]);
    let (again, in_full) = figures(&full);
    assert_eq!(serde_json::from_value::<Vec<String>>(again).expect("texts"), full);
    assert_eq!(as_given, in_full);
}

#[test]
fn records_in_parquet_hold_it_and_so_do_pages_and_the_other_commands() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let folder = folder("provenance-records");
    let table = small_table(&folder);
    let path = table.to_str().expect("plain");
    let (records, page) = (folder.to_str().expect("plain"), folder.join("page.html"));
    let output = ["--records", records, "--format", "parquet", "--report", page.to_str().expect("plain")];
    let block = provenance(&[&["compare", "--workload", path, "--policy", "drr"], &output[..]].concat());
    let file = fs::File::open(folder.join("drr.parquet")).expect("records");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let about = reader.metadata().file_metadata().key_value_metadata().expect("metadata");
    let kept = about.iter().find(|pair| pair.key == "dovetail.provenance").and_then(|pair| pair.value.as_deref());
    assert_eq!(serde_json::from_str::<Value>(kept.expect("provenance")).expect("JSON"), block);
    let sha256 = block["inputs"][0]["sha256"].as_str().expect("a hash");
    assert!(fs::read_to_string(&page).expect("a page").contains(sha256));
    for command in [
        vec!["explain", "--workload", path, "--policy", "drr"],
        vec!["tune", "--workload", path, "--policy", "atfq", "--points", "2"],
    ] {
        assert_eq!(provenance(&command)["inputs"], block["inputs"], "{command:?}");
    }
}

#[test]
fn networks_and_gateways_say_where_their_figures_come_from() {
    let folder = folder("provenance-network");
    let path = written(&folder, "small.toml", crate::support::SMALL_NETWORK);
    let args = ["compare", &path, "--policy", "drr"];
    let first = provenance(&args);
    assert_eq!(first, provenance(&args));
    assert_eq!((&first["inputs"][0]["name"], &first["inputs"][0]["kind"]), (&json!("small.toml"), &json!("scenario")));
    let by_hand = std::process::Command::new("sha256sum").arg(&path).output().expect("sha256sum");
    let by_hand = String::from_utf8(by_hand.stdout).expect("a text");
    assert_eq!(first["inputs"][0]["sha256"].as_str(), by_hand.split(' ').next());
    assert_eq!(first["version"], env!("CARGO_PKG_VERSION"));
    assert!(first["policies"][0].as_str().expect("a policy").contains("quantum=1514"), "{first}");
    assert_eq!(first["link_bps"]["origin"], "scenario");
    assert!(first.get("pipeline").is_none() && first.get("window_s").is_none());
    let other = provenance(&[&args[..], &["--seed", "77", "--link", "7Mbps", "--drop", "head"]].concat());
    assert_eq!((&other["seed"], &other["drop"]), (&json!(77), &json!("head")));
    assert_eq!(other["link_bps"], json!({ "value": 7e6, "origin": "given" }));
    assert_eq!(first["inputs"], other["inputs"]);
    let gateway = ["access", "--load", "0.5", "--policy", "grants", "--policy", "ingress", "--policy", "drr"];
    let block = provenance(&[&["compare"], &gateway[..]].concat());
    assert_eq!((&block["inputs"][0]["name"], &block["load"]["origin"]), (&json!("access"), &json!("given")));
    let policies: Vec<&str> = block["policies"].as_array().expect("policies").iter().flat_map(Value::as_str).collect();
    assert!(policies[0].starts_with("grants:") && policies[0].contains("ageing="), "{policies:?}");
    assert_eq!((policies[1], policies[2].starts_with("drr:")), ("ingress:rate=0.95", true));
    let page = folder.join("page.html");
    stdout(&[&args[..], &["--report", page.to_str().expect("plain")]].concat());
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains(by_hand.split(' ').next().expect("a hash")));
    let explained = provenance(&["explain", &path, "--policy", "fifo", "--against", "drr"]);
    assert_eq!(explained["inputs"], first["inputs"]);
    assert_eq!(explained["policies"].as_array().map(Vec::len), Some(2));
}
