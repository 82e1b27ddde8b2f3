//! Quotas of a running gateway: what is counted, what is refused, and what is kept.

use std::{
    io::{Read, Write},
    path::PathBuf,
    time::Duration,
};

use jiff::SignedDuration;

use crate::running::{Answer, Running};

const LINK: &str = "rate = \"1Gbps\"\nprobe = \"off\"";
/// The maximum length of a read from a server's connection.
const READ: u64 = 16 * 1024;
/// The header of the origin's responses with six-digit lengths.
const HEAD: u64 = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n".len() as u64;
const DAYS: i64 = 24;

fn gateway(quota: &str) -> Running {
    Running::with(LINK, "", &format!("[[quota]]\nname = \"q\"\n{quota}\n"))
}

fn counted(gateway: &Running) -> u64 {
    gateway.status()["quotas"][0]["counted_bytes"].as_array().unwrap().iter().map(|class| class.as_u64().unwrap()).sum()
}

#[test]
fn every_byte_of_responses_counts_and_none_besides() {
    let gateway = gateway("bytes = \"1GB\"");
    for client in ["127.0.1.1", "127.0.2.1", "127.0.2.1"] {
        assert_eq!(gateway.fetch(client, 100_000), 200);
    }
    // What the origin sent, by class: office, guests, others.
    let status = gateway.status();
    let quota = &status["quotas"][0];
    assert_eq!(quota["counted_bytes"], serde_json::json!([100_000 + HEAD, 200_000 + 2 * HEAD, 0]));
    assert_eq!((&quota["known"], &quota["beyond"]), (&2.into(), &0.into()));
    let metric = "dovetail_gateway_quota_counted_bytes_total{quota=\"q\",class=\"guests\"}";
    let wanted = format!("{metric} {}", 200_000 + 2 * HEAD);
    assert!(gateway.get("/metrics").body.contains(&wanted), "{}", gateway.get("/metrics").body);
}

#[test]
fn many_downloads_at_once_exceed_a_quota_by_one_read() {
    let gateway = gateway("bytes = \"500kB\"\nclasses = \"guests\"");
    let streams: Vec<_> = (0..20).map(|_| gateway.ask("127.0.2.1", 900_000)).collect();
    let mut came = 0;
    for mut stream in streams {
        let mut bytes = Vec::new();
        // Those that were aborted end in one way or another.
        let _ = stream.read_to_end(&mut bytes);
        came += bytes.len() as u64;
    }
    let counted = counted(&gateway);
    assert!((500_000..500_000 + READ).contains(&counted), "{counted}");
    // The gateway's own pages are part of what is sent to clients.
    assert!(came < 500_000 + READ + 20 * 2_000, "{came}");
    assert_eq!(gateway.status()["quotas"][0]["beyond"], 1);
    let refused = Answer::read(gateway.ask("127.0.2.1", 100));
    assert_eq!(refused.status, 429);
    assert!(refused.body.contains("The quota q, 500 kB a month, is used up"), "{}", refused.body);
    let mut stream = gateway.proxy_from("127.0.2.1");
    let request = format!("GET http://{0}/100 HTTP/1.1\r\nHost: {0}\r\nAccept-Language: de\r\n", gateway.origin);
    write!(stream, "{request}Connection: close\r\n\r\n").unwrap();
    let german = Answer::read(stream).body;
    assert!(german.contains("Das Kontingent q, 500 kB pro Monat, ist aufgebraucht."), "{german}");
    let wait: i64 = refused.head.lines().find_map(|line| line.strip_prefix("retry-after: ")).unwrap().parse().unwrap();
    assert!((1..=31 * 24 * 3_600 + 3_600).contains(&wait), "{wait}");
    let connect = Answer::read(gateway.connect_to("127.0.2.1"));
    assert!(connect.status == 429 && connect.head.contains("\nretry-after: "), "CONNECT too: {}", connect.head);
    assert_eq!(gateway.fetch("127.0.2.2", 100), 200, "another user");
    assert_eq!(gateway.fetch("127.0.1.1", 900_000), 200, "another class");
    gateway.set_clock(SignedDuration::from_hours(32 * DAYS));
    gateway.status_when("the next month", |status| status["quotas"][0]["beyond"] == 0);
    assert_eq!(gateway.fetch("127.0.2.1", 100), 200);
}

