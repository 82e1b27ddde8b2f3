//! Parent proxies: well-behaved, dead, silent, and sending garbage.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
};

use crate::{
    answer::{answer, answer_to},
    dns::{Reply, name_server},
    server::{Server, strict_proxy, strict_server},
    strict::Message,
    support::{Running, Setup, get},
};

/// A parent with additional keys besides its name and its port.
pub fn parent(name: &str, port: u16, keys: &str) -> String {
    format!("[[parent]]\nname = \"{name}\"\naddress = \"127.0.0.1:{port}\"\n{keys}\n")
}

pub fn with(parents: &str) -> Setup {
    Setup { proxy: "name = \"child\"".into(), ..Setup::rest(parents) }
}

/// A port without a listener.
pub fn dead() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A parent that answers everything with these bytes, and reports what it read.
fn says(bytes: impl Into<Vec<u8>>) -> Server<String> {
    let bytes = bytes.into();
    Server::start(move |mut connection| {
        let mut request = vec![0; 16_384];
        if let Ok(came @ 1..) = connection.stream.read(&mut request) {
            connection.tell(String::from_utf8_lossy(&request[..came]).into_owned());
            drop(connection.stream.write_all(&bytes));
        }
    })
}

pub fn connect(gateway: &Running, to: &str) -> (crate::answer::Answer, std::net::TcpStream) {
    let mut stream = gateway.connect();
    stream
        .write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nProxy-Authorization: Basic eDp5\r\n\r\n").as_bytes())
        .unwrap();
    (answer_to(&mut stream, "CONNECT"), stream)
}

