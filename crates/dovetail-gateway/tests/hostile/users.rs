//! Which clients form one user: groups of addresses, and IPv6 networks.

use std::{
    io::{Read, Write},
    net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    thread,
};

use dovetail_gateway::{Control, config::Config};

use crate::{
    answer::answer,
    server::{held, strict_server},
    support::{LONG, Running, Setup, get},
};

const GROUP: &str = "[[group]]\nname = \"meyer\"\nclients = [\"127.0.0.2\", \"127.0.0.4/31\"]\n";

#[test]
fn a_group_has_the_connections_of_one_user() {
    let gateway = Setup::rest(&format!("{GROUP}[limits]\nconnections_per_user = 2")).start();
    let mut taken = Vec::new();
    for (address, count) in [([127, 0, 0, 2], 1), ([127, 0, 0, 5], 2)] {
        taken.push(gateway.connect_from(address));
        gateway.until("it is not taken", |counts| counts.connections == count);
    }
    let status = |address| {
        let mut client = gateway.connect_from(address);
        client.write_all(get("http://127.0.0.1:1/").as_bytes()).unwrap();
        answer(&mut client).status
    };
    assert_eq!((status([127, 0, 0, 4]), status([127, 0, 0, 3])), (503, 502), "a third of the group, and another user");
    drop(taken);
    gateway.quiet();
    assert_eq!(status([127, 0, 0, 4]), 502);
}

#[test]
fn a_group_has_the_requests_of_one_user_and_a_reload_breaks_none() {
    let (server, go) = held("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let with = |more: &str| Setup::rest(&format!("{more}[limits]\nrequests_per_user = 1"));
    let gateway = with("").start();
    let ask = |address: [u8; 4]| {
        let mut client = gateway.connect_from(address);
        client.write_all(get(&server.url("/")).as_bytes()).unwrap();
        client
    };
    // Two users, until they become one.
    let mut first = ask([127, 0, 0, 2]);
    let mut second = ask([127, 0, 0, 4]);
    gateway.until("not both are in flight", |counts| counts.requests == 2);
    gateway.tell(Control::Reload(Box::new(with(GROUP).config())));
    let mut third = ask([127, 0, 0, 2]);
    gateway.until("the group's is not in flight", |counts| counts.requests == 3);
    assert_eq!(answer(&mut ask([127, 0, 0, 5])).status, 429, "the group has one in flight");
    (0..3).for_each(|_| go.send(()).unwrap());
    for client in [&mut first, &mut second, &mut third] {
        assert_eq!(answer(client).status, 200, "what was in flight at the reload goes on");
    }
    gateway.quiet();
}

/// A gateway at an address of its own, for IPv6 clients.
fn over_ipv6(listen: &str, more: &str) -> Running {
    let text = format!(
        "[proxy]\nlisten = {listen}\nname = \"six\"\n[downlink]\nrate = \"1Gbps\"\nprobe = \"off\"\n\
         [access]\nclients = [\"::1\", \"127.0.0.0/8\"]\ndestinations = {{ allow = [\"::1\", \"127.0.0.0/8\"] }}\n{more}\n"
    );
    Running::start(Config::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

/// An IPv6 server that answers each connection once.
fn server_of_ipv6() -> SocketAddr {
    let listener = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 1024];
            if stream.read(&mut request).is_ok_and(|length| length > 0) {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"));
            }
        }
    });
    address
}

fn ask(gateway: SocketAddr, bytes: &str) -> crate::answer::Answer {
    let mut stream = TcpStream::connect(gateway).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    answer(&mut stream)
}

#[test]
fn clients_and_servers_of_ipv6_are_served() {
    let log = std::env::temp_dir().join(format!("dovetail-six-{}", std::process::id()));
    let server = server_of_ipv6();
    let more = format!("connect_ports = [{}]\n[log]\naccess = \"{}\"\nformat = \"json\"", server.port(), log.display());
    let gateway = over_ipv6("\"[::1]:0\"", &more);
    let found = ask(gateway.address, &get(&format!("http://{server}/a")));
    assert_eq!((found.status, found.text().as_str()), (200, "ok"));
    // A tunnel, and an address that embeds an IPv4 one.
    let mut tunnel = TcpStream::connect(gateway.address).unwrap();
    tunnel.set_read_timeout(Some(LONG)).unwrap();
    tunnel.write_all(format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(crate::answer::answer_to(&mut tunnel, "CONNECT").status, 200);
    tunnel.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(answer(&mut tunnel).status, 200);
    drop(tunnel);
    let v4 = strict_server();
    let mapped = format!("http://[::ffff:127.0.0.1]:{}/b", v4.address.port());
    assert_eq!(ask(gateway.address, &get(&mapped)).status, 200);
    for refused in ["[::]", "[64:ff9b::a00:1]", "[::ffff:10.0.0.1]", "[fe80::1]", "[2002:a00:1::1]", "[::127.0.0.1]"] {
        assert_eq!(ask(gateway.address, &get(&format!("http://{refused}/"))).status, 403, "{refused}");
    }
    gateway.quiet();
    drop(gateway);
    let text = std::fs::read_to_string(&log).unwrap();
    let line = text.lines().find(|line| line.contains("/a\"")).unwrap_or_else(|| panic!("{text}"));
    for part in ["\"client\":\"::1\"", "\"user\":\"::1\"", "\"server\":\"::1\""] {
        assert!(line.contains(part), "{line}");
    }
    std::fs::remove_file(log).unwrap();
}

#[test]
fn both_families_have_sockets_of_their_own_at_one_port() {
    // A port that is free in both families.
    let port = TcpListener::bind("[::]:0").unwrap().local_addr().unwrap().port();
    let gateway = over_ipv6(&format!("[\"[::]:{port}\", \"0.0.0.0:{port}\"]"), "");
    let server = server_of_ipv6();
    for address in [SocketAddr::from((Ipv6Addr::LOCALHOST, port)), SocketAddr::from(([127, 0, 0, 1], port))] {
        assert_eq!(ask(address, &get(&format!("http://{server}/"))).status, 200, "{address}");
    }
    gateway.quiet();
    drop(gateway);
    // One socket for both: IPv4 clients are recognised as such.
    let _gateway = over_ipv6(&format!("\"[::]:{port}\""), "[limits]\nconnections_per_user = 1");
    assert_eq!(ask(SocketAddr::from(([127, 0, 0, 1], port)), &get(&format!("http://{server}/"))).status, 200);
}
