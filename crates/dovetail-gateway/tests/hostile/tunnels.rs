//! Tunnels that end in ways that could escape scheduling.

use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    os::fd::OwnedFd,
    sync::{Mutex, mpsc::channel},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream, client::SendRequest};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use socket2::SockRef;
use tokio::time::sleep;

use crate::{
    limits::{http2, request, run},
    parents::connect,
    server::Server,
    support::{Running, Setup},
};

const QUESTION: usize = 100;
const ANSWER: usize = 1_000;

/// A gateway on a link of this rate, and a tunnel through it.
fn tunnel<T>(server: &Server<T>, rate: &str) -> (Running, TcpStream) {
    let access = format!("connect_ports = [{}]", server.address.port());
    let gateway = Setup { downlink: format!("rate = \"{rate}\""), ..Setup::access(&access) }.start();
    let (answer, client) = connect(&gateway, &server.address.to_string());
    assert_eq!(answer.status, 200);
    (gateway, client)
}

#[test]
fn short_answers_one_after_the_other_take_no_more_than_the_link() {
    let server = Server::<()>::start(|mut connection| {
        let mut question = [0; QUESTION];
        while connection.stream.read_exact(&mut question).is_ok() {
            if connection.stream.write_all(&[b'a'; ANSWER]).is_err() {
                return;
            }
        }
    });
    let (gateway, mut client) = tunnel(&server, "200kbps");
    let began = Instant::now();
    for _ in 0..100 {
        client.write_all(&[b'q'; QUESTION]).unwrap();
        client.read_exact(&mut [0; ANSWER]).unwrap();
    }
    // 100 kB take 4 s, of which savings cover a good part of one. Without turns they would arrive at once.
    let took = began.elapsed();
    assert!(took > Duration::from_secs(2), "{took:?}");
    drop(client);
    gateway.quiet();
}

#[test]
fn an_urgent_byte_comes_once_and_in_its_place() {
    let server = Server::<()>::start(|mut connection| {
        let mut asked = [0; QUESTION];
        connection.stream.read_exact(&mut asked).unwrap();
        for round in 0..3 {
            connection.stream.write_all(format!("<{round}").as_bytes()).unwrap();
            SockRef::from(&connection.stream).send_out_of_band(b"!").unwrap();
            connection.stream.write_all(b">").unwrap();
        }
    });
    let (gateway, mut client) = tunnel(&server, "1Mbps");
    client.write_all(&[b'q'; QUESTION]).unwrap();
    let mut came = String::new();
    client.read_to_string(&mut came).unwrap();
    assert_eq!(came, "<0!><1!><2!>");
    drop(client);
    gateway.quiet();
}

/// The gateway's connection to a server, of which there is one.
fn connection_to(server: SocketAddr) -> OwnedFd {
    let this = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let numbers = fs::read_dir("/proc/self/fd").unwrap();
    let numbers = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_it = |fd: &OwnedFd| SockRef::from(fd).peer_addr().is_ok_and(|peer| peer.as_socket() == Some(server));
    numbers.filter_map(|number| pidfd_getfd(&this, number, PidfdGetfdFlags::empty()).ok()).find(is_it).unwrap()
}

#[test]
fn a_window_that_closes_for_want_of_memory_is_noticed() {
    // The window has room for all of it, but the buffer soon only for one piece. What the kernel drops is no event.
    const PIECE: usize = 6_000;
    const PIECES: usize = 6;
    let (go_on, may_go_on) = channel();
    let may_go_on = Mutex::new(may_go_on);
    let server = Server::<()>::start(move |mut connection| {
        let mut asked = [0; QUESTION];
        connection.stream.read_exact(&mut asked).unwrap();
        connection.stream.write_all(&[b'a'; PIECE]).unwrap();
        may_go_on.lock().unwrap().recv().unwrap();
        for _ in 1..PIECES {
            connection.stream.write_all(&[b'a'; PIECE]).unwrap();
            // The gateway finds the window open before the next piece closes it.
            thread::sleep(Duration::from_millis(50));
        }
        drop(connection.stream.read(&mut asked));
    });
    let (gateway, mut client) = tunnel(&server, "20Mbps");
    client.write_all(&[b'q'; QUESTION]).unwrap();
    client.read_exact(&mut [0; PIECE]).unwrap();
    SockRef::from(&connection_to(server.address)).set_recv_buffer_size(PIECE / 2).unwrap();
    go_on.send(()).unwrap();
    client.read_exact(&mut [0; PIECE * (PIECES - 1)]).unwrap();
    drop(client);
    gateway.quiet();
}

