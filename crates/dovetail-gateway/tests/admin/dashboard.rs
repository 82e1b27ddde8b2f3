//! The packaged dashboard only uses metrics and labels that the gateway exports, and takes rates of counters only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{port::udp_echo, running::Running};

const DASHBOARD: &str = include_str!("../../../../packaging/grafana-gateway.json");

/// Labels by name of the exported samples.
type Exported = BTreeMap<String, BTreeSet<String>>;

fn exported(text: &str) -> Exported {
    let mut found = Exported::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(['{', ' ']).unwrap();
        let labels = rest.split("=\"").filter_map(|before| before.rsplit(['"', ',']).next());
        // The text after the last label is its value.
        let count = rest.matches("=\"").count();
        found.entry(name.to_owned()).or_default().extend(labels.take(count).map(str::to_owned));
    }
    found
}

/// The words of an expression that may be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).filter(|word| !word.is_empty())
}

/// Each expression with its legend, anywhere in the document.
fn queries<'v>(value: &'v Value, to: &mut Vec<(&'v str, &'v str)>) {
    match value {
        Value::Object(fields) => {
            if let Some(expr) = fields.get("expr") {
                to.push((expr.as_str().unwrap(), fields["legendFormat"].as_str().unwrap()));
            }
            fields.values().for_each(|value| queries(value, to));
        }
        Value::Array(values) => values.iter().for_each(|value| queries(value, to)),
        _ => {}
    }
}

/// What is wrong with a dashboard.
fn faults(dashboard: &str, exported: &Exported) -> Vec<String> {
    let mut faults = Vec::new();
    // Variables refer to metrics too.
    for word in words(dashboard).filter(|word| word.starts_with("dovetail_gateway_")) {
        if !exported.contains_key(word) {
            faults.push(format!("{word} is not exported"));
        }
    }
    let document: Value = serde_json::from_str(dashboard).unwrap();
    let mut asked = Vec::new();
    queries(&document, &mut asked);
    for (expr, legend) in asked {
        let metrics: Vec<_> = words(expr).filter(|word| word.starts_with("dovetail_gateway_")).collect();
        let [metric] = metrics[..] else {
            faults.push(format!("{expr} has not one metric"));
            continue;
        };
        let is_counter = metric.ends_with("_total") || metric.ends_with("_bucket");
        if is_counter != expr.contains(&format!("rate({metric}")) {
            faults.push(format!("{expr} is a rate of a gauge, or a counter's bare value"));
        }
        let grouped = expr.split("by (").skip(1).flat_map(|rest| words(rest.split(')').next().unwrap_or_default()));
        let shown = legend.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap_or_default());
        for label in grouped.chain(shown) {
            if !exported.get(metric).is_some_and(|labels| labels.contains(label)) {
                faults.push(format!("{metric} has no label {label}"));
            }
        }
    }
    faults
}

#[test]
fn the_dashboard_asks_for_what_is_exported() {
    let (echo, _) = udp_echo();
    let parts = "[[quota]]\nname = \"monthly\"\nbytes = \"500kB\"\n\
                 [[parent]]\nname = \"up\"\naddress = \"127.0.0.1:9\"\nhosts = [\"far.example\"]\n";
    let gateway = Running::with(&format!("rate = \"2Mbps\"\nlearn = false\nprobe = \"udp://{echo}\""), "", parts);
    let _response = gateway.ask("127.0.1.1", 2_000_000);
    gateway.status_when("the link is measured, for a second", |status| {
        status["far_delay_ms"].is_f64() && status["sample"].is_object() && status["users"][0].is_object()
    });
    let exported = exported(&gateway.get("/metrics").body);
    assert_eq!(faults(DASHBOARD, &exported), Vec::<String>::new());

    let altered = |from: &str, to: &str| {
        assert!(DASHBOARD.contains(from), "{from}");
        faults(&DASHBOARD.replacen(from, to, 1), &exported)
    };
    assert!(!altered("gateway_probe_up", "gateway_probe_upp").is_empty());
    assert!(!altered("gateway_uptime_seconds", "gateway_uptime").is_empty());
    assert!(!altered("by (status)", "by (state)").is_empty());
    assert!(!altered("{{user}}", "{{who}}").is_empty());
    assert!(!altered("gateway_parent_up", "gateway_parent_is_up").is_empty());
    assert!(
        !altered("rate(dovetail_gateway_log_lines_lost_total", "(dovetail_gateway_log_lines_lost_total").is_empty()
    );
}
