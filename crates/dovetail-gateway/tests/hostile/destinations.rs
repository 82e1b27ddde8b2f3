//! Permitted clients and permitted destinations.

use std::{
    io::{Read, Write},
    net::Ipv4Addr,
};

use dovetail_gateway::Control;

use crate::{
    answer::{answer, answer_to, is_closed},
    dns::{Reply, name_server},
    server::{held, strict_server},
    support::{Setup, get},
};

/// Permits only a prefix without a listener.
fn closed() -> Setup {
    Setup { allow: "\"127.9.9.9/32\"".into(), ..Setup::default() }
}

#[test]
fn strangers_get_a_refusal_and_nothing_else() {
    let server = strict_server();
    let gateway = Setup::access("clients = [\"127.1.0.0/16\"]").start();
    for request in [get(&server.url("/")), format!("CONNECT {} HTTP/1.1\r\n\r\n", server.address), "x".into()] {
        let mut stranger = gateway.connect_from([127, 2, 0, 1]);
        stranger.write_all(request.as_bytes()).unwrap();
        let refusal = answer(&mut stranger);
        assert_eq!(refusal.status, 403, "{refusal:?}");
        assert!(refusal.is_whole && refusal.text().contains("127.2.0.1"), "{refusal:?}");
        assert_eq!(refusal.field("connection"), Some("close"));
        assert!(is_closed(&mut stranger));
    }
    let mut client = gateway.connect_from([127, 1, 0, 1]);
    client.write_all(get(&server.url("/mine")).as_bytes()).unwrap();
    assert_eq!(answer(&mut client).text(), "/mine");
    assert_eq!(server.told().unwrap().target, "/mine");
    assert!(server.rest().is_empty());
    drop(client);
    gateway.quiet();
}

#[test]
fn ports_that_are_not_allowed_are_refused() {
    let server = strict_server();
    let port = server.address.port();
    let gateway = Setup::access(&format!("connect_ports = [443]\nports = [{port}]")).start();
    for target in [server.address.to_string(), "127.0.0.1:22".into(), "localhost:25".into()] {
        let mut client = gateway.connect();
        client.write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes()).unwrap();
        let refusal = answer_to(&mut client, "CONNECT");
        assert_eq!((refusal.status, refusal.is_whole), (403, true), "{target}: {refusal:?}");
    }
    assert_eq!(gateway.get("http://127.0.0.1:22/").status, 403);
    assert_eq!(gateway.get(&server.url("/")).status, 200);
    gateway.quiet();
}

#[test]
fn addresses_of_the_gateway_and_its_networks_are_refused_however_they_are_written() {
    let gateway = closed().start();
    let refused = [
        "127.0.0.1",
        "127.0.0.1.",
        "0.0.0.0",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:0:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
    ];
    for host in refused {
        let refusal = gateway.get(&format!("http://{host}/"));
        assert_eq!(refusal.status, 403, "{host}: {refusal:?}");
        assert!(refusal.field("proxy-status").unwrap().contains("destination_ip_prohibited"), "{refusal:?}");
        let tunnel = gateway.ask(format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n"));
        assert_eq!(tunnel.status, 403, "{host}: {tunnel:?}");
    }
    gateway.quiet();
}

#[test]
fn other_spellings_of_an_address_are_names_and_names_are_checked_by_where_they_lead() {
    let names = name_server(|name, _| match name {
        // Like a resolver that accepts such notations.
        "2130706433" | "0x7f000001" | "0177.0.0.1" | "127.1" | "private.example" => {
            Reply::Addresses(vec![Ipv4Addr::LOCALHOST])
        }
        "both.example" => Reply::Addresses(vec![Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(169, 254, 169, 254)]),
        _ => Reply::NoName,
    });
    let gateway = Setup { proxy: format!("nameservers = [\"{names}\"]"), ..closed() }.start();
    for host in ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "private.example", "both.example", "localhost"] {
        let refusal = gateway.get(&format!("http://{host}/"));
        assert!(matches!(refusal.status, 400 | 403 | 502), "{host}: {refusal:?}");
        assert!(refusal.field("proxy-status").is_some(), "{host}: {refusal:?}");
    }
    assert_eq!(gateway.get("http://private.example/").status, 403);
    gateway.quiet();
}

