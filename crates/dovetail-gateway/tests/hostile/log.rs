//! Lines of the access log for requests and tunnels.

use std::{
    fs,
    io::{Read, Write},
    process::Command,
};

use dovetail_gateway::Control;
use serde_json::Value;

use crate::{
    answer::answer_to,
    server::{canned, echo, strict_server},
    support::{LONG, Setup},
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

#[test]
fn a_server_s_403_is_not_logged_as_the_gateway_s() {
    let server = canned("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", false);
    let file = std::env::temp_dir().join(format!("dovetail-denied-log-{}", std::process::id()));
    let gateway = Setup::rest(&format!("[log]\naccess = \"{}\"", file.display())).start();
    assert_eq!(gateway.get(&server.url("/")).text(), "no");
    assert_eq!(gateway.get("http://10.0.0.1/").status, 403);
    let began = std::time::Instant::now();
    let text = loop {
        let text = fs::read_to_string(&file).unwrap();
        if text.lines().count() == 2 {
            break text;
        }
        assert!(began.elapsed() < LONG, "{text}");
    };
    fs::remove_file(&file).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].contains(" TCP_MISS/403 ") && lines[0].contains(" HIER_DIRECT/127.0.0.1 "), "{text}");
    assert!(lines[1].contains(" TCP_DENIED/403 ") && lines[1].contains(" HIER_NONE/- "), "{text}");
}

#[test]
fn what_a_power_cut_left_of_a_line_takes_no_other_with_it() {
    let server = strict_server();
    let file = std::env::temp_dir().join(format!("dovetail-torn-log-{}", std::process::id()));
    let setup = Setup::rest(&format!("[log]\naccess = \"{}\"", file.display()));
    let lines = |path: &str| {
        let began = std::time::Instant::now();
        loop {
            let text = fs::read_to_string(&file).unwrap();
            if text.contains(path) && text.ends_with('\n') {
                return text;
            }
            assert!(began.elapsed() < crate::support::LONG, "{text}");
        }
    };
    fs::write(&file, "one\ntw").unwrap();
    let gateway = setup.start();
    assert_eq!(gateway.get(&server.url("/first")).status, 200);
    assert!(lines("/first").starts_with("one\ntw\n1"), "{}", lines("/first"));
    // Another file that a rotation put there.
    fs::remove_file(&file).unwrap();
    fs::write(&file, "th").unwrap();
    gateway.tell(Control::Reload(Box::new(setup.config())));
    assert_eq!(gateway.get(&server.url("/second")).status, 200);
    assert!(lines("/second").starts_with("th\n1"), "{}", lines("/second"));
    drop(gateway);
    // A last line that is whole.
    let before = lines("/second");
    let gateway = setup.start();
    assert_eq!(gateway.get(&server.url("/third")).status, 200);
    assert_eq!(lines("/third").lines().count(), before.lines().count() + 1);
    drop(gateway);
    fs::remove_file(file).unwrap();
}

#[test]
fn a_fifo_that_nobody_reads_is_refused_at_once_and_one_that_is_read_gets_every_line() {
    let server = strict_server();
    let file = std::env::temp_dir().join(format!("dovetail-fifo-log-{}", std::process::id()));
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let setup = Setup::rest(&format!("[log]\naccess = \"{}\"", file.display()));
    let said = dovetail_gateway::check(&setup.config()).unwrap_err().to_string();
    assert!(said.ends_with("it is a socket, or a pipe that nothing reads from: name a regular file"), "{said}");
    let (_control, controlled) = tokio::sync::mpsc::channel(1);
    let failed = dovetail_gateway::run(setup.config(), controlled, |_| ()).unwrap_err().to_string();
    assert_eq!(failed, said);
    // A reload says so too, and goes on.
    let gateway = Setup::default().start();
    gateway.tell(Control::Reload(Box::new(setup.config())));
    assert_eq!(gateway.get(&server.url("/")).status, 200);
    drop(gateway);
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&file).unwrap();
    let gateway = setup.start();
    assert_eq!(gateway.get(&server.url("/read")).status, 200);
    let mut line = vec![0; 4096];
    let length = reader.read(&mut line).unwrap();
    assert!(String::from_utf8_lossy(&line[..length]).contains("/read"));
    drop(gateway);
    fs::remove_file(file).unwrap();
}
