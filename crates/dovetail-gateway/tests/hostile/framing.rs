//! Ambiguously framed requests: each is either refused and its connection closed, or a server gets exactly one message, which a
//! strict parser accepts.

use std::io::{ErrorKind, Read, Write};

use crate::{
    answer::{answer, is_closed},
    pages::Passwords,
    server::strict_server,
    strict::Message,
    support::{LONG, Setup},
};

/// The possible outcomes of bytes that are sent.
enum Comes {
    /// A refusal, and the connection is closed. No server is contacted.
    Refused,
    /// A single message with this body. Nothing after it is a request.
    One(&'static str),
}

/// Sends bytes in which `{at}` is the server, followed by a hidden request for `/smuggled`, and reads until the end.
fn send(text: &[u8]) -> (String, Vec<Result<Message, String>>) {
    let server = strict_server();
    let gateway = Setup::rest("[timeouts]\nidle = \"100ms\"\nheader = \"300ms\"").start();
    let mut client = gateway.connect();
    let at = server.address.to_string();
    let text = replaced(text, b"{at}", at.as_bytes());
    client.write_all(&text).unwrap();
    let mut all = Vec::new();
    // A reset after the answer counts as closed.
    match client.read_to_end(&mut all) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    drop(client);
    gateway.quiet();
    // Once the gateway has ended, the server has received all that it sent.
    gateway.drain();
    (String::from_utf8_lossy(&all).into_owned(), server.rest())
}

fn replaced(text: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(what.len()).position(|window| window == what) {
        out.extend(&rest[..at]);
        out.extend(with);
        rest = &rest[at + what.len()..];
    }
    out.extend(rest);
    out
}

fn check(name: &str, text: impl AsRef<[u8]>, comes: &Comes) {
    let (answers, messages) = send(text.as_ref());
    let statuses = answers.matches("HTTP/1.").count();
    assert!(messages.iter().all(Result::is_ok), "{name}: {messages:?}");
    let messages: Vec<_> = messages.into_iter().map(Result::unwrap).collect();
    match comes {
        Comes::Refused => {
            assert!(messages.is_empty(), "{name}: {messages:?}");
            assert!(answers.is_empty() || answers.starts_with("HTTP/1.1 4"), "{name}: {answers}");
            assert!(statuses <= 1, "{name}: {answers}");
        }
        Comes::One(body) => {
            assert_eq!(messages.len(), 1, "{name}: {messages:?} {answers}");
            assert_eq!(String::from_utf8_lossy(&messages[0].body), *body, "{name}");
            assert_eq!(statuses, 1, "{name}: {answers}");
        }
    }
}

const HIDDEN: &str = "GET http://{at}/smuggled HTTP/1.1\r\nHost: {at}\r\n\r\n";

fn post(fields: &str, body: &str) -> String {
    format!("POST http://{{at}}/ HTTP/1.1\r\nHost: {{at}}\r\n{fields}\r\n{body}")
}

#[test]
fn lengths_and_codings_together() {
    // RFC 9112, section 6.1: read as chunked, without the length, and the connection closed after it.
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 500\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: nonsense\r\n",
        "Content-Length: 0\r\nTransfer-Encoding: Chunked\r\n",
    ] {
        check(fields, post(fields, &format!("3\r\nabc\r\n0\r\n\r\n{HIDDEN}")), &Comes::One("abc"));
    }
}

#[test]
fn lengths() {
    for fields in [
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: -3\r\n",
        "Content-Length: 3 3\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: 3,4\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length: 3;x\r\n",
        "Content-Length:\r\n",
        "Content-Length: 3.0\r\n",
        "Content-Length: 18446744073709551615\r\n",
        "Content-Length: 99999999999999999999999\r\n",
    ] {
        check(fields, post(fields, &format!("abc{HIDDEN}")), &Comes::Refused);
    }
    for fields in [
        "Content-Length: 3\r\nConnection: close\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\nConnection: close\r\n",
        "Content-Length: 003\r\nConnection: close\r\n",
    ] {
        check(fields, post(fields, &format!("abc{HIDDEN}")), &Comes::One("abc"));
    }
    check(
        "naming Content-Length",
        post("Content-Length: 3\r\nConnection: close, Content-Length\r\n", "abc"),
        &Comes::One("abc"),
    );
    check(
        "naming Transfer-Encoding",
        post("Transfer-Encoding: chunked\r\nConnection: close, Transfer-Encoding\r\n", "3\r\nabc\r\n0\r\n\r\n"),
        &Comes::One("abc"),
    );
}

