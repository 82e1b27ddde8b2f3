//! Harmless deviations: they are accepted and corrected when forwarded.

use std::{
    io::{ErrorKind, Read, Write},
    sync::{Mutex, mpsc::channel},
};

use crate::{
    answer::{answer, answer_to, is_closed},
    server::{Server, canned, strict_server},
    strict,
    support::{Setup, get},
};

#[test]
fn characters_that_no_url_has_go_on_percent_encoded_or_as_they_came() {
    let server = strict_server();
    let gateway = Setup::default().start();
    for (path, target) in [
        ("/\u{fc}?\u{e4}=\u{20ac}", "/%C3%BC?%C3%A4=%E2%82%AC"),
        ("/%c3%bc/\u{fc}", "/%c3%bc/%C3%BC"),
        ("/a|b{c}^\"d\\", "/a|b{c}^\"d\\"),
        ("/?a|b{c}^`", "/?a|b{c}^`"),
    ] {
        let found = gateway.get(&server.url(path));
        assert_eq!((found.status, found.text().as_str()), (200, target), "{path}");
        assert_eq!(server.told().unwrap().target, target);
    }
    // hyper's parser rejects these, as well as bytes that are not UTF-8.
    for path in ["/<", "/>", "/`", "/?<", "/?>", "/?\""] {
        assert_eq!(gateway.get(&server.url(path)).status, 400, "{path}");
    }
    let latin = [format!("GET {}", server.url("/")).as_bytes(), b"\xfc HTTP/1.1\r\nHost: x\r\n\r\n"].concat();
    assert_eq!(gateway.ask(latin).status, 400);
    assert!(server.rest().is_empty());
    gateway.quiet();
}

#[test]
fn names_of_fields_go_on_as_they_were_written() {
    let server = Server::<String>::start(|mut connection| {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let mut byte = [0];
            connection.stream.read_exact(&mut byte).unwrap();
            head.push(char::from(byte[0]));
        }
        connection.tell(head);
        let answer = "HTTP/1.1 200 OK\r\nCONTENT-length: 2\r\nX-oDD: 1\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\nok";
        connection.stream.write_all(answer.as_bytes()).unwrap();
    });
    let gateway = Setup::default().start();
    let found =
        gateway.ask(format!("GET {} HTTP/1.1\r\nHOST: x\r\nuSeR-Agent: y\r\nX-SOAPAction: z\r\n\r\n", server.url("/")));
    assert_eq!((found.status, found.text().as_str()), (200, "ok"));
    for name in ["CONTENT-length: ", "X-oDD: ", "Set-Cookie: a", "set-cookie: b"] {
        assert!(found.head.contains(name), "{name}: {}", found.head);
    }
    let told = server.told();
    for name in ["HOST: ", "uSeR-Agent: ", "X-SOAPAction: "] {
        assert!(told.contains(name), "{name}: {told}");
    }
}

#[test]
fn a_tunnel_needs_no_host_beside_its_target() {
    let server = canned("hello", false);
    let gateway = Setup::access(&format!("connect_ports = [{}]", server.address.port())).start();
    let mut client = gateway.connect();
    write!(client, "CONNECT {} HTTP/1.1\r\n\r\n", server.address).unwrap();
    assert_eq!(answer_to(&mut client, "CONNECT").status, 200);
    let refused = gateway.ask(format!("GET {} HTTP/1.1\r\n\r\n", server.url("/")));
    assert_eq!(refused.status, 400, "{refused:?}");
}

#[test]
fn credentials_in_a_target_become_a_header() {
    let server = strict_server();
    let file = std::env::temp_dir().join(format!("dovetail-credentials-log-{}", std::process::id()));
    let gateway = Setup::rest(&format!("[log]\naccess = \"{}\"", file.display())).start();
    let url = server.url("/a").replace("://", "://anna:s3cret@");
    for (own, sent) in [("", "Basic YW5uYTpzM2NyZXQ="), ("Authorization: Bearer x\r\n", "Bearer x")] {
        let found = gateway.ask(format!("GET {url} HTTP/1.1\r\nHost: x\r\n{own}Connection: close\r\n\r\n"));
        assert_eq!((found.status, found.text().as_str()), (200, "/a"));
        let told = server.told().unwrap();
        assert_eq!(told.field("authorization"), Some(sent));
        assert_eq!(told.field("host"), Some(server.address.to_string().as_str()));
    }
    gateway.quiet();
    gateway.drain();
    let log = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(log.lines().count() == 2 && log.contains(&server.url("/a")) && !log.contains("anna"), "{log}");
}

