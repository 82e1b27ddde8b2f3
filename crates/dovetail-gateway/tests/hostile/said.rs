//! How invalid requests are reported: a page, a log line and a count.

use std::{
    fs,
    io::Write,
    net::{Shutdown, SocketAddr, TcpListener},
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    answer::{answer, is_closed},
    server::{Server, canned, strict_server},
    strict::{self, Message},
    support::{LONG, Running, Setup, connect_from},
};

/// A gateway with an access log and an admin port.
struct Logged {
    gateway: Running,
    log: PathBuf,
    admin: SocketAddr,
}

impl Logged {
    fn start(name: &str, rest: &str) -> Self {
        let log = std::env::temp_dir().join(format!("dovetail-hostile-{}-{name}.log", std::process::id()));
        drop(fs::remove_file(&log));
        let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let rest = format!("{rest}\n[log]\naccess = \"{}\"\n[admin]\nlisten = \"{admin}\"", log.display());
        Self { gateway: Setup::rest(&rest).start(), log, admin }
    }

    /// Waits until the log has this many lines.
    fn lines(&self, count: usize) -> Vec<String> {
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(&self.log).unwrap();
            let lines: Vec<_> = text.lines().map(str::to_owned).collect();
            if lines.len() >= count {
                assert_eq!(lines.len(), count, "{lines:?}");
                return lines;
            }
            assert!(began.elapsed() < LONG, "{count} lines are not there: {lines:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Requests that ended with a status of this class.
    fn counted(&self, class: &str) -> u64 {
        let mut stream = connect_from([127, 0, 0, 1], self.admin);
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.admin).unwrap();
        let text = answer(&mut stream).text();
        let lines =
            text.lines().filter(|line| line.starts_with("dovetail_gateway_requests_total") && line.contains(class));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.log));
    }
}

#[test]
fn a_request_that_cannot_be_read_has_a_page_a_line_and_a_count() {
    let logged = Logged::start("unreadable", "[limits]\nheader_bytes = \"16kB\"\nheaders = 50");
    let long_field = format!("GET http://x/ HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET http://x/ HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(60));
    let cases = [
        ("nonsense\r\n\r\n", 400, "error:invalid-request"),
        ("GET http://x/ HTTP/1.1\r\nA : b\r\n\r\n", 400, "error:invalid-request"),
        (&long_field, 431, "error:request-too-large"),
        (&many, 431, "error:request-too-large"),
    ];
    for (number, (request, status, target)) in cases.into_iter().enumerate() {
        let mut client = logged.gateway.connect();
        client.write_all(request.as_bytes()).unwrap();
        let refusal = answer(&mut client);
        assert_eq!((refusal.status, refusal.is_whole), (status, true), "{request:.40?}: {refusal:?}");
        assert!(refusal.text().contains("from the gateway"), "{refusal:?}");
        assert_eq!(refusal.field("proxy-status"), Some("dovetail; error=http_request_error"), "{refusal:?}");
        assert_eq!(refusal.field("connection"), Some("close"), "{refusal:?}");
        assert!(is_closed(&mut client));
        drop(client);
        logged.gateway.quiet();
        let lines = logged.lines(number + 1);
        let line = &lines[number];
        assert!(line.contains(&format!(" NONE_NONE/{status} ")) && line.contains(target), "{line}");
    }
    assert_eq!(logged.counted("4xx"), 4);
}

#[test]
fn a_response_that_breaks_off_is_logged_as_aborted_and_one_that_is_refused_is_not() {
    let logged = Logged::start("responses", "");
    let cases = [
        ("nonsense\r\n\r\n", "TCP_MISS/502"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "TCP_MISS_ABORTED/200"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "TCP_MISS/200"),
    ];
    for (number, (response, logs)) in cases.into_iter().enumerate() {
        drop(logged.gateway.get(&canned(response, true).url("/")));
        logged.gateway.quiet();
        let lines = logged.lines(number + 1);
        assert!(lines[number].contains(&format!(" {logs} ")), "{response:?}: {}", lines[number]);
    }
}

#[test]
fn a_request_that_cannot_be_read_after_one_that_can_is_said_to_be_that() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    let url = server.url("/");
    // One byte at a time, and then the next request in the same write.
    for byte in format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r").bytes() {
        client.write_all(&[byte]).unwrap();
    }
    client.write_all(b"\nnonsense\r\n\r\n").unwrap();
    assert_eq!(answer(&mut client).status, 200);
    let refusal = answer(&mut client);
    assert_eq!(refusal.status, 400, "{refusal:?}");
    assert!(refusal.text().contains("from the gateway"), "{refusal:?}");
    drop(client);
    gateway.quiet();
}

#[test]
fn a_response_that_looks_like_the_gateways_own_goes_as_it_is() {
    let own = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    for part in [own, "HTTP/1.1 431 X\r\n\r\n"] {
        let server = Server::<()>::start(move |mut connection| {
            drop(strict::request(&mut connection.stream));
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 3 * part.len());
            connection.stream.write_all(head.as_bytes()).unwrap();
            for _ in 0..3 {
                std::thread::sleep(Duration::from_millis(20));
                connection.stream.write_all(part.as_bytes()).unwrap();
            }
        });
        let gateway = Setup::default().start();
        assert_eq!(gateway.get(&server.url("/")).text(), part.repeat(3));
    }
}

#[test]
fn a_body_that_is_broken_off_or_none_is_the_clients_failure() {
    let server = Server::<Result<Option<Message>, String>>::start(|mut connection| {
        let read = strict::request(&mut connection.stream);
        connection.tell(read);
    });
    let logged = Logged::start("upload", "");
    let chunked = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    let cases = [("Content-Length: 1000\r\n\r\nabc".to_owned(), true), (format!("{chunked}zz\r\n"), false)];
    for (number, (rest, breaks_off)) in cases.into_iter().enumerate() {
        let mut client = logged.gateway.connect();
        let url = server.url("/");
        client.write_all(format!("POST {url} HTTP/1.1\r\nHost: x\r\n{rest}").as_bytes()).unwrap();
        if breaks_off {
            client.shutdown(Shutdown::Write).unwrap();
        }
        let refusal = answer(&mut client);
        assert_eq!((refusal.status, refusal.is_whole), (400, true), "{rest:?}: {refusal:?}");
        assert_eq!(refusal.field("proxy-status"), Some("dovetail; error=http_request_error"), "{refusal:?}");
        assert!(is_closed(&mut client));
        assert!(server.told().is_err());
        drop(client);
        logged.gateway.quiet();
        assert!(logged.lines(number + 1)[number].contains("/400 "), "{:?}", logged.lines(number + 1));
    }
    assert_eq!((logged.counted("4xx"), logged.counted("5xx")), (2, 0));
}