#[test]
fn codings() {
    for fields in [
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\r\n : chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
    ] {
        check(fields, post(fields, &format!("3\r\nabc\r\n0\r\n\r\n{HIDDEN}")), &Comes::Refused);
    }
    let old = "POST http://{at}/ HTTP/1.0\r\nHost: {at}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    check("HTTP/1.0", old, &Comes::Refused);
    let get = "GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    check("a GET with a body", get, &Comes::One("abc"));
}

#[test]
fn chunks() {
    let fields = "Transfer-Encoding: chunked\r\nConnection: close\r\n";
    for body in [
        "3;name=value\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
        "003\r\nabc\r\n000\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n",
    ] {
        check(body, post(fields, &format!("{body}{HIDDEN}")), &Comes::One("abc"));
    }
    // These turn out to be invalid when the server already has the request: it gets no complete message.
    for body in [
        "x\r\nabc\r\n0\r\n\r\n",
        "-3\r\nabc\r\n0\r\n\r\n",
        "+3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "\r\nabc\r\n0\r\n\r\n",
        "ffffffffffffffff1\r\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "3\nabc\r\n0\r\n\r\n",
        "3;a\nb\r\nabc\r\n0\r\n\r\n",
    ] {
        let (answers, messages) = send(post(fields, &format!("{body}{HIDDEN}")).as_bytes());
        assert!(messages.iter().all(Result::is_err), "{body:?}: {messages:?} {answers}");
        assert!(answers.starts_with("HTTP/1.1 400 "), "{body:?}: {answers}");
        assert!(!answers.contains("smuggled"), "{body:?}: {answers}");
    }
}

#[test]
fn lines_and_fields() {
    let lines =
        |fields: &str| format!("GET http://{{at}}/ HTTP/1.1\r\nHost: {{at}}\r\nConnection: close\r\n{fields}\r\n");
    for fields in [
        "A: b\0c\r\n",
        "A: b\rc\r\n",
        "A : b\r\n",
        " A: b\r\n",
        "A: b\r\n c\r\n",
        ": b\r\n",
        "A\r\n",
        "A(: b\r\n",
        "A: b\x7f\r\n",
    ] {
        check(fields, lines(fields), &Comes::Refused);
    }
    // For some a bare LF ends a line (RFC 9112, section 2.2): it is forwarded as CR LF.
    check("bare LF", lines("A: b\n"), &Comes::One(""));
    check("LF throughout", lines("").replace("\r\n", "\n"), &Comes::One(""));
    for line in [
        "GET  http://{at}/ HTTP/1.1",
        "GET http://{at}/ HTTP/1.1 x",
        "GET http://{at}/? x HTTP/1.1",
        "GET http://{at}/\x7f HTTP/1.1",
        "GET http://{at}\u{e9}/ HTTP/1.1",
        "GET http://{at}/ HTTP/2.1",
        "GET http://{at}/\0 HTTP/1.1",
        "G\0T http://{at}/ HTTP/1.1",
        "GET http://{at}/ x HTTP/1.1",
        "GET http://{at}/",
    ] {
        check(line, format!("{line}\r\nHost: {{at}}\r\nConnection: close\r\n\r\n"), &Comes::Refused);
    }
}

#[test]
fn a_request_in_the_body_of_one_that_is_refused_is_not_a_request() {
    for line in [
        "POST http://{at}:1/ HTTP/1.1",
        "POST / HTTP/1.1",
        "POST https://{at}/ HTTP/1.1",
        "CONNECT 127.0.0.1:22 HTTP/1.1",
    ] {
        let length = HIDDEN.replace("{at}", "127.0.0.1:99999").len();
        for fields in [format!("Content-Length: {length}\r\n"), "Transfer-Encoding: chunked\r\n".into()] {
            let (answers, messages) = send(format!("{line}\r\nHost: {{at}}\r\n{fields}\r\n{HIDDEN}").as_bytes());
            assert!(messages.is_empty(), "{line}: {messages:?} {answers}");
        }
    }
}