fn password(text: &str) -> PathBuf {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("dovetail-parent-{}-{number}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_parent_is_told_the_whole_target_and_who_asks() {
    let asked = strict_proxy();
    let file = password("open sesame\n");
    let keys = format!("user = \"school\"\npassword_file = \"{}\"", file.display());
    let gateway = with(&parent("up", asked.address.port(), &keys)).start();
    // Names are resolved by the parent: there is no name server here.
    for _ in 0..2 {
        let found = gateway.ask(
            "GET http://Somewhere.example:8080/a?b HTTP/1.1\r\nHost: elsewhere.example\r\nProxy-Authorization: Basic eDp5\r\nConnection: close\r\n\r\n",
        );
        let message: Message = asked.told().unwrap();
        assert_eq!((found.status, found.text().as_str()), (200, "http://Somewhere.example:8080/a?b"));
        assert_eq!(message.field("host"), Some("Somewhere.example:8080"));
        assert_eq!(message.field("via"), Some("1.1 child"));
        // The gateway's credentials, not its client's.
        assert_eq!(message.field("proxy-authorization"), Some("Basic c2Nob29sOm9wZW4gc2VzYW1l"));
    }
    gateway.quiet();
    assert_eq!(gateway.look().pooled, 1, "one connection for all servers behind a parent");
    drop(gateway);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_chain_of_gateways_carries_requests_and_tunnels_and_sees_a_circle() {
    let server = strict_server();
    let port = server.address.port();
    let names = name_server(|_, _| Reply::Addresses(vec![Ipv4Addr::LOCALHOST]));
    let access = format!("connect_ports = [{port}]");
    let setup = |proxy: &str, rest: String| Setup { proxy: proxy.into(), access: access.clone(), ..Setup::rest(&rest) };
    let grandparent = setup(&format!("name = \"top\"\nnameservers = [\"{names}\"]"), String::new()).start();
    let middle = setup("name = \"middle\"", parent("top", grandparent.address.port(), "")).start();
    let child = setup("name = \"child\"", parent("middle", middle.address.port(), "")).start();
    let url = format!("http://deep.example:{port}/deep");
    for _ in 0..3 {
        let found = child.get(&url);
        assert_eq!((found.status, found.text().as_str()), (200, "/deep"));
        let via = server.told().unwrap().fields.into_iter().filter(|(name, _)| name == "via").map(|(_, value)| value);
        assert_eq!(via.collect::<Vec<_>>().join(", "), "1.1 child, 1.1 middle, 1.1 top");
    }
    let (opened, mut tunnel) = connect(&child, &format!("deep.example:{port}"));
    assert_eq!(opened.status, 200);
    tunnel.write_all(b"GET /within HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(answer(&mut tunnel).text(), "/within");
    drop(tunnel);
    // Each has the next as its parent.
    let port = dead();
    let first =
        setup(&format!("name = \"a\"\nredirect = [\"127.0.0.1:{port}\"]"), parent("b", middle.address.port(), ""));
    drop(first);
    let circle = |name: &str, own: u16, other: u16| {
        let text = format!(
            "[proxy]\nlisten = \"127.0.0.1:{own}\"\nname = \"{name}\"\n[downlink]\nrate = \"1Gbps\"\nprobe = \"off\"\n\
             [access]\nclients = \"127.0.0.0/8\"\n{}",
            parent("other", other, "")
        );
        Running::start(dovetail_gateway::config::Config::parse(&text).unwrap())
    };
    let (one, two) = (dead(), dead());
    let (_one, two) = (circle("one", one, two), circle("two", two, one));
    for found in [two.get("http://round.example/"), connect(&two, "round.example:443").0] {
        assert_eq!(found.status, 508, "{}", found.text());
    }
    // The others' clients are gateways, which keep their connections.
    child.quiet();
}

#[test]
fn what_is_not_for_a_parent_goes_directly() {
    let (server, up) = (strict_server(), strict_proxy());
    let port = server.address.port();
    let names = name_server(|_, _| Reply::Addresses(vec![Ipv4Addr::LOCALHOST]));
    let keys = "hosts = [\".example\"]\nexcept = [\"near.example\"]";
    let setup = with(&parent("up", up.address.port(), keys));
    let gateway = Setup { proxy: format!("{}\nnameservers = [\"{names}\"]", setup.proxy), ..setup }.start();
    let goes = |host: &str| gateway.get(&format!("http://{host}:{port}/")).text();
    assert_eq!(goes("near.example"), "/");
    assert_eq!(goes("other.org"), "/");
    assert_eq!(goes("far.example"), format!("http://far.example:{port}/"));
    gateway.quiet();
}

#[test]
fn a_parent_resolves_no_name_of_its_own_network_for_a_client() {
    let up = says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let setup = Setup {
        allow: String::new(),
        access: "connect_ports = [443]".into(),
        ..with(&parent("up", up.address.port(), ""))
    };
    let gateway = setup.start();
    for host in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "a.localhost",
        "2130706433",
        "0x7f000001",
        "127.1",
        "LOCALHOST.",
    ] {
        assert_eq!(gateway.get(&format!("http://{host}/")).status, 403, "{host}");
        assert_eq!(connect(&gateway, &format!("{host}:443")).0.status, 403, "{host}");
    }
    gateway.quiet();
    assert!(up.rest().is_empty(), "it was asked");
}

#[test]
fn another_parent_or_the_server_itself_takes_over_from_a_dead_one() {
    let (server, up) = (strict_server(), strict_proxy());
    let first = |keys: &str| parent("first", dead(), keys);
    // Another parent.
    let gateway = with(&(first("") + &parent("second", up.address.port(), ""))).start();
    for _ in 0..3 {
        assert_eq!(gateway.get(&server.url("/a")).text(), server.url("/a"));
    }
    gateway.quiet();
    // No other, and no permission to go directly.
    let gateway = with(&(first("") + &parent("second", dead(), "direct = true"))).start();
    let found = gateway.get(&server.url("/b"));
    assert_eq!(found.status, 502);
    assert!(
        found.text().contains("No connection to the parent proxy &#39;second&#39;")
            || found.text().contains("parent proxy 'second'"),
        "{}",
        found.text()
    );
    assert_eq!(connect(&gateway, "a.example:443").0.status, 502);
    gateway.quiet();
    // Directly, plain and in a tunnel.
    let access = format!("connect_ports = [{}]", server.address.port());
    let gateway = Setup { access, ..with(&first("direct = true")) }.start();
    for _ in 0..2 {
        assert_eq!(gateway.get(&server.url("/c")).text(), "/c");
    }
    let (opened, mut tunnel) = connect(&gateway, &server.address.to_string());
    assert_eq!(opened.status, 200);
    tunnel.write_all(b"GET /d HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(answer(&mut tunnel).text(), "/d");
    drop(tunnel);
    gateway.quiet();
}

#[test]
fn what_a_parent_says_instead_of_a_tunnel() {
    for (said, status, words) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n",
            502,
            "asks for a user",
        ),
        ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nbad", 502, "status 502"),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", 403, "status 403"),
        ("HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", 502, "status 302"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", 502, "not HTTP"),
        ("SSH-2.0-OpenSSH_9.6\r\n", 502, "not HTTP"),
        ("HTTP/1.1 2x0 OK\r\n\r\n", 502, "not HTTP"),
        ("HTTP/1.1 200 OK\r\nHalf: a head", 502, "broke off"),
        ("", 502, "broke off"),
    ] {
        let up = says(said);
        let gateway = with(&parent("up", up.address.port(), "")).start();
        let (found, _) = connect(&gateway, "a.example:443");
        assert_eq!(found.status, status, "{said:?}");
        assert!(found.field("proxy-authenticate").is_none(), "{said:?}");
        assert!(found.text().contains(words), "{said:?}: {}", found.text());
        let asked = up.told();
        assert!(
            asked.starts_with("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nVia: 1.1 child\r\n\r\n"),
            "{asked}"
        );
        gateway.quiet();
    }
    // A head without an end, and one that is too long.
    let long = format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(10_000));
    let up = says(long);
    let gateway = with(&parent("up", up.address.port(), "")).start();
    assert_eq!(connect(&gateway, "a.example:443").0.status, 502);
    gateway.quiet();
}