/// The beginning of a TLS record, and its whole length.
const RECORD: ([u8; 5], usize) = ([23, 3, 3, 0x40, 0], 5 + 0x4000);

#[test]
fn what_there_is_of_a_tls_record_arrives_though_its_server_stops() {
    let (go_on, may_go_on) = channel();
    let may_go_on = Mutex::new(may_go_on);
    let server = Server::<()>::start(move |mut connection| {
        let mut asked = [0; QUESTION];
        connection.stream.read_exact(&mut asked).unwrap();
        connection.stream.write_all(&RECORD.0).unwrap();
        for _ in 0..3 {
            may_go_on.lock().unwrap().recv().unwrap();
            connection.stream.write_all(&[b'a'; ANSWER]).unwrap();
        }
    });
    let (gateway, mut client) = tunnel(&server, "20Mbps");
    client.write_all(&[b'q'; QUESTION]).unwrap();
    client.read_exact(&mut [0; RECORD.0.len()]).unwrap();
    // The next part comes after a while, and the last at the end of the connection.
    go_on.send(()).unwrap();
    client.read_exact(&mut [0; ANSWER]).unwrap();
    go_on.send(()).unwrap();
    go_on.send(()).unwrap();
    client.read_exact(&mut [0; 2 * ANSWER]).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    drop(client);
    gateway.quiet();
}

