//! The admin port of a box in a lab: it reports what was sent, and changes need the token.
//!
//! Needs root and iproute2; skipped, with the reason, if one is missing.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use dovetail_box::{
    config::Config,
    live::{
        Control, Live, LiveError, Status,
        admin::{Admin, Reload, listen},
        lab::{Lab, LabSpec, Place},
    },
    node::Cause,
};
use serde_json::Value;

use crate::{
    browser::Browser,
    key::KeyFile,
    live::{FAR, config, is_judged, lab},
    openmetrics::Scrape,
};

const TOKEN: &str = "correct-horse-battery";

const SETTINGS: &str = "policy = \"drfq\"\n[link]\nrate = \"20Mbps\"\n\
                        [[class]]\nname = \"vpn\"\nports = [4500]\nweight = 2\nfunctions = [\"ipsec\"]\neffect = \"discard\"\n\
                        [[class]]\nname = \"web\"\nports = [4600]\nfunctions = [\"monitoring\"]\n";

/// A box with its admin port, which is in the namespace where the box was started, not in the one that it enters.
struct Boxed {
    at: SocketAddr,
    control: Control,
    thread: JoinHandle<Result<(), LiveError>>,
}

impl Boxed {
    fn start(
        lab: &Lab,
        settings: &str,
        has_token: bool,
        reload: impl FnOnce(&Control) -> Option<Reload> + Send + 'static,
    ) -> Self {
        let (at, control, thread, _) = open(config(lab, settings), has_token, reload, true);
        let boxed = Self { at, control, thread };
        boxed.until("it runs", |status| status.at.0 > 0);
        boxed
    }

    fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) -> Status {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let status = self.control.status();
            if is_so(&status) {
                return status;
            }
            assert!(Instant::now() < until && !self.thread.is_finished(), "{what}: {status:#?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn get(&self, path: &str) -> Answer {
        ask(self.at, "GET", path, "", "")
    }

    fn post(&self, path: &str, headers: &str, body: &str) -> Answer {
        ask(self.at, "POST", path, headers, body)
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.get("/status.json").body).unwrap()
    }

    /// The JSON, once it satisfies the condition.
    fn status_when(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let status = self.status();
            if is_so(&status) {
                return status;
            }
            assert!(Instant::now() < until, "{what}: {status:#}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn stop(self) -> Status {
        self.control.stop();
        self.thread.join().unwrap().unwrap();
        self.control.status()
    }
}

/// The last is what a box that does not run ends with.
type Opened = (SocketAddr, Control, JoinHandle<Result<(), LiveError>>, Sender<()>);

/// Opens a box and its port like a program, and optionally runs it.
fn open(
    config: Config,
    has_token: bool,
    reload: impl FnOnce(&Control) -> Option<Reload> + Send + 'static,
    runs: bool,
) -> Opened {
    let (told, tells) = channel();
    let thread = thread::spawn(move || {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let at = listener.local_addr().unwrap();
        let (live, control) = Live::open(config)?;
        let token = has_token.then(|| dovetail_toml::Token::parse(TOKEN).unwrap());
        let reload = reload(&control);
        let _admin = Admin::serve(listener, control.clone(), token, reload).unwrap();
        let (ended, ends) = channel::<()>();
        told.send((at, control, ended)).unwrap();
        if runs {
            return live.run();
        }
        let _ = ends.recv();
        Ok(())
    });
    let (at, control, ended) = tells.recv().unwrap_or_else(|_| panic!("{}", "the box did not open"));
    (at, control, thread, ended)
}

fn none(_: &Control) -> Option<Reload> {
    None
}

