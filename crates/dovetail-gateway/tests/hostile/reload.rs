//! What a reload changes while the gateway runs.

use std::{
    fs,
    io::Write,
    net::{Ipv4Addr, UdpSocket},
    path::PathBuf,
    time::Instant,
};

use dovetail_gateway::Control;
use http::{Request, Version};

use crate::{
    answer::{answer, is_closed},
    dns::{Reply, name_server},
    limits::{http2, run},
    parents::{dead, parent, with},
    server::{strict_proxy, strict_server},
    support::{LONG, Running, Setup},
};

fn reload(gateway: &Running, setup: &Setup) {
    gateway.tell(Control::Reload(Box::new(setup.config())));
}

fn proxy(keys: &str) -> Setup {
    Setup { proxy: keys.into(), ..Setup::default() }
}

#[test]
fn its_name_is_the_same_in_via_and_against_loops() {
    let server = strict_server();
    let gateway = proxy("name = \"before\"").start();
    let through = |via: &str| {
        let url = server.url("/");
        gateway.ask(format!("GET {url} HTTP/1.1\r\nHost: x\r\nVia: 1.1 {via}\r\nConnection: close\r\n\r\n")).status
    };
    let said = || -> Vec<String> {
        let fields = server.told().unwrap().fields.into_iter();
        fields.filter(|(name, _)| name == "via").map(|(_, value)| value).collect()
    };
    assert_eq!((through("before"), through("after")), (508, 200));
    assert_eq!(said(), ["1.1 after", "1.1 before"]);
    reload(&gateway, &proxy("name = \"after\""));
    assert_eq!((through("after"), through("before")), (508, 200));
    assert_eq!(said(), ["1.1 before", "1.1 after"]);
}

#[test]
fn names_are_asked_of_the_new_name_servers() {
    let server = strict_server();
    let [knows, knows_not] = [true, false].map(|knows| {
        name_server(move |_, _| if knows { Reply::Addresses(vec![Ipv4Addr::LOCALHOST]) } else { Reply::NoName })
    });
    let with = |servers: std::net::SocketAddr| proxy(&format!("nameservers = [\"{servers}\"]"));
    let gateway = with(knows_not).start();
    let url = format!("http://somewhere.example:{}/", server.address.port());
    assert_eq!(gateway.get(&url).status, 502);
    reload(&gateway, &with(knows));
    assert_eq!(gateway.get(&url).status, 200);
}

#[test]
fn a_password_file_that_cannot_be_read_opens_no_door() {
    let server = strict_server();
    let gateway = Setup::access("helper = [\"/bin/false\"]").start();
    let url = server.url("/");
    assert_eq!(gateway.get(&url).status, 407);
    reload(&gateway, &Setup::access("passwords = \"/nowhere/users\""));
    assert_eq!(gateway.get(&url).status, 407, "the helper asks as before");
}

#[test]
fn a_parent_that_moves_is_tried_at_its_new_address_at_once() {
    let (server, up) = (strict_server(), strict_proxy());
    let url = server.url("/");
    let gateway = with(&parent("up", dead(), "direct = true")).start();
    assert_eq!(gateway.get(&url).text(), "/", "directly");
    reload(&gateway, &with(&parent("up", up.address.port(), "direct = true")));
    assert_eq!(gateway.get(&url).text(), url, "by the parent");
}

/// A new directory for logs.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dovetail-reload-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn the_log_goes_where_and_as_the_new_file_says_or_stays() {
    let server = strict_server();
    let folder = folder("log");
    let log = |name: &str, format: &str| {
        Setup::rest(&format!("[log]\naccess = \"{}\"\nformat = \"{format}\"", folder.join(name).display()))
    };
    let gateway = log("one", "squid").start();
    let logged = |name: &str, path: &str| {
        assert_eq!(gateway.get(&server.url(path)).status, 200);
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
            if let Some(line) = text.lines().find(|line| line.contains(path)) {
                return line.to_owned();
            }
            assert!(began.elapsed() < LONG, "{path} is not in {name}: {text}");
        }
    };
    assert!(logged("one", "/a").contains("TCP_MISS/200"));
    reload(&gateway, &log("two", "json"));
    assert!(logged("two", "/b").starts_with('{'));
    reload(&gateway, &log("two", "squid"));
    assert!(logged("two", "/c").contains("TCP_MISS/200"));
    // It cannot be written, so the log stays as it was.
    reload(&gateway, &log("no/such/folder", "json"));
    assert!(logged("two", "/d").contains("TCP_MISS/200"));
    reload(&gateway, &Setup::default());
    assert_eq!(gateway.get(&server.url("/e")).status, 200);
    gateway.quiet();
    drop(gateway);
    assert!(!fs::read_to_string(folder.join("two")).unwrap().contains("/e"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn probes_go_where_the_new_file_says() {
    let [first, second] = [(); 2].map(|()| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        socket
    });
    let to = |socket: &UdpSocket| {
        let mut config = Setup::default().config();
        config.downlink.probe = dovetail_gateway::config::Probe::Udp(socket.local_addr().unwrap());
        config
    };
    let next = |socket: &UdpSocket| {
        let mut probe = [0; 64];
        let bytes = socket.recv_from(&mut probe)?.0;
        assert_eq!(bytes, 16);
        std::io::Result::Ok(u64::from_be_bytes(probe[..8].try_into().unwrap()))
    };
    let gateway = Running::start(to(&first));
    assert_eq!(next(&first).unwrap(), 0, "the first is the one that finds the link idle");
    gateway.tell(Control::Reload(Box::new(to(&second))));
    let begins = next(&second).unwrap();
    first.set_nonblocking(true).unwrap();
    let last = std::iter::from_fn(|| next(&first).ok()).last().unwrap_or(0);
    assert_eq!(begins, last + 1, "the first that goes there");
    gateway.tell(Control::Reload(Box::new(Setup::default().config())));
    gateway.look();
    // Discards earlier packets.
    second.set_nonblocking(true).unwrap();
    while second.recv_from(&mut [0; 64]).is_ok() {}
    second.set_nonblocking(false).unwrap();
    second.set_read_timeout(Some(std::time::Duration::from_millis(2_200))).unwrap();
    assert!(second.recv_from(&mut [0; 64]).is_err(), "one still comes each second");
}

#[test]
fn a_client_that_is_none_any_more_is_refused_on_the_connection_that_it_has() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", server.url("/"));
    let mut client = gateway.connect();
    client.write_all(request.as_bytes()).unwrap();
    assert_eq!(answer(&mut client).status, 200);
    let elsewhere = Setup::access("clients = [\"10.0.0.0/8\"]");
    run(async {
        let mut sender = http2(gateway.address).await;
        let ask = || Request::get(server.url("/")).version(Version::HTTP_2).body(()).unwrap();
        assert_eq!(sender.send_request(ask(), true).unwrap().0.await.unwrap().status(), 200);
        let control = Control::Reload(Box::new(elsewhere.config()));
        gateway.control().send(control).await.unwrap();
        sender = sender.ready().await.unwrap();
        assert_eq!(sender.send_request(ask(), true).unwrap().0.await.unwrap().status(), 403);
        while let Ok(ready) = sender.ready().await {
            sender = ready;
            tokio::task::yield_now().await;
        }
    });
    client.write_all(request.as_bytes()).unwrap();
    let refusal = answer(&mut client);
    assert_eq!((refusal.status, refusal.field("connection")), (403, Some("close")));
    assert!(is_closed(&mut client));
    gateway.quiet();
}
