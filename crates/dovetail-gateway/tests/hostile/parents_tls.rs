//! Parent proxies over TLS: well-behaved, pretending, stalling, and aborting.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
};

use dovetail_gateway::Control;
use dovetail_sched::units::Rate;
use tokio_rustls::rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::{
    answer::{answer, is_closed},
    parents::{connect, dead, parent, with},
    server::{Server, echo, reset, strict_proxy, strict_server},
    support::{Running, Setup},
    tls::{Files, by_tls},
};

/// The keys of a parent with this certificate.
fn by(files: &Files) -> String {
    format!("tls = true\ntls_name = \"gateway.test\"\nca_file = \"{}\"", files.certificate().display())
}

/// A gateway with this parent and no other.
fn child(port: u16, keys: &str) -> Setup {
    with(&parent("up", port, keys))
}

/// A parent with this certificate that does this after the TLS handshake.
pub fn sealed<T: Send + 'static>(
    files: &Files,
    protocols: &[&str],
    script: impl Fn(&mut StreamOwned<ServerConnection, TcpStream>) -> T + Send + Sync + 'static,
) -> Server<T> {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let (certificate, key) =
        (CertificateDer::from_pem_file(files.certificate()), PrivateKeyDer::from_pem_file(files.key()));
    let mut config = builder.with_single_cert(vec![certificate.unwrap()], key.unwrap()).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let config = Arc::new(config);
    Server::start(move |connection| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(session, connection.stream.try_clone().unwrap());
        let told = script(&mut stream);
        connection.tell(told);
    })
}

/// Reads a header.
pub fn head(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|came| came == 1) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Writes, and closes the session if `ends`.
pub fn says(stream: &mut StreamOwned<ServerConnection, TcpStream>, bytes: &[u8], ends: bool) {
    stream.write_all(bytes).ok();
    if ends {
        stream.conn.send_close_notify();
    }
    stream.flush().ok();
}

#[test]
fn requests_uploads_and_tunnels_go_to_a_parent_by_tls() {
    let files = Files::new("parent");
    let (server, tunnels) = (strict_server(), echo());
    let access = format!("connect_ports = [{}]", tunnels.address.port());
    let up = Setup { access: access.clone(), proxy: "name = \"up\"".into(), ..files.setup() }.start();
    let gateway = Setup { access, ..child(by_tls(&up).port(), &by(&files)) }.start();
    for path in ["/a", "/b", "/c"] {
        assert_eq!(gateway.get(&server.url(path)).text(), path);
        let via = server.told().unwrap().fields.into_iter().filter(|(name, _)| name == "via").map(|(_, value)| value);
        assert_eq!(via.collect::<Vec<_>>().join(", "), "1.1 child, 1.1 up");
    }
    let body = "x".repeat(300_000);
    let request = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        server.url("/up"),
        body.len()
    );
    assert_eq!(gateway.ask(request).text(), "/up");
    assert_eq!(server.told().unwrap().body.len(), body.len());
    assert_eq!(gateway.look().pooled, 1, "one connection for all that went one after the other");
    let (opened, mut tunnel) = connect(&gateway, &tunnels.address.to_string());
    assert_eq!(opened.status, 200);
    for length in [1, 60, 1_000, 16_384, 100_000] {
        let sent: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let mut sends = tunnel.try_clone().unwrap();
        let copy = sent.clone();
        let sending = std::thread::spawn(move || sends.write_all(&copy).unwrap());
        let mut came = vec![0; length];
        tunnel.read_exact(&mut came).unwrap();
        sending.join().unwrap();
        assert!(came == sent, "{length} bytes are others");
    }
    // The client closes its side, and the server notices that and answers the rest.
    tunnel.write_all(b"last").unwrap();
    tunnel.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    tunnel.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"last");
    tunnels.told();
    gateway.quiet();
}

#[test]
fn a_long_response_by_tls_comes_whole_whatever_its_framing() {
    const LENGTH: usize = 3_000_000;
    let files = Files::new("parent-long");
    let body: Vec<u8> = (0..LENGTH).map(|at| (at / 1000) as u8).collect();
    let whole = body.clone();
    let up = sealed(&files, &["http/1.1"], move |stream| {
        let asked = head(stream);
        let known = if asked.contains("/known") { format!("Content-Length: {LENGTH}\r\n") } else { String::new() };
        says(stream, &[format!("HTTP/1.1 200 OK\r\n{known}\r\n").as_bytes(), &body].concat(), true);
        asked
    });
    // Wide windows, and windows shorter than a record.
    for bps in [1e9, 20e6] {
        let mut config = child(up.address.port(), &by(&files)).config();
        config.downlink.rate = Rate::from_bps(bps).unwrap();
        let gateway = Running::start(config);
        for path in ["known", "unknown"] {
            let found = gateway.get(&format!("http://a.example/{path}"));
            assert!(found.is_whole && found.body == whole, "{path}: {} bytes", found.body.len());
            assert!(up.told().starts_with(&format!("GET http://a.example/{path} HTTP/1.1\r\n")));
        }
        let (opened, mut tunnel) = connect(&gateway, "a.example:443");
        assert_eq!(opened.status, 200);
        let mut came = Vec::new();
        tunnel.read_to_end(&mut came).unwrap();
        assert!(came == whole, "{} bytes in a tunnel", came.len());
        up.told();
        drop(tunnel);
        gateway.quiet();
    }
}