#[test]
fn servers_headers_may_be_longer_than_clients() {
    let long = format!("Set-Cookie: {}\r\n", "x".repeat(50_000));
    let gateway = Setup::rest("[limits]\nheader_bytes = \"8kB\"\nheaders = 16").start();
    for fields in [long, "A: b\r\n".repeat(250)] {
        let server = canned(format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok"), false);
        let found = gateway.get(&server.url("/"));
        assert_eq!((found.status, found.text().as_str(), found.is_whole), (200, "ok", true), "{:.80}", found.head);
        assert!(found.head.len() >= fields.len(), "{}", found.head.len());
    }
    gateway.quiet();
}

#[test]
fn blanks_before_colons_and_folded_lines_of_servers_are_mended() {
    for (fields, mended) in [("A : b\r\n", "a: b\r\n"), ("A: b\r\n  c\r\n", "a: b"), ("A: b\r\n\tc\r\n", "a: b")] {
        let server = canned(format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok"), false);
        let gateway = Setup::default().start();
        let found = gateway.get(&server.url("/"));
        assert_eq!((found.status, found.text().as_str()), (200, "ok"), "{fields:?}: {found:?}");
        let head = found.head.to_ascii_lowercase();
        assert!(head.contains(mended) && !head.contains(" :") && !head.contains("\n "), "{head}");
        assert!(!head.contains("\n\t"), "{head}");
    }
    // Their length fields count.
    let server = canned(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\nContent-Length : 1\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        false,
    );
    let gateway = Setup::default().start();
    let found = gateway.get(&server.url("/"));
    assert_eq!((found.text().as_str(), found.is_whole), ("abc", true), "{found:?}");
    assert_eq!(gateway.look().pooled, 0);
}

#[test]
fn identity_is_no_coding() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Identity\r\n";
    for (rest, closes, text, is_whole) in [
        // The server does not close the connection, and sends more than it should.
        ("Content-Length: 3\r\n\r\nabcHTTP/1.1 200 OK", false, "abc", true),
        ("Content-Length: 3\r\n\r\nabc", true, "abc", true),
        ("Content-Length: 0\r\n\r\n", false, "", true),
        ("\r\nabcdef", true, "abcdef", true),
        ("Content-Length: 10\r\n\r\nabc", true, "abc", false),
    ] {
        let server = canned(format!("{head}{rest}"), closes);
        let gateway = Setup::default().start();
        let found = gateway.get(&server.url("/"));
        assert_eq!((found.status, found.text().as_str(), found.is_whole), (200, text, is_whole), "{rest:?}: {found:?}");
        assert_eq!(found.field("transfer-encoding").unwrap_or("chunked"), "chunked", "{rest:?}: {found:?}");
        gateway.quiet();
        assert_eq!(gateway.look().pooled, 0, "{rest:?}");
    }
}

#[test]
fn connections_of_http_1_0_stay_if_they_are_asked_to() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    for n in 0..3 {
        let url = server.url(&format!("/{n}"));
        client.write_all(format!("GET {url} HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").as_bytes()).unwrap();
        let found = answer(&mut client);
        assert_eq!(found.text(), format!("/{n}"));
        assert_eq!(found.field("connection"), Some("keep-alive"), "{found:?}");
    }
    // Not requested.
    client.write_all(format!("GET {} HTTP/1.0\r\n\r\n", server.url("/last")).as_bytes()).unwrap();
    assert_eq!(answer(&mut client).text(), "/last");
    assert!(is_closed(&mut client));
    drop(client);
    // A response without a length ends with the connection.
    let server = Server::<()>::start(|mut connection| {
        drop(strict::request(&mut connection.stream));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        drop(connection.stream.write_all(chunked.as_bytes()));
        drop(connection.stream.read(&mut [0]));
    });
    let asked = get(&server.url("/")).replace("HTTP/1.1", "HTTP/1.0").replace("close", "keep-alive");
    let found = gateway.ask(asked);
    assert_eq!((found.text().as_str(), found.is_whole), ("abc", true), "{found:?}");
    assert_ne!(found.field("connection"), Some("keep-alive"));
    gateway.quiet();
}

