//! Servers that send invalid answers: their client notices, other clients see nothing of it, and the connection is not reused.

use std::io::{Read, Write};

use crate::{
    answer::answer,
    server::{Server, canned},
    strict,
    support::{Setup, get},
};

/// Answers the first request of the first connection with these bytes, and others properly. Reports on which connection each
/// arrived.
fn first_is_wrong(bytes: impl Into<Vec<u8>>) -> Server<usize> {
    let bytes = bytes.into();
    Server::start(move |mut connection| {
        let mut is_first = connection.number == 0;
        while let Ok(Some(message)) = strict::request(&mut connection.stream) {
            connection.tell(connection.number);
            let fine = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", message.target.len(), message.target);
            let answer = if is_first { &bytes[..] } else { fine.as_bytes() };
            is_first = false;
            if connection.stream.write_all(answer).is_err() {
                return;
            }
        }
    })
}

#[test]
fn what_follows_an_answer_is_nobodys() {
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    for round in 0..20 {
        let server = first_is_wrong(evil);
        let gateway = Setup::default().start();
        let mut client = gateway.connect();
        let url = server.url("/second");
        // The second request arrives before the first is answered: it is sent on as soon as possible.
        let request = format!("GET {url} HTTP/1.1\r\nHost: x\r\n\r\n");
        client.write_all(request.repeat(2).as_bytes()).unwrap();
        assert_eq!(answer(&mut client).text(), "first");
        assert_eq!(answer(&mut client).text(), "/second", "round {round}");
        drop(client);
        assert_eq!(gateway.get(&server.url("/third")).text(), "/third");
        gateway.quiet();
    }
}

#[test]
fn an_answer_with_a_coding_and_a_length_is_read_once_and_its_connection_closed() {
    for bytes in [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ] {
        let server = first_is_wrong(bytes);
        let gateway = Setup::default().start();
        let first = gateway.get(&server.url("/"));
        assert_eq!((first.text().as_str(), first.is_whole), ("abc", true), "{first:?}");
        assert_eq!(first.field("content-length"), None);
        assert_eq!(gateway.get(&server.url("/next")).text(), "/next");
        assert_eq!((server.told(), server.told()), (0, 1));
        gateway.quiet();
    }
}

#[test]
fn an_answer_with_two_equal_lengths_has_one() {
    for lengths in ["Content-Length: 3\r\nContent-Length: 3\r\n", "Content-Length: 3, 3\r\n", "content-length: 3\r\n"] {
        let server = canned(format!("HTTP/1.1 200 OK\r\n{lengths}\r\nabc"), false);
        let gateway = Setup::default().start();
        let found = gateway.get(&server.url("/"));
        assert_eq!((found.text().as_str(), found.is_whole), ("abc", true), "{found:?}");
        assert_eq!(found.head.to_ascii_lowercase().matches("content-length: 3\r\n").count(), 1, "{found:?}");
        assert_eq!(found.head.to_ascii_lowercase().matches("content-length").count(), 1, "{found:?}");
    }
}

#[test]
fn answers_that_are_none_are_said_to_be_none() {
    let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(100_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "A: b\r\n".repeat(500));
    for bytes in [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabcd",
        "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: gzip\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\n A: b\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\0\r\nContent-Length: 0\r\n\r\n",
        "HTTP/9.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3,\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n 4\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nA: b\rContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: ,chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunk\r\n ed\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;a=b\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 3, 4\r\n\r\n",
        "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n",
        " HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "ICY 200 OK\r\nContent-Length: 0\r\n\r\n",
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
        "",
        &long,
        &many,
    ] {
        let server = canned(bytes, true);
        let gateway = Setup::default().start();
        let refusal = gateway.get(&server.url("/"));
        assert_eq!((refusal.status, refusal.is_whole), (502, true), "{:.80?}: {refusal:?}", bytes);
        assert!(refusal.field("proxy-status").unwrap().contains("error="), "{refusal:?}");
        assert_eq!(gateway.look().pooled, 0, "{:.80?}", bytes);
        gateway.quiet();
    }
}

#[test]
fn interim_answers_without_end_come_to_an_end() {
    let server = Server::<()>::start(|mut connection| {
        drop(strict::request(&mut connection.stream));
        while connection.stream.write_all(&b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(100)).is_ok() {}
        connection.tell(());
    });
    let gateway = Setup::default().start();
    let refusal = gateway.get(&server.url("/"));
    assert_eq!(refusal.status, 502, "{refusal:?}");
    server.told();
    gateway.quiet();
    let server = canned(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        true,
    );
    assert_eq!(gateway.get(&server.url("/")).text(), "ok");
}

#[test]
fn what_breaks_off_is_seen_to_break_off() {
    for bytes in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551613\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc",
    ] {
        let server = canned(bytes, true);
        let gateway = Setup::default().start();
        let broken = gateway.get(&server.url("/"));
        assert!(broken.status == 200 && !broken.is_whole || broken.status == 502, "{bytes:?}: {broken:?}");
        gateway.quiet();
        assert_eq!(gateway.look().pooled, 0, "{bytes:?}");
        // The gateway continues.
        let fine = canned("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false);
        assert_eq!(gateway.get(&fine.url("/")).text(), "ok", "{bytes:?}");
    }
}

