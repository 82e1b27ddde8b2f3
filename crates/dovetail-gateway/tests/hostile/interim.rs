//! Interim responses of servers, and requests that wait for them.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use crate::{
    answer::{answer, is_closed},
    server::{Connection, Server, strict_server},
    support::{LONG, Running, Setup},
};

/// How long a body waits for a silent server, allowing for timers that are early.
const SECOND: Duration = Duration::from_millis(900);
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Reads up to an empty line.
fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            break;
        }
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).unwrap()
}

fn expecting(url: &str, version: &str, rest: &str) -> String {
    format!("POST {url} HTTP/{version}\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n{rest}")
}

/// Reports the header of each request, answers it with this, and reports what arrives of its body.
fn says(first: &'static str, then: &'static str) -> Server<String> {
    Server::start(move |mut connection: Connection<String>| {
        let asked = head(&mut connection.stream);
        connection.tell(asked);
        connection.stream.write_all(first.as_bytes()).unwrap();
        let mut body = Vec::new();
        while body.len() < 3 {
            let mut bytes = [0; 16];
            match connection.stream.read(&mut bytes) {
                Ok(came @ 1..) => body.extend(&bytes[..came]),
                _ => break,
            }
        }
        connection.tell(String::from_utf8(body).unwrap());
        drop(connection.stream.write_all(then.as_bytes()));
    })
}

#[test]
fn a_body_that_is_not_wanted_stays_with_its_client() {
    for refusal in ["417 Expectation Failed", "401 Unauthorized", "413 Content Too Large"] {
        let answer_text: &'static str =
            Box::leak(format!("HTTP/1.1 {refusal}\r\nContent-Length: 2\r\n\r\nno").into_boxed_str());
        let server = says(answer_text, "");
        let gateway = Setup::default().start();
        let mut client = gateway.connect();
        client.write_all(expecting(&server.url("/"), "1.1", "").as_bytes()).unwrap();
        assert!(server.told().to_ascii_lowercase().contains("expect: 100-continue\r\n"));
        let found = head(&mut client);
        assert!(found.starts_with(&format!("HTTP/1.1 {}", &refusal[..3])), "{found}");
        assert!(found.to_ascii_lowercase().contains("connection: close\r\n"), "{found}");
        client.read_exact(&mut [0; 2]).unwrap();
        // The client may send the body all the same: it is discarded.
        client.write_all(b"abc").unwrap();
        assert!(is_closed(&mut client));
        assert_eq!(server.told(), "");
        drop(client);
        gateway.quiet();
        assert_eq!(gateway.look().pooled, 0);
    }
}

