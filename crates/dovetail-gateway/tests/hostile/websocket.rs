//! Upgrades to WebSockets, and attempts to fake them.

use std::{
    fs,
    io::{Read, Write},
    process, thread,
    time::{Duration, Instant},
};

use crate::{
    answer::{answer, is_closed},
    server::{Server, canned, strict_server},
    strict::{self, Message},
    support::{LONG, Setup, get},
};

const SWITCHES: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

fn asks(url: &str, more: &str) -> String {
    format!(
        "GET {url} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    )
}

/// A server that switches, sends `first` at once, and then echoes. Reports requests.
fn switching(first: &'static str) -> Server<Message> {
    Server::start(move |mut connection| {
        let Ok(Some(message)) = strict::request(&mut connection.stream) else { return };
        connection.tell(message);
        let mut bytes = vec![0; 4096];
        let mut sent = connection.stream.write_all(format!("{SWITCHES}{first}").as_bytes());
        while sent.is_ok() {
            let Ok(came @ 1..) = connection.stream.read(&mut bytes) else { return };
            sent = connection.stream.write_all(&bytes[..came]);
        }
    })
}

#[test]
fn a_plain_connection_becomes_a_websocket_if_both_sides_want_it() {
    let server = switching("hello");
    let path = std::env::temp_dir().join(format!("dovetail-websocket-{}", process::id()));
    let log = format!("[log]\naccess = \"{}\"\nformat = \"json\"\n", path.display());
    let gateway = Setup::rest(&log).start();
    let mut client = gateway.connect();
    let more = "Proxy-Authorization: Basic YTpi\r\nX-Mine: 1\r\n";
    // The client sends its first frame without waiting.
    client.write_all(format!("{}early", asks(&server.url("/chat?a"), more)).as_bytes()).unwrap();
    let found = answer(&mut client);
    assert_eq!(found.status, 101, "{found:?}");
    for (name, value) in
        [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")]
    {
        assert_eq!(found.field(name), Some(value), "{found:?}");
    }
    assert!(found.field("via").is_some() && found.field("content-length").is_none(), "{found:?}");
    let message = server.told();
    assert_eq!(message.target, "/chat?a");
    for (name, value) in [
        ("connection", Some("Upgrade")),
        ("upgrade", Some("websocket")),
        ("sec-websocket-key", Some("dGhlIHNhbXBsZSBub25jZQ==")),
        ("x-mine", Some("1")),
        ("proxy-authorization", None),
    ] {
        assert_eq!(message.field(name), value, "{message:?}");
    }
    let mut bytes = vec![0; 10];
    client.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, b"helloearly");
    for length in [1, 200, 300_000] {
        let sent: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let (mut writer, to_send) = (client.try_clone().unwrap(), sent.clone());
        let writes = thread::spawn(move || writer.write_all(&to_send).unwrap());
        let mut came = vec![0; length];
        client.read_exact(&mut came).unwrap();
        assert!(came == sent, "{length} bytes are others");
        writes.join().unwrap();
    }
    let counts = gateway.look();
    assert_eq!((counts.connections, counts.watched, counts.pooled), (1, 1, 0), "a tunnel and nothing else");
    drop(client);
    gateway.quiet();
    let line = line_of(&path);
    let total = 5 + 1 + 200 + 300_000;
    for part in [
        "\"status\":101".to_owned(),
        format!("\"sent_bytes\":{}", total + 5),
        format!("\"uploaded_bytes\":{total}"),
        "\"method\":\"GET\"".into(),
    ] {
        assert!(line.contains(&part), "{part}: {line}");
    }
    fs::remove_file(path).ok();
}

/// The line of a log with a single one.
fn line_of(path: &std::path::Path) -> String {
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.ends_with('\n') || began.elapsed() > LONG {
            return text;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn other_protocols_are_not_offered() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let url = server.url("/");
    let websocket = asks(&url, "");
    for request in [
        websocket.replace("Upgrade: websocket", "Upgrade: h2c"),
        websocket.replace("Upgrade: websocket", "Upgrade: websocket, h2c"),
        websocket.replace("Upgrade: websocket", "Upgrade: h2c\r\nUpgrade: websocket"),
        websocket.replace("keep-alive, Upgrade", "keep-alive"),
        websocket.replace("HTTP/1.1", "HTTP/1.0"),
        websocket.replace("GET ", "OPTIONS "),
        format!("{}abc", asks(&url, "Content-Length: 3\r\n")),
        format!("{}3\r\nabc\r\n0\r\n\r\n", asks(&url, "Transfer-Encoding: chunked\r\n")),
    ] {
        let mut client = gateway.connect();
        client.write_all(request.as_bytes()).unwrap();
        assert_eq!(answer(&mut client).status, 200, "{request}");
        let message = server.told().unwrap();
        assert_eq!((message.field("upgrade"), message.field("connection")), (None, None), "{request}: {message:?}");
    }
    gateway.quiet();
}

#[test]
fn a_server_that_answers_instead_gets_nothing_that_follows() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    // What follows looks like a request: it is one, and addressed to the gateway.
    let own = "GET http://127.9.9.9:99999/ HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write_all(format!("{}{own}", asks(&server.url("/no"), "")).as_bytes()).unwrap();
    let found = answer(&mut client);
    assert_eq!((found.status, &*found.text()), (200, "/no"), "{found:?}");
    assert_eq!((found.field("upgrade"), found.field("connection")), (None, None), "{found:?}");
    assert_eq!(answer(&mut client).status, 400);
    assert_eq!(server.told().unwrap().target, "/no");
    assert!(server.rest().is_empty());
    drop(client);
    gateway.quiet();
    assert_eq!(gateway.look().pooled, 0, "its connection is of no use to others");
}

#[test]
fn what_was_not_asked_for_is_not_carried() {
    for answers in [
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nsecret",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\nsecret",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nsecret",
        "HTTP/1.1 101 Switching Protocols\r\n\r\nsecret",
        "secret HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
    ] {
        let server = canned(answers, true);
        let gateway = Setup::default().start();
        let mut client = gateway.connect();
        client.write_all(format!("{}x", asks(&server.url("/"), "")).as_bytes()).unwrap();
        let found = answer(&mut client);
        assert_eq!(found.status, 502, "{answers}: {found:?}");
        assert!(!found.text().contains("secret"), "{found:?}");
        drop(client);
        gateway.quiet();
    }
    // A request without an upgrade is not switched, whatever its server answers.
    let server = canned(format!("{SWITCHES}secret"), false);
    let gateway = Setup::default().start();
    for request in [get(&server.url("/")), asks(&server.url("/"), "").replace("websocket", "h2c")] {
        let found = gateway.ask(request);
        assert!(found.status == 502 && !found.text().contains("secret"), "{found:?}");
    }
    gateway.quiet();
}

#[test]
fn interim_responses_come_before_the_switch() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n";
    let server = canned(format!("{early}{SWITCHES}after"), false);
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    client.write_all(asks(&server.url("/"), "").as_bytes()).unwrap();
    assert_eq!(answer(&mut client).status, 101);
    let mut bytes = [0; 5];
    client.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"after");
    drop(client);
    gateway.quiet();
}

