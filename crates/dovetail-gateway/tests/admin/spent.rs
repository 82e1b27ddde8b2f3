//! How requests' time is accounted for in the status and the metrics.

use crate::{openmetrics::Scrape, running::Running};
use serde_json::Value;

const PARTS: [&str; 7] =
    ["own_user_s", "own_class_s", "other_classes_s", "pace_s", "server_s", "client_s", "receiving_s"];

fn part(of: &Value, name: &str) -> f64 {
    of["spent"][name].as_f64().unwrap_or_else(|| panic!("{name} of {of}"))
}

fn requests(status: &Value) -> &Vec<Value> {
    status["requests"].as_array().unwrap()
}

/// The parts add up to the age, except for rounding.
fn check(status: &Value) {
    for request in requests(status) {
        let sum: f64 = PARTS.iter().map(|name| part(request, name)).sum();
        assert!((sum - request["age_s"].as_f64().unwrap()).abs() < 1e-5, "{request}");
    }
}

#[test]
fn a_request_s_age_is_divided_among_what_it_waited_for() {
    let gateway = Running::start("rate = \"400kbps\"\nprobe = \"off\"", "");
    // A request that no server answers, and more than the link can carry.
    let unanswered = gateway.ask("127.0.1.1", 0);
    let open: Vec<_> = (1..8)
        .flat_map(|_| [("127.0.1.2", 400_000), ("127.0.1.3", 400_000), ("127.0.2.2", 400_000)])
        .map(|(client, bytes)| gateway.ask(client, bytes))
        .collect();
    let status = gateway.status_when("some wait for each of the others", |status| {
        check(status);
        let has = |name: &str| requests(status).iter().any(|request| part(request, name) > 0.0);
        ["own_user_s", "own_class_s", "other_classes_s", "receiving_s"].into_iter().all(has)
    });
    let silent = requests(&status).iter().find(|request| request["who"] == "127.0.1.1").unwrap();
    assert_eq!((part(silent, "receiving_s"), part(silent, "client_s")), (0.0, 0.0), "{silent}");
    gateway.status_when("it waits for its server", |status| {
        requests(status).iter().any(|request| request["who"] == "127.0.1.1" && part(request, "server_s") > 0.0)
    });
    // Finished ones are counted by class.
    drop((unanswered, open));
    let over = gateway.status_when("all are over", |status| requests(status).is_empty());
    let office = &over["classes"][0];
    assert!(part(office, "server_s") > 0.0 && part(office, "other_classes_s") > 0.0, "{office}");
    let answer = gateway.get("/metrics");
    let scrape = Scrape::parse(&answer.body).unwrap();
    for name in PARTS {
        let on = name.strip_suffix("_s").unwrap();
        let key = format!("dovetail_gateway_requests_spent_seconds_total{{class=\"office\",on=\"{on}\"}}");
        let counted = scrape.value(&key);
        assert!((counted.unwrap() - part(office, name)).abs() < 1e-5, "{on}: {counted:?} of {office}");
    }
}

#[test]
fn a_client_that_does_not_read_is_what_its_response_waits_for() {
    let gateway = Running::start("rate = \"1Gbps\"\nprobe = \"off\"\npolicy = \"none\"", "");
    // More than the kernel's buffers hold.
    let _unread = gateway.ask("127.0.1.1", 100_000_000);
    gateway.status_when("the response waits for its client", |status| {
        check(status);
        requests(status).iter().any(|request| part(request, "client_s") > 0.1)
    });
}