#[test]
fn a_body_whose_answer_is_none_leaves_no_connection_to_its_server() {
    let server = says("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "");
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    client.write_all(expecting(&server.url("/"), "1.1", "").as_bytes()).unwrap();
    server.told();
    assert_eq!(answer(&mut client).status, 502);
    let began = Instant::now();
    assert_eq!(server.told(), "");
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    drop(client);
    gateway.quiet();
}

/// Sends a body when it is requested by a server that first sends this; returns how long the client waited for that.
fn asked_for_after(gateway: &Running, first: &'static str) -> Duration {
    let server = says(first, OK);
    let mut client = gateway.connect();
    let began = Instant::now();
    client.write_all(expecting(&server.url("/"), "1.1", "").as_bytes()).unwrap();
    server.told();
    assert_eq!(head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
    let waited = began.elapsed();
    client.write_all(b"abc").unwrap();
    assert_eq!(server.told(), "abc");
    assert_eq!(answer(&mut client).text(), "ok");
    drop(client);
    gateway.quiet();
    waited
}

#[test]
fn a_body_that_is_wanted_is_asked_for() {
    // Without the server's response it would be requested after a second each time; a busy machine may take as long once.
    let gateway = Setup::default().start();
    let waited = || asked_for_after(&gateway, "HTTP/1.1 100 Continue\r\n\r\n");
    assert!((0..20).any(|_| waited() < SECOND), "it is asked for although the server says nothing");
}

#[test]
fn a_server_that_does_not_say_that_it_wants_a_body_gets_it_after_a_while() {
    let gateway = Setup::default().start();
    let waited = asked_for_after(&gateway, "");
    assert!(waited > SECOND, "{waited:?}");
    // HTTP/1.0 ignores `Expect`.
    let waited = || {
        let server = says("", OK);
        let began = Instant::now();
        assert_eq!(gateway.ask(expecting(&server.url("/"), "1.0", "abc")).text(), "ok");
        assert!(!server.told().to_ascii_lowercase().contains("expect"));
        began.elapsed()
    };
    assert!((0..20).any(|_| waited() < SECOND), "a body of HTTP/1.0 waits");
}

#[test]
fn a_client_that_goes_while_its_body_waits_leaves_nothing() {
    let server = says("", "");
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    client.write_all(expecting(&server.url("/"), "1.1", "").as_bytes()).unwrap();
    server.told();
    drop(client);
    assert_eq!(server.told(), "");
    gateway.quiet();
}

#[test]
fn hints_come_before_the_answer() {
    let server = Server::<()>::start(|mut connection| {
        head(&mut connection.stream);
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n";
        connection.stream.write_all(hint.as_bytes()).unwrap();
        // Until the client has it.
        thread::sleep(Duration::from_millis(300));
        connection.stream.write_all(OK.as_bytes()).unwrap();
    });
    let before = strict_server();
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    let requests = [before.url("/before"), server.url("/")].map(|url| format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n"));
    client.write_all(requests.concat().as_bytes()).unwrap();
    assert_eq!(answer(&mut client).text(), "/before");
    assert_eq!(head(&mut client), "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
    assert_eq!(answer(&mut client).text(), "ok");
    // HTTP/1.0 has no interim responses.
    let mut client = gateway.connect();
    client.write_all(format!("GET {} HTTP/1.0\r\n\r\n", server.url("/")).as_bytes()).unwrap();
    assert!(head(&mut client).contains(" 200 OK\r\n"));
}

#[test]
fn hints_that_arrive_together_with_the_answer_come_before_it() {
    let both = format!("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n{OK}");
    let server = Server::<()>::start(move |mut connection| {
        while !head(&mut connection.stream).is_empty() {
            connection.stream.write_all(both.as_bytes()).unwrap();
        }
    });
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    for _ in 0..20 {
        client.write_all(format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", server.url("/")).as_bytes()).unwrap();
        assert_eq!(head(&mut client), "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
        assert_eq!(head(&mut client), "HTTP/1.1 102 Processing\r\n\r\n");
        assert_eq!(answer(&mut client).text(), "ok");
    }
    drop(client);
    gateway.quiet();
}

#[test]
fn hints_do_not_mix_with_answers_that_a_client_is_slow_to_take() {
    let length = 4_000_000;
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length));
    let hint = format!("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n{OK}");
    let server = Server::<()>::start(move |mut connection| {
        loop {
            let asked = head(&mut connection.stream);
            if asked.is_empty() {
                return;
            }
            let answer = if asked.contains("/long") { &long } else { &hint };
            drop(connection.stream.write_all(answer.as_bytes()));
        }
    });
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    let requests = ["/long", "/"].map(|path| format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", server.url(path)));
    client.write_all(requests.concat().repeat(3).as_bytes()).unwrap();
    for _ in 0..3 {
        let found = answer(&mut client);
        assert!(found.is_whole && found.body.len() == length && found.body.iter().all(|&byte| byte == b'x'));
        assert_eq!(answer(&mut client).text(), "ok");
    }
    drop(client);
    gateway.quiet();
}

#[test]
fn hints_without_end_are_not_kept_for_a_client_that_reads_nothing() {
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(1000);
    let server = Server::<()>::start(move |mut connection| {
        head(&mut connection.stream);
        while connection.stream.write_all(hint.as_bytes()).is_ok() {}
        connection.tell(());
    });
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    client.write_all(format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", server.url("/")).as_bytes()).unwrap();
    server.told();
    // Hints are all that arrived, as far as they were kept, and then the answer is reported as missing.
    assert_eq!(answer(&mut client).status, 502);
    drop(client);
    gateway.quiet();
}
