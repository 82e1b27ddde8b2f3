//! The PROXY protocol: a connection's client, as announced by trusted sources only.

use std::{
    io::{Read, Write},
    net::{Ipv6Addr, TcpStream},
    thread,
    time::Duration,
};

use crate::{
    answer::{Answer, answer, is_closed},
    support::{Running, Setup},
};

/// 127.0.0.2 is a load balancer; 10.1.0.0/16 and one IPv6 address are clients, while the balancer is not.
fn balanced() -> Setup {
    let setup = Setup::access("clients = [\"10.1.0.0/16\", \"2001:db8::/32\", \"127.0.0.1/32\"]");
    let rest = "[[class]]\nname = \"office\"\nclients = [\"10.1.2.0/24\"]\n[timeouts]\nheader = \"400ms\"".into();
    Setup { proxy: "trusted = [\"127.0.0.2/32\"]".into(), rest, ..setup }
}

const BALANCER: [u8; 4] = [127, 0, 0, 2];
const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: 10.0.0.1\r\nConnection: close\r\n\r\n";

fn ask(gateway: &Running, header: &[u8]) -> Answer {
    let mut stream = gateway.connect_from(BALANCER);
    stream.write_all(&[header, ASK].concat()).unwrap();
    answer(&mut stream)
}

/// A header of version 2, written without a library.
fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n", &[command, family][..], &length, rest].concat()
}

fn four(from: [u8; 4]) -> Vec<u8> {
    [&from[..], &[192, 0, 2, 1], &4000_u16.to_be_bytes(), &3128_u16.to_be_bytes()].concat()
}

fn six(from: Ipv6Addr) -> Vec<u8> {
    let met: Ipv6Addr = "2001:db8::1".parse().unwrap();
    [&from.octets()[..], &met.octets(), &4000_u16.to_be_bytes(), &3128_u16.to_be_bytes()].concat()
}

#[test]
fn the_client_is_who_a_trusted_balancer_says() {
    let gateway = balanced().start();
    let tlv = [&[0x04, 0, 3, 1, 2, 3][..], &[0x20, 0, 1, 0]].concat();
    for (header, user, class) in [
        (b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 3128\r\n".to_vec(), "10.1.2.3", "office"),
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 4000 3128\r\n".to_vec(), "2001:db8::/64", "default"),
        (b"PROXY TCP6 ::ffff:10.1.2.3 ::ffff:192.0.2.1 4000 3128\r\n".to_vec(), "10.1.2.3", "office"),
        (binary(0x21, 0x11, &four([10, 1, 9, 9])), "10.1.9.9", "default"),
        (binary(0x21, 0x11, &[four([10, 1, 2, 9]), tlv.clone()].concat()), "10.1.2.9", "office"),
        (binary(0x21, 0x11, &[four([10, 1, 2, 9]), vec![0xee; 16_000]].concat()), "10.1.2.9", "office"),
        (binary(0x21, 0x21, &six("2001:db8::8".parse().unwrap())), "2001:db8::/64", "default"),
        (binary(0x21, 0x21, &six("::ffff:10.1.2.4".parse().unwrap())), "10.1.2.4", "office"),
    ] {
        let found = ask(&gateway, &header);
        let expected = format!("<strong>{user}</strong>, in the class <strong>{class}</strong>");
        assert!(found.text().contains(&expected), "{header:?}: {found:?}");
    }
    // Byte by byte, and a client that is not permitted.
    let mut stream = gateway.connect_from(BALANCER);
    for byte in b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 3128\r\n" {
        stream.write_all(&[*byte]).unwrap();
        stream.flush().unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    stream.write_all(ASK).unwrap();
    assert_eq!(answer(&mut stream).status, 200);
    assert_eq!(ask(&gateway, b"PROXY TCP4 10.2.0.1 192.0.2.1 4000 3128\r\n").status, 403);
    gateway.quiet();
}

#[test]
fn a_balancer_that_names_nobody_is_itself_and_no_client() {
    let gateway = balanced().start();
    let mut unix = vec![0; 216];
    unix[..9].copy_from_slice(b"/run/sock");
    let nobodys = [
        b"PROXY UNKNOWN\r\n".to_vec(),
        b"PROXY UNKNOWN 10.1.2.3 192.0.2.1 4000 3128\r\n".to_vec(),
        binary(0x20, 0x00, &[]),
        binary(0x20, 0x11, &four([10, 1, 2, 3])),
        binary(0x21, 0x00, &[]),
        binary(0x21, 0x31, &unix),
    ];
    for header in &nobodys {
        let found = ask(&gateway, header);
        assert!(found.status == 403 && found.text().contains("127.0.0.2"), "{header:?}: {found:?}");
    }
    gateway.quiet();
    // If it is permitted as a client, it is served as one.
    let setup = balanced();
    let gateway = Setup { access: "clients = [\"127.0.0.2/32\"]".into(), ..setup }.start();
    for header in &nobodys {
        assert!(ask(&gateway, header).text().contains("<strong>127.0.0.2</strong>"), "{header:?}");
    }
    gateway.quiet();
}

#[test]
fn what_is_no_header_ends_a_trusted_connection() {
    let gateway = balanced().start();
    let four = four([10, 1, 2, 3]);
    let mut cut = binary(0x21, 0x11, &four);
    cut.truncate(20);
    let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(92));
    for header in [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        b"PROXY TCP4 10.1.2.3 192.0.2.1 4000\r\n".to_vec(),
        b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 3128 1\r\n".to_vec(),
        b"PROXY TCP4  10.1.2.3 192.0.2.1 4000 3128\r\n".to_vec(),
        b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 +3128\r\n".to_vec(),
        b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 03128\r\n".to_vec(),
        b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 65536\r\n".to_vec(),
        b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 3128\n".to_vec(),
        b"PROXY TCP4 10.1.2.3\r192.0.2.1 4000 3128\r\n".to_vec(),
        b"PROXY TCP4 010.1.2.3 192.0.2.1 4000 3128\r\n".to_vec(),
        b"PROXY TCP4 2001:db8::1 2001:db8::2 4000 3128\r\n".to_vec(),
        b"PROXY TCP6 10.1.2.3 192.0.2.1 4000 3128\r\n".to_vec(),
        b"PROXY UDP4 10.1.2.3 192.0.2.1 4000 3128\r\n".to_vec(),
        b"proxy TCP4 10.1.2.3 192.0.2.1 4000 3128\r\n".to_vec(),
        b"PROXY TCP4 10.1.2.\xff 192.0.2.1 4000 3128\r\n".to_vec(),
        vec![b'P'; 200],
        [b"PROXY UNKNOWN ".to_vec(), vec![b'x'; 4000]].concat(),
        long.into_bytes(),
        cut.clone(),
        binary(0x11, 0x11, &four),
        binary(0x22, 0x11, &four),
        binary(0x21, 0x12, &four),
        binary(0x21, 0x13, &four),
        binary(0x21, 0x41, &four),
        binary(0x21, 0x11, &four[..11]),
        binary(0x21, 0x21, &four),
        binary(0x21, 0x11, &[four.clone(), vec![0; 20_000]].concat()),
        b"\r\n\r\n\0\r\nQUIX\n!\x11\0\0".to_vec(),
    ] {
        let found = if header == cut {
            let mut stream = gateway.connect_from(BALANCER);
            stream.write_all(&header).unwrap();
            answer(&mut stream)
        } else {
            ask(&gateway, &header)
        };
        assert_eq!((found.status, &*found.head), (0, ""), "{:?}: {found:?}", String::from_utf8_lossy(&header));
    }
    // An incomplete header is waited for no longer than a request's header.
    for header in [&b""[..], b"PROXY ", b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 3128", &cut] {
        let mut stream = gateway.connect_from(BALANCER);
        stream.write_all(header).unwrap();
        assert!(is_closed(&mut stream), "{header:?}");
    }
    gateway.quiet();
}

