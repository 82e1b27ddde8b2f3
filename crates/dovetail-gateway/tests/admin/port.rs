//! What the port reports, to which clients, and what can be changed.

use std::{
    io::{Read, Write},
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, sleep},
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    openmetrics::Scrape,
    running::{Running, TOKEN},
};

const FAST: &str = "rate = \"1Gbps\"\nprobe = \"off\"";

fn with_token() -> String {
    format!("token = \"{TOKEN}\"")
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

fn scrape(gateway: &Running) -> Scrape {
    let answer = gateway.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"));
    Scrape::parse(&answer.body).unwrap_or_else(|wrong| panic!("{wrong} in\n{}", answer.body))
}

/// Names of the classes, by number.
fn classes(status: &serde_json::Value) -> Vec<String> {
    let classes = status["classes"].as_array().unwrap().iter();
    classes.map(|class| class["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn classes_that_reloads_rename_do_not_pile_up() {
    let gateway = Running::start(FAST, "");
    let in_flight = |count: u64| {
        gateway.status_when("in flight", |status| {
            status["outstanding"].as_u64() == Some(count) && status["waiting"].as_u64() == Some(0)
        })
    };
    let reload = |name: &str| {
        gateway.reload_with("\"guests\"", &format!("\"{name}\""));
        classes(&gateway.status_when("reloaded", |status| classes(status).iter().any(|class| class == name)))
    };
    let unanswered = gateway.ask("127.0.2.1", 0);
    in_flight(1);
    for number in 0..20 {
        let names = reload(&format!("guests{number}"));
        assert_eq!(names[..3], ["office", "guests", "default"], "a request of a guest is in flight");
        assert!(names.len() <= 5, "{names:?}");
    }
    drop(unanswered);
    in_flight(0);
    assert_eq!(reload("last")[..3], ["office", "last", "default"]);
    assert_eq!(gateway.fetch("127.0.2.1", 5_000), 200);
    sleep(Duration::from_millis(600));
    let scrape = scrape(&gateway);
    let count = |class: &str, status| {
        scrape.value(&format!("dovetail_gateway_requests_total{{class=\"{class}\",status=\"{status}\"}}"))
    };
    assert_eq!([count("last", "none"), count("last", "2xx"), count("guests", "none")], [Some(0.0), Some(1.0), None]);
    assert_eq!(scrape.value("dovetail_gateway_requests_arrived_total{class=\"last\"}"), Some(1.0));
}

#[test]
fn metrics_are_openmetrics_count_what_happened_and_only_grow() {
    let gateway = Running::start(FAST, "");
    let before = scrape(&gateway);
    assert_eq!(gateway.fetch("127.0.1.1", 20_000), 200);
    assert_eq!(gateway.fetch("127.0.2.1", 1_000), 200);
    // By then the cached scrape has expired.
    sleep(Duration::from_millis(1_600));
    let between = scrape(&gateway);
    for client in ["127.0.1.1", "127.0.1.2", "127.0.0.9"] {
        assert_eq!(gateway.fetch(client, 5_000), 200);
    }
    sleep(Duration::from_millis(600));
    let after = scrape(&gateway);
    for (early, late) in [(&before, &between), (&between, &after)] {
        for (name, value) in early.counters() {
            let now = late.value(name).unwrap_or_else(|| panic!("{name} is gone"));
            assert!(now >= value, "{name} fell from {value} to {now}");
        }
    }
    let office = "{class=\"office\"}";
    let requests = "dovetail_gateway_requests_total{class=\"office\",status=\"2xx\"}";
    let seen = [&before, &between, &after].map(|scrape| scrape.value(requests));
    assert_eq!(seen, [Some(0.0), Some(1.0), Some(3.0)]);
    let sent = after.value(&format!("dovetail_gateway_sent_bytes_total{office}"));
    assert_eq!(sent, Some(30_000.0));
    let received = after.value(&format!("dovetail_gateway_received_bytes_total{office}")).unwrap();
    assert!((30_000.0..31_000.0).contains(&received), "the bodies and their headers: {received}");
    assert_eq!(after.value("dovetail_gateway_upstream_connections_total{how=\"dialled\"}"), Some(5.0));
    assert_eq!(after.value(&format!("dovetail_gateway_request_duration_seconds_count{office}")), Some(3.0));
    assert!(after.value(&format!("dovetail_gateway_utilisation_ratio{office}")).is_some(), "a second is over");
    assert!(after.value("dovetail_gateway_policy_figure{figure=\"pace\"}").is_some());
    assert!(after.value("dovetail_gateway_process_resident_memory_bytes").unwrap() > 1e5);
}

/// Echoes UDP packets while enabled, which it is at first.
pub fn udp_echo() -> (SocketAddr, Arc<AtomicBool>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let answers = Arc::new(AtomicBool::new(true));
    let does_answer = Arc::clone(&answers);
    thread::spawn(move || {
        let mut packet = [0; 64];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            if does_answer.load(Ordering::Relaxed) {
                let _ = socket.send_to(&packet[..length], from);
            }
        }
    });
    (address, answers)
}

#[test]
fn a_probe_that_is_not_answered_is_named_and_tcp_tells_in_its_place() {
    let (echo, answers) = udp_echo();
    let gateway = Running::start(&format!("rate = \"2Mbps\"\nlearn = false\nprobe = \"udp://{echo}\""), "");
    let mut response = gateway.ask("127.0.1.1", 12_000_000);
    let status = gateway.status_when("the probe measures", |status| status["far_delay_ms"].is_f64());
    assert_eq!((&status["probe_up"], &status["probe_fault"]), (&true.into(), &serde_json::Value::Null));
    answers.store(false, Ordering::Relaxed);
    let status = gateway.status_when("it is silent, and TCP measures", |status| {
        status["probe_up"] == false && status["far_delay_ms"].is_f64()
    });
    let fault = status["probe_fault"].as_str().unwrap();
    assert!(fault.contains(&format!("UDP echoes to {echo}")) && fault.contains("has not been answered"), "{fault}");
    sleep(Duration::from_millis(600));
    assert_eq!(scrape(&gateway).value("dovetail_gateway_probe_up"), Some(0.0));
    answers.store(true, Ordering::Relaxed);
    gateway.status_when("it is back", |status| status["probe_up"] == true && status["far_delay_ms"].is_f64());
    drop(gateway);
    let _ = response.read_to_end(&mut Vec::new());
}

#[test]
fn uploads_are_counted_and_known_to_be_unpaced_or_paced() {
    let send = |gateway: &Running| {
        let _stream = gateway.upload("127.0.1.1", 20_000);
        gateway.status_when("it is sent", |status| status["uplink"]["sent_bytes"].as_u64() >= Some(20_000))
    };
    // Beside a faster downlink this would not be much.
    let unpaced = Running::start("rate = \"5Mbps\"", "");
    assert_eq!(unpaced.status()["uplink"], json!({ "goodput_bytes_per_s": null, "is_busy": false, "sent_bytes": 0 }));
    assert_eq!(send(&unpaced)["uplink"]["sent_bytes"], 20_000);
    assert_eq!(scrape(&unpaced).value("dovetail_gateway_uplink_sent_bytes_total"), Some(20_000.0));
    unpaced.status_when("so much is sent", |_| send(&unpaced)["uplink"]["is_busy"] == true);
    unpaced.status_when("little was sent for two seconds", |status| status["uplink"]["is_busy"] == false);
    let paced = Running::with(FAST, "", "[uplink]\nrate = \"8Mbps\"\n");
    let rate = send(&paced)["uplink"]["goodput_bytes_per_s"].as_f64().unwrap();
    assert!((850_000.0..1_000_000.0).contains(&rate), "{rate}");
}

#[test]
fn the_pages_tables_have_each_metric_and_each_field() {
    let page = include_str!("../../../../docs/gateway-admin.md");
    let (_, metrics) = page.split_once("## Metrics").unwrap();
    let (metrics, fields) = metrics.split_once("## JSON").unwrap();
    let (echo, _) = udp_echo();
    let store = std::env::temp_dir().join(format!("dovetail-port-{}.db", std::process::id()));
    let parent = "[[parent]]\nname = \"up\"\naddress = \"127.0.0.1:9\"\nhosts = [\"far.example\"]\n";
    let kept = format!(
        "{parent}[uplink]\nrate = \"1Mbps\"\n[[quota]]\nname = \"q\"\nbytes = \"1GB\"\n[store]\npath = \"{}\"\n",
        store.display()
    );
    let gateway = Running::with(&format!("rate = \"2Mbps\"\nlearn = false\nprobe = \"udp://{echo}\""), "", &kept);
    let mut response = gateway.ask("127.0.1.1", 2_000_000);
    let status = gateway.status_when("the link is measured, for a second", |status| {
        status["far_delay_ms"].is_f64() && status["sample"].is_object() && status["requests"][0].is_object()
    });
    let mut told = scrape(&gateway).families().to_vec();
    let rows = metrics.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut listed: Vec<_> = rows.map(|name| format!("dovetail_gateway_{name}")).collect();
    told.sort();
    listed.sort();
    assert_eq!(told, listed);
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let all = [
        &status,
        &status["classes"][0],
        &status["quotas"][0],
        &status["uplink"],
        &status["store"],
        &status["users"][0],
        &status["requests"][0],
        &status["sample"],
    ];
    for key in all.into_iter().flat_map(keys) {
        assert!(fields.contains(&format!("`{key}`")), "{key} is not explained");
    }
    drop(gateway);
    let _ = response.read_to_end(&mut Vec::new());
    for more in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{more}", store.display()));
    }
}

#[test]
fn the_status_says_who_is_served_and_who_waits() {
    let gateway = Running::start("rate = \"400kbps\"\nprobe = \"off\"", "");
    // Two that no server answers, and more than the link can carry.
    let _open: Vec<_> = [("127.0.1.1", 0), ("127.0.2.1", 0)]
        .into_iter()
        .chain((1..12).map(|_| ("127.0.1.2", 400_000)))
        .chain((1..12).map(|_| ("127.0.2.2", 400_000)))
        .map(|(client, bytes)| gateway.ask(client, bytes))
        .collect();
    let whys = |status: &serde_json::Value| -> Vec<String> {
        let requests = status["requests"].as_array().unwrap();
        requests.iter().map(|request| request["why"].as_str().unwrap().to_owned()).collect()
    };
    let status = gateway.status_when("some are served, some wait, and somebody is seen to get something", |status| {
        let whys = whys(status);
        let has = |what: &str| whys.iter().any(|why| why.contains(what));
        let rates = status["users"].as_array().unwrap().iter().filter_map(|user| user["bytes_per_s"].as_f64());
        has("receiving") && has("queued") && has("has not responded") && rates.sum::<f64>() > 0.0
    });
    assert_eq!(status["requests"].as_array().unwrap().len(), 24, "{status:#}");
    assert_eq!(status["active_users"], 4);
    assert_eq!(status["can_change"], false);
    assert_eq!(status["waiting"].as_u64().unwrap() + status["outstanding"].as_u64().unwrap(), 24);
    let classes: Vec<_> = status["classes"].as_array().unwrap().iter().map(|class| class["name"].clone()).collect();
    assert_eq!(classes, ["office", "guests", "default"]);
    let receiving =
        status["requests"].as_array().unwrap().iter().find(|request| request["stage"] == "receiving").unwrap();
    assert!(receiving["length_bytes"].as_u64().unwrap() > 400_000, "body and header: {receiving}");
    assert_eq!(receiving["host"], "127.0.0.1");
    let stages: Vec<_> = status["requests"].as_array().unwrap().iter().map(|request| &request["stage"]).collect();
    let order = ["receiving", "requested", "stalled", "throttled", "queued"];
    assert!(stages.is_sorted_by_key(|stage| order.iter().position(|known| stage == known)), "{stages:?}");

    sleep(Duration::from_millis(1_500));
    let history: serde_json::Value = serde_json::from_str(&gateway.get("/history.json").body).unwrap();
    let samples = history.as_array().unwrap();
    assert!(samples.len() >= 2, "{history:#}");
    let used: f64 = samples.last().unwrap()["utilisation"].as_array().unwrap().iter().filter_map(|u| u.as_f64()).sum();
    assert!((0.2..2.0).contains(&used), "the link is in use: {used}");
    let numbers: Vec<_> = samples.iter().map(|sample| sample["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..samples.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_weight_is_changed_by_who_knows_the_token_until_the_file_is_read_again() {
    let gateway = Running::start(FAST, &with_token());
    let put = |headers: &str, class: &str, body: &str| {
        gateway.admin("PUT", &format!("/classes/{class}/weight"), headers, body)
    };
    let weights = || -> Vec<f64> {
        let status = gateway.status();
        status["classes"].as_array().unwrap().iter().map(|class| class["weight"].as_f64().unwrap()).collect()
    };
    assert_eq!(weights(), [3.0, 1.0, 1.0]);
    let right = bearer(TOKEN);
    let done = put(&right, "guests", "{\"weight\": 2.5}");
    assert_eq!((done.status, weights()), (200, vec![3.0, 2.5, 1.0]));
    assert!(done.body.contains("the configuration is reloaded") && done.body.contains("2.5"), "{}", done.body);

    let unsaid = put("", "guests", "{\"weight\": 9}");
    assert_eq!(unsaid.status, 401);
    assert!(unsaid.head.contains("www-authenticate: bearer") && unsaid.body.contains("Authorization: Bearer"));
    assert_eq!(put(&bearer("correct-horse-batterz"), "guests", "{\"weight\": 9}").status, 401);
    let absent = put(&right, "nobody", "{\"weight\": 9}");
    assert_eq!(absent.status, 404);
    assert!(absent.body.contains("office, guests, default"), "{}", absent.body);
    for body in
        ["{\"weight\": 0}", "{\"weight\": -1}", "{\"weight\": 1e99}", "{}", "3", "{\"weight\": 3, \"x\": 1}", ""]
    {
        let wrong = put(&right, "guests", body);
        assert_eq!(wrong.status, 400, "{body}");
        assert!(wrong.body.contains("0.000001 to 1000000"), "{}", wrong.body);
    }
    let origin = format!("{right}Origin: http://evil.example\r\n");
    assert_eq!(put(&origin, "guests", "{\"weight\": 9}").status, 403);
    let long = format!("{{\"weight\": 3{}}}", " ".repeat(70_000));
    assert_eq!(put(&right, "guests", &long).status, 413);
    assert_eq!(gateway.admin("POST", "/classes/guests/weight", &right, "{\"weight\": 9}").status, 405);
    sleep(Duration::from_millis(600));
    assert_eq!(weights(), [3.0, 2.5, 1.0], "nothing of that changed anything");

    gateway.reload();
    gateway.status_when("the file's weight", |status| status["classes"][1]["weight"] == 1.0);
}

#[test]
fn without_a_token_nothing_can_be_changed() {
    let gateway = Running::start(FAST, "");
    let answer = gateway.admin("PUT", "/classes/guests/weight", &bearer(TOKEN), "{\"weight\": 9}");
    assert_eq!(answer.status, 403);
    assert!(answer.body.contains("token_file"), "{}", answer.body);
    assert_eq!(gateway.status()["classes"][1]["weight"], 1.0);
}

#[test]
fn answers_are_for_this_port_s_own_page_only() {
    let gateway = Running::start(FAST, "");
    for path in ["/", "/status.json", "/history.json", "/metrics", "/healthz"] {
        let answer = gateway.get(path);
        assert_eq!(answer.status, 200, "{path}");
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'",
        ] {
            assert!(answer.head.contains(header), "{path}: no {header} in {}", answer.head);
        }
        assert!(!answer.head.contains("access-control"), "{path}: {}", answer.head);
        assert_eq!(gateway.admin("GET", path, "Host: evil.example\r\n", "").status, 421, "{path}");
        assert_eq!(gateway.admin("GET", path, "Host: localhost:9180\r\n", "").status, 200, "{path}");
        assert_eq!(gateway.admin("DELETE", path, "", "").status, 405, "{path}");
    }
    assert_eq!(gateway.get("/healthz").body, "ok\n");
    assert_eq!(gateway.get("/elsewhere").status, 404);
    // The page's scripts run by their nonce, which differs in each answer, and nothing else does.
    let nonces = [(); 2].map(|()| {
        let page = gateway.get("/");
        let nonce = page.body.split("<script nonce=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert!(page.head.contains(&format!("script-src 'nonce-{}'", nonce.to_ascii_lowercase())), "{}", page.head);
        nonce
    });
    assert_ne!(nonces[0], nonces[1]);
}

#[test]
fn there_are_at_most_sixty_four_connections() {
    let gateway = Running::start(FAST, "");
    let asked = |stream: &mut std::net::TcpStream| {
        let _ = write!(stream, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let mut first = [0; 1];
        matches!(stream.read(&mut first), Ok(1))
    };
    let mut open: Vec<_> = (0..64).map(|_| gateway.connect()).collect();
    assert!(open.iter_mut().all(asked), "sixty-four are answered");
    assert!(!asked(&mut gateway.connect()), "one more is not");
    drop(open);
    sleep(Duration::from_millis(200));
    assert!(asked(&mut gateway.connect()), "there is room again");
}

#[test]
fn a_header_or_a_body_that_takes_too_long_ends_its_connection() {
    let gateway = Running::start(FAST, &with_token());
    let half = ["", "GET /healthz HTTP/1.1\r\nHost: loc"].map(|text| (text.to_owned(), ""));
    let length = "Host: localhost\r\nContent-Length: 15\r\n\r\n{";
    let body = format!("PUT /classes/guests/weight HTTP/1.1\r\n{}{length}", bearer(TOKEN));
    let begun = Instant::now();
    let open = half.into_iter().chain([(body, "HTTP/1.1 408")]).map(|(text, answer)| {
        let mut stream = gateway.connect();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        (stream, answer)
    });
    for (mut stream, answer) in open.collect::<Vec<_>>() {
        let mut said = vec![0; answer.len()];
        stream.read_exact(&mut said).unwrap();
        assert_eq!(String::from_utf8_lossy(&said), answer);
        if answer.is_empty() {
            assert_eq!(stream.read(&mut [0]).unwrap(), 0, "it is closed without a word");
        }
        assert!((9.0..55.0).contains(&begun.elapsed().as_secs_f64()), "after {:?}", begun.elapsed());
    }
}