#[test]
fn it_is_no_way_to_where_none_may_go() {
    let server = switching("");
    let gateway = Setup { allow: "\"127.9.9.9/32\"".into(), ..Setup::default() }.start();
    assert_eq!(gateway.ask(asks(&server.url("/"), "")).status, 403);
    let own = gateway.address;
    let mut client = gateway.connect();
    client.write_all(asks(&format!("http://{own}/"), "").as_bytes()).unwrap();
    let found = answer(&mut client);
    assert_eq!(found.status, 200, "the gateway's own page does not switch: {found:?}");
    drop(client);
    let gateway = Setup::access("ports = [1]").start();
    assert_eq!(gateway.ask(asks(&server.url("/"), "")).status, 403);
    assert!(server.rest().is_empty());
    gateway.quiet();
}

#[test]
fn either_side_ends_it() {
    let server = Server::<()>::start(|mut connection| {
        if let Ok(Some(_)) = strict::request(&mut connection.stream) {
            connection.stream.write_all(format!("{SWITCHES}bye").as_bytes()).unwrap();
            connection.tell(());
        }
    });
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    client.write_all(asks(&server.url("/"), "").as_bytes()).unwrap();
    assert_eq!(answer(&mut client).status, 101);
    let mut bytes = [0; 3];
    client.read_exact(&mut bytes).unwrap();
    assert!(is_closed(&mut client));
    // A client that disconnects before there is an answer.
    let (waits, _lets) = crate::server::held(SWITCHES);
    let mut gone = gateway.connect();
    gone.write_all(asks(&waits.url("/"), "").as_bytes()).unwrap();
    waits.told();
    drop((gone, client));
    gateway.quiet();
}
