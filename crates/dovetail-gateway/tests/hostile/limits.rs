//! Limits on what a client can take of a gateway, over HTTP/1.1 and over HTTP/2.

use std::{future::Future, io::Write, net::SocketAddr, time::Duration};

use bytes::Bytes;
use h2::{Reason, client::SendRequest};
use http::Request;
use tokio::{net::TcpStream, runtime::Builder, spawn, task::spawn_blocking, time::timeout};

use crate::{
    answer::{answer, answer_to},
    server::{echo, held, strict_server},
    support::{LONG, Running, Setup, get},
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

pub fn run<T>(client: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(3 * LONG, client).await.unwrap() })
}

pub async fn http2(gateway: SocketAddr) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(gateway).await.unwrap();
    let (sender, connection) = h2::client::handshake(stream).await.unwrap();
    spawn(async move { drop(connection.await) });
    sender.ready().await.unwrap()
}

pub fn request(method: &str, uri: &str) -> Request<()> {
    Request::builder().method(method).uri(uri).version(http::Version::HTTP_2).body(()).unwrap()
}

#[test]
fn connections_by_client_and_in_all() {
    let server = strict_server();
    let gateway = Setup::rest("[limits]\nconnections = 5\nconnections_per_user = 3").start();
    let connect = |address, count| {
        let stream = gateway.connect_from(address);
        gateway.until("it is not taken", |counts| counts.connections == count);
        stream
    };
    let mut clients: Vec<_> = (1..=3).map(|count| connect([127, 0, 0, 1], count)).collect();
    let refused = |address| {
        let mut client = gateway.connect_from(address);
        client.write_all(get("http://127.0.0.1/").as_bytes()).unwrap();
        let refusal = answer(&mut client);
        assert_eq!((refusal.status, refusal.field("retry-after")), (503, Some("5")), "{refusal:?}");
    };
    refused([127, 0, 0, 1]);
    clients.extend((4..=5).map(|count| connect([127, 0, 0, 2], count)));
    refused([127, 0, 0, 3]);
    // Connected clients are served, and one that leaves makes room.
    for mut client in clients {
        client.write_all(get(&server.url("/")).as_bytes()).unwrap();
        assert_eq!(answer(&mut client).status, 200);
    }
    gateway.quiet();
    assert_eq!(gateway.get(&server.url("/")).status, 200);
}

#[test]
fn a_tunnel_is_a_connection_too() {
    let server = echo();
    let access = format!("connect_ports = [{}]", server.address.port());
    let setup = Setup { access, ..Setup::rest("[limits]\nconnections_per_user = 2") };
    let gateway = setup.start();
    let connect = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", server.address);
    let mut tunnels = Vec::new();
    for _ in 0..2 {
        let mut tunnel = gateway.connect();
        tunnel.write_all(connect.as_bytes()).unwrap();
        assert_eq!(answer_to(&mut tunnel, "CONNECT").status, 200);
        tunnels.push(tunnel);
    }
    assert_eq!(gateway.ask(&connect).status, 503);
    assert_eq!(gateway.look().connections, 2);
    drop(tunnels);
    server.told();
    server.told();
    gateway.quiet();
}

#[test]
fn requests_by_user() {
    let (server, lets) = held(OK);
    let gateway = Setup::rest("[limits]\nrequests_per_user = 2").start();
    let ask = |address| {
        let mut client = gateway.connect_from(address);
        client.write_all(get(&server.url("/")).as_bytes()).unwrap();
        client
    };
    let mut clients: Vec<_> = (0..2).map(|_| ask([127, 0, 0, 1])).collect();
    server.told();
    server.told();
    let refusal = answer(&mut ask([127, 0, 0, 1]));
    assert_eq!(refusal.status, 429, "{refusal:?}");
    clients.push(ask([127, 0, 0, 2]));
    server.told();
    (0..3).for_each(|_| lets.send(()).unwrap());
    for client in &mut clients {
        assert_eq!(answer(client).text(), "ok");
    }
    gateway.quiet();
}

/// While it is being opened; after that it is a connection.
#[test]
fn a_tunnel_that_is_opened_is_a_request_too() {
    let ((server, lets), other) = (held(OK), echo());
    let access = format!("connect_ports = [{}]", other.address.port());
    let gateway = Setup { access, ..Setup::rest("[limits]\nrequests_per_user = 1") }.start();
    let connect = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", other.address);
    let mut tunnels: Vec<_> = (0..3).map(|_| gateway.connect()).collect();
    for tunnel in &mut tunnels {
        tunnel.write_all(connect.as_bytes()).unwrap();
        assert_eq!(answer_to(tunnel, "CONNECT").status, 200);
    }
    let mut client = gateway.connect();
    client.write_all(get(&server.url("/")).as_bytes()).unwrap();
    server.told();
    assert_eq!(gateway.ask(&connect).status, 429);
    lets.send(()).unwrap();
    assert_eq!(answer(&mut client).text(), "ok");
    drop(tunnels);
    (0..3).for_each(|_| other.told());
    gateway.quiet();
}

