//! Reloads and the end of a gateway under load.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    sync::{
        Mutex,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use dovetail_gateway::Control;
use dovetail_sched::units::{Rate, parse_rate};

use crate::{
    answer::{answer, answer_to, is_closed},
    dns::{Reply, name_server},
    server::{Server, echo, held},
    strict,
    support::{Setup, get},
};

/// Length of a long answer in bytes: more than the kernel buffers for a client that does not read.
const LENGTH: usize = 24_000_000;

/// Answers each request with a long answer, whose second half is sent when allowed.
fn long() -> (Server<()>, Sender<()>) {
    let (lets, waits) = mpsc::channel();
    let waits = Mutex::new(waits);
    let server = Server::start(move |mut connection| {
        while let Ok(Some(_)) = strict::request(&mut connection.stream) {
            connection.tell(());
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
            let half = vec![b'x'; LENGTH / 2];
            let sent = connection.stream.write_all(head.as_bytes()).and_then(|()| connection.stream.write_all(&half));
            let is_let = waits.lock().unwrap().recv();
            if sent.and_then(|()| connection.stream.write_all(&half)).is_err() || is_let.is_err() {
                return;
            }
        }
    });
    (server, lets)
}

#[test]
fn what_is_in_flight_is_answered_before_the_end() {
    let (server, lets) = held("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let (bulk, more) = long();
    let gateway = Setup { downlink: "policy = \"none\"".into(), ..Setup::default() }.start();
    let ask = |url: String| {
        let mut client = gateway.connect();
        client.write_all(get(&url).as_bytes()).unwrap();
        client
    };
    let mut waiting: Vec<TcpStream> = (0..20).map(|_| ask(server.url("/"))).collect();
    (0..20).for_each(|_| drop(server.told()));
    // These read nothing before the gateway is told to drain.
    let mut slow: Vec<TcpStream> = (0..4).map(|_| ask(bulk.url("/"))).collect();
    (0..4).for_each(|_| {
        bulk.told();
        more.send(()).unwrap();
    });
    let mut idle = gateway.connect();
    gateway.until("they are not there", |counts| counts.connections == 25);
    let address = gateway.address;
    let ending = thread::spawn(move || gateway.drain());
    assert!(is_closed(&mut idle));
    assert!(TcpStream::connect(address).is_err(), "it still listens");
    (0..20).for_each(|_| lets.send(()).unwrap());
    for client in &mut waiting {
        let found = answer(client);
        assert_eq!((found.text().as_str(), found.is_whole), ("ok", true), "{found:?}");
    }
    for client in &mut slow {
        let found = answer(client);
        assert_eq!((found.body.len(), found.is_whole), (LENGTH, true));
    }
    ending.join().unwrap();
}

#[test]
fn what_takes_longer_than_it_may_is_cut() {
    let (server, _lets) = held("");
    let tunnels = echo();
    let access = format!("connect_ports = [{}]", tunnels.address.port());
    let gateway = Setup { access, ..Setup::rest("[timeouts]\ndrain = \"400ms\"") }.start();
    let mut waits = gateway.connect();
    waits.write_all(get(&server.url("/")).as_bytes()).unwrap();
    server.told();
    let mut tunnel = gateway.connect();
    tunnel.write_all(format!("CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\nping", tunnels.address).as_bytes()).unwrap();
    assert_eq!(answer_to(&mut tunnel, "CONNECT").status, 200);
    tunnel.read_exact(&mut [0; 4]).unwrap();
    let took = gateway.drain();
    assert!((Duration::from_millis(400)..Duration::from_secs(5)).contains(&took), "{took:?}");
    assert!(matches!(answer(&mut waits).status, 0 | 504));
    assert!(is_closed(&mut tunnel));
    tunnels.told();
}

fn rate_of(mbps: u32) -> Rate {
    parse_rate(&format!("{mbps}Mbps")).unwrap()
}

#[test]
fn a_reload_drops_nothing() {
    let (server, more) = long();
    let with = |rate: u32, rest: &str| {
        let mut config = Setup::rest(rest).config();
        config.downlink.rate = rate_of(rate);
        Control::Reload(Box::new(config))
    };
    let gateway = Setup::default().start();
    gateway.tell(with(800, ""));
    let clients: Vec<_> = (1..=8)
        .map(|user| {
            let mut client = gateway.connect_from([127, 0, 0, user]);
            client.write_all(get(&server.url("/")).as_bytes()).unwrap();
            thread::spawn(move || answer(&mut client))
        })
        .collect();
    (0..8).for_each(|_| server.told());
    for reloads in 0..40 {
        gateway.tell(match reloads % 4 {
            0 => with(600, "[[class]]\nname = \"a\"\nweight = 5\nclients = [\"127.0.0.1/32\"]"),
            1 => with(1000, "[[class]]\nname = \"b\"\nclients = [\"127.0.0.0/29\"]\n[[class]]\nname = \"c\"\nweight = 3\nclients = [\"127.0.0.7/32\"]"),
            2 => with(800, "[limits]\nconnections_per_user = 1\nrequests_per_user = 1\nidle_per_server = 0"),
            _ => {
                let mut config = Setup::access("clients = [\"10.0.0.0/8\"]").config();
                config.downlink.rate = rate_of(800);
                Control::Reload(Box::new(config))
            }
        });
        assert_eq!(gateway.look().requests, 8);
    }
    (0..8).for_each(|_| more.send(()).unwrap());
    for client in clients {
        let found = client.join().unwrap();
        assert_eq!((found.status, found.body.len(), found.is_whole), (200, LENGTH, true));
    }
    gateway.quiet();
    // The new configuration applies from then on.
    gateway.tell(Control::Reload(Box::new(Setup::access("clients = [\"10.0.0.0/8\"]").config())));
    assert_eq!(gateway.get(&server.url("/")).status, 403);
}

#[test]
fn a_tunnel_whose_name_is_looked_up_is_in_flight() {
    let server = echo();
    let (asked, is_asked) = mpsc::channel();
    let names = name_server(move |_, _| {
        asked.send(()).ok();
        thread::sleep(Duration::from_millis(300));
        Reply::Addresses(vec![Ipv4Addr::LOCALHOST])
    });
    let port = server.address.port();
    let proxy = format!("nameservers = [\"{names}\"]");
    let gateway = Setup { proxy, ..Setup::access(&format!("connect_ports = [{port}]")) }.start();
    let mut client = gateway.connect();
    client.write_all(format!("CONNECT late.example:{port} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    is_asked.recv().unwrap();
    let ending = thread::spawn(move || gateway.drain());
    assert_eq!(answer_to(&mut client, "CONNECT").status, 200);
    client.write_all(b"ping").unwrap();
    client.read_exact(&mut [0; 4]).unwrap();
    drop(client);
    ending.join().unwrap();
}
