//! Failures of servers, clients, names, disks and probes. Others continue, and nothing is left behind.

use std::{
    env, fs,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    process::{self, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    answer::{answer, answer_to, is_closed},
    dns::{Reply, name_server},
    server::{Connection, Server, canned, echo, held, reset, strict_server},
    strict,
    support::{LONG, Setup, connect_from, get},
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers with the start of a long response, and then endlessly until that fails, which it reports.
fn long(mut connection: Connection<()>) {
    drop(strict::request(&mut connection.stream));
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
    drop(connection.stream.write_all(head.as_bytes()));
    while connection.stream.write_all(&[b'x'; 16_384]).is_ok() {}
    connection.tell(());
}

#[test]
fn a_server_dies_in_the_middle() {
    let server = Server::<()>::start(|mut connection| {
        drop(strict::request(&mut connection.stream));
        connection.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").unwrap();
        connection.stream.write_all(&[b'x'; 100_000]).unwrap();
        reset(connection.stream);
    });
    let gateway = Setup::default().start();
    for _ in 0..20 {
        let broken = gateway.get(&server.url("/"));
        // If the reset is noticed before anything was read, the answer is a refusal.
        assert!(!broken.is_whole && broken.status == 200 || broken.status == 502, "{}", broken.head);
        gateway.quiet();
        assert_eq!(gateway.look().pooled, 0);
    }
}

/// Answers the first request of each connection, and closes it at the second, as if its time had run out just before. Reports
/// on which connection each arrived.
fn tires_of_connections() -> Server<usize> {
    Server::start(|mut connection| {
        for answer in [OK, ""] {
            let Ok(Some(_)) = strict::request(&mut connection.stream) else { return };
            connection.tell(connection.number);
            connection.stream.write_all(answer.as_bytes()).unwrap();
        }
    })
}

#[test]
fn what_may_be_sent_only_once_goes_on_a_connection_that_was_not_idle_for_long() {
    for (method, body, connections) in
        [("POST", "a=1", [0, 1].as_slice()), ("POST", "", &[0, 1]), ("PUT", "a=1", &[0, 1]), ("GET", "", &[0, 0, 1])]
    {
        let server = tires_of_connections();
        let gateway = Setup::default().start();
        let url = server.url("/");
        assert_eq!(gateway.get(&url).text(), "ok");
        gateway.until("the connection is kept", |counts| counts.pooled == 1);
        thread::sleep(Duration::from_millis(1100));
        let length = body.len();
        let fields = format!("Host: x\r\nConnection: close\r\nContent-Length: {length}");
        let found = gateway.ask(format!("{method} {url} HTTP/1.1\r\n{fields}\r\n\r\n{body}"));
        assert_eq!((found.status, found.text().as_str()), (200, "ok"), "{method}: {found:?}");
        assert_eq!(server.rest(), connections, "{method}");
        let kept = if method == "GET" { 1 } else { 2 };
        gateway.until("the one that it did not take is kept as well", |counts| counts.pooled == kept);
    }
}

#[test]
fn an_answer_reaches_the_client_though_its_server_closed_without_reading_the_upload() {
    let server = Server::<()>::start(|mut connection| {
        let mut header = Vec::new();
        while !header.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            connection.stream.read_exact(&mut byte).unwrap();
            header.extend(byte);
        }
        // What is unread makes the kernel reset the connection.
        let field = if connection.number % 2 == 0 { "Connection: close\r\n" } else { "" };
        let answer = format!("HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n{field}\r\nlarge");
        connection.stream.write_all(answer.as_bytes()).unwrap();
    });
    let gateway = Setup::default().start();
    let (url, body) = (server.url("/"), vec![b'x'; 3_000_000]);
    let request = format!("POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    // Whether the answer or the reset is noticed first is a matter of chance.
    for _ in 0..40 {
        let mut client = gateway.connect();
        client.write_all(request.as_bytes()).unwrap();
        let mut sends = client.try_clone().unwrap();
        let body = body.clone();
        // It fails once the gateway has closed the connection.
        let sends = thread::spawn(move || drop(sends.write_all(&body)));
        let found = answer(&mut client);
        assert_eq!((found.status, found.text().as_str()), (413, "large"), "{}", found.head);
        drop(client);
        sends.join().unwrap();
    }
    gateway.quiet();
}

#[test]
fn what_arrived_before_a_server_died_reaches_the_client() {
    let gateway = Setup { downlink: "rate = \"20Mbps\"".into(), ..Setup::default() }.start();
    for (framing, bytes) in [("Content-Length: 100000", 15_000), ("Content-Length: 100000", 99_999), ("A: b", 40_000)] {
        let server = Server::<()>::start(move |mut connection| {
            drop(strict::request(&mut connection.stream));
            write!(connection.stream, "HTTP/1.1 200 OK\r\n{framing}\r\n\r\n").unwrap();
            connection.stream.write_all(&vec![b'x'; bytes]).unwrap();
        });
        for _ in 0..5 {
            let broken = gateway.get(&server.url("/"));
            assert_eq!((broken.status, broken.body.len()), (200, bytes), "{framing}");
            assert_eq!(broken.is_whole, framing == "A: b");
            gateway.quiet();
        }
    }
}

#[test]
fn a_client_that_sends_on_after_a_refusal_is_held_up_until_it_reads_it() {
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    let began = Instant::now();
    client.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let head = "POST http://192.0.2.1/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x1_0000], b"\r\n"].concat();
    let error = loop {
        if let Err(error) = client.write_all(&chunk) {
            break error;
        }
    };
    // After two seconds the connection ends, which a busy machine may not reach the answer before.
    assert!(error.kind() == io::ErrorKind::WouldBlock || began.elapsed() >= Duration::from_secs(2), "{error}");
    if error.kind() == io::ErrorKind::WouldBlock {
        let refusal = answer(&mut client);
        assert_eq!((refusal.status, refusal.is_whole), (403, true), "{refusal:?}");
    }
    drop(client);
    gateway.quiet();
}

#[test]
fn a_client_vanishes_in_the_middle_of_its_answer() {
    let server = Server::start(long);
    let gateway = Setup::default().start();
    for resets in [false, true] {
        let mut client = gateway.connect();
        client.write_all(get(&server.url("/")).as_bytes()).unwrap();
        client.read_exact(&mut [0; 100_000]).unwrap();
        if resets {
            reset(client)
        } else {
            drop(client)
        }
        server.told();
        gateway.quiet();
    }
}

#[test]
fn a_client_vanishes_before_its_answer() {
    let server = Server::<()>::start(|mut connection| {
        drop(strict::request(&mut connection.stream));
        connection.tell(());
        let ended = connection.stream.read(&mut [0]);
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
        connection.tell(());
    });
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    client.write_all(get(&server.url("/")).as_bytes()).unwrap();
    server.told();
    drop(client);
    server.told();
    gateway.quiet();
}

#[test]
fn a_client_vanishes_while_it_waits_for_its_turn() {
    let (server, lets) = held(OK);
    let gateway = Setup { downlink: "policy = \"msf-rs:window=1,period=3600s\"".into(), ..Setup::default() }.start();
    let ask = || {
        let mut client = gateway.connect();
        client.write_all(get(&server.url("/")).as_bytes()).unwrap();
        client
    };
    let mut first = ask();
    server.told();
    let second = ask();
    gateway.until("the second does not wait", |counts| counts.requests == 2);
    drop(second);
    gateway.until("the second still waits", |counts| counts.requests == 1);
    lets.send(()).unwrap();
    assert_eq!(answer(&mut first).text(), "ok");
    gateway.quiet();
    assert!(server.rest().is_empty(), "the server was asked for nobody");
}

#[test]
fn a_client_vanishes_in_the_middle_of_its_request() {
    let server = Server::<Result<Option<strict::Message>, String>>::start(|mut connection| {
        let read = strict::request(&mut connection.stream);
        connection.tell(read);
    });
    let gateway = Setup::default().start();
    for framing in ["Content-Length: 1000\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"] {
        let mut client = gateway.connect();
        let url = server.url("/");
        client.write_all(format!("POST {url} HTTP/1.1\r\nHost: x\r\n{framing}").as_bytes()).unwrap();
        gateway.until("it is not under way", |counts| counts.requests == 1);
        drop(client);
        // The server notices the abort too.
        assert!(server.told().is_err());
        gateway.quiet();
    }
}

#[test]
fn names_that_fail() {
    let names = name_server(|name, _| match name {
        "fails.example" => Reply::Fails,
        "hangs.example" => Reply::Silence,
        "nowhere.example" => Reply::Addresses(Vec::new()),
        "late.example" => {
            thread::sleep(Duration::from_millis(700));
            Reply::Addresses(vec![Ipv4Addr::LOCALHOST])
        }
        _ => Reply::NoName,
    });
    let setup =
        Setup { proxy: format!("nameservers = [\"{names}\"]"), ..Setup::rest("[timeouts]\nresolve = \"300ms\"") };
    let gateway = setup.start();
    for (host, statuses) in [
        ("none.example", [502, 502]),
        ("nowhere.example", [502, 502]),
        ("fails.example", [502, 504]),
        ("hangs.example", [504, 504]),
        ("late.example", [504, 504]),
    ] {
        let refusal = gateway.get(&format!("http://{host}/"));
        assert!(statuses.contains(&refusal.status) && refusal.is_whole, "{host}: {refusal:?}");
        assert!(refusal.text().contains(host), "{host}: {refusal:?}");
        assert!(refusal.field("proxy-status").unwrap().contains("error=dns_"), "{host}: {refusal:?}");
        let tunnel = gateway.ask(format!("CONNECT {host}:443 HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(statuses.contains(&tunnel.status), "{host}: {tunnel:?}");
    }
    gateway.quiet();
}

#[test]
fn servers_that_refuse() {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let gateway = Setup::access(&format!("connect_ports = [{}]", closed.port())).start();
    for request in [get(&format!("http://{closed}/")), format!("CONNECT {closed} HTTP/1.1\r\nHost: x\r\n\r\n")] {
        let refusal = gateway.ask(request);
        assert_eq!((refusal.status, refusal.is_whole), (502, true), "{refusal:?}");
        assert!(refusal.field("proxy-status").unwrap().ends_with("error=connection_refused"), "{refusal:?}");
    }
    gateway.quiet();
}

#[test]
fn servers_that_reset() {
    let before = Server::<()>::start(|connection| reset(connection.stream));
    let amid = Server::<()>::start(|mut connection| {
        connection.stream.read_exact(&mut [0; 1000]).unwrap();
        reset(connection.stream);
    });
    let after = Server::<()>::start(|mut connection| {
        drop(strict::request(&mut connection.stream));
        reset(connection.stream);
    });
    let gateway = Setup::default().start();
    for server in [before, amid, after] {
        let url = server.url("/");
        let body = "x".repeat(1_000_000);
        let mut client = gateway.connect();
        let request =
            format!("POST {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        client.write_all(request.as_bytes()).unwrap();
        // The gateway may close the connection before it has received everything.
        drop(client.write_all(body.as_bytes()));
        let refusal = answer(&mut client);
        assert!(matches!(refusal.status, 502 | 0), "{refusal:?}");
        gateway.quiet();
        assert_eq!(gateway.look().pooled, 0);
    }
}

/// Answers one request of the first connection, and closes that after reading another.
fn stale() -> Server<(usize, String)> {
    Server::start(|mut connection| {
        let mut count = 0;
        while let Ok(Some(message)) = strict::request(&mut connection.stream) {
            connection.tell((connection.number, message.method));
            count += 1;
            if connection.number == 0 && count == 2 || connection.stream.write_all(OK.as_bytes()).is_err() {
                return;
            }
        }
    })
}

#[test]
fn a_kept_connection_is_closed_by_its_server_at_the_same_moment() {
    for (method, is_repeated) in [("GET", true), ("HEAD", true), ("OPTIONS", true), ("PUT", false), ("POST", false)] {
        let server = stale();
        let gateway = Setup::default().start();
        assert_eq!(gateway.get(&server.url("/")).status, 200);
        server.told();
        gateway.until("nothing is kept", |counts| counts.pooled == 1 && counts.connections == 0);
        let has_body = ["PUT", "POST"].contains(&method);
        let (length, body) = if has_body { ("Content-Length: 3\r\n", "abc") } else { ("", "") };
        let mut client = gateway.connect();
        let url = server.url("/");
        let request = format!("{method} {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{length}\r\n{body}");
        client.write_all(request.as_bytes()).unwrap();
        let found = answer_to(&mut client, method);
        gateway.quiet();
        let seen = server.rest();
        if is_repeated {
            assert_eq!(found.status, 200, "{method}: {found:?}");
            assert_eq!(seen, [(0, method.to_owned()), (1, method.to_owned())]);
        } else {
            assert_eq!(found.status, 502, "{method}: {found:?}");
            assert_eq!(seen, [(0, method.to_owned())]);
        }
    }
}

#[test]
fn a_request_that_nobody_looked_at_is_not_lost() {
    // Each connection answers once and is then closed, although it promised to stay open.
    let server = Server::<()>::start(|mut connection| {
        if let Ok(Some(_)) = strict::request(&mut connection.stream) {
            connection.tell(());
            drop(connection.stream.write_all(OK.as_bytes()));
        }
    });
    let gateway = Setup::default().start();
    for n in 0..200 {
        let found = gateway.get(&server.url("/"));
        assert_eq!(found.status, 200, "request {n}: {found:?}");
    }
    assert_eq!(server.rest().len(), 200);
    gateway.quiet();
}

#[test]
fn tunnels_break_at_both_ends() {
    let server = echo();
    let breaks = Server::<()>::start(|mut connection| {
        connection.stream.read_exact(&mut [0; 4]).unwrap();
        reset(connection.stream);
    });
    let ports = format!("connect_ports = [{}, {}]", server.address.port(), breaks.address.port());
    let gateway = Setup::access(&ports).start();
    let open = |server| {
        let mut client = gateway.connect();
        client.write_all(format!("CONNECT {server} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        assert_eq!(answer_to(&mut client, "CONNECT").status, 200);
        client.write_all(b"ping").unwrap();
        client
    };
    for resets in [false, true] {
        let mut client = open(server.address);
        client.read_exact(&mut [0; 4]).unwrap();
        if resets {
            reset(client)
        } else {
            drop(client)
        }
        server.told();
        gateway.quiet();
    }
    // Half closed: the download continues.
    let mut client = open(server.address);
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut all = Vec::new();
    client.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"ping");
    gateway.quiet();
    assert!(is_closed(&mut open(breaks.address)));
    gateway.quiet();
}

#[test]
fn a_full_disk_holds_up_nobody() {
    let server = strict_server();
    let gateway = Setup::rest("[log]\naccess = \"/dev/full\"").start();
    for n in 0..20 {
        assert_eq!(gateway.get(&server.url(&format!("/{n}"))).status, 200);
    }
    let counts = gateway.until("lost lines are not counted", |counts| counts.log_lost == 20);
    assert_eq!(counts.log_lost, 20);
}

#[test]
fn a_probe_that_nobody_answers_holds_up_nobody() {
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = strict_server();
    let mut config = Setup::default().config();
    config.downlink.probe = dovetail_gateway::config::Probe::Udp(silent.local_addr().unwrap());
    config.downlink.probe_every = Duration::from_millis(10);
    let gateway = crate::support::Running::start(config);
    for _ in 0..3 {
        silent.recv(&mut [0; 2048]).unwrap();
        assert_eq!(gateway.get(&server.url("/")).status, 200);
    }
    gateway.quiet();
}

/// Where the clients of `thousands_of_idle_connections` connect to, in their process.
const IDLE_AT: &str = "DOVETAIL_TEST_IDLE_AT";
const IDLE: usize = 9_500;

/// Clients in a process of their own: both ends of this many connections may be more than one process can have.
#[test]
fn idle_clients() {
    let Ok(gateway) = env::var(IDLE_AT) else { return };
    let gateway: SocketAddr = gateway.parse().unwrap();
    let clients: Vec<_> = (0..IDLE).map(|n| connect_from([127, 0, 1, (n % 250) as u8 + 1], gateway)).collect();
    // Until the other process closes the input.
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(clients);
}

#[test]
fn thousands_of_idle_connections() {
    // The gateway needs two for each connection.
    let files = format!("--nofile={}:", 2 * IDLE + 200);
    let raised = Command::new("prlimit").args([format!("--pid={}", process::id()), files]).status();
    if !raised.is_ok_and(|status| status.success()) {
        return dovetail_skip::skipped("this process may not open so many files");
    }
    let server = canned(OK, false);
    let gateway = Setup::rest("[limits]\nconnections = 20000\nconnections_per_user = 20000").start();
    let before = resident_bytes();
    let clients = Command::new(env::current_exe().unwrap())
        .args(["--exact", "faults::idle_clients"])
        .env(IDLE_AT, gateway.address.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let mut clients = clients.unwrap();
    gateway.until("they are not all there", |counts| counts.connections == IDLE);
    println!("{} bytes for each connection that is silent", resident_bytes().saturating_sub(before) / IDLE as u64);
    assert_eq!(gateway.get(&server.url("/")).text(), "ok");
    drop(clients.stdin.take());
    assert!(clients.wait().unwrap().success());
    gateway.quiet();
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn cancelled_requests_delay_no_others() {
    let server = Server::<()>::start(|mut connection| {
        if let Ok(Some(message)) = strict::request(&mut connection.stream) {
            if message.target == "/" {
                drop(connection.stream.write_all(OK.as_bytes()));
            }
            connection.tell(());
            drop(connection.stream.read(&mut [0]));
        }
    });
    let gateway = Setup::default().start();
    for _ in 0..200 {
        let mut client = gateway.connect();
        client.write_all(get(&server.url("/never")).as_bytes()).unwrap();
        gateway.until("it is not there", |counts| counts.requests == 1);
        drop(client);
        gateway.quiet();
    }
    let began = Instant::now();
    let mut other = gateway.connect_from([127, 0, 0, 2]);
    other.write_all(get(&server.url("/")).as_bytes()).unwrap();
    assert_eq!(answer(&mut other).text(), "ok");
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
}