#[test]
fn a_name_that_leads_elsewhere_the_second_time_is_checked_the_second_time() {
    // 127.9.9.9 stands for the public address.
    let (server, first) = (strict_server(), Ipv4Addr::new(127, 9, 9, 9));
    let port = server.address.port();
    let names =
        name_server(move |_, asked| Reply::Addresses(vec![if asked == 0 { first } else { Ipv4Addr::LOCALHOST }]));
    let gateway = Setup { proxy: format!("nameservers = [\"{names}\"]"), ..closed() }.start();
    let (one, two) = (
        gateway.get(&format!("http://rebinds.example:{port}/")),
        gateway.get(&format!("http://rebinds.example:{port}/")),
    );
    assert_eq!((one.status, two.status), (502, 403), "{one:?} {two:?}");
    assert!(server.rest().is_empty());
    gateway.quiet();
}

#[test]
fn of_a_name_with_several_addresses_only_those_that_may_be_are_reached() {
    let server = strict_server();
    let names = name_server(|_, _| Reply::Addresses(vec![Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::LOCALHOST]));
    let setup =
        Setup { proxy: format!("nameservers = [\"{names}\"]"), allow: "\"127.0.0.1/32\"".into(), ..Setup::default() };
    let gateway = setup.start();
    let port = server.address.port();
    // No name of a host (RFC 952), and yet in use.
    for host in ["both.example", "my_bucket.s3.example", "-a.example"] {
        assert_eq!(gateway.get(&format!("http://{host}:{port}/it")).text(), "/it", "{host}");
        let message = server.told().unwrap();
        assert_eq!(message.field("host"), Some(format!("{host}:{port}").as_str()));
    }
    let refusal = gateway.get(&format!("http://a..example:{port}/"));
    assert!(refusal.status == 502 && refusal.text().contains("the DNS cannot have such a name"), "{refusal:?}");
    gateway.quiet();
}

#[test]
fn targets_that_are_no_proxys_are_refused() {
    let server = strict_server();
    let at = server.address;
    let gateway = Setup::default().start();
    let line = |line: &str| format!("{line} HTTP/1.1\r\nHost: {at}\r\n\r\n");
    for (request, statuses) in [
        (line(&format!("GET https://{at}/")), [400, 400]),
        (line(&format!("GET ftp://{at}/")), [400, 400]),
        (line(&format!("CONNECT user:password@{at}")), [400, 400]),
        (line("OPTIONS *"), [405, 405]),
        (line("GET *"), [400, 400]),
        (line(&format!("GET http://127.0.0.1:+{}/", at.port())), [400, 400]),
        (line("CONNECT 127.0.0.1:+443"), [400, 400]),
        (line(&format!("TRACE http://{at}/")), [400, 400]),
        (line("GET http:///"), [400, 400]),
        (line(&format!("CONNECT {at}/path")), [400, 400]),
        (line("CONNECT 127.0.0.1"), [400, 400]),
        (line("CONNECT http://127.0.0.1:443/"), [400, 400]),
        (line(&format!("GET http://[127.0.0.1]:{}/", at.port())), [400, 400]),
        (line(&format!("GET http://[{at}]/")), [400, 400]),
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nVia: 1.1 dovetail\r\n\r\n"), [508, 508]),
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nVia: 1.0 a, 2.0 dovetail (x)\r\n\r\n"), [508, 508]),
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nHost: {at}\r\n\r\n"), [400, 400]),
        (format!("GET http://{at}/ HTTP/1.0\r\nHost: {at}\r\nHost: x\r\n\r\n"), [400, 400]),
    ] {
        let refusal = gateway.ask(&request);
        assert!(statuses.contains(&refusal.status), "{request:?}: {refusal:?}");
    }
    assert!(server.rest().is_empty());
    gateway.quiet();
}

#[test]
fn the_target_overrules_host() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let request = format!("GET {} HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n", server.url("/"));
    assert_eq!(gateway.ask(request).status, 200);
    assert_eq!(server.told().unwrap().field("host"), Some(server.address.to_string().as_str()));
}

