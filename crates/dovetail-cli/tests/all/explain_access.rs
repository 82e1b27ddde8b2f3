//! `dovetail explain` over users behind a gateway, from outside: its output adds up, and is consistent wherever a request
//! is shown.

use serde_json::Value;

use crate::support::{dovetail, stdout};

fn scenario() -> String {
    format!("{}/../../scenarios/access.toml", env!("CARGO_MANIFEST_DIR"))
}

fn explained(args: &[&str]) -> Value {
    let all = ["explain", &scenario(), "--load", "0.9", "--json"];
    serde_json::from_str(&stdout(&[&all[..], args].concat())).expect("JSON")
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// A missing part counts as zero.
fn part(of: &Value, name: &str) -> u64 {
    of.get(name).map_or(0, whole)
}

fn named(of: &Value) -> u64 {
    of.as_object().expect("parts by name").values().map(whole).sum()
}

const ALONE: [&str; 7] =
    ["same_flow_ns", "stalled_ns", "held_ns", "recovering_ns", "on_its_way_ns", "server_ns", "pace_ns"];

/// The parts sum to the latency.
fn check_sum(of: &Value) {
    let parts = named(&of["own_ns"]) + named(&of["behind_ns"]) + ALONE.map(|name| part(of, name)).iter().sum::<u64>();
    assert_eq!(parts, whole(&of["latency_ns"]), "{of}");
}

fn sum(groups: &[Value], name: &str) -> u64 {
    groups.iter().map(|group| part(group, name)).sum()
}

#[test]
fn parts_add_up_for_all_classes_users_and_requests() {
    let said = explained(&["--policy", "grants", "--against", "none", "--slowest", "8"]);
    let groups = |name: &str| said[name].as_array().expect("groups").clone();
    let (selected, slowest) = (&said["selected"], groups("slowest"));
    for one in groups("classes").iter().chain(&groups("flows")).chain(&slowest).chain([selected]) {
        check_sum(one);
    }
    for kind in ["classes", "flows"] {
        for name in ["packets", "latency_ns", "server_ns", "pace_ns", "on_its_way_ns"] {
            assert_eq!(sum(&groups(kind), name), part(selected, name), "{kind}: {name}");
        }
    }
    // Each class waits for its server and for others; grants holds some back.
    let classes: Vec<_> = groups("classes").into_iter().filter(|class| part(class, "packets") > 0).collect();
    let names: Vec<_> = classes.iter().map(|class| class["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["gold", "silver", "bronze"]);
    assert!(classes.iter().all(|class| part(class, "server_ns") > 0 && named(&class["behind_ns"]) > 0));
    assert!(part(selected, "pace_ns") > 0);
    assert_eq!(slowest.len(), 8);
    assert!(slowest.is_sorted_by_key(|one| std::cmp::Reverse(part(one, "latency_ns"))));
    // An ordinary proxy makes no request wait at the gateway.
    let against = &said["against"];
    check_sum(&against["selected"]);
    assert_eq!(part(&against["selected"], "pace_ns"), 0);
    let pairs = against["flows"].as_array().expect("users");
    assert_eq!(pairs.len(), 12);
    assert_eq!(sum(pairs, "packets"), part(selected, "packets"), "in an open loop both see the same requests");
    // `compare` counts the same requests: its figures cover those sent after the warm-up.
    let compared = stdout(&["compare", &scenario(), "--load", "0.9", "--policy", "grants", "--json"]);
    let compared: Value = serde_json::from_str(&compared).expect("JSON");
    let compared = &compared["policies"][0];
    assert_eq!(said["policy"], compared["policy"]);
    assert!(whole(&compared["access"]["requests"]) <= part(selected, "packets"), "{compared}");
}

#[test]
fn a_class_a_user_or_one_request_is_selected() {
    let all = explained(&["--policy", "msf-rs", "--slowest", "1000"]);
    let of = |name: &str, wanted: &str| {
        let groups = all[name].as_array().expect("groups");
        groups.iter().find(|group| group["name"] == wanted).expect("it is there").clone()
    };
    let bronze = explained(&["--policy", "msf-rs", "--class", "bronze"]);
    assert_eq!(bronze["selected"]["latency_ns"], of("classes", "bronze")["latency_ns"]);
    let user = explained(&["--policy", "msf-rs", "--flow", "b2"]);
    assert_eq!(user["selected"]["latency_ns"], of("flows", "b2")["latency_ns"]);
    let one = explained(&["--policy", "msf-rs", "--packet", "40"]);
    let same = all["slowest"].as_array().expect("requests").iter().find(|one| one["packet"] == 40);
    assert_eq!(Some(&one["slowest"][0]), same);
    // The text agrees to the nanosecond.
    let text = stdout(&["explain", &scenario(), "--load", "0.9", "--policy", "msf-rs", "--packet", "40"]);
    let nanos = |line: &str| {
        let mut words = line.split_whitespace().rev().skip(1);
        words.next().and_then(|word| word.replace(',', "").parse::<u64>().ok())
    };
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with(' ')).filter_map(nanos).collect();
    let (latency, parts) = lines.split_last().expect("parts");
    assert_eq!(*latency, part(&one["slowest"][0], "latency_ns"), "{text}");
    assert_eq!(parts.iter().sum::<u64>(), *latency, "{text}");
    assert!(text.contains("Request 40 of ") && text.contains("waited for its server"), "{text}");
}

#[test]
fn every_gateway_is_explained_in_words() {
    for gateway in ["none", "msf-rs", "grants", "drr", "delay-pools", "ingress"] {
        let text = stdout(&["explain", &scenario(), "--load", "0.5", "--policy", gateway]);
        for said in ["requests of 12 users behind a gateway", "What a request takes under", "same user", "server"] {
            assert!(text.contains(said), "{gateway}: {text}");
        }
        let waits = matches!(gateway, "msf-rs" | "grants" | "delay-pools");
        assert_eq!(text.contains("pace "), waits, "{gateway}: {text}");
    }
}

#[test]
fn what_is_not_there_or_cannot_run_is_said() {
    let scenario = scenario();
    for (args, said) in [
        (&["explain", &scenario, "--policy", "none", "--class", "iron"][..], "there are gold, silver, bronze"),
        (&["explain", &scenario, "--policy", "none", "--flow", "zoe"], "there are g1, g2"),
        (&["explain", &scenario, "--policy", "none", "--packet", "1000000"], "there is no request 1000000"),
        (&["explain", &scenario, "--policy", "none", "--against", "none"], "twice"),
        (&["explain", "--policy", "grants"], "it schedules requests at a gateway"),
        (&["explain", "--policy", "drfq", "--against", "ingress"], "it schedules requests at a gateway"),
    ] {
        let output = dovetail(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(said), "{args:?}: {errors}");
    }
}
