//! Clients and servers that take their time.

use std::{
    io::{Read, Write},
    thread,
    time::{Duration, Instant},
};

use tokio::runtime::Builder;

use crate::{
    answer::{answer, is_closed},
    server::{Server, canned, held, strict_server},
    strict,
    support::{LONG, Setup, get},
};

const TIMEOUTS: &str = "[timeouts]\nheader = \"400ms\"\nidle = \"900ms\"\nstalled = \"1s\"\nresponse = \"1s\"";

/// Sends without end.
fn endless() -> Server<()> {
    Server::start(|mut connection| {
        drop(strict::request(&mut connection.stream));
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
        connection.stream.set_write_timeout(Some(LONG)).unwrap();
        drop(connection.stream.write_all(head.as_bytes()));
        while connection.stream.write_all(&[b'x'; 65_536]).is_ok() {}
        connection.tell(());
    })
}

#[test]
fn a_header_that_comes_in_drops_is_not_waited_for() {
    let gateway = Setup::rest(TIMEOUTS).start();
    // What may be HTTP/2 gets nothing more: the next byte would say that it is none.
    for (begin, has_more) in [("GET http://127.0.0.1/ HTTP/1.1\r\n", true), ("PRI * HTTP/2.0\r\n", false), ("", false)]
    {
        let mut client = gateway.connect();
        client.write_all(begin.as_bytes()).unwrap();
        client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let began = Instant::now();
        loop {
            let is_sent = !has_more || client.write_all(b"a").is_ok();
            let is_open =
                matches!(client.read(&mut [0; 64]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
            if !is_sent || !is_open {
                break;
            }
            assert!(began.elapsed() < LONG, "{begin:?} is still waited for");
        }
        assert!(began.elapsed() > Duration::from_millis(350), "{begin:?} was not waited for");
    }
    gateway.quiet();
}

#[test]
fn a_connection_without_a_request_is_closed_later_than_a_header_that_does_not_end() {
    let server = strict_server();
    let gateway = Setup::rest(TIMEOUTS).start();
    let mut client = gateway.connect();
    client.write_all(get(&server.url("/")).replace("Connection: close\r\n", "").as_bytes()).unwrap();
    assert_eq!(answer(&mut client).status, 200);
    let began = Instant::now();
    assert!(is_closed(&mut client));
    assert!(began.elapsed() > Duration::from_millis(800), "{:?}", began.elapsed());
    // While a request is under way there is no such time.
    let (server, lets) = held("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let gateway = Setup::rest("[timeouts]\nheader = \"50ms\"\nidle = \"50ms\"").start();
    let mut client = gateway.connect();
    client.write_all(get(&server.url("/")).as_bytes()).unwrap();
    server.told();
    thread::sleep(Duration::from_millis(200));
    lets.send(()).unwrap();
    assert_eq!(answer(&mut client).text(), "ok");
}

#[test]
fn a_client_that_reads_nothing_of_its_answer_gives_it_up() {
    let server = endless();
    let gateway = Setup::rest(TIMEOUTS).start();
    for requests in [1, 2] {
        let mut client = gateway.connect();
        client.write_all(get(&server.url("/")).repeat(requests).as_bytes()).unwrap();
        gateway.until("it is not under way", |counts| counts.watched == 1);
        gateway.quiet();
        server.told();
        drop(client);
    }
}

#[test]
fn a_stream_whose_window_is_shut_gives_its_answer_up() {
    let server = endless();
    let gateway = Setup::rest(TIMEOUTS).start();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
        let (sender, connection) = h2::client::handshake(stream).await.unwrap();
        let ends = tokio::spawn(async move { drop(connection.await) });
        let mut sender = sender.ready().await.unwrap();
        let request = http::Request::get(server.url("/")).version(http::Version::HTTP_2).body(()).unwrap();
        let (answer, _) = sender.send_request(request, true).unwrap();
        // The body is kept, and no window is given back for it.
        let body = answer.await.unwrap().into_body();
        tokio::time::timeout(LONG, ends).await.unwrap().unwrap();
        drop(body);
    });
    gateway.quiet();
    server.told();
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let (server, _lets) = held("");
    let gateway = Setup::rest(TIMEOUTS).start();
    let refusal = gateway.get(&server.url("/"));
    assert_eq!((refusal.status, refusal.is_whole), (504, true), "{refusal:?}");
    gateway.quiet();
}

#[test]
fn a_server_that_stops_in_the_middle_is_not_waited_for() {
    let server = Server::<()>::start(|mut connection| {
        drop(strict::request(&mut connection.stream));
        connection.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").unwrap();
        drop(connection.stream.read(&mut [0]));
        connection.tell(());
    });
    let gateway = Setup::rest(TIMEOUTS).start();
    let broken = gateway.get(&server.url("/"));
    assert_eq!((broken.status, broken.text().as_str(), broken.is_whole), (200, "abc", false), "{broken:?}");
    server.told();
    gateway.quiet();
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let server = canned("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false);
    let gateway = Setup::rest(TIMEOUTS).start();
    let mut client = gateway.connect();
    let url = server.url("/");
    client.write_all(format!("POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc").as_bytes()).unwrap();
    let refusal = answer(&mut client);
    assert_eq!((refusal.status, refusal.is_whole), (504, true), "{refusal:?}");
    assert!(is_closed(&mut client));
    gateway.quiet();
}