#[test]
fn a_header_reaches_the_client_though_nothing_of_its_body_does() {
    // A client that gets nothing on a kept connection may send its request again, even a POST.
    for rest in
        ["Content-Length: 10\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nzz\r\n"]
    {
        let server = canned(format!("HTTP/1.1 200 OK\r\nA: b\r\n{rest}"), true);
        let gateway = Setup::default().start();
        for _ in 0..5 {
            let broken = gateway.get(&server.url("/"));
            assert_eq!(
                (broken.status, broken.field("a"), broken.is_whole),
                (200, Some("b"), false),
                "{rest:?}: {broken:?}"
            );
        }
        gateway.quiet();
    }
}

#[test]
fn answers_without_a_body_have_none() {
    let gateway = Setup::default().start();
    for (method, bytes) in [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n"),
    ] {
        let server = canned(bytes, false);
        for _ in 0..2 {
            let mut client = gateway.connect();
            client.write_all(get(&server.url("/")).replacen("GET", method, 1).as_bytes()).unwrap();
            let found = crate::answer::answer_to(&mut client, method);
            assert!(found.is_whole && found.body.is_empty(), "{found:?}");
            assert!(crate::answer::is_closed(&mut client));
        }
    }
    gateway.quiet();
}

/// A server that answers every request of a connection with this header alone. Reports which connection each was on.
fn heads(head: &'static str) -> Server<usize> {
    Server::start(move |mut connection| {
        while let Ok(Some(_)) = strict::request(&mut connection.stream) {
            connection.tell(connection.number);
            if connection.stream.write_all(head.as_bytes()).is_err() {
                return;
            }
        }
    })
}

#[test]
fn no_request_follows_an_answer_that_may_have_a_body_all_the_same() {
    let gateway = Setup::default().start();
    for (fields, is_reused) in [
        ("", true),
        ("Content-Length: 0\r\n", true),
        ("Content-Length: 4\r\n", false),
        ("Transfer-Encoding: chunked\r\n", false),
    ] {
        let head: &'static str = Box::leak(format!("HTTP/1.1 204 No Content\r\n{fields}\r\n").into_boxed_str());
        let server = heads(head);
        for _ in 0..2 {
            let found = gateway.get(&server.url("/"));
            assert_eq!((found.status, found.field("content-length")), (204, None), "{fields:?}: {found:?}");
            gateway.quiet();
        }
        assert_eq!((server.told(), server.told()), (0, usize::from(!is_reused)), "{fields:?}");
    }
}

#[test]
fn an_upload_after_an_answer_of_http_1_0_is_whole() {
    let server = Server::<String>::start(|mut connection| {
        let mut text = String::new();
        let mut bytes = [0; 1024];
        while let Ok(came @ 1..) = connection.stream.read(&mut bytes) {
            text.push_str(&String::from_utf8_lossy(&bytes[..came]));
            let is_whole = if text.starts_with("POST") { text.ends_with("0\r\n\r\n") } else { true };
            if is_whole {
                connection.tell(std::mem::take(&mut text));
                let answer = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok";
                connection.stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    let gateway = Setup::default().start();
    assert_eq!(gateway.get(&server.url("/")).text(), "ok");
    gateway.quiet();
    let upload = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        server.url("/up")
    );
    assert_eq!(gateway.ask(upload).text(), "ok");
    assert!(server.told().starts_with("GET / HTTP/1.1\r\n"));
    let asked = server.told();
    assert!(asked.starts_with("POST /up HTTP/1.1\r\n") && asked.ends_with("\r\n3\r\nabc\r\n0\r\n\r\n"), "{asked}");
}

#[test]
fn what_servers_say_to_proxies_does_not_reach_clients() {
    let fields =
        "Proxy-Authenticate: Basic realm=\"x\"\r\nProxy-Authentication-Info: a=b\r\nProxy-Connection: close\r\n";
    let server = canned(format!("HTTP/1.1 200 OK\r\n{fields}A: b\r\nContent-Length: 2\r\n\r\nok"), false);
    let gateway = Setup::default().start();
    let found = gateway.get(&server.url("/"));
    assert_eq!((found.text().as_str(), found.field("a")), ("ok", Some("b")));
    assert!(!found.head.to_ascii_lowercase().contains("proxy-"), "{}", found.head);
}

#[test]
fn an_answer_without_an_end_ends_with_its_connection() {
    let server = canned("HTTP/1.0 200 OK\r\n\r\nabc", true);
    let gateway = Setup::default().start();
    let found = gateway.get(&server.url("/"));
    assert_eq!((found.text().as_str(), found.is_whole), ("abc", true), "{found:?}");
    assert_eq!(gateway.look().pooled, 0);
}

#[test]
fn a_server_cannot_have_the_gateways_clients_asked_for_a_password() {
    let asks = "HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic realm=\"evil\"\r\nContent-Length: 0\r\n\r\n";
    let server = canned(asks, false);
    let gateway = Setup::default().start();
    let found = gateway.get(&server.url("/"));
    assert_eq!((found.status, found.field("proxy-authenticate")), (502, None));
    assert!(found.text().contains("'127.0.0.1' demands a proxy"), "{}", found.text());
    gateway.quiet();
}