#[test]
fn a_tunnel_counts_and_ends_beyond_the_quota() {
    let gateway = gateway("bytes = \"200kB\"\nevery = \"day\"");
    let mut tunnel = gateway.connect_to("127.0.2.1");
    let mut head = [0; 200];
    let length = tunnel.read(&mut head).unwrap();
    assert!(String::from_utf8_lossy(&head[..length]).starts_with("HTTP/1.1 200"));
    tunnel.write_all(b"GET /900000 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = tunnel.read_to_end(&mut bytes);
    let counted = counted(&gateway);
    assert!((200_000..200_000 + READ).contains(&counted), "{counted}");
    assert!(bytes.len() as u64 <= counted, "{} {counted}", bytes.len());
    assert_eq!(Answer::read(gateway.connect_to("127.0.2.1")).status, 429);
}

#[test]
fn beyond_a_quota_a_user_may_have_a_smaller_weight_until_the_next_day() {
    let gateway = gateway("bytes = \"100kB\"\nevery = \"day\"\nbeyond = { weight = 0.1 }");
    let classes = |status: &serde_json::Value| -> Vec<(String, f64, u64)> {
        let classes = status["classes"].as_array().unwrap().iter();
        let of = |class: &serde_json::Value| {
            let (name, weight) = (class["name"].as_str().unwrap().to_owned(), class["weight"].as_f64().unwrap());
            (name, weight, class["active_users"].as_u64().unwrap())
        };
        classes.map(of).collect()
    };
    let live = gateway.ask("127.0.2.1", 0);
    gateway.status_when("a request", |status| status["outstanding"] == 1);
    let before = classes(&gateway.status());
    assert_eq!(before[1], ("guests".into(), 1.0, 1));
    assert_eq!(before[3], ("beyond-q".into(), 0.1, 0));
    assert_eq!(gateway.fetch("127.0.2.1", 300_000), 200, "it is not broken off");
    // What was in flight before is in the other class too, as is what follows.
    let after = classes(&gateway.status_when("another class", |status| status["classes"][3]["active_users"] == 1));
    assert_eq!((after[1].2, after[3].2), (0, 1));
    assert_eq!(gateway.fetch("127.0.2.1", 300_000), 200);
    assert_eq!(gateway.status()["classes"][3]["active_users"], 1);
    gateway.set_clock(SignedDuration::from_hours(25));
    gateway.status_when("their own class", |status| status["classes"][1]["active_users"] == 1);
    drop(live);
}

#[test]
fn a_reload_keeps_what_was_used_and_takes_up_other_limits() {
    let gateway = gateway("bytes = \"100kB\"\nbeyond = { weight = 0.1 }");
    let live = gateway.ask("127.0.2.1", 0);
    assert_eq!(gateway.fetch("127.0.2.1", 300_000), 200);
    gateway.status_when("beyond", |status| status["classes"][3]["active_users"] == 1);
    gateway.reload();
    gateway.status_when("still beyond", |status| status["classes"][3]["active_users"] == 1);
    gateway.reload_with("100kB", "1GB");
    gateway.status_when("within it", |status| status["classes"][1]["active_users"] == 1);
    assert!(counted(&gateway) > 300_000);
    drop(live);
}

#[test]
fn a_class_has_a_quota_together() {
    let gateway = gateway("bytes = \"100kB\"\nper = \"class\"");
    assert_eq!(gateway.fetch("127.0.2.1", 90_000), 200);
    gateway.fetch("127.0.2.2", 90_000);
    assert_eq!(gateway.fetch("127.0.2.3", 100), 429);
    assert_eq!(gateway.fetch("127.0.1.1", 100), 200);
}

#[test]
fn free_hours_do_not_count() {
    let gateway = gateway("bytes = \"100kB\"\nfree = \"00:00-24:00\"");
    assert_eq!(gateway.fetch("127.0.2.1", 900_000), 200);
    assert_eq!((counted(&gateway), gateway.fetch("127.0.2.1", 100)), (0, 200));
    assert_eq!(gateway.status()["quotas"][0]["is_free"], true);
}

#[test]
fn uploads_count_where_they_are_to() {
    for (uploads, status) in [(true, 429), (false, 200)] {
        let gateway = gateway(&format!("bytes = \"50kB\"\nuploads = {uploads}"));
        let _ = gateway.upload("127.0.2.1", 60_000).read_to_end(&mut Vec::new());
        assert_eq!(gateway.fetch("127.0.2.1", 10), status, "uploads = {uploads}");
    }
}

/// A store that does not exist yet.
fn store(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dovetail-quota-{name}-{}.db", std::process::id()));
    drop(std::fs::remove_file(&path));
    path
}

#[test]
fn what_was_used_is_kept_over_a_restart() {
    let store = store("restart");
    let start = || gateway(&format!("bytes = \"1MB\"\n[store]\npath = \"{}\"\nevery = \"1s\"", store.display()));
    let first = start();
    assert_eq!(first.fetch("127.0.2.1", 900_000), 200);
    drop(first);
    let second = start();
    assert_eq!(second.status()["quotas"][0]["known"], 1);
    let cut = Answer::read(second.ask("127.0.2.1", 900_000));
    assert!(cut.body.len() < 150_000, "{}", cut.body.len());
    assert_eq!(second.fetch("127.0.2.1", 10), 429);
    assert_eq!(second.status()["store"]["fault"], serde_json::Value::Null);
    drop(second);
    std::fs::remove_file(store).unwrap();
}

#[test]
fn a_store_that_cannot_be_written_is_told_of_and_quotas_hold() {
    let store = store("locked");
    let gateway = gateway(&format!("bytes = \"300kB\"\n[store]\npath = \"{}\"\nevery = \"1s\"", store.display()));
    let other = rusqlite::Connection::open(&store).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(gateway.fetch("127.0.2.1", 200_000), 200);
    let status = gateway.status_when("a fault", |status| !status["store"]["fault"].is_null());
    assert!(status["store"]["fault"].as_str().unwrap().contains("locked"));
    assert!(gateway.get("/metrics").body.contains("dovetail_gateway_store_up 0"));
    gateway.fetch("127.0.2.1", 200_000);
    assert_eq!(gateway.fetch("127.0.2.1", 10), 429, "it is counted in memory");
    other.execute_batch("COMMIT").unwrap();
    gateway.status_when("it is written", |status| status["store"]["fault"].is_null());
    let sum: i64 = other.query_row("SELECT sum(bytes) FROM used", [], |row| row.get(0)).unwrap();
    assert_eq!(sum as u64, counted(&gateway));
    drop(gateway);
    std::fs::remove_file(store).unwrap();
}

/// The access log and the origin's headers determine what the store should contain.
#[test]
fn the_store_has_what_the_access_log_says() {
    let store = store("log");
    let log = store.with_extension("log");
    drop(std::fs::remove_file(&log));
    let gateway = gateway(&format!(
        "bytes = \"1GB\"\n[store]\npath = \"{}\"\nevery = \"1s\"\n[log]\naccess = \"{}\"\nformat = \"json\"",
        store.display(),
        log.display()
    ));
    let clients = ["127.0.1.1", "127.0.1.2", "127.0.2.1", "127.0.0.9"];
    let threads: Vec<_> = (0..40_u64).map(|n| gateway.ask(clients[n as usize % 4], 100_000 + 7_919 * n)).collect();
    for mut stream in threads {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
    }
    drop(gateway);
    std::thread::sleep(Duration::from_millis(200));
    let mut expected = std::collections::BTreeMap::new();
    let text = std::fs::read_to_string(&log).unwrap();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let sum = expected.entry(format!("address {}", line["user"].as_str().unwrap())).or_insert(0);
        *sum += line["sent_bytes"].as_i64().unwrap() + HEAD as i64;
    }
    assert_eq!((text.lines().count(), expected.len()), (40, 4));
    let database = rusqlite::Connection::open(&store).unwrap();
    let mut rows = database.prepare("SELECT who, bytes FROM used ORDER BY who").unwrap();
    let stored: std::collections::BTreeMap<String, i64> =
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert_eq!(stored, expected);
    std::fs::remove_file(store).unwrap();
    std::fs::remove_file(log).unwrap();
}