#[test]
fn what_follows_a_parents_answer_is_the_tunnel_s() {
    let up = says(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst",
    );
    let gateway = with(&parent("up", up.address.port(), "")).start();
    let (opened, mut tunnel) = connect(&gateway, "a.example:443");
    assert_eq!(opened.status, 200);
    assert_eq!(answer(&mut tunnel).text(), "first");
    drop(tunnel);
    gateway.quiet();
}

#[test]
fn what_a_parent_says_to_a_request() {
    for (said, status, words) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n",
            502,
            "The parent proxy 'up' asks",
        ),
        // A parent that sends no challenge has passed a server's on without it.
        ("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", 502, "'a.example' demands"),
        ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nbad", 502, "bad"),
        ("SSH-2.0-OpenSSH_9.6\r\n", 502, "closed the connection"),
        ("", 502, "closed the connection"),
    ] {
        let up = says(said);
        let gateway = with(&parent("up", up.address.port(), "")).start();
        let found = gateway.get("http://a.example/");
        assert_eq!(found.status, status, "{said:?}");
        assert!(found.text().contains(words), "{said:?}: {}", found.text());
        assert!(found.field("proxy-authenticate").is_none(), "{said:?}");
        gateway.quiet();
    }
}

#[test]
fn a_body_that_a_parent_asked_a_password_for_is_not_sent() {
    let up = Server::<String>::start(|mut connection| {
        let stream = &mut connection.stream;
        let mut asked = [0; 1024];
        let _ = stream.read(&mut asked).unwrap();
        stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").unwrap();
        let mut rest = String::new();
        drop(stream.read_to_string(&mut rest));
        connection.tell(rest);
    });
    let gateway = with(&parent("up", up.address.port(), "")).start();
    let mut client = gateway.connect();
    let asked =
        "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    client.write_all(asked.as_bytes()).unwrap();
    assert_eq!(answer(&mut client).status, 502);
    drop(client.write_all(b"abc"));
    assert_eq!(up.told(), "");
    drop(client);
    gateway.quiet();
}

#[test]
fn a_silent_parent_times_out() {
    let up: Server<()> =
        Server::start(|mut connection| while connection.stream.read(&mut [0; 1024]).is_ok_and(|came| came > 0) {});
    let rest = format!("{}[timeouts]\nresponse = \"200ms\"\n", parent("up", up.address.port(), ""));
    let gateway = with(&rest).start();
    assert_eq!(connect(&gateway, "a.example:443").0.status, 504);
    assert_eq!(gateway.ask(get("http://a.example/")).status, 504);
    gateway.quiet();
}