/// The response.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// Sends one request. `headers` are lines with their line ends.
fn ask(at: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: {at}\r\n") };
    let mut stream = connect(at);
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // The connection of a request rejected for its head may be closed before.
    let _ = stream.write_all(body.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Sends datagrams from the inside to ports on the outside, where nothing listens, and nothing has to.
fn send(lab: &Lab, ports: &[(u16, usize)], times: usize) {
    let from = lab.namespace(Place::Inside).within(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    for time in 0..times {
        for &(port, bytes) in ports {
            // It does not matter that nothing listens.
            while from.send_to(&vec![0; bytes], (FAR, port)).is_err() {}
        }
        if time % 8 == 0 {
            thread::sleep(Duration::from_micros(200));
        }
    }
}

/// The same until dropped, and so that the link is always busy.
struct Stream {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stream {
    fn start(lab: &Lab) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let sockets: Vec<_> =
            (0..4).map(|_| lab.namespace(Place::Inside).within(|| UdpSocket::bind("0.0.0.0:0")).unwrap()).collect();
        let thread = thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for (at, socket) in sockets.iter().enumerate() {
                    let (port, bytes) = [(4500, 300), (4600, 1_200), (4600, 1_200), (5_000, 90)][at];
                    let _ = socket.send_to(&vec![0; bytes], (FAR, port));
                }
                thread::sleep(Duration::from_micros(900));
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn scrape(boxed: &Boxed) -> Scrape {
    let answer = boxed.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"));
    Scrape::parse(&answer.body).unwrap_or_else(|wrong| panic!("{wrong} in\n{}", answer.body))
}

#[test]
fn what_is_told_is_what_was_sent() {
    const TIMES: u64 = 1_500;
    let Some(lab) = lab("told") else { return };
    // A link that takes everything, and one that does not.
    for rate in ["2Gbps", "20Mbps"] {
        let is_told = (0..5).any(|_| are_told(&lab, rate, TIMES));
        if !is_told {
            dovetail_skip::skipped("the machine is too busy: the box was kept from running five times");
        }
    }
}

/// Sends this many packets of two classes through a box, and compares; returns whether the result can be judged.
fn are_told(lab: &Lab, rate: &str, times: u64) -> bool {
    let boxed = Boxed::start(lab, &SETTINGS.replace("20Mbps", rate), false, none);
    let before = scrape(&boxed);
    send(lab, &[(4500, 300), (4600, 1_200)], times as usize);
    let all = |status: &Status| [0, 1].map(|at| status.classes[at].1.sent + status.classes[at].1.dropped());
    let deadline = Instant::now() + Duration::from_secs(20);
    while all(&boxed.control.status()) != [times; 2] && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    let json = boxed.status_when("what has been told", |json| {
        json["classes"][1]["sent_packets"] == boxed.control.status().classes[1].1.sent
    });
    // A scrape returns the same as one a moment ago.
    thread::sleep(Duration::from_millis(600));
    let after = scrape(&boxed);
    let status = boxed.stop();
    let missed = status.ports[0].missed;
    if !is_judged(&status) || missed > 0 {
        eprintln!("{missed} frames were missed: another try");
        return false;
    }
    for (at, (name, payload)) in [("vpn", 300), ("web", 1_200)].into_iter().enumerate() {
        let (class, counters) = (&json["classes"][at], &status.classes[at].1);
        let frame = payload + 14 + 20 + 8;
        assert_eq!((counters.arrived, counters.arrived_bytes), (times, times * frame), "{name}");
        assert_eq!(counters.sent + counters.dropped(), times);
        assert_eq!((&class["name"], &class["arrived_packets"]), (&name.into(), &times.into()));
        assert_eq!(class["arrived_bytes"], times * frame);
        assert_eq!(class["sent_bytes"], counters.sent * frame);
        assert_eq!(class["dropped_packets"]["queue_full"], counters.queue_full);
        let value = |name_of: &str| after.value(&format!("dovetail_middlebox_{name_of}"));
        let label = format!("{{class=\"{name}\"}}");
        assert_eq!(value(&format!("arrived_packets_total{label}")), Some(times as f64));
        assert_eq!(value(&format!("sent_bytes_total{label}")), Some((counters.sent * frame) as f64));
        assert_eq!(value(&format!("latency_seconds_count{label}")), Some(counters.sent as f64));
        // All of a packet's time in the box is attributed, to the nanosecond, including the waiting time of evicted packets.
        let (waited, class) = (&status.waited, at as u16);
        let causes = || (0..3).map(Cause::Class).chain([Cause::Stalled, Cause::Held, Cause::Late]);
        let spent: u128 = causes()
            .map(|cause| waited.before_cpu(class, cause) + waited.before_link(class, cause))
            .chain([waited.on_cpu(class), waited.on_link(class)].map(|time| time.0.into()))
            .sum();
        if counters.queue_full == 0 {
            assert_eq!(spent, counters.latency_nanos, "{name}: {status:#?}");
        } else {
            assert!(spent >= counters.latency_nanos);
        }
        assert!(waited.on_cpu(class).0 > 0);
        assert!(rate != "20Mbps" || waited.before_link(class, Cause::Class(class)) > 0, "{name} waits for itself");
    }
    for (name, value) in before.counters() {
        let now = after.value(name).unwrap_or_else(|| panic!("{name} is gone"));
        assert!(now >= value, "{name} fell from {value} to {now}");
    }
    let served: u64 = (0..3).map(|class| status.waited.on_link(class).0).sum();
    assert_eq!(served, status.figures.link_busy.0, "the link's time is that of all classes");
    assert_eq!(status.waited.before_cpu(0, Cause::Held), 0, "drfq holds nothing back");
    true
}

#[test]
fn the_last_seconds_are_told_by_class_and_by_flow() {
    let Some(lab) = lab("lately") else { return };
    let boxed = Boxed::start(&lab, SETTINGS, false, none);
    let _stream = Stream::start(&lab);
    let status = boxed.status_when("flows, and what the last seconds were like", |status| {
        let flows = status["busiest"]["flows"].as_array().unwrap();
        let is_known =
            |class: &Value| class["latency_p99_ms"].is_f64() && class["spent"]["on_link_s"].as_f64() > Some(0.0);
        flows.len() >= 4
            && status["sample"]["link_utilisation"].as_f64() > Some(0.05)
            && status["recent"]["classes"].as_array().is_some_and(|classes| classes.iter().all(is_known))
    });
    let flows = status["busiest"]["flows"].as_array().unwrap();
    let heaviest = &flows[0];
    assert_eq!((&heaviest["protocol"], &heaviest["class"]), (&"udp".into(), &"web".into()), "{status:#}");
    assert_eq!((&heaviest["source"], &heaviest["destination"]), (&"10.77.0.1".into(), &"10.77.0.2".into()));
    assert_eq!((&heaviest["destination_port"], &heaviest["vlan"]), (&4600.into(), &Value::Null));
    let sum = |key: &str| -> f64 { status["sample"][key].as_array().unwrap().iter().filter_map(Value::as_f64).sum() };
    let whole = status["sample"]["link_utilisation"].as_f64().unwrap();
    assert!((sum("link") - whole).abs() < 1e-6 && whole < 1.5, "{} of {whole}", sum("link"));
    let history: Value = serde_json::from_str(&boxed.get("/history.json").body).unwrap();
    let numbers: Vec<_> = history.as_array().unwrap().iter().map(|sample| sample["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    boxed.stop();
}

#[test]
fn the_pages_tables_have_each_metric_and_each_field() {
    let Some(lab) = lab("fields") else { return };
    let page = include_str!("../../../../docs/middlebox-admin.md");
    let (_, metrics) = page.split_once("## Metrics").unwrap();
    let (metrics, fields) = metrics.split_once("## JSON").unwrap();
    // An inbound tunnel has its own metrics and fields.
    let key = KeyFile::new(&"0123456789".repeat(4));
    let settings = format!(
        "{SETTINGS}[[tunnel]]\nname = \"back\"\ndirection = \"in\"\nspi = 300\nsource = \"198.51.100.1\"\n\
         destination = \"192.0.2.1\"\nkey_file = \"{key}\"\nprefixes = [\"10.8.0.0/16\"]\n"
    );
    let boxed = Boxed::start(&lab, &settings, false, none);
    let _stream = Stream::start(&lab);
    let status = boxed.status_when("a second is over, with flows", |status| {
        status["sample"].is_object() && status["recent"].is_object() && status["busiest"]["flows"][0].is_object()
    });
    thread::sleep(Duration::from_millis(600));
    let mut told = scrape(&boxed).families().to_vec();
    let rows = metrics.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut listed: Vec<_> = rows.map(|name| format!("dovetail_middlebox_{name}")).collect();
    told.sort();
    listed.sort();
    assert_eq!(told, listed);
    for key in keys(&status) {
        assert!(fields.contains(&format!("`{key}`")), "{key} is not explained");
    }
    boxed.stop();
}

/// All keys of a value, including nested ones.
fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| [vec![key.clone()], keys(value)].concat()).collect()
        }
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_policy_is_retuned_by_who_knows_the_token() {
    let Some(lab) = lab("retune") else { return };
    let reloads = Arc::<AtomicU64>::default();
    let counts = reloads.clone();
    let reload = move |_: &Control| -> Option<Reload> {
        Some(Box::new(move || {
            if counts.fetch_add(1, Ordering::Relaxed) == 0 { Ok(()) } else { Err("line 3: it is wrong".into()) }
        }))
    };
    let boxed = Boxed::start(&lab, &SETTINGS.replace("drfq", "tradeoff:alpha=0.9"), true, reload);
    assert_eq!(
        (boxed.status()["can_change"].clone(), boxed.status()["can_reload"].clone()),
        (true.into(), true.into())
    );
    let right = bearer(TOKEN);
    let answer = boxed.post("/retune", &right, "tradeoff:alpha=0.8\n");
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.contains("tradeoff:alpha=0.8") && answer.body.contains("until"), "{}", answer.body);
    boxed.until("the knob is turned", |status| status.policy.contains("alpha=0.8"));

    let unsaid = boxed.post("/retune", "", "tradeoff:alpha=0.7");
    assert_eq!(unsaid.status, 401);
    assert!(unsaid.head.contains("www-authenticate: bearer") && unsaid.body.contains("Authorization: Bearer"));
    assert_eq!(boxed.post("/retune", &bearer("correct-horse-batterz"), "tradeoff:alpha=0.7").status, 401);
    assert_eq!(boxed.post("/reload", "", "").status, 401);
    let origin = format!("{right}Origin: http://evil.example\r\n");
    assert_eq!(boxed.post("/retune", &origin, "tradeoff:alpha=0.7").status, 403);
    for (body, status, what) in [
        ("", 400, "Send a policy"),
        ("nothing-of-the-kind", 400, "nothing-of-the-kind"),
        ("tradeoff:alpha=7", 400, "alpha"),
        ("drfq", 409, "tradeoff"),
    ] {
        let wrong = boxed.post("/retune", &right, body);
        assert_eq!(wrong.status, status, "{body}: {}", wrong.body);
        assert!(wrong.body.contains(what), "{body}: {}", wrong.body);
    }
    assert_eq!(boxed.post("/retune", &right, &"x".repeat(70_000)).status, 413);
    let get = boxed.get("/retune");
    assert_eq!((get.status, get.head.contains("allow: post")), (405, true));

    assert_eq!(boxed.post("/reload", &right, "").status, 200);
    let wrong = boxed.post("/reload", &right, "");
    assert_eq!((wrong.status, &*wrong.body), (409, "line 3: it is wrong\n"));
    assert_eq!(reloads.load(Ordering::Relaxed), 2);
    assert!(boxed.control.status().policy.contains("alpha=0.8"), "nothing of that changed anything");
    boxed.stop();
}

#[test]
fn without_a_token_or_a_file_nothing_is_changed() {
    let Some(lab) = lab("closed") else { return };
    let boxed = Boxed::start(&lab, SETTINGS, false, none);
    for path in ["/retune", "/reload"] {
        let answer = boxed.post(path, &bearer(TOKEN), "drfq");
        assert_eq!(answer.status, 403);
        assert!(answer.body.contains("token_file"), "{}", answer.body);
    }
    boxed.stop();
    let boxed = Boxed::start(&lab, SETTINGS, true, none);
    let answer = boxed.post("/reload", &bearer(TOKEN), "");
    assert_eq!((answer.status, answer.body.contains("without a file")), (404, true), "{}", answer.body);
    boxed.stop();
}

#[test]
fn answers_are_for_this_port_s_own_page_only() {
    let Some(lab) = lab("own") else { return };
    let boxed = Boxed::start(&lab, SETTINGS, false, none);
    for path in ["/", "/status.json", "/history.json", "/metrics", "/healthz"] {
        let answer = boxed.get(path);
        assert_eq!(answer.status, 200, "{path}");
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'",
        ] {
            assert!(answer.head.contains(header), "{path}: no {header} in {}", answer.head);
        }
        assert!(!answer.head.contains("access-control"), "{path}: {}", answer.head);
        assert_eq!(ask(boxed.at, "GET", path, "Host: evil.example\r\n", "").status, 421, "{path}");
        assert_eq!(ask(boxed.at, "DELETE", path, "", "").status, 405, "{path}");
    }
    assert_eq!(boxed.get("/healthz").body, "ok\n");
    assert_eq!(boxed.get("/elsewhere").status, 404);
    let page = boxed.get("/").body;
    assert!(!page.contains("NONCE") && !page.contains(".css */") && !page.contains(".js */"), "{page}");
    assert_eq!(ask(boxed.at, "GET", "/healthz", &format!("X: {}\r\n", "x".repeat(40_000)), "").status, 431);
    boxed.stop();
}

#[test]
fn who_is_slow_or_wrong_does_not_hold_up_others() {
    let Some(lab) = lab("slow") else { return };
    let boxed = Boxed::start(&lab, SETTINGS, true, none);
    // Half a header, half a body, a response that is not read, and guesses at the token.
    let half = |text: String| {
        let mut stream = connect(boxed.at);
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let post = format!("POST /retune HTTP/1.1\r\nHost: localhost\r\n{}", bearer(TOKEN));
    let guess = "POST /retune HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\nContent-Length: 0\r\n\r\n";
    let _open: Vec<_> = (0..8)
        .flat_map(|_| {
            [
                half("GET /healthz HTTP/1.1\r\nHost: loc".into()),
                half(format!("{post}Content-Length: 15\r\n\r\nd")),
                half("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(50)),
                half(guess.into()),
            ]
        })
        .collect();
    assert_eq!(boxed.get("/healthz").status, 200);
    assert_eq!(boxed.get("/status.json").status, 200);
    assert_eq!(boxed.post("/retune", &bearer(TOKEN), "drfq").status, 200);
    boxed.stop();
}

#[test]
fn a_box_that_does_not_run_is_said_not_to() {
    let Some(lab) = lab("still") else { return };
    let (at, control, thread, ended) = open(config(&lab, SETTINGS), true, none, false);
    let answer = ask(at, "GET", "/healthz", "", "");
    assert_eq!((answer.status, &*answer.body), (503, "The box is not running yet.\n"));
    assert_eq!(ask(at, "GET", "/status.json", "", "").status, 200);
    assert_eq!(ask(at, "GET", "/metrics", "", "").status, 200);
    // A change that waits for the box blocks further changes, and nothing else.
    let mut waits = connect(at);
    let body = "drfq";
    let post =
        format!("POST /retune HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: {}\r\n\r\n{body}", bearer(TOKEN), 4);
    waits.write_all(post.as_bytes()).unwrap();
    let until = Instant::now() + Duration::from_secs(9);
    let another = loop {
        // It may have arrived later than this one.
        let another = ask(at, "POST", "/reload", &bearer(TOKEN), "");
        assert_eq!(another.status, 404, "there is no file");
        let mut other = connect(at);
        other.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        other.write_all(post.as_bytes()).unwrap();
        let mut answer = [0; 12];
        if other.read_exact(&mut answer).is_ok() {
            break answer;
        }
        assert!(Instant::now() < until);
    };
    assert_eq!(String::from_utf8_lossy(&another), "HTTP/1.1 503");
    assert_eq!(ask(at, "GET", "/healthz", "", "").status, 503);
    drop((control, ended));
    thread.join().unwrap().unwrap();
    assert!(TcpStream::connect(at).is_err(), "whoever waits for the box does not keep the port open");
}

#[test]
fn the_port_ends_with_its_owner() {
    let Some(lab) = lab("ends") else { return };
    let boxed = Boxed::start(&lab, SETTINGS, true, none);
    let at = boxed.at;
    let mut idle = connect(at);
    boxed.stop();
    assert!(TcpStream::connect(at).is_err(), "nobody listens any more");
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0, "it is closed");
}

/// Enters a token on the page.
fn use_token(token: &str) -> String {
    format!("document.querySelector('#token').value = '{token}'; document.querySelector('#use-token').click()")
}

#[test]
fn the_page_shows_what_happens_fits_a_phone_and_retunes() {
    let screenshots = std::env::var_os("DOVETAIL_SCREENSHOTS");
    // Screenshots show the lab under its usual name.
    let lab = if screenshots.is_some() { Lab::up(&LabSpec::default()).ok() } else { lab("page") };
    let Some(lab) = lab else { return };
    let Some(mut browser) = Browser::open() else { return };
    // Visible activity.
    let settings = SETTINGS.replace("drfq", "tradeoff:alpha=0.9").replace("weight = 2", "weight = 2\ncost = 20");
    let boxed = Boxed::start(&lab, &format!("{settings}[cpu]\nshare = 0.05\n"), true, none);
    let _stream = Stream::start(&lab);
    let mut lightness = Vec::new();
    for (name, width, dark) in [("light", 1180, false), ("dark", 1180, true), ("phone", 390, false)] {
        browser.look(width, 1000, dark);
        browser.go(&format!("http://{}/", boxed.at));
        browser.wait_for(
            "document.querySelectorAll('#classes tr').length === 3 && document.querySelectorAll('#flows tr').length >= 4 \
             && document.querySelectorAll('#spent .stack').length === 3 && document.querySelectorAll('#latency-chart path').length === 3",
        );
        if let Some(folder) = &screenshots {
            if name == "light" {
                browser.run(&use_token(TOKEN));
            }
            // It takes a while until there is something to see.
            thread::sleep(Duration::from_secs(if name == "light" { 40 } else { 2 }));
            std::fs::write(std::path::Path::new(folder).join(format!("{name}.png")), browser.screenshot()).unwrap();
        }
        let fits = "document.scrollingElement.scrollWidth <= innerWidth";
        assert_eq!(browser.text(fits), "true", "{name}: {}", browser.text("document.scrollingElement.scrollWidth"));
        let loaded = "performance.getEntriesByType('resource').filter((entry) => !entry.name.endsWith('.json')).length";
        assert_eq!(browser.text(loaded), "0", "{name}: the page loads nothing");
        // The longest possible labels, set in one step with drawing: the page redraws each second.
        browser.wait_for("samples.length > 0");
        for latency_ms in [0.018, 0.18, 18.0, 180.0, 1_800.0, 18_000.0] {
            let outside = format!(
                "(() => {{
                   latencyChart([0, 1].map((n) => ({{ number: n, at_s: n, latency_p99_ms: [{latency_ms}] }})), [{{ name: 'a' }}]);
                   const all = [...document.querySelectorAll('#latency-chart text')];
                   return all.filter((text) => text.getBBox().x < 0).map((text) => text.textContent).join();
                 }})()"
            );
            assert_eq!(browser.text(&outside), "", "{name}: labels are cut off");
        }
        let colour = browser.text("getComputedStyle(document.body).backgroundColor");
        let parts = colour.trim_start_matches("rgb(").trim_end_matches(')').split(", ");
        lightness.push(parts.map(|part| part.parse::<u32>().unwrap()).sum::<u32>() / 3);
    }
    assert!(lightness[0] > 220 && lightness[1] < 50, "{lightness:?}");

    let text = browser.text("document.body.innerText");
    for shown in ["vpn", "web", "udp 10.77.0.1:", "10.77.0.2:4600", "tradeoff:alpha=0.9"] {
        assert!(text.contains(shown), "no {shown} in {text}");
    }
    let retune = |policy: &str| {
        format!("document.querySelector('#policy').value = '{policy}'; document.querySelector('#retune').click()")
    };
    browser.run("sessionStorage.clear()");
    browser.run(&use_token("not-the-right-token"));
    browser.wait_for("!document.querySelector('#policy-row').hidden");
    browser.run(&retune("tradeoff:alpha=0.7"));
    browser.wait_for("document.querySelector('#said').textContent.includes('The token is wrong')");
    browser.wait_for("document.querySelector('#policy-row').hidden");
    browser.run(&use_token(TOKEN));
    browser.wait_for("!document.querySelector('#policy-row').hidden");
    browser.run(&retune("drfq"));
    browser.wait_for("document.querySelector('#said').textContent.includes('tradeoff')");
    browser.run(&retune("tradeoff:alpha=0.7"));
    browser.wait_for("document.querySelector('#said').textContent.includes('alpha=0.7')");
    boxed.until("the knob is turned", |status| status.policy.contains("alpha=0.7"));
    browser.wait_for("document.querySelector('#in-force').textContent.includes('alpha=0.7')");
    assert_eq!(browser.text("sessionStorage.length + localStorage.length"), "1", "the token is kept for the tab only");
    boxed.stop();
    browser.wait_for("!document.querySelector('#gone').hidden");
}