/// The gateway's answers to a request and a tunnel through this parent, and the text of the page.
fn refused(gateway: &Running) -> (u16, String) {
    let found = gateway.get("http://a.example/");
    let (tunnel, _) = connect(gateway, "a.example:443");
    assert_eq!(found.status, tunnel.status, "{} {}", found.text(), tunnel.text());
    gateway.quiet();
    (found.status, found.text())
}

#[test]
fn a_parent_that_cannot_prove_who_it_is_gets_nothing() {
    let (files, others) = (Files::new("parent-name"), Files::new("parent-others"));
    // What arrives on a connection nevertheless.
    let up = sealed(&files, &["http/1.1"], head);
    let port = up.address.port();
    let plain = strict_proxy();
    let h2 = sealed(&files, &["h2"], head);
    let file = |files: &Files| files.certificate().display().to_string();
    for (port, keys, words) in [
        (port, format!("tls = true\ntls_name = \"other.test\"\nca_file = \"{}\"", file(&files)), "not valid for name"),
        (port, format!("tls = true\ntls_name = \"127.0.0.2\"\nca_file = \"{}\"", file(&files)), "not valid for name"),
        // Self-signed, which is in no list.
        (port, by(&others), "invalid peer certificate"),
        (port, "tls = true".to_owned(), "invalid peer certificate"),
        (plain.address.port(), by(&files), "TLS is refused"),
        (h2.address.port(), by(&files), "TLS is refused"),
    ] {
        let (status, page) = refused(&child(port, &keys).start());
        assert_eq!(status, 502, "{keys}: {page}");
        assert!(page.contains(words), "{keys}: {page}");
    }
    assert!(up.rest().iter().all(String::is_empty), "it was told something");
    assert!(plain.rest().iter().all(Result::is_err), "it was asked in clear");
    // The address is the name if no other is set.
    let keys = format!("tls = true\nca_file = \"{}\"", file(&files));
    let gateway = child(port, &keys).start();
    drop(gateway.get("http://a.example/"));
    assert!(up.told().starts_with("GET http://a.example/ "));
}

#[test]
fn a_certificate_out_of_date_is_none() {
    let files = Files::new("parent-late");
    let mut asks = rcgen::CertificateParams::new(["gateway.test".to_owned()]).unwrap();
    asks.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(files.certificate(), asks.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(files.key(), key.serialize_pem()).unwrap();
    let up = sealed(&files, &[], head);
    let (status, page) = refused(&child(up.address.port(), &by(&files)).start());
    assert!(status == 502 && page.contains("expired"), "{page}");
}

#[test]
fn a_parent_that_stalls_resets_or_ends_in_its_handshake_is_left() {
    let files = Files::new("parent-stalls");
    let silent: Server<()> =
        Server::start(|mut connection| while connection.stream.read(&mut [0; 1024]).is_ok_and(|came| came > 0) {});
    let ends: Server<()> = Server::start(|mut connection| drop(connection.stream.read(&mut [0; 1024])));
    let resets: Server<()> = Server::start(|mut connection| {
        drop(connection.stream.read(&mut [0; 16]));
        reset(connection.stream);
    });
    // The beginning of a record that is never completed.
    let half: Server<()> = Server::start(|mut connection| {
        connection.stream.write_all(&[22, 3, 3, 64, 0, 2]).unwrap();
        while connection.stream.read(&mut [0; 1024]).is_ok_and(|came| came > 0) {}
    });
    let short = "[timeouts]\nconnect = \"200ms\"\n";
    let server = strict_server();
    for (port, status) in [
        (silent.address.port(), 504),
        (half.address.port(), 504),
        (ends.address.port(), 502),
        (resets.address.port(), 502),
        (dead(), 502),
    ] {
        let gateway = with(&format!("{}{short}", parent("up", port, &by(&files)))).start();
        assert_eq!(refused(&gateway).0, status);
        // Another way is used if that is permitted.
        let keys = format!("{}\ndirect = true", by(&files));
        let gateway = with(&format!("{}{short}", parent("up", port, &keys))).start();
        assert_eq!(gateway.get(&server.url("/d")).text(), "/d");
        gateway.quiet();
    }
}

#[test]
fn a_response_that_is_cut_off_within_tls_is_not_taken_for_a_whole_one() {
    let files = Files::new("parent-cut");
    let up = sealed(&files, &[], |stream| {
        // Neither a length nor a TLS close.
        let is_ended = head(stream).contains("/whole");
        says(stream, b"HTTP/1.1 200 OK\r\n\r\nsome of it", is_ended);
    });
    let gateway = child(up.address.port(), &by(&files)).start();
    let found = gateway.get("http://a.example/whole");
    assert!(found.is_whole && found.text() == "some of it");
    let found = gateway.get("http://a.example/cut");
    assert!(!found.is_whole, "{found:?}");
    gateway.quiet();
    // Reset within the header, and within the body.
    for bytes in [&b"HTTP/1.1 200 O"[..], b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome"] {
        let up = sealed(&files, &[], move |stream| {
            head(stream);
            says(stream, bytes, false);
            reset(stream.sock.try_clone().unwrap());
        });
        let gateway = child(up.address.port(), &by(&files)).start();
        assert!(!gateway.get("http://a.example/").is_whole || gateway.get("http://a.example/").status == 502);
        gateway.quiet();
    }
}

#[test]
fn what_follows_the_answer_for_a_tunnel_by_tls_is_the_tunnel_s() {
    let files = Files::new("parent-early");
    let up = sealed(&files, &[], |stream| {
        let asked = head(stream);
        let answer = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst";
        says(stream, answer.as_bytes(), false);
        // Until the client is gone.
        drop(stream.read(&mut [0; 16]));
        asked
    });
    let gateway = child(up.address.port(), &by(&files)).start();
    let (opened, mut tunnel) = connect(&gateway, "a.example:443");
    assert_eq!(opened.status, 200);
    assert_eq!(answer(&mut tunnel).text(), "first");
    drop(tunnel);
    assert!(up.told().starts_with("CONNECT a.example:443 HTTP/1.1\r\n"));
    gateway.quiet();
    // The parent refuses, at too great a length.
    for (said, status) in [
        ("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n".to_owned(), 502),
        ("HTTP/1.1 403 No\r\n\r\n".to_owned(), 403),
        (format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(10_000)), 502),
    ] {
        let up = sealed(&files, &[], move |stream| {
            head(stream);
            says(stream, said.as_bytes(), true);
        });
        let gateway = child(up.address.port(), &by(&files)).start();
        assert_eq!(connect(&gateway, "a.example:443").0.status, status);
        gateway.quiet();
    }
}

