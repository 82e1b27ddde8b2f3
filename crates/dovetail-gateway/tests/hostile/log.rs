//! Lines of the access log for requests and tunnels.

use std::{
    fs,
    io::{Read, Write},
};

use serde_json::Value;

use crate::{
    answer::answer_to,
    server::{echo, strict_server},
    support::Setup,
};

#[test]
fn a_line_of_json_has_the_class_and_what_went_up() {
    let (server, tunnels) = (strict_server(), echo());
    let file = std::env::temp_dir().join(format!("dovetail-json-log-{}", std::process::id()));
    let rest = format!(
        "[log]\naccess = \"{}\"\nformat = \"json\"\n[[class]]\nname = \"office\"\nclients = \"127.0.0.1\"",
        file.display()
    );
    let access = format!("connect_ports = [{}]", tunnels.address.port());
    let gateway = Setup { access, ..Setup::rest(&rest) }.start();
    let url = server.url("/post");
    let sent = format!("POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\nConnection: close\r\n\r\n7 bytes");
    assert_eq!(gateway.ask(sent).status, 200);
    assert_eq!(gateway.get(&server.url("/get")).status, 200);
    let mut tunnel = gateway.connect_from([127, 0, 0, 2]);
    let at = tunnels.address;
    tunnel.write_all(format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(answer_to(&mut tunnel, "CONNECT").status, 200);
    tunnel.write_all(&[b'x'; 300]).unwrap();
    tunnel.read_exact(&mut [0; 300]).unwrap();
    drop(tunnel);
    tunnels.told();
    gateway.quiet();
    let began = std::time::Instant::now();
    let lines: Vec<Value> = loop {
        let text = fs::read_to_string(&file).unwrap();
        if text.lines().count() == 3 {
            break text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        }
        assert!(began.elapsed() < crate::support::LONG, "{text}");
    };
    fs::remove_file(&file).unwrap();
    for (line, (method, class, uploaded)) in
        lines.iter().zip([("POST", "office", 7), ("GET", "office", 0), ("CONNECT", "default", 300)])
    {
        assert_eq!(
            (&line["method"], &line["class"], &line["uploaded_bytes"]),
            (&method.into(), &class.into(), &uploaded.into())
        );
        let parts = line["spent"].as_object().unwrap();
        let spent: f64 = parts.values().map(|part| part.as_f64().unwrap()).sum();
        assert!(parts.len() == 7 && spent > 0.0, "{line}");
        // It was read and checked before it was queued, and each part is rounded.
        assert!(spent <= line["took_s"].as_f64().unwrap() + 1e-5, "{line}");
    }
}