#[test]
fn no_other_header_is_believed() {
    let gateway = balanced().start();
    // It is a client itself, and does not become another one.
    for header in [b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 3128\r\n".to_vec(), binary(0x21, 0x11, &four([10, 1, 2, 3]))] {
        for from in [[127, 0, 0, 1], [127, 0, 0, 3]] {
            let mut stream = gateway.connect_from(from);
            stream.write_all(&[&header[..], ASK].concat()).unwrap();
            let found = answer(&mut stream);
            let expected = if from == [127, 0, 0, 1] { 400 } else { 403 };
            assert_eq!(found.status, expected, "{found:?}");
            assert!(!found.text().contains("10.1.2.3"), "{found:?}");
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).ok();
            assert!(!String::from_utf8_lossy(&rest).contains("class"), "nothing after it is answered");
        }
    }
    // Nor does a second header, regardless of who passed the first on.
    let twice = [&b"PROXY TCP4 127.0.0.1 192.0.2.1 4000 3128\r\n"[..], b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 3128\r\n"];
    assert_eq!(ask(&gateway, &twice.concat()).status, 400);
    gateway.quiet();
}

#[test]
fn connections_are_counted_by_who_they_are_from() {
    let setup = balanced();
    let rest = format!("{}\n[limits]\nconnections_per_user = 2", setup.rest);
    let gateway = Setup { rest, ..setup }.start();
    let connect = |last: u8| {
        let mut stream = gateway.connect_from(BALANCER);
        stream.write_all(format!("PROXY TCP4 10.1.2.{last} 192.0.2.1 4000 3128\r\n").as_bytes()).unwrap();
        stream
    };
    let kept: Vec<TcpStream> = (1..=6).map(|number| connect(number / 2 + 1)).collect();
    gateway.until("they are not there", |counts| counts.connections == 6);
    let mut more = connect(2);
    more.write_all(ASK).unwrap();
    assert_eq!(answer(&mut more).status, 503);
    drop((kept, more));
    gateway.quiet();
}

#[test]
fn a_reload_trusts_others() {
    let gateway = balanced().start();
    let header = b"PROXY TCP4 10.1.2.3 192.0.2.1 4000 3128\r\n";
    assert_eq!(ask(&gateway, header).status, 200);
    let setup = balanced();
    let config = Setup { proxy: "trusted = [\"127.0.0.9/32\"]".into(), ..setup }.config();
    gateway.tell(dovetail_gateway::Control::Reload(Box::new(config)));
    assert_eq!(ask(&gateway, header).status, 403, "127.0.0.2 is no client");
    gateway.quiet();
}