#[test]
fn bytes_in_a_tunnel_that_are_not_what_was_sealed_end_it() {
    let files = Files::new("parent-forged");
    let up = sealed(&files, &[], |stream| {
        head(stream);
        says(stream, b"HTTP/1.1 200 OK\r\n\r\nhello", false);
        drop(stream.read(&mut [0; 5]));
        // Below the TLS layer: a garbage record.
        let mut record = vec![23, 3, 3, 0, 40];
        record.extend([7; 40]);
        stream.sock.write_all(&record).unwrap();
        drop(stream.sock.read(&mut [0; 16]));
    });
    let gateway = child(up.address.port(), &by(&files)).start();
    let (opened, mut tunnel) = connect(&gateway, "a.example:443");
    assert_eq!(opened.status, 200);
    let mut bytes = [0; 5];
    tunnel.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"hello");
    tunnel.write_all(b"there").unwrap();
    assert!(is_closed(&mut tunnel), "not a byte of it comes");
    gateway.quiet();
}

#[test]
fn a_websocket_goes_to_a_parent_by_tls() {
    let files = Files::new("parent-websocket");
    let up = sealed(&files, &[], |stream| {
        let asked = head(stream);
        let switches = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst";
        says(stream, switches.as_bytes(), false);
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).ok();
        says(stream, &bytes, true);
        asked
    });
    let gateway = child(up.address.port(), &by(&files)).start();
    let mut client = gateway.connect();
    let asks = "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    client.write_all(asks.as_bytes()).unwrap();
    assert_eq!(answer(&mut client).status, 101);
    let mut bytes = [0; 10];
    client.read_exact(&mut bytes[..5]).unwrap();
    client.write_all(b"again").unwrap();
    client.read_exact(&mut bytes[5..]).unwrap();
    assert_eq!(&bytes, b"firstagain");
    assert!(up.told().to_ascii_lowercase().contains("upgrade: websocket"));
    drop(client);
    gateway.quiet();
}

#[test]
fn a_connection_to_a_parent_is_not_used_under_another_configuration() {
    let (files, others) = (Files::new("parent-reload"), Files::new("parent-reload-others"));
    let server = strict_server();
    let up = files.setup().start();
    let setup = child(by_tls(&up).port(), &by(&files));
    let gateway = setup.start();
    assert_eq!(gateway.get(&server.url("/a")).text(), "/a");
    gateway.until("it is not kept", |counts| counts.pooled == 1);
    let distrusts = child(by_tls(&up).port(), &by(&others));
    gateway.tell(Control::Reload(Box::new(distrusts.config())));
    assert_eq!(gateway.get(&server.url("/b")).status, 502);
    gateway.tell(Control::Reload(Box::new(setup.config())));
    assert_eq!(gateway.get(&server.url("/c")).text(), "/c");
    gateway.quiet();
}
