//! Weights that change by the hour, as seen at the admin port.

use jiff::{SignedDuration, ZonedDateTime};

use crate::running::{Running, TOKEN};

/// A gateway whose guests have weight 8 in these hours, counted from the current one, and 1 otherwise.
fn gateway(hours: [i64; 2]) -> Running {
    let [from, to] = hours.map(|hours| {
        let hour = ZonedDateTime::now().checked_add(SignedDuration::from_hours(hours)).unwrap();
        hour.strftime("%H:00").to_string()
    });
    let keys = format!("weights = [{{ hours = \"{from}-{to}\", weight = 8 }}]");
    Running::with("rate = \"1Gbps\"\nprobe = \"off\"", &format!("token = \"{TOKEN}\""), &keys)
}

fn guests(status: &serde_json::Value) -> f64 {
    status["classes"][1]["weight"].as_f64().unwrap()
}

#[test]
fn a_weight_changes_with_the_hour_and_when_the_clock_is_set() {
    let now = ZonedDateTime::now();
    let gateway = gateway([3, 4]);
    // The middle of the current hour, so that the next one does not begin meanwhile.
    let middle = SignedDuration::from_mins(30 - i64::from(now.minute()));
    let set_clock = |hours| gateway.set_clock(middle + SignedDuration::from_hours(hours));
    set_clock(0);
    let status = gateway.status_when("weights", |status| guests(status) == 1.0);
    let until = status["classes"][1]["weight_until"].as_i64().unwrap();
    let hours = (until - now.timestamp().as_second()) as f64 / 3_600.0;
    assert!((2.0..=3.1).contains(&hours), "{hours}");
    assert!(status["classes"][0]["weight_until"].is_null(), "its weight stays");
    // A weight set by the admin lasts until the next hour that changes it, not just until the next second.
    let headers = format!("Authorization: Bearer {TOKEN}\r\n");
    let put = gateway.admin("PUT", "/classes/guests/weight", &headers, "{\"weight\": 5}");
    assert!(put.body.contains("or its hours change"), "{}", put.body);
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(guests(&gateway.status()), 5.0);
    set_clock(3);
    gateway.status_when("the night's weight", |status| guests(status) == 8.0);
    set_clock(2);
    gateway.status_when("the clock was set back", |status| guests(status) == 1.0);
    set_clock(3);
    gateway.status_when("and forward", |status| guests(status) == 8.0);
    gateway.admin("PUT", "/classes/guests/weight", &headers, "{\"weight\": 5}");
    gateway.reload();
    gateway.status_when("a reload keeps the hour's weight", |status| guests(status) == 8.0);
    set_clock(5);
    gateway.status_when("the day's weight", |status| guests(status) == 1.0);
}

#[test]
fn a_gateway_that_starts_has_the_weight_of_the_hour() {
    let gateway = gateway([-1, 2]);
    assert_eq!(guests(&gateway.status()), 8.0);
    assert!(gateway.get("/metrics").body.contains("dovetail_gateway_class_weight{class=\"guests\"} 8"));
}