#[test]
fn an_incomplete_response_of_no_length_is_no_whole_one_in_http_1_0() {
    for (rest, kind) in [
        ("3\r\nabc\r\n", Some(ErrorKind::ConnectionReset)),
        ("3\r\nabc\r\n8\r\nab", Some(ErrorKind::ConnectionReset)),
        ("3\r\nabc\r\n0\r\n\r\n", None),
    ] {
        let server = canned(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{rest}"), true);
        let gateway = Setup::default().start();
        let mut client = gateway.connect();
        client.write_all(format!("GET {} HTTP/1.0\r\n\r\n", server.url("/")).as_bytes()).unwrap();
        let mut found = Vec::new();
        let ended = client.read_to_end(&mut found);
        assert_eq!(ended.err().map(|error| error.kind()), kind, "{rest:?}");
        let found = String::from_utf8(found).unwrap();
        assert!(found.starts_with("HTTP/1.0 200") && found.contains("\r\n\r\nabc"), "{rest:?}: {found}");
        gateway.quiet();
    }
}

#[test]
fn an_answer_in_pieces_of_any_length_comes_whole() {
    // They fill windows only partly: waiting for more than can arrive would last forever.
    let gateway = Setup { downlink: "rate = \"20Mbps\"".into(), ..Setup::default() }.start();
    for piece in [7, 100, 1_000, 1_449, 20_000] {
        let length = 2_000 * piece.min(100);
        let server: Server<()> = Server::start(move |mut connection| {
            drop(strict::request(&mut connection.stream));
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            connection.stream.write_all(head.as_bytes()).unwrap();
            for at in (0..length).step_by(piece) {
                let bytes: Vec<_> = (at..length.min(at + piece)).map(|at| at as u8).collect();
                connection.stream.write_all(&bytes).unwrap();
            }
            // It is not known that nothing follows the last one.
            drop(connection.stream.read(&mut [0]));
        });
        let found = gateway.get(&server.url("/"));
        assert!(found.is_whole, "pieces of {piece} bytes");
        assert!(found.body == (0..length).map(|at| at as u8).collect::<Vec<_>>(), "pieces of {piece} bytes");
        gateway.quiet();
    }
}

#[test]
fn what_came_of_a_long_answer_is_passed_on_while_its_server_pauses() {
    let gateway = Setup { downlink: "rate = \"20Mbps\"".into(), ..Setup::default() }.start();
    let (go_on, may_go_on) = channel();
    let may_go_on = Mutex::new(may_go_on);
    let (parts, part) = (5, 30_011);
    let server: Server<()> = Server::start(move |mut connection| {
        drop(strict::request(&mut connection.stream));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", parts * part);
        connection.stream.write_all(head.as_bytes()).unwrap();
        for _ in 0..parts {
            connection.stream.write_all(&vec![b'x'; part]).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
    });
    let mut client = gateway.connect();
    write!(client, "GET {} HTTP/1.1\r\nHost: x\r\n\r\n", server.url("/")).unwrap();
    let mut came = 0;
    for at in 1..=parts {
        // The server sends no more until the client has all of this.
        while came < at * part {
            let mut bytes = [0; 8192];
            let count = client.read(&mut bytes).unwrap();
            assert!(count > 0, "{came} bytes came");
            came += bytes[..count].iter().filter(|&&byte| byte == b'x').count();
        }
        go_on.send(()).unwrap();
    }
    assert_eq!(came, parts * part);
    drop(client);
    gateway.quiet();
}