#[test]
fn what_follows_a_tunnel_that_is_refused_is_no_request() {
    // Clients may send a tunnel's bytes, which are another party's choice, before they know that there is no tunnel.
    let setup = Setup::rest("[timeouts]\nidle = \"100ms\"");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gateway = Setup { access: format!("connect_ports = [{}]", closed.port()), ..setup }.start();
    let server = strict_server();
    for (target, status) in
        [("127.0.0.1:22".to_owned(), 403), ("10.9.9.9:443".into(), 403), (closed.to_string(), 502), ("x".into(), 400)]
    {
        let hidden = HIDDEN.replace("{at}", &server.address.to_string());
        let mut client = gateway.connect();
        client.write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n{hidden}").as_bytes()).unwrap();
        let refusal = answer(&mut client);
        assert_eq!((refusal.status, refusal.field("connection")), (status, Some("close")), "{target}: {refusal:?}");
        assert!(is_closed(&mut client), "{target}");
        drop(client);
        gateway.quiet();
    }
    assert!(server.rest().is_empty());
}

#[test]
fn who_has_to_say_who_they_are_for_a_tunnel_may_do_so_on_the_same_connection() {
    let passwords = Passwords::new("tunnel", &[("ann", "a")]);
    let gateway = Setup::access(&format!("passwords = \"{}\"", passwords.path())).start();
    let mut client = gateway.connect();
    for _ in 0..2 {
        client.write_all(b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n").unwrap();
        let refusal = answer(&mut client);
        assert_eq!((refusal.status, refusal.field("connection")), (407, None), "{refusal:?}");
    }
    drop(client);
    gateway.quiet();
}

#[test]
fn requests_one_after_the_other_are_answered_in_order() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    let at = server.address;
    let request = |n: usize| format!("POST http://{at}/{n} HTTP/1.1\r\nHost: {at}\r\nContent-Length: 3\r\n\r\nabc");
    let all: String = (0..20).map(request).collect();
    client.write_all(all.as_bytes()).unwrap();
    for n in 0..20 {
        assert_eq!(answer(&mut client).text(), format!("/{n}"));
        assert_eq!(server.told().unwrap().body, b"abc");
    }
    drop(client);
    gateway.quiet();
}

#[test]
fn headers_are_as_long_as_they_may_be() {
    let server = strict_server();
    let gateway = Setup::rest("[limits]\nheader_bytes = \"16kB\"\nheaders = 50").start();
    let at = server.address;
    let begin = format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n");
    let long_field = format!("{begin}A: {}\r\n\r\n", "x".repeat(20_000));
    let long_line = format!("GET http://{at}/{} HTTP/1.1\r\nHost: {at}\r\n\r\n", "x".repeat(20_000));
    let many = format!("{begin}{}\r\n", "A: b\r\n".repeat(60));
    for request in [long_field, long_line, many] {
        let mut client = gateway.connect();
        drop(client.write_all(request.as_bytes()));
        let refusal = answer(&mut client);
        assert!(matches!(refusal.status, 0 | 400 | 414 | 431), "{refusal:?}");
        assert!(is_closed(&mut client));
    }
    let fine = format!("{begin}Connection: close\r\nA: {}\r\n\r\n", "x".repeat(10_000));
    assert_eq!(gateway.ask(fine).status, 200);
    // A line without an end is not read completely: the gateway stops reading, and the kernel stops accepting.
    let mut client = gateway.connect();
    client.set_write_timeout(Some(LONG)).unwrap();
    let (mut sent, part) = (0_usize, vec![b'x'; 64 * 1024]);
    while let Ok(some) = client.write(&part) {
        sent += some;
        assert!(sent < 64 << 20, "it is still read after 64 MiB");
    }
    drop(client);
    gateway.quiet();
}