#[test]
fn tls_records_arrive_however_they_are_cut_and_whatever_the_client_says_meanwhile() {
    const RECORDS: usize = 60;
    let record: Vec<_> = RECORD.0.into_iter().chain((0..RECORD.1 - RECORD.0.len()).map(|at| at as u8)).collect();
    let sent = record.repeat(RECORDS);
    let answer = sent.clone();
    let server = Server::<()>::start(move |mut connection| {
        let mut asked = [0; QUESTION];
        connection.stream.read_exact(&mut asked).unwrap();
        let mut rest = &answer[..];
        for piece in [1, 4_000, 9, 30_000, 700, 16_389, 2_000].into_iter().cycle() {
            let (now, later) = rest.split_at(piece.min(rest.len()));
            connection.stream.write_all(now).unwrap();
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        drop(connection.stream.read_to_end(&mut Vec::new()));
    });
    // Its windows are shorter than a record.
    let (gateway, mut client) = tunnel(&server, "3Mbps");
    let mut came = vec![0; sent.len()];
    for part in came.chunks_mut(3 * RECORD.1 / 2) {
        client.write_all(&[b'q'; QUESTION]).unwrap();
        client.read_exact(part).unwrap();
    }
    assert!(came == sent);
    drop(client);
    gateway.quiet();
}

/// A server that reads up to the end of a client's side, reports that, and answers then.
fn answers_at_the_end() -> Server<()> {
    Server::start(|mut connection| {
        let mut asked = Vec::new();
        connection.stream.read_to_end(&mut asked).unwrap();
        connection.tell(());
        connection.stream.write_all(&asked).unwrap();
    })
}

#[test]
fn a_client_that_ends_its_side_right_after_its_request_is_answered() {
    let server = answers_at_the_end();
    let (gateway, _) = tunnel(&server, "100Mbps");
    for _ in 0..50 {
        let (_, mut client) = connect(&gateway, &server.address.to_string());
        client.write_all(&[b'q'; QUESTION]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, [b'q'; QUESTION]);
    }
    gateway.quiet();
}

/// Opens a tunnel over HTTP/2.
async fn stream_to(sender: &mut SendRequest<Bytes>, server: SocketAddr) -> (RecvStream, SendStream<Bytes>) {
    let (answer, stream) = sender.send_request(request("CONNECT", &server.to_string()), false).unwrap();
    let answer = answer.await.unwrap();
    assert_eq!(answer.status(), 200);
    (answer.into_body(), stream)
}

#[test]
fn a_stream_that_ends_right_after_its_request_is_answered() {
    let server = answers_at_the_end();
    let (gateway, client) = tunnel(&server, "100Mbps");
    drop(client);
    run(async {
        let mut sender = http2(gateway.address).await;
        for _ in 0..20 {
            let (mut answer, mut stream) = stream_to(&mut sender, server.address).await;
            stream.send_data(Bytes::from_static(&[b'q'; QUESTION]), true).unwrap();
            let mut came = Vec::new();
            while let Some(part) = answer.data().await {
                came.extend(part.unwrap());
            }
            assert_eq!(came, [b'q'; QUESTION]);
        }
    });
    gateway.quiet();
}

#[test]
fn a_stream_that_its_client_resets_leaves_nothing_though_its_server_stays() {
    let (let_go, held) = channel::<()>();
    let held = Mutex::new(held);
    let server = Server::start(move |mut connection| {
        drop(connection.stream.read_to_end(&mut Vec::new()));
        connection.tell(());
        held.lock().unwrap().recv().ok();
    });
    let access = format!("connect_ports = [{}]", server.address.port());
    let gateway = Setup::access(&access).start();
    run(async {
        let mut sender = http2(gateway.address).await;
        let (_answer, mut stream) = stream_to(&mut sender, server.address).await;
        stream.send_data(Bytes::from_static(&[b'q'; QUESTION]), false).unwrap();
        sleep(Duration::from_millis(100)).await;
        stream.send_reset(Reason::CANCEL);
        // The server's end shows that the gateway has read it.
        while server.rest().is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
    });
    gateway.quiet();
    drop(let_go);
}

#[test]
fn a_tunnel_that_one_side_has_ended_does_not_wait_for_the_other_for_long() {
    for server_ends in [false, true] {
        let (let_go, held) = channel::<()>();
        let held = Mutex::new(held);
        let server = Server::<()>::start(move |connection| {
            if server_ends {
                connection.stream.shutdown(Shutdown::Write).unwrap();
            }
            held.lock().unwrap().recv().ok();
        });
        let access = format!("connect_ports = [{}]", server.address.port());
        let gateway = Setup { access, ..Setup::rest("[timeouts]\nstalled = \"1s\"") }.start();
        let (answer, mut client) = connect(&gateway, &server.address.to_string());
        assert_eq!(answer.status, 200);
        if server_ends {
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
        } else {
            client.shutdown(Shutdown::Write).unwrap();
        }
        gateway.quiet();
        drop((client, let_go));
    }
}

#[test]
fn a_tunnel_that_one_side_has_ended_stays_while_the_other_sends() {
    let server = Server::<()>::start(|mut connection| {
        connection.stream.read_to_end(&mut Vec::new()).unwrap();
        for _ in 0..30 {
            connection.stream.write_all(b"a").unwrap();
            thread::sleep(Duration::from_millis(100));
        }
    });
    let access = format!("connect_ports = [{}]", server.address.port());
    let gateway = Setup { access, ..Setup::rest("[timeouts]\nstalled = \"1s\"") }.start();
    let (_, mut client) = connect(&gateway, &server.address.to_string());
    client.shutdown(Shutdown::Write).unwrap();
    let mut came = Vec::new();
    client.read_to_end(&mut came).unwrap();
    assert_eq!(came.len(), 30);
    gateway.quiet();
}
