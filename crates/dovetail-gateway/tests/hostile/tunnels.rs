//! Tunnels that end in ways that could escape scheduling.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use socket2::SockRef;

use crate::{
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