#[test]
fn a_connection_kept_from_before_a_reload_does_not_lead_where_none_may_go_now() {
    let (server, lets) = held("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let gateway = Setup::default().start();
    let mut client = gateway.connect();
    client.write_all(get(&server.url("/")).as_bytes()).unwrap();
    server.told();
    gateway.tell(Control::Reload(Box::new(closed().config())));
    // A request in flight is answered, and its connection is kept.
    lets.send(()).unwrap();
    assert_eq!(answer(&mut client).text(), "ok");
    gateway.until("nothing is kept", |counts| counts.pooled == 1);
    assert_eq!(gateway.get(&server.url("/")).status, 403);
}

#[test]
fn bytes_after_the_end_of_a_tunnels_answer_are_the_servers() {
    let server = crate::server::Server::<Vec<u8>>::start(|mut connection| {
        let mut bytes = vec![0; 4];
        connection.stream.read_exact(&mut bytes).unwrap();
        connection.stream.write_all(b"pong").unwrap();
        connection.tell(bytes);
    });
    let gateway = Setup::access(&format!("connect_ports = [{}]", server.address.port())).start();
    let mut client = gateway.connect();
    // The first bytes of the tunnel are sent with the request.
    client.write_all(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\nping", server.address).as_bytes()).unwrap();
    assert_eq!(answer_to(&mut client, "CONNECT").status, 200);
    let mut bytes = [0; 4];
    client.read_exact(&mut bytes).unwrap();
    assert_eq!((&server.told()[..], &bytes[..]), (&b"ping"[..], &b"pong"[..]));
    drop(client);
    gateway.quiet();
}

#[test]
fn no_list_of_destinations_opens_the_admin_port() {
    let (server, admin) = (strict_server(), crate::parents::dead());
    let names = name_server(|_, _| Reply::Addresses(vec![Ipv4Addr::LOCALHOST]));
    let access = format!("connect_ports = [{admin}]");
    let rest = format!("[admin]\nlisten = \"127.0.0.1:{admin}\"");
    let proxy = format!("nameservers = [\"{names}\"]");
    let allow = "\"127.0.0.0/8\", \"0.0.0.0/32\", \"::/64\"".into();
    let gateway = Setup { proxy, access, rest, allow, ..Setup::default() }.start();
    for host in ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "[::]", "named.example"] {
        let refusal = gateway.get(&format!("http://{host}:{admin}/"));
        assert!(refusal.status == 403 && refusal.text().contains("admin port"), "{host}: {refusal:?}");
        let tunnel = gateway.ask(format!("CONNECT {host}:{admin} HTTP/1.1\r\nHost: {host}:{admin}\r\n\r\n"));
        assert_eq!(tunnel.status, 403, "{host}: {tunnel:?}");
    }
    assert_eq!(gateway.get(&server.url("/")).status, 200);
    gateway.quiet();
}

#[test]
fn options_goes_no_further_than_it_says() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let options = |target: &str, left: &str| {
        let fields = format!("Host: x\r\nMax-Forwards: {left}\r\nConnection: close\r\n\r\n");
        gateway.ask(format!("OPTIONS {target} HTTP/1.1\r\n{fields}"))
    };
    let own = options(&server.url("/"), "0");
    assert_eq!((own.status, own.text().as_str(), own.is_whole), (200, "", true));
    assert!(server.rest().is_empty(), "it was forwarded");
    assert_eq!(options(&server.url("/a"), "2").status, 200);
    let message = server.told().unwrap();
    assert_eq!((message.target.as_str(), message.field("max-forwards")), ("/a", Some("1")));
    // Of another method it is no concern of the gateway's.
    let url = server.url("/get");
    let got = gateway.ask(format!("GET {url} HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n"));
    assert_eq!((got.status, got.text().as_str()), (200, "/get"));
    gateway.quiet();
}

#[test]
fn a_request_without_a_host_is_one_of_http_1_0() {
    let server = strict_server();
    let gateway = Setup::default().start();
    let ask = |version: &str| gateway.ask(format!("GET {} HTTP/{version}\r\n\r\n", server.url("/"))).status;
    assert_eq!((ask("1.1"), ask("1.0")), (400, 200));
    assert_eq!(server.told().unwrap().field("via"), Some("1.0 dovetail"));
    gateway.quiet();
}
