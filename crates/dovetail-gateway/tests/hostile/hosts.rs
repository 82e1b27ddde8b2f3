//! Classes by destination, and their rate limits.

use std::{
    fs,
    io::{Read, Write},
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use dovetail_gateway::Control;

use crate::{
    answer::{answer, answer_to},
    dns::{Reply, name_server},
    server::{Server, strict_server},
    support::{LONG, Running, Setup, get},
};

/// A gateway that logs, and the log.
struct Logged {
    gateway: Running,
    path: std::path::PathBuf,
}

impl Logged {
    fn start(name: &str, setup: &Setup) -> Self {
        let path = std::env::temp_dir().join(format!("dovetail-hosts-{name}-{}", std::process::id()));
        let log = format!("[log]\naccess = \"{}\"\nformat = \"json\"", path.display());
        let setup = Setup { rest: format!("{}\n{log}", setup.rest), ..setup.clone() };
        Self { gateway: setup.start(), path }
    }

    /// The line that contains this.
    fn line(&self, part: &str) -> String {
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(&self.path).unwrap_or_default();
            if let Some(line) = text.lines().find(|line| line.contains(part)) {
                return line.to_owned();
            }
            assert!(began.elapsed() < LONG, "{part} is not in {text}");
        }
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

#[test]
fn a_host_that_is_listed_has_its_class_whoever_asks() {
    let server = strict_server();
    let names = name_server(|_, _| Reply::Addresses(vec![Ipv4Addr::LOCALHOST]));
    let file = std::env::temp_dir().join(format!("dovetail-hosts-list-{}", std::process::id()));
    fs::write(&file, "# updates\n*.Updates.example\n\nexact.example  # one\n").unwrap();
    let rest = format!(
        "[[class]]\nname = \"local\"\nclients = \"127.0.0.0/8\"\n\
         [[class]]\nname = \"updates\"\nhosts = \"127.0.0.9\"\nhosts_file = \"{}\"\n",
        file.display()
    );
    let setup = Setup {
        proxy: format!("nameservers = [\"{names}\"]"),
        access: format!("connect_ports = [{}]", server.address.port()),
        ..Setup::rest(&rest)
    };
    let log = Logged::start("classes", &setup);
    let port = server.address.port();
    for (host, class) in [
        ("a.updates.example", "updates"),
        ("A.B.UPDATES.example.", "updates"),
        ("updates.example", "local"),
        ("exact.example", "updates"),
        ("a.exact.example", "local"),
        ("127.0.0.1", "local"),
    ] {
        let path = format!("/{host}/");
        assert_eq!(log.gateway.get(&format!("http://{host}:{port}{path}")).status, 200, "{host}");
        let line = log.line(&path);
        assert!(line.contains(&format!("\"class\":\"{class}\"")), "{line}");
        // `Host` does not matter.
        let lie =
            format!("GET http://127.0.0.1:{port}/lie{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(log.gateway.ask(lie).status, 200);
        assert!(log.line(&format!("/lie{path}")).contains("\"class\":\"local\""));
    }
    let mut tunnel = log.gateway.connect();
    let to = format!("b.updates.example:{port}");
    tunnel.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(answer_to(&mut tunnel, "CONNECT").status, 200);
    drop(tunnel);
    assert!(log.line("b.updates.example").contains("\"class\":\"updates\""));
    log.gateway.quiet();
    fs::remove_file(file).unwrap();
}

#[test]
fn a_user_has_as_many_requests_wherever_they_go() {
    let (server, go) = crate::server::held("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let class = "[[class]]\nname = \"apart\"\nhosts = \"127.0.0.1\"\n[limits]\nrequests_per_user = 2\n";
    let gateway = Setup::rest(class).start();
    let ask = || {
        let mut client = gateway.connect();
        client.write_all(get(&server.url("/")).as_bytes()).unwrap();
        client
    };
    let mut clients = [ask(), ask()];
    gateway.until("they are not in flight", |counts| counts.requests == 2);
    // No longer separate; what is in flight still counts.
    gateway.tell(Control::Reload(Box::new(Setup::rest("[limits]\nrequests_per_user = 2\n").config())));
    assert_eq!(answer(&mut ask()).status, 429);
    (0..2).for_each(|_| go.send(()).unwrap());
    for client in &mut clients {
        assert_eq!(answer(client).status, 200);
    }
    gateway.quiet();
}

/// A server whose body has this many bytes, with or without a length.
fn sends(bytes: usize, says_length: bool) -> Server<()> {
    Server::start(move |mut connection| {
        let mut request = [0; 4096];
        if connection.stream.read(&mut request).is_ok_and(|came| came > 0) {
            let length = if says_length { format!("Content-Length: {bytes}\r\n") } else { String::new() };
            let head = format!("HTTP/1.1 200 OK\r\n{length}Connection: close\r\n\r\n");
            drop(connection.stream.write_all(head.as_bytes()));
            drop(connection.stream.write_all(&vec![b'x'; bytes]));
        }
    })
}

/// 40,000 bytes per second of payload, under each policy, plain and in a tunnel: they take at least this long, whatever else
/// the machine does. A quarter of a second's worth may arrive at once, and a turn.
#[test]
fn no_class_has_more_than_its_rate_under_any_policy() {
    const BYTES: usize = 60_000;
    let rate = 40_000.0;
    let least = (BYTES as f64 - 0.25 * rate - 0.1 * rate) / rate;
    for policy in ["grants", "msf-rs", "none"] {
        for (says_length, is_tunnel) in [(true, false), (false, false), (true, true)] {
            let server = sends(BYTES, says_length);
            let setup = Setup {
                // As on a narrow link; otherwise windows are long.
                downlink: format!("payload = 1\npolicy = \"{policy}\""),
                access: format!("connect_ports = [{}]", server.address.port()),
                ..Setup::rest("[[class]]\nname = \"slow\"\nhosts = \"127.0.0.1\"\nrate = \"320kbps\"")
            };
            let gateway = setup.start();
            let mut client = gateway.connect();
            let request = if is_tunnel {
                let to = server.address;
                client.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes()).unwrap();
                assert_eq!(answer_to(&mut client, "CONNECT").status, 200);
                "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Long: 0123456789012345678901234567890123456789\r\n\r\n".into()
            } else {
                get(&server.url("/"))
            };
            let began = Instant::now();
            client.write_all(request.as_bytes()).unwrap();
            let found = answer(&mut client);
            let took = began.elapsed().as_secs_f64();
            assert_eq!((found.status, found.body.len()), (200, BYTES), "{policy}, {says_length}, {is_tunnel}");
            // What lies in a tunnel's window is passed on before its turn.
            let least = if is_tunnel && policy == "grants" { least - 0.4 } else { least };
            assert!(took >= least, "{policy}, {says_length}, {is_tunnel}: {took} s, and {least} at least");
            drop(client);
            gateway.quiet();
        }
    }
}

#[test]
fn others_are_not_held_by_a_class_at_its_rate_and_a_reload_lifts_it() {
    let (slow, fast) = (sends(400_000, true), strict_server());
    let class = |rate: &str| {
        let hosts = format!("hosts = \"slow.example\"\n{rate}");
        let names = name_server(|_, _| Reply::Addresses(vec![Ipv4Addr::LOCALHOST]));
        Setup {
            proxy: format!("nameservers = [\"{names}\"]"),
            ..Setup::rest(&format!("[[class]]\nname = \"slow\"\n{hosts}"))
        }
    };
    let gateway = class("rate = \"8kbps\"").start();
    let url = format!("http://slow.example:{}/", slow.address.port());
    let mut clients: Vec<_> = (0..3)
        .map(|_| {
            let mut client = gateway.connect();
            client.write_all(get(&url).as_bytes()).unwrap();
            client
        })
        .collect();
    gateway.until("they are not in flight", |counts| counts.requests == 3);
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(gateway.get(&fast.url("/")).status, 200);
        assert!(began.elapsed() < Duration::from_secs(5), "it waited for the others");
    }
    // At a kilobyte per second this would take twenty minutes.
    gateway.tell(Control::Reload(Box::new(class("").config())));
    for client in &mut clients {
        let found = answer(client);
        assert_eq!((found.status, found.body.len()), (200, 400_000));
    }
    gateway.quiet();
}

#[test]
fn out_of_hours_a_class_is_told_when_they_begin_and_what_is_in_flight_goes_on() {
    let (server, go) = crate::server::held("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let setup = |hours: &str| {
        let class = format!("[[class]]\nname = \"updates\"\nhosts = \"127.0.0.1\"\n{hours}");
        Setup { access: format!("connect_ports = [{}]", server.address.port()), ..Setup::rest(&class) }
    };
    let gateway = setup("").start();
    let mut client = gateway.connect();
    client.write_all(get(&server.url("/")).as_bytes()).unwrap();
    gateway.until("it is not in flight", |counts| counts.requests == 1);
    // Three days from today: never while the test runs.
    let later = jiff::ZonedDateTime::now().checked_add(jiff::SignedDuration::from_hours(72)).unwrap();
    let day = later.strftime("%a").to_string();
    gateway.tell(Control::Reload(Box::new(setup(&format!("hours = \"{day} 10:00-12:00\"")).config())));
    let refused = gateway.get(&server.url("/"));
    assert_eq!(refused.status, 503);
    let after: u64 = refused.field("retry-after").unwrap().parse().unwrap();
    assert!((36 * 3600..5 * 86_400).contains(&after), "{after}");
    for words in ["updates", &format!("{day} 10:00-12:00"), &format!("from {}, 10:00 on", later.strftime("%-d %b %Y"))]
    {
        assert!(refused.text().contains(words), "{words}: {}", refused.text());
    }
    let connect = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", server.address);
    assert_eq!(gateway.ask(connect).status, 503);
    (0..2).for_each(|_| go.send(()).unwrap());
    assert_eq!(answer(&mut client).text(), "ok");
    gateway.tell(Control::Reload(Box::new(setup("hours = \"00:00-24:00\"").config())));
    assert_eq!(gateway.get(&server.url("/")).status, 200);
    gateway.quiet();
}