#[test]
fn requests_over_http2() {
    let server = strict_server();
    let gateway = Setup::default().start();
    run(async {
        let mut sender = http2(gateway.address).await;
        let (answer, _) = sender.send_request(request("GET", &server.url("/get")), true).unwrap();
        let answer = answer.await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["via"]),
            (200, &"1.1 dovetail".parse::<http::HeaderValue>().unwrap())
        );
        assert_eq!(answer.into_body().data().await.unwrap().unwrap(), "/get");
        let (answer, mut body) = sender.send_request(request("POST", &server.url("/post")), false).unwrap();
        body.send_data("abc".into(), false).unwrap();
        body.send_data("def".into(), true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
        // A body where there is usually none is forwarded as well.
        let (answer, mut body) = sender.send_request(request("GET", &server.url("/odd")), false).unwrap();
        body.send_data("abc".into(), true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
        for (uri, status) in [("https://127.0.0.1/", 400), ("http://user@127.0.0.1/", 400)] {
            let (answer, _) = sender.send_request(request("GET", uri), true).unwrap();
            assert_eq!(answer.await.map(|answer| answer.status().as_u16()).unwrap_or(status), status, "{uri}");
        }
        // A target only for OPTIONS, and an invalid port.
        let uri = |authority: String, path| {
            http::Uri::builder().scheme("http").authority(authority).path_and_query(path).build().unwrap()
        };
        let at = server.address;
        for wrong in [uri(at.to_string(), "*"), uri(format!("{}:+{}", at.ip(), at.port()), "/")] {
            let request = Request::get(wrong).version(http::Version::HTTP_2).body(()).unwrap();
            let (answer, _) = sender.send_request(request, true).unwrap();
            assert_eq!(answer.await.unwrap().status(), 400);
        }
    });
    let messages: Vec<_> = (0..3).map(|_| server.told().unwrap()).collect();
    let seen: Vec<_> = messages.iter().map(|message| (message.target.as_str(), &message.body[..])).collect();
    assert_eq!(seen, [("/get", &b""[..]), ("/post", b"abcdef"), ("/odd", b"abc")]);
    assert!(messages.iter().all(|message| message.field("via") == Some("2.0 dovetail")));
    gateway.quiet();
}

#[test]
fn a_tunnel_over_http2() {
    let server = echo();
    let gateway = Setup::access(&format!("connect_ports = [{}]", server.address.port())).start();
    run(async {
        let mut sender = http2(gateway.address).await;
        let (answer, mut up) = sender.send_request(request("CONNECT", &server.address.to_string()), false).unwrap();
        let answer = answer.await.unwrap();
        assert_eq!(answer.status(), 200);
        let mut down = answer.into_body();
        for part in ["ping", "pong"] {
            up.send_data(part.into(), false).unwrap();
            assert_eq!(down.data().await.unwrap().unwrap(), part);
        }
        up.send_data(Bytes::new(), true).unwrap();
        while let Some(last) = down.data().await {
            assert!(last.unwrap().is_empty());
        }
        let (answer, _) = sender.send_request(request("CONNECT", "127.0.0.1:22"), false).unwrap();
        assert_eq!(answer.await.unwrap().status(), 403);
    });
    server.told();
    gateway.quiet();
}

#[test]
fn streams_at_once_are_a_hundred() {
    let (server, lets) = held(OK);
    let gateway = Setup::default().start();
    run(async {
        let url = server.url("/");
        let mut sender = http2(gateway.address).await;
        // Once this is answered, the settings have arrived.
        lets.send(()).unwrap();
        let (answer, _) = sender.send_request(request("GET", &url), true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
        assert_eq!(sender.current_max_send_streams(), 100);
        let mut answers = Vec::new();
        for _ in 0..150 {
            // Beyond the settings the client's own library waits.
            match timeout(Duration::from_millis(500), std::future::poll_fn(|cx| sender.poll_ready(cx))).await {
                Ok(ready) => ready.unwrap(),
                Err(_) => break,
            }
            answers.push(sender.send_request(request("GET", &url), true).unwrap().0);
        }
        let waits = spawn_blocking(move || {
            (0..101).for_each(|_| drop(server.told()));
            server
        });
        assert!(waits.await.unwrap().rest().is_empty(), "there are more than a hundred");
        (0..150).for_each(|_| lets.send(()).unwrap());
        for answer in answers {
            assert_eq!(answer.await.unwrap().status(), 200);
        }
    });
    gateway.quiet();
}

#[test]
fn streams_that_are_reset_at_once_cost_nobody_else_anything() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let resets = run(async {
        let mut sender = http2(gateway.address).await;
        let mut resets = 0;
        while resets < 20_000 {
            if std::future::poll_fn(|cx| sender.poll_ready(cx)).await.is_err() {
                break;
            }
            let Ok((answer, mut stream)) = sender.send_request(request("GET", &server.url("/")), true) else { break };
            stream.send_reset(Reason::CANCEL);
            drop(answer);
            resets += 1;
            tokio::task::yield_now().await;
        }
        resets
    });
    println!("{resets} resets were taken");
    assert_served(&gateway, &server.url("/after"));
    gateway.quiet();
}

fn assert_served(gateway: &Running, url: &str) {
    assert_eq!(gateway.get(url).status, 200);
}

#[test]
fn fields_over_http2() {
    let server = strict_server();
    let gateway = Setup::default().start();
    run(async {
        let mut sender = http2(gateway.address).await;
        for (fields, status) in [(100, 200), (101, 431)] {
            let mut request = request("GET", &server.url("/"));
            for _ in 0..fields {
                request.headers_mut().append("x-one", "1".parse().unwrap());
            }
            let (answer, _) = sender.send_request(request, true).unwrap();
            assert_eq!(answer.await.unwrap().status(), status, "{fields}");
            sender = sender.ready().await.unwrap();
        }
    });
    assert!(server.told().is_ok() && server.rest().is_empty());
    gateway.quiet();
}
