//! Slow clients and servers.

use std::{
    env, fs,
    future::pending,
    io::{self, BufRead as _, BufReader, Read, Write},
    pin::Pin,
    process::Command,
    sync::{Mutex, mpsc},
    task::{Context, Poll},
    thread,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    runtime::Builder,
    time::timeout,
};

use crate::{
    answer::{answer, is_closed},
    server::{Server, canned, held, strict_server},
    strict,
    support::{LONG, Setup, get},
};

const TIMEOUTS: &str = "[timeouts]\nheader = \"400ms\"\nidle = \"900ms\"\nstalled = \"1s\"\nresponse = \"1s\"";

/// Sends endlessly.
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
    // A prefix of HTTP/2 gets nothing more: the next byte would show that it is not HTTP/2.
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
    // While a request is in flight this timeout does not apply.
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
        // The body is kept, and none of its window is released.
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
fn what_a_server_has_sent_reaches_the_client_though_no_more_comes() {
    let (sends, waits) = mpsc::channel();
    let waits = Mutex::new(waits);
    let server = Server::<()>::start(move |mut connection| {
        drop(strict::request(&mut connection.stream));
        connection.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").unwrap();
        for bytes in waits.lock().unwrap().iter() {
            connection.stream.write_all(&vec![b'x'; bytes]).unwrap();
        }
    });
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    client.write_all(get(&server.url("/")).as_bytes()).unwrap();
    let mut client = BufReader::new(client);
    while client.read_line(&mut String::new()).unwrap() > 2 {}
    for (number, bytes) in [1_000, 1, 20_000, 1, 500, 1, 1].into_iter().enumerate() {
        sends.send(bytes).unwrap();
        client.read_exact(&mut vec![0; bytes]).unwrap_or_else(|error| panic!("piece {number} does not come: {error}"));
    }
    drop(client);
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
    assert_eq!((refusal.status, refusal.is_whole), (408, true), "{refusal:?}");
    assert!(is_closed(&mut client));
    gateway.quiet();
}

/// A connection of which only this many bytes are read.
struct Deaf(tokio::net::TcpStream, usize);

impl AsyncRead for Deaf {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.1 == 0 {
            return Poll::Pending;
        }
        let mut bytes = vec![0; self.1.min(buffer.remaining())];
        let mut part = ReadBuf::new(&mut bytes);
        std::task::ready!(Pin::new(&mut self.0).poll_read(cx, &mut part))?;
        self.1 -= part.filled().len();
        buffer.put_slice(part.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Deaf {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

const STREAMS: usize = 100;
const CONNECTIONS: usize = 3;

/// Memory held by three connections of a hundred streams whose clients take nothing: in a process of its own, so that its
/// memory is only this test's. `DOVETAIL_TEST_HELD` selects whether windows are closed or sockets are not read.
#[test]
fn held_streams() {
    let Ok(window) = env::var("DOVETAIL_TEST_HELD") else { return };
    let window = if window == "shut" { 65_535 } else { (1 << 31) - 1 };
    let server = endless();
    let gateway = Setup { downlink: "policy = \"none\"".into(), ..Setup::default() }.start();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let before = resident_bytes();
    runtime.block_on(async {
        let mut kept = Vec::new();
        for _ in 0..CONNECTIONS {
            let stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
            let mut builder = h2::client::Builder::new();
            builder.initial_window_size(window).initial_connection_window_size(window);
            let (sender, connection) = builder.handshake::<_, bytes::Bytes>(Deaf(stream, 100)).await.unwrap();
            tokio::spawn(async move {
                drop(connection.await);
                pending::<()>().await;
            });
            let mut sender = sender.ready().await.unwrap();
            for _ in 0..STREAMS {
                let request = http::Request::get(server.url("/")).version(http::Version::HTTP_2).body(()).unwrap();
                kept.push(sender.send_request(request, true).unwrap().0);
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut held = 0;
        for _ in 0..20 {
            let now = resident_bytes().saturating_sub(before);
            if now < held + (256 << 10) {
                break;
            }
            held = now;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        println!("{held} bytes for {CONNECTIONS} connections of {STREAMS} streams");
        // This includes the servers' threads, and unread data is in parts that take twice as much memory.
        assert!(held < (CONNECTIONS as u64) * (10 << 20), "{held}");
    });
}

#[test]
fn streams_that_nobody_reads_hold_little() {
    for window in ["shut", "open"] {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "slow::held_streams", "--nocapture"])
            .env("DOVETAIL_TEST_HELD", window)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        println!("{window}: {said}");
        assert!(child.status.success(), "{said}");
    }
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_stream_whose_whole_response_waits_for_its_window_gives_it_up() {
    let server = canned("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false);
    let gateway = Setup::rest(TIMEOUTS).start();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    // A server's response, and a page of the gateway's own.
    for url in [server.url("/"), "ftp://x/".into()] {
        runtime.block_on(async {
            let stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
            let (sender, connection) =
                h2::client::Builder::new().initial_window_size(0).handshake::<_, bytes::Bytes>(stream).await.unwrap();
            let ends = tokio::spawn(async move { drop(connection.await) });
            let mut sender = sender.ready().await.unwrap();
            let request = http::Request::get(url).version(http::Version::HTTP_2).body(()).unwrap();
            let (answer, _) = sender.send_request(request, true).unwrap();
            let body = answer.await.unwrap().into_body();
            timeout(LONG, ends).await.unwrap().unwrap();
            drop(body);
        });
        gateway.quiet();
    }
}

#[test]
fn streams_that_are_not_read_hold_up_no_others() {
    const LENGTH: usize = 2 << 20;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
    let server = canned([head.as_bytes(), &vec![b'x'; LENGTH]].concat(), false);
    let never = endless();
    let gateway = Setup { downlink: "policy = \"none\"".into(), ..Setup::default() }.start();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(65_535).initial_connection_window_size(64 << 20);
        let (sender, connection) = builder.handshake::<_, bytes::Bytes>(stream).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let mut sender = sender.ready().await.unwrap();
        let mut ask = |url: String| {
            let request = http::Request::get(url).version(http::Version::HTTP_2).body(()).unwrap();
            sender.send_request(request, true).unwrap().0
        };
        let mut shut = Vec::new();
        for _ in 0..60 {
            shut.push(ask(never.url("/")));
        }
        let read: Vec<_> = (0..30)
            .map(|_| ask(server.url("/")))
            .map(|answer| {
                tokio::spawn(async move {
                    let mut body = answer.await.unwrap().into_body();
                    let mut came = 0;
                    while let Some(part) = body.data().await {
                        let part = part.unwrap().len();
                        came += part;
                        body.flow_control().release_capacity(part).unwrap();
                    }
                    came
                })
            })
            .collect();
        for stream in read {
            assert_eq!(timeout(6 * LONG, stream).await.unwrap().unwrap(), LENGTH);
        }
        drop(shut);
    });
    drop(runtime);
    gateway.quiet();
}
