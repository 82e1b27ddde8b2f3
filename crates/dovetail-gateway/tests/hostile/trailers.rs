//! Trailers: those that are announced and may be passed on are, others are dropped, and none breaks what it follows.

use std::io::Write;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

use crate::{
    answer::answer,
    limits::{http2, request, run},
    server::{Server, strict_server},
    strict,
    support::{Setup, get},
};

/// A trailer with a field that may be passed on, between others that may not.
const TRAILER: &str =
    "Host: x\r\nKeep-Alive: 5\r\nX-Sum: 7\r\nConnection: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n";

/// A server whose answers have this trailer. Reports the request's `TE`, and which connection it was on.
fn trailing(announces: bool) -> Server<(Option<String>, usize)> {
    Server::start(move |mut connection| {
        while let Ok(Some(message)) = strict::request(&mut connection.stream) {
            connection.tell((message.field("te").map(str::to_owned), connection.number));
            let trailer = if announces { "Trailer: Host, X-Sum, Connection\r\n" } else { "" };
            let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{trailer}\r\n");
            drop(connection.stream.write_all(format!("{head}3\r\nabc\r\n0\r\n{TRAILER}\r\n").as_bytes()));
        }
    })
}

/// What a client receives that sends these fields.
fn received(url: &str, fields: &str) -> String {
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    let asked = get(url).replace("Connection: close\r\n", &format!("Connection: close{fields}\r\n"));
    client.write_all(asked.as_bytes()).unwrap();
    let text = std::io::read_to_string(&mut client).unwrap();
    drop(client);
    gateway.quiet();
    text
}

#[test]
fn a_client_that_takes_trailers_gets_what_is_announced() {
    let server = trailing(true);
    let text = received(&server.url("/"), ", TE\r\nTE: trailers");
    assert_eq!(server.told().0.as_deref(), Some("trailers"));
    assert!(text.contains("\r\nTrailer: x-sum\r\n"), "{text}");
    assert!(text.ends_with("\r\n3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n"), "{text}");
}

#[test]
fn other_clients_get_none() {
    for (announces, fields, te) in [(true, "", None), (false, ", TE\r\nTE: trailers", Some("trailers"))] {
        let server = trailing(announces);
        let text = received(&server.url("/"), fields);
        assert_eq!(server.told().0.as_deref(), te);
        assert!(
            text.ends_with("\r\n3\r\nabc\r\n0\r\n\r\n") && !text.to_ascii_lowercase().contains("trailer"),
            "{text}"
        );
    }
}

#[test]
fn an_answer_with_a_trailer_is_whole_and_its_connection_reused() {
    let gateway = Setup::default().start();
    let server = trailing(false);
    let mut client = gateway.connect();
    for _ in 0..3 {
        client.write_all(format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", server.url("/")).as_bytes()).unwrap();
        let found = answer(&mut client);
        assert_eq!((found.text().as_str(), found.is_whole), ("abc", true), "{found:?}");
        assert_eq!(server.told().1, 0, "it is on another connection");
    }
    drop(client);
    gateway.quiet();
}

#[test]
fn over_http2_a_trailer_has_only_what_may_be_passed_on() {
    let server = trailing(false);
    let gateway = Setup::default().start();
    run(async {
        let mut sender = http2(gateway.address).await;
        let (answer, _) = sender.send_request(request("GET", &server.url("/")), true).unwrap();
        let mut body = answer.await.unwrap().into_body();
        let mut bytes = Vec::new();
        while let Some(part) = body.data().await {
            bytes.extend(part.unwrap());
        }
        assert_eq!(bytes, b"abc");
        let trailers = body.trailers().await.unwrap().unwrap();
        assert_eq!(trailers, HeaderMap::from_iter([("x-sum".parse().unwrap(), HeaderValue::from_static("7"))]));
    });
    gateway.quiet();
}

#[test]
fn a_server_gets_what_a_client_announces() {
    let server = strict_server();
    let gateway = Setup::default().start();
    for (announces, passed) in [("Trailer: X-Sum, Host\r\n", &[("x-sum", "7")][..]), ("", &[])] {
        let url = server.url("/");
        let head = format!(
            "POST {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n{announces}\r\n"
        );
        assert_eq!(gateway.ask(format!("{head}3\r\nabc\r\n0\r\n{TRAILER}\r\n")).text(), "/");
        let message = server.told().unwrap();
        assert_eq!(message.body, b"abc");
        assert_eq!(message.field("trailer"), passed.first().map(|(name, _)| *name));
        let trailers: Vec<_> = message.trailers.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(trailers, passed);
    }
    // A body of known length has none.
    let text = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\nTrailer: X-Sum\r\n\r\nabc",
        server.url("/")
    );
    assert_eq!(gateway.ask(text).text(), "/");
    assert_eq!(server.told().unwrap().field("trailer"), None);
    run(async {
        let mut sender = http2(gateway.address).await;
        let mut asked = request("POST", &server.url("/"));
        asked.headers_mut().insert("trailer", HeaderValue::from_static("x-sum"));
        let (answer, mut body) = sender.send_request(asked, false).unwrap();
        body.send_data(Bytes::from_static(b"abc"), false).unwrap();
        let fields = [("x-sum", "7"), ("host", "x")];
        let fields = fields.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        body.send_trailers(HeaderMap::from_iter(fields)).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
    });
    assert_eq!(server.told().unwrap().trailers, [("x-sum".to_owned(), "7".to_owned())]);
    gateway.quiet();
}
